#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tenon/core/half.hpp>

/// Numbers as keys without sign, which are in the same order: what sorts by digits look at.

namespace tenon {

/// Of at least 32 bits.
template <class T> using ordered_key_t = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

namespace detail {
template <class T>
using bits_of_size = std::conditional_t<
    sizeof(T) == 8, std::uint64_t,
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;
template <class T> constexpr bits_of_size<T> bits_of_infinity() {
    if constexpr (std::is_same_v<T, half>) return 0x7C00;
    else if constexpr (std::is_same_v<T, bfloat16>) return 0x7F80;
    else return std::bit_cast<bits_of_size<T>>(std::numeric_limits<T>::infinity());
}
} // namespace detail

/// The key of a number: a lesser one's is less, or, descending, larger. -0 and 0 have one key, and so have all NaNs, the largest.
template <class T> constexpr ordered_key_t<T> ordered_key(const T& x, bool descending) noexcept {
    using U = detail::bits_of_size<T>;
    constexpr U sign = static_cast<U>(U{1} << (8 * sizeof(T) - 1)), all = static_cast<U>(~U{});
    U key = __builtin_bit_cast(U, x);
    if constexpr (!std::is_integral_v<T>) {
        const U magnitude = static_cast<U>(key & static_cast<U>(~sign));
        if (magnitude > detail::bits_of_infinity<T>()) key = all;
        else if (magnitude == 0) key = sign;
        else key = static_cast<U>(key ^ ((key & sign) ? all : sign));
    } else if constexpr (std::is_signed_v<T>) key = static_cast<U>(key ^ sign);
    return static_cast<U>(descending ? static_cast<U>(~key) : key);
}
/// The number of a key; of those that several numbers have, one of them.
template <class T> constexpr T number_of_key(ordered_key_t<T> of, bool descending) noexcept {
    using U = detail::bits_of_size<T>;
    constexpr U sign = static_cast<U>(U{1} << (8 * sizeof(T) - 1)), all = static_cast<U>(~U{});
    U key = static_cast<U>(descending ? ~of : of);
    if constexpr (!std::is_integral_v<T>) key = static_cast<U>(key ^ ((key & sign) ? sign : all));
    else if constexpr (std::is_signed_v<T>) key = static_cast<U>(key ^ sign);
    return __builtin_bit_cast(T, key);
}

} // namespace tenon
