#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <tenon/core/half.hpp>

namespace tenon {

/// The types a tensor's elements can have, as values.
enum class element_type : std::uint8_t {
    none,
    float32,
    float64,
    float16,
    bfloat16,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    boolean,
    string,
};

constexpr const char* name_of(element_type type) noexcept {
    constexpr const char* names[] = {"none",  "float", "double", "half",   "bfloat16", "int8", "int16", "int32",
                                     "int64", "uint8", "uint16", "uint32", "uint64",   "bool", "string"};
    return names[static_cast<int>(type)];
}

/// Bytes that one element takes in an array's memory.
constexpr std::size_t size_of(element_type type) noexcept {
    constexpr std::size_t sizes[] = {0, 4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, sizeof(bool), sizeof(std::string)};
    return sizes[static_cast<int>(type)];
}

constexpr bool is_floating(element_type type) noexcept {
    return type >= element_type::float32 && type <= element_type::bfloat16;
}
constexpr bool is_signed_integer(element_type type) noexcept {
    return type >= element_type::int8 && type <= element_type::int64;
}
constexpr bool is_integer(element_type type) noexcept {
    return type >= element_type::int8 && type <= element_type::uint64;
}
constexpr bool is_numeric(element_type type) noexcept { return is_floating(type) || is_integer(type); }

/// A set of element types.
struct element_types {
    std::uint32_t bits = 0;

    constexpr bool has(element_type e) const noexcept { return bits >> static_cast<int>(e) & 1; }
    constexpr bool empty() const noexcept { return bits == 0; }
    constexpr element_types with(element_type e) const noexcept { return {bits | 1u << static_cast<int>(e)}; }
    constexpr element_types without(element_type e) const noexcept { return {bits & ~(1u << static_cast<int>(e))}; }
    friend constexpr bool operator==(element_types, element_types) = default;
};
inline constexpr element_types no_elements{};
inline constexpr element_types all_elements{(1u << (static_cast<int>(element_type::string) + 1)) - 2};
/// Those that are numbers or bools.
inline constexpr element_types fixed_size_elements = all_elements.without(element_type::string);

/// The element_type of a C++ type; element_type::none where it is not one.
template <class T> inline constexpr element_type element_type_of = element_type::none;
template <> inline constexpr element_type element_type_of<float> = element_type::float32;
template <> inline constexpr element_type element_type_of<double> = element_type::float64;
template <> inline constexpr element_type element_type_of<half> = element_type::float16;
template <> inline constexpr element_type element_type_of<bfloat16> = element_type::bfloat16;
template <> inline constexpr element_type element_type_of<std::int8_t> = element_type::int8;
template <> inline constexpr element_type element_type_of<std::int16_t> = element_type::int16;
template <> inline constexpr element_type element_type_of<std::int32_t> = element_type::int32;
template <> inline constexpr element_type element_type_of<std::int64_t> = element_type::int64;
template <> inline constexpr element_type element_type_of<std::uint8_t> = element_type::uint8;
template <> inline constexpr element_type element_type_of<std::uint16_t> = element_type::uint16;
template <> inline constexpr element_type element_type_of<std::uint32_t> = element_type::uint32;
template <> inline constexpr element_type element_type_of<std::uint64_t> = element_type::uint64;
template <> inline constexpr element_type element_type_of<bool> = element_type::boolean;
template <> inline constexpr element_type element_type_of<std::string> = element_type::string;

/// A C++ type that can be a tensor's element.
template <class T>
concept Element = element_type_of<T>
!= element_type::none;

namespace detail {
template <element_type E> struct element;
template <> struct element<element_type::float32> { using type = float; };
template <> struct element<element_type::float64> { using type = double; };
template <> struct element<element_type::float16> { using type = half; };
template <> struct element<element_type::bfloat16> { using type = bfloat16; };
template <> struct element<element_type::int8> { using type = std::int8_t; };
template <> struct element<element_type::int16> { using type = std::int16_t; };
template <> struct element<element_type::int32> { using type = std::int32_t; };
template <> struct element<element_type::int64> { using type = std::int64_t; };
template <> struct element<element_type::uint8> { using type = std::uint8_t; };
template <> struct element<element_type::uint16> { using type = std::uint16_t; };
template <> struct element<element_type::uint32> { using type = std::uint32_t; };
template <> struct element<element_type::uint64> { using type = std::uint64_t; };
template <> struct element<element_type::boolean> { using type = bool; };
template <> struct element<element_type::string> { using type = std::string; };
} // namespace detail

/// The C++ type of an element_type.
template <element_type E> using element_t = typename detail::element<E>::type;

/// The type a kernel computes an element type in: half and bfloat16 are read into float and rounded when
/// stored.
constexpr element_type compute_type(element_type e) noexcept {
    return e == element_type::float16 || e == element_type::bfloat16 ? element_type::float32 : e;
}

} // namespace tenon
