#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/sizes/sizes.hpp>

/// Sizes as values: the same code judges shapes at compile time, when a graph is built, and when one is read.

namespace tenon {

/// The largest rank a tensor can have.
inline constexpr int max_rank = 8;

namespace detail {
constexpr bool same_text(const char* a, const char* b) noexcept {
    for (; *a && *a == *b; ++a, ++b) {
    }
    return *a == *b;
}
} // namespace detail

/// One dimension: a number, a named size (known at run time, one value a step), or dynamic (known at run time).
struct extent {
    std::int64_t size = -1; ///< the number, or -1
    /// Of a named size, else empty; the text lives for ever, or as share_size_name() says. Never null: under its sanitizers g++ 12 cannot tell at
    /// compile time whether a template argument's address is null.
    const char* name = "";

    constexpr extent() = default;
    constexpr extent(std::int64_t number) : size(number) {} // NOLINT: a number is an extent
    static constexpr extent named(const char* name) {
        extent e;
        e.name = name;
        return e;
    }

    constexpr bool is_number() const noexcept { return size >= 0; }
    constexpr bool is_named() const noexcept { return *name != '\0'; }
    constexpr bool is_dynamic() const noexcept { return size < 0 && !is_named(); }

    friend constexpr bool operator==(const extent& a, const extent& b) noexcept {
        return a.size == b.size && detail::same_text(a.name, b.name);
    }
};

/// The dimension known at run time, whatever it is.
inline constexpr extent dynamic_extent{};

namespace detail {
// What a std::vector, std::array or std::span holds; void of what is none, as an array of any rank.
template <class L> struct listed { using type = void; };
template <class L>
    requires(
        requires(const L& list) { list.data() + list.size(); } && !requires(const L& list) { list.rank(); })
struct listed<L> {
    using type = std::remove_cvref_t<decltype(*std::declval<const L&>().data())>;
};

/// A list of integers; neither of characters nor of bools.
template <class L>
concept IntegerList = std::is_integral_v<typename listed<L>::type> && sizeof(typename listed<L>::type) >= sizeof(int);
template <class L>
concept SizeList = IntegerList<L> || std::is_same_v<typename listed<L>::type, extent>;

// They throw invalid_argument_error.
[[noreturn]] void list_is_full(std::int64_t next);
[[noreturn]] void list_is_too_long(std::size_t count);
[[noreturn]] void not_in_list(const std::string& number, const char* wanted);

// An integer of a list, or an invalid_argument_error where it is less than `least` or beyond 64 bits.
template <class I> constexpr std::int64_t listed_number(I i, std::int64_t least, const char* wanted) {
    if (!std::in_range<std::int64_t>(i) || static_cast<std::int64_t>(i) < least) not_in_list(std::to_string(i), wanted);
    return static_cast<std::int64_t>(i);
}
} // namespace detail

/// An ordered list of at most max_rank dimensions.
class extents {
public:
    constexpr extents() = default;
    template <class... E>
        requires(sizeof...(E) > 0 && ((std::is_integral_v<E> || std::is_same_v<E, extent>)&&...))
    constexpr extents(E... dims) { // NOLINT: a list of dimensions is extents
        (push_back(one(dims)), ...);
    }
    /// The sizes in a std::vector, std::array or std::span: numbers, of which -1 is one known at run time only, or
    /// extents. invalid_argument_error for a list of more than max_rank, and for a number below -1.
    template <detail::SizeList L> constexpr extents(const L& sizes) { // NOLINT: so is a list that is held as such
        if (sizes.size() > max_rank) detail::list_is_too_long(sizes.size());
        for (auto* size = sizes.data(); size != sizes.data() + sizes.size(); ++size) {
            if constexpr (detail::IntegerList<L>)
                push_back(detail::listed_number(*size, -1, "a size is 0 or more, or -1 where the step decides"));
            else push_back(*size);
        }
    }

    constexpr int rank() const noexcept { return static_cast<int>(rank_); }
    constexpr const extent& operator[](int axis) const noexcept { return dims_[axis]; }
    constexpr extent& operator[](int axis) noexcept { return dims_[axis]; }
    constexpr const extent* begin() const noexcept { return dims_; }
    constexpr const extent* end() const noexcept { return dims_ + rank(); }

    /// Appends a dimension; one more than max_rank is dropped and marks the list as overfull.
    constexpr void push_back(extent e) noexcept {
        if (rank() < max_rank) dims_[rank_++] = e;
        else rank_ |= overfull_bit;
    }
    constexpr bool overfull() const noexcept { return (rank_ & overfull_bit) != 0; }
    constexpr void clear() noexcept { rank_ = 0; }
    constexpr void erase(int axis) noexcept {
        for (int i = axis; i + 1 < rank(); ++i) dims_[i] = dims_[i + 1];
        --rank_;
        dims_[rank()] = extent{};
    }
    constexpr void insert(int axis, extent e) noexcept {
        push_back(e);
        if (overfull()) return;
        for (int i = rank() - 1; i > axis; --i) dims_[i] = dims_[i - 1];
        dims_[axis] = e;
    }

    /// True when every dimension is a number.
    constexpr bool is_static() const noexcept {
        for (const extent& e : *this)
            if (!e.is_number()) return false;
        return true;
    }
    /// Number of elements; 1 for a scalar, -1 unless every dimension is a number. Where it does not fit 64 bits, which
    /// no tensor's does, the largest number.
    constexpr std::int64_t elements() const noexcept {
        checked_size n = 1;
        bool empty = false;
        for (const extent& e : *this) {
            if (!e.is_number()) return -1;
            empty = empty || e.size == 0;
            n *= e.size;
        }
        return empty ? 0 : n.saturated();
    }

    friend constexpr bool operator==(const extents& a, const extents& b) noexcept {
        if (a.rank_ != b.rank_) return false;
        for (int i = 0; i < a.rank(); ++i)
            if (!(a.dims_[i] == b.dims_[i])) return false;
        return true;
    }

private:
    template <class E> static constexpr extent one(E e) {
        if constexpr (std::is_same_v<E, extent>) return e;
        else return extent(static_cast<std::int64_t>(e));
    }

    extent dims_[max_rank]{};
    // In one piece with the rank: who copies what was written in pieces waits for the cache.
    static constexpr std::int64_t overfull_bit = std::int64_t{1} << 32;
    std::int64_t rank_ = 0;
};

/// A short list of axes, sizes or steps, at most max_rank, that can be a template argument.
struct index_list {
    int count = 0;
    std::int64_t values[max_rank]{};

    constexpr index_list() = default;
    template <class... I>
        requires(sizeof...(I) > 0 && sizeof...(I) <= max_rank && (std::is_integral_v<I> && ...))
    constexpr index_list(I... i) :
        count(static_cast<int>(sizeof...(I))), values{static_cast<std::int64_t>(i)...} {} // NOLINT
    /// The numbers in a std::vector, std::array or std::span; invalid_argument_error where they are more than max_rank.
    template <detail::IntegerList L> constexpr index_list(const L& numbers) { // NOLINT
        if (numbers.size() > max_rank) detail::list_is_too_long(numbers.size());
        constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
        for (auto* i = numbers.data(); i != numbers.data() + numbers.size(); ++i)
            push_back(detail::listed_number(*i, least, "a number of 64 bits with a sign is needed"));
    }
    /// invalid_argument_error where max_rank numbers are there; does not compile where that is known.
    constexpr void push_back(std::int64_t i) {
        if (count >= max_rank) detail::list_is_full(i);
        values[count++] = i;
    }
    constexpr std::int64_t operator[](int i) const { return values[i]; }
    constexpr const std::int64_t* begin() const { return values; }
    constexpr const std::int64_t* end() const { return values + count; }
    friend constexpr bool operator==(const index_list&, const index_list&) = default;
};

/// Element type and extents: all that the types know of a tensor.
struct tensor_type {
    element_type element = element_type::none;
    tenon::extents extents = {};

    friend constexpr bool operator==(const tensor_type&, const tensor_type&) noexcept = default;
};

/// Bytes of a tensor whose sizes are all numbers.
constexpr std::int64_t bytes_of(const tensor_type& t) noexcept {
    return (checked_size(t.extents.elements()) * static_cast<std::int64_t>(size_of(t.element))).saturated();
}

/// The most bytes that a tensor can have.
inline constexpr std::int64_t max_bytes = std::int64_t{1} << 62;

/// True when bytes and steps in memory of a tensor with these sizes can be counted: the product of those that are
/// numbers, zeros aside, takes no more than max_bytes.
constexpr bool is_countable(const tensor_type& t) noexcept {
    checked_size n = static_cast<std::int64_t>(size_of(t.element));
    for (const extent& e : t.extents)
        if (e.size > 0) n *= e.size;
    return n.fits() && n.value() <= max_bytes;
}

/// "784", "batch" or "?".
std::string to_string(const extent& e);
/// "[batch, 784]"; "[]" for a scalar.
std::string to_string(const extents& e);
/// "float[batch, 784]"; "nothing (empty, or moved from)" for the type of what holds nothing.
std::string to_string(const tensor_type& t);
/// "(int32[], float[3, 2])"
std::string to_string(const std::vector<tensor_type>& types);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/core/sizes/extents.ipp>
#endif
