#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/array/copy_elements.hpp>
#include <tenon/core/array/large_memory.hpp>
#include <tenon/core/array/memory_payer.hpp>
#include <tenon/core/with_element.hpp>

namespace tenon {

namespace detail {

// Lies just before the elements it owns, in the same block; for adopted memory, in a block of its own.
struct storage {
    std::atomic<std::int64_t> owners{1};
    void (*end)(storage*) noexcept;
    void* block;                   // what was allocated, or the adopter's context
    std::size_t size = 0;          // strings to be destroyed before the block is freed, or bytes of a large block
    memory_payer* payer = nullptr; // who was asked for it
    std::size_t paid = 0;          // bytes
};

struct adopted_storage : storage {
    void (*give_back)(void* context, void* data);
    void* data;
};

inline constexpr std::size_t array_alignment = 64;

// Of a small block with so many bytes of elements.
inline constexpr std::size_t block_bytes(std::size_t bytes) { return bytes + sizeof(storage) + array_alignment - 1; }

TENON_INLINE std::size_t bytes_of_texts(const std::string* texts, std::size_t count) noexcept {
    const std::size_t within = std::string().capacity();
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (texts[i].capacity() > within) bytes += texts[i].capacity() + 1;
    return bytes;
}

TENON_INLINE void retain(storage* s) noexcept { s->owners.fetch_add(1, std::memory_order_relaxed); }

TENON_INLINE void release(storage* s) noexcept {
    // The only owner needs no atomic decrement: nobody else can reach the count.
    if (s->owners.load(std::memory_order_acquire) != 1 && s->owners.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    memory_payer* const payer = s->payer;
    const std::size_t paid = s->paid;
    s->end(s);
    if (payer) payer->give(paid);
}

inline void end_small(storage* s) noexcept { ::operator delete(s->block); }
inline void end_large(storage* s) noexcept { delete_large(s->block, s->size); }
inline void end_strings(storage* s) noexcept {
    std::destroy_n(reinterpret_cast<std::string*>(s + 1), s->size);
    ::operator delete(s->block);
}
inline void end_adopted(storage* s) noexcept {
    auto* adopted = static_cast<adopted_storage*>(s);
    adopted->give_back(adopted->block, adopted->data);
    delete adopted;
}

inline void pay(memory_payer& payer, std::size_t bytes, element_type element, const extents& sizes) {
    try {
        payer.take(bytes);
    } catch (const resource_exhausted_error& e) {
        throw resource_exhausted_error("an array " + to_string(tensor_type{element, sizes}) + ": " + e.what());
    }
}

// One block for the count and the elements. Small blocks come from plain operator new and are aligned here,
// which is several times faster than asking for aligned memory.
inline storage* make_storage(element_type element, const extents& sizes, std::int64_t elements) {
    const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(element);
    void* block = nullptr;
    void (*end)(storage*) noexcept = end_small;
    std::size_t offset = 0; // of the elements
    const bool large = bytes >= large_memory && element != element_type::string;
    memory_payer* const payer = current_payer();
    const std::size_t paid = block_bytes(bytes);
    if (payer) pay(*payer, paid, element, sizes);
    if (large) {
        offset = array_alignment;
        block = new_large(bytes + offset);
        end = end_large;
    } else {
        block = ::operator new(block_bytes(bytes), std::nothrow);
        const auto address = reinterpret_cast<std::uintptr_t>(block) + sizeof(storage);
        offset = sizeof(storage) + (array_alignment - address % array_alignment) % array_alignment;
    }
    if (!block) {
        if (payer) payer->give(paid);
        throw resource_exhausted_error("array: no memory for " + to_string(tensor_type{element, sizes}) + ", " +
                                       std::to_string(bytes) + " bytes; use smaller sizes or free other arrays");
    }
    auto* data = static_cast<std::byte*>(block) + offset;
    auto* s = new (data - sizeof(storage)) storage{.end = end, .block = block, .payer = payer, .paid = paid};
    if (large) s->size = bytes + offset;
    if (element == element_type::string) {
        std::uninitialized_value_construct_n(reinterpret_cast<std::string*>(data), elements);
        s->size = static_cast<std::size_t>(elements);
        s->end = end_strings;
    }
    return s;
}

inline void require_aligned(const void* data, element_type element, const char* what) {
    const std::size_t alignment = element == element_type::string ? alignof(std::string) : size_of(element);
    if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0)
        throw invalid_argument_error(std::string(what) + ": the memory is not aligned to " + std::to_string(alignment) +
                                     " bytes, as " + name_of(element) + " must be");
}

} // namespace detail

TENON_INLINE std::int64_t checked_elements(element_type element, const extents& sizes) {
    const auto text = [&] { return to_string(tensor_type{element, sizes}); };
    if (element == element_type::none) throw invalid_argument_error("array: an element type is needed");
    if (sizes.overfull()) throw invalid_argument_error("array: more than " + std::to_string(max_rank) + " dimensions");
    bool empty = false;
    for (const extent& e : sizes) {
        if (!e.is_number())
            throw invalid_argument_error("array: " + text() + " has a size that is not a number; give its value");
        empty = empty || e.size == 0;
    }
    if (empty) return 0;
    constexpr std::int64_t limit = std::int64_t{1} << 62;
    std::int64_t bytes = static_cast<std::int64_t>(size_of(element)), elements = 1;
    for (const extent& e : sizes) {
        if (e.size > limit / bytes) throw invalid_argument_error("array: " + text() + " takes more than 2^62 bytes");
        bytes *= e.size;
        elements *= e.size;
    }
    return elements;
}

TENON_INLINE any_array::any_array(element_type element, const tenon::extents& sizes) :
    type_{element, sizes},
    elements_(checked_elements(element, sizes)),
    owner_(detail::make_storage(element, sizes, elements_)) {
    data_ = owner_ + 1;
}

TENON_INLINE any_array any_array::zeros(element_type element, const tenon::extents& sizes) {
    any_array a(element, sizes);
    if (element != element_type::string) std::memset(a.data_, 0, a.bytes());
    return a;
}

TENON_INLINE any_array any_array::view(void* data, element_type element, const tenon::extents& sizes) {
    const std::int64_t elements = checked_elements(element, sizes);
    detail::require_aligned(data, element, "array::view");
    return any_array(element, sizes, elements, data, nullptr);
}

TENON_INLINE any_array any_array::adopt(void* data, element_type element, const tenon::extents& sizes,
                                        void (*release)(void* context, void* data), void* context) {
    const std::int64_t elements = checked_elements(element, sizes);
    detail::require_aligned(data, element, "array::adopt");
    auto* owner = new detail::adopted_storage{{.end = detail::end_adopted, .block = context}, release, data};
    return any_array(element, sizes, elements, data, owner);
}

TENON_INLINE any_array any_array::copy() const {
    if (!*this) return {};
    any_array a(type_.element, type_.extents);
    detail::copy_elements(type_.element, a.data_, 0, data_, 0, elements_);
    if (type_.element == element_type::string) a.pay_for_texts();
    return a;
}

TENON_INLINE void any_array::pay_for_texts() {
    if (!owner_ || owner_->end != detail::end_strings) return;
    if (!owner_->payer) owner_->payer = current_payer();
    if (!owner_->payer) return;
    const std::size_t all = detail::block_bytes(owner_->size * sizeof(std::string)) +
                            detail::bytes_of_texts(reinterpret_cast<const std::string*>(owner_ + 1), owner_->size);
    if (all <= owner_->paid) return;
    detail::pay(*owner_->payer, all - owner_->paid, type_.element, type_.extents);
    owner_->paid = all;
}

TENON_INLINE any_array any_array::share() const {
    if (owner_) detail::retain(owner_);
    return any_array(type_.element, type_.extents, elements_, data_, owner_);
}

TENON_INLINE bool any_array::is_unique() const noexcept {
    return owner_ && owner_->owners.load(std::memory_order_acquire) == 1;
}

TENON_INLINE void any_array::wrong_element(element_type wanted) const {
    throw invalid_argument_error("array: " + to_string(type_) + " does not hold elements of type " + name_of(wanted));
}

TENON_INLINE any_array any_array::row(std::int64_t i) {
    if (rank() == 0)
        throw out_of_range_error("array: row " + std::to_string(i) + " of " +
                                 (*this ? std::string("a scalar, which has no rows") : to_string(type_)));
    if (i < 0 || i >= extents()[0].size)
        throw out_of_range_error("array: row " + std::to_string(i) + " of " + to_string(type_) + " does not exist");
    any_array a = share();
    a.type_.extents.erase(0);
    a.elements_ = elements_ / extents()[0].size;
    a.data_ = at(i * a.elements_);
    return a;
}

TENON_INLINE any_array any_array::slice(std::int64_t begin, std::int64_t end) {
    if (rank() == 0 || begin < 0 || begin > end || end > extents()[0].size)
        throw out_of_range_error("array: rows " + std::to_string(begin) + " to " + std::to_string(end) + " of " +
                                 to_string(type_) + " do not exist");
    any_array a = share();
    const std::int64_t row_elements = extents()[0].size == 0 ? 0 : elements_ / extents()[0].size;
    a.type_.extents[0] = end - begin;
    a.elements_ = (end - begin) * row_elements;
    a.data_ = at(begin * row_elements);
    return a;
}

TENON_INLINE any_array any_array::reshape(const tenon::extents& sizes) & { return share().reshape(sizes); }

TENON_INLINE any_array any_array::reshape(const tenon::extents& sizes) && {
    tenon::extents wanted = sizes;
    int unknown = -1, unknowns = 0;
    for (int i = 0; i < wanted.rank(); ++i) {
        if (wanted[i].is_number()) continue;
        unknown = i;
        ++unknowns;
        wanted[i] = 1;
    }
    bool possible = *this && unknowns < 2;
    if (possible) {
        const std::int64_t known = checked_elements(type_.element, wanted);
        possible = unknowns == 0 ? known == elements_ : known > 0 && elements_ % known == 0;
        if (possible && unknowns == 1) wanted[unknown] = elements_ / known;
    }
    if (!possible)
        throw invalid_argument_error("array: " + to_string(type_) + " of " + std::to_string(elements_) +
                                     " elements cannot be reshaped to " + to_string(sizes));
    type_.extents = wanted;
    return std::move(*this);
}

TENON_INLINE bool operator==(const any_array& a, const any_array& b) {
    if (a.type() != b.type()) return false;
    if (!a) return true;
    return detail::with_element(a.element(), [&]<class T>(const T&) {
        const T* first = a.data<T>();
        return std::equal(first, first + a.elements(), b.data<T>());
    });
}

TENON_INLINE bool all_close(const any_array& a, const any_array& b, double rtol, double atol) {
    if (a.element() != b.element() || !is_numeric(a.element()))
        throw invalid_argument_error("all_close: " + to_string(a.type()) + " and " + to_string(b.type()) +
                                     " are not numbers of one type");
    if (a.extents() != b.extents()) return false;
    return detail::with_element(a.element(), [&]<class T>(const T&) {
        if constexpr (std::is_same_v<T, std::string>) return false;
        else {
            const T *x = a.data<T>(), *y = b.data<T>();
            for (std::int64_t i = 0; i < a.elements(); ++i) {
                if (x[i] == y[i]) continue;
                const double u = static_cast<double>(x[i]), v = static_cast<double>(y[i]);
                if (!std::isfinite(u) || !std::isfinite(v) || !(std::abs(u - v) <= atol + rtol * std::abs(v)))
                    return false;
            }
            return true;
        }
    });
}

TENON_INLINE std::string misfit(const tensor_type& given, const tensor_type& declared) {
    const auto say = [&](const std::string& why) {
        return to_string(given) + " does not fit " + to_string(declared) + ": " + why;
    };
    if (given.element != declared.element)
        return say(std::string("the elements are ") + name_of(given.element) + ", not " + name_of(declared.element));
    const extents &is = given.extents, &want = declared.extents;
    if (is.rank() != want.rank())
        return say("the rank is " + std::to_string(is.rank()) + ", not " + std::to_string(want.rank()));
    for (int i = 0; i < want.rank(); ++i) {
        if (want[i].is_number() && is[i].size != want[i].size)
            return say("size " + std::to_string(i) + " is " + to_string(is[i]) + ", not " + to_string(want[i]));
        for (int j = 0; j < i && want[i].is_named(); ++j)
            if (want[i] == want[j] && is[i].size != is[j].size)
                return say(std::string(want[i].name) + " is both " + to_string(is[j]) + " and " + to_string(is[i]));
    }
    return {};
}

} // namespace tenon
