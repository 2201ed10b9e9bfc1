#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/sizes/extents.hpp>

/// Host tensors whose element type and sizes are known at run time only.

namespace tenon {

template <Element T, class S> class array;

namespace detail {
struct storage; // a count of owners, and how the memory ends
void retain(storage*) noexcept;
void release(storage*) noexcept;
/// What texts take beside the strings themselves.
std::size_t bytes_of_texts(const std::string* texts, std::size_t count) noexcept;

// Seen in the error where an array is copied.
struct write_copy_or_std_move {};
} // namespace detail

/// The number of elements of `sizes` and, by `element`, that they fit into memory at all.
/// Throws invalid_argument_error when a size is not a number or elements * size_of(element) exceeds 2^62.
std::int64_t checked_elements(element_type element, const extents& sizes);

/// A dense row-major host tensor: an element type, sizes that are always numbers, and a pointer to the first
/// element. The memory is aligned to 64 bytes and counted by its owners, or it is a view of somebody else's
/// memory.
///
/// Moving is cheap. Copying is said aloud: copy() is another tensor, share() is another owner of the same
/// memory. row, slice and reshape share too: not of a const array, whose elements cannot be written; take
/// a.share().row(i), which says that there is an owner who may. What is shared may be written by any owner: write only
/// where is_unique(), or where the others are known not to read meanwhile.
class any_array {
public:
    /// Holds nothing: element_type::none and no memory.
    any_array() noexcept {} // not defaulted: its bytes would be zeroed first
    /// Memory for `sizes` of `element`: numbers are not initialised, strings are empty.
    /// Throws invalid_argument_error (see checked_elements), resource_exhausted_error when there is no
    /// memory.
    any_array(element_type element, const tenon::extents& sizes);
    // The sizes are copied by themselves, here as where they are first written: pieces that lie otherwise than those just
    // written wait for the cache.
    any_array(any_array&& other) noexcept :
        type_{other.type_.element, other.type_.extents},
        elements_(other.elements_),
        data_(other.data_),
        owner_(other.owner_) {
        other.forget();
    }
    any_array& operator=(any_array&& other) noexcept {
        if (this != &other) {
            if (owner_) detail::release(owner_);
            type_.element = other.type_.element;
            type_.extents = other.type_.extents;
            elements_ = other.elements_;
            data_ = other.data_;
            owner_ = other.owner_;
            other.forget();
        }
        return *this;
    }
    /// Forgets what is known of the type at compile time.
    template <Element T, class S>
    explicit any_array(array<T, S>&& typed) noexcept : any_array(std::move(typed).untyped()) {}
    any_array(const any_array&, detail::write_copy_or_std_move = {}) = delete; // a.copy(), a.share() or std::move(a)
    any_array& operator=(const any_array&) = delete;                           // a.copy(), a.share() or std::move(a)
    ~any_array() {
        if (owner_) detail::release(owner_);
    }

    /// As the constructor, filled with zeros (false, empty strings).
    static any_array zeros(element_type element, const tenon::extents& sizes);
    /// A view of memory that outlives it. `data` is aligned for its elements, else invalid_argument_error.
    static any_array view(void* data, element_type element, const tenon::extents& sizes);
    /// Takes memory over: the last owner calls release(context, data), which ends the elements and must not
    /// throw. When adopt itself throws, `data` has not been released.
    static any_array adopt(void* data, element_type element, const tenon::extents& sizes,
                           void (*release)(void* context, void* data), void* context);

    /// Holds nothing any more.
    void reset() noexcept {
        if (owner_) detail::release(owner_);
        forget();
    }

    /// The same elements in memory of their own, which is paid for with its texts.
    any_array copy() const;
    /// Has who was asked for this array's memory, or where that was nobody who pays now, pay for its texts, too, as they are now. Of
    /// an array that has one owner.
    void pay_for_texts();
    /// Another owner of the same memory (of a view: another view).
    any_array share() const;
    /// True when this is the only owner of memory that it owns.
    bool is_unique() const noexcept;
    /// True for what does not keep its memory alive.
    bool is_view() const noexcept { return owner_ == nullptr; }

    /// False for what holds nothing: made by the default constructor, or moved from.
    explicit operator bool() const noexcept { return type_.element != element_type::none; }

    const tensor_type& type() const noexcept { return type_; }
    element_type element() const noexcept { return type_.element; }
    const tenon::extents& extents() const noexcept { return type_.extents; }
    int rank() const noexcept { return type_.extents.rank(); }
    std::int64_t elements() const noexcept { return elements_; }
    std::size_t bytes() const noexcept { return static_cast<std::size_t>(elements_) * size_of(type_.element); }

    void* data() noexcept { return data_; }
    const void* data() const noexcept { return data_; }
    /// The elements; throws invalid_argument_error when they are not of type T.
    template <Element T> T* data() {
        if (type_.element != element_type_of<T>) wrong_element(element_type_of<T>);
        return static_cast<T*>(data_);
    }
    template <Element T> const T* data() const {
        if (type_.element != element_type_of<T>) wrong_element(element_type_of<T>);
        return static_cast<const T*>(data_);
    }

    /// Element i of dimension 0, one rank lower; shares the memory. Throws out_of_range_error.
    any_array row(std::int64_t i);
    /// Elements begin .. end-1 of dimension 0; shares the memory. Throws out_of_range_error.
    any_array slice(std::int64_t begin, std::int64_t end);
    /// The same elements in other sizes, of which one may be dynamic: it is deduced. Shares the memory.
    /// Throws invalid_argument_error when the numbers of elements differ.
    any_array reshape(const tenon::extents& sizes) &;
    any_array reshape(const tenon::extents& sizes) &&;

private:
    any_array(element_type element, const tenon::extents& sizes, std::int64_t elements, void* data,
              detail::storage* owner) noexcept :
        type_{element, sizes}, elements_(elements), data_(data), owner_(owner) {}
    void forget() noexcept { // after a move
        type_.element = element_type::none;
        type_.extents.clear();
        elements_ = 0;
        data_ = nullptr;
        owner_ = nullptr;
    }
    [[noreturn]] void wrong_element(element_type wanted) const;
    std::byte* at(std::int64_t element_index) const noexcept {
        return static_cast<std::byte*>(data_) + static_cast<std::size_t>(element_index) * size_of(type_.element);
    }

    tensor_type type_;
    std::int64_t elements_ = 0;
    void* data_ = nullptr;
    detail::storage* owner_ = nullptr;
};

/// Equal sizes, element types and elements. A NaN equals nothing, as everywhere.
bool operator==(const any_array& a, const any_array& b);

/// True when the sizes are equal and each |a - b| <= atol + rtol * |b|. Elements that compare equal are
/// close, infinities too; NaNs never are. Throws invalid_argument_error unless both hold numbers of one type.
bool all_close(const any_array& a, const any_array& b, double rtol = 1e-5, double atol = 1e-8);

/// Why a tensor of type `given` cannot stand where `declared` is asked for, in words; empty when it can.
/// Numbers must be equal, a named size must have one value throughout, a dynamic size may be anything.
std::string misfit(const tensor_type& given, const tensor_type& declared);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/core/array/any_array.ipp>
#endif
