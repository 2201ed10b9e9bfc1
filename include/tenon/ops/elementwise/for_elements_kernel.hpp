#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/half.hpp>
#include <tenon/op/kernel.hpp>

/// A kernel template's instance for the element type of a node.

namespace tenon::detail {

template <class... T> struct element_list {};
using floating_list = element_list<float, double, half, bfloat16>;
using integer_list = element_list<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                  std::uint32_t, std::uint64_t>;
using number_list = element_list<float, double, half, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                 std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
/// For what gives signed and unsigned integers the same bits, as sums and products do, which wrap around: with
/// without_sign(e).
using signless_list =
    element_list<float, double, half, bfloat16, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;

/// The unsigned integer of a signed one's size; other types are themselves.
constexpr element_type without_sign(element_type e) noexcept {
    switch (e) {
    case element_type::int8: return element_type::uint8;
    case element_type::int16: return element_type::uint16;
    case element_type::int32: return element_type::uint32;
    case element_type::int64: return element_type::uint64;
    default: return e;
    }
}

/// a + b: of 16-bit floats computed in float, of integers wrapping around.
template <class T> T wrapping_sum(const T& a, const T& b) {
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
        return T(static_cast<float>(a) + static_cast<float>(b));
    else if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else return a + b;
}

/// Kernel<T>, made of the setup and the arguments, for the T of the list that is `e`.
template <template <class> class Kernel, class... T, class... A>
kernel_pointer kernel_for(element_list<T...>, element_type e, const kernel_setup& s, const A&... a) {
    kernel_pointer made;
    (void)((e == element_type_of<T> && (made = std::make_unique<Kernel<T>>(s, a...))) || ...);
    if (!made) throw internal_error(std::string("there is no kernel for elements of type ") + name_of(e));
    return made;
}

} // namespace tenon::detail
