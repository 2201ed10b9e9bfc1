#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <net/wire/values.hpp>
#include <tenon/core/members.hpp>

/// Structs as bytes: their members, one after another. What a call has is so said once, in its struct; its names are those of
/// docs/protocol.md and of errors. A member that is added, also to a struct of the library that a call has, changes the protocol.

namespace tenon::net {

namespace detail {

template <class T> struct list_of : std::false_type {};
template <class T> struct list_of<std::vector<T>> : std::true_type { using element = T; };
template <class T> struct digits_of : std::false_type {};
template <std::size_t N> struct digits_of<std::array<std::byte, N>> : std::true_type {};
template <class T, class... Others> inline constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);

} // namespace detail

/// A struct that is written member by member.
template <class T>
concept Fielded = std::is_aggregate_v<T> && !detail::digits_of<T>::value &&
                  !detail::is_one_of<T, packed, size_names, tensor_type, device_name, failure>;

/// How many values an enumeration has that travels: 0 .. count - 1.
template <class E> inline constexpr std::size_t enum_count = 0;

namespace detail {

template <class... M> struct member_types {};
struct as_types {
    template <class... M> member_types<std::remove_const_t<M>...> operator()(M&...) const;
};
template <class T> using members_of = decltype(with_members(std::declval<T&>(), as_types()));

template <class V> constexpr std::size_t least_bytes();
template <class... M> constexpr std::size_t least_bytes_of(member_types<M...>) { return (least_bytes<M>() + ... + 0); }

// The fewest bytes that a value takes: lists that cannot be there are refused before anything is allocated.
template <class V> constexpr std::size_t least_bytes() {
    if constexpr (std::is_arithmetic_v<V> || std::is_enum_v<V>) return sizeof(V);
    else if constexpr (digits_of<V>::value) return sizeof(V);
    else if constexpr (std::is_same_v<V, any_array>) return 1;
    else if constexpr (std::is_same_v<V, tensor_type>) return 2;
    else if constexpr (std::is_same_v<V, failure>) return 5;
    else if constexpr (std::is_same_v<V, size_names>) return 0;
    else if constexpr (Fielded<V>) return least_bytes_of(members_of<V>());
    else return 4; // a text or a list
}

// Whether there is an M in it, wherever.
template <class V, class M> constexpr bool has_any();
template <class M, class... Of> constexpr bool has_any_of(member_types<Of...>) { return (has_any<Of, M>() || ...); }
template <class V, class M> constexpr bool has_any() {
    if constexpr (std::is_same_v<V, M>) return true;
    else if constexpr (list_of<V>::value) return has_any<typename list_of<V>::element, M>();
    else if constexpr (Fielded<V>) return has_any_of<M>(members_of<V>());
    else return false;
}

} // namespace detail

/// The longest list of a call.
inline constexpr std::size_t most_entries = 1 << 20;
/// The same of what takes far more memory than bytes.
inline constexpr std::size_t most_arrays = 1 << 16;

template <class V> void put_value(value_writer& to, const V& v) {
    if constexpr (std::is_same_v<V, bool>) to.number(static_cast<std::uint8_t>(v));
    else if constexpr (std::is_enum_v<V>) {
        static_assert(enum_count<V> > 0, "tenon::net: say enum_count<> of an enumeration that travels");
        to.number(static_cast<std::uint8_t>(v));
    } else if constexpr (std::is_arithmetic_v<V>) to.number(v);
    else if constexpr (std::is_same_v<V, std::string>) to.text(v);
    else if constexpr (detail::digits_of<V>::value) to.raw(v.data(), v.size());
    else if constexpr (std::is_same_v<V, packed>) {
        to.number(static_cast<std::uint32_t>(v.body.size()));
        to.raw(v.body.data(), v.body.size());
        to.number(static_cast<std::uint32_t>(v.arrays.size()));
        for (const any_array& a : v.arrays) to.arrays.push_back(a.share());
    } else if constexpr (std::is_same_v<V, size_names>) {
        // they are in the types beside it
    } else if constexpr (detail::list_of<V>::value) {
        to.number(static_cast<std::uint32_t>(v.size()));
        for (const auto& e : v) put_value(to, e);
    } else if constexpr (Fielded<V>) with_members(v, [&](const auto&... members) { (put_value(to, members), ...); });
    else put(to, v);
}

template <class V> void take_value(value_reader& from, V& v);
// Errors name the member.
template <class V> void take_field(value_reader& from, const char* name, V& v) {
    try {
        take_value(from, v);
    } catch (const invalid_argument_error& e) {
        throw invalid_argument_error(std::string(name) + ": " + e.what());
    }
}
template <class V> void take_value(value_reader& from, V& v) {
    if constexpr (std::is_same_v<V, bool>) v = from.boolean();
    else if constexpr (std::is_enum_v<V>) {
        const auto n = from.number<std::uint8_t>();
        if (n >= enum_count<V>) from.fail("there is no kind " + std::to_string(n));
        v = static_cast<V>(n);
    } else if constexpr (std::is_arithmetic_v<V>) v = from.number<V>();
    else if constexpr (std::is_same_v<V, std::string>) v = from.text();
    else if constexpr (detail::digits_of<V>::value) {
        const auto raw = from.raw(v.size());
        std::copy(raw.begin(), raw.end(), v.begin());
    } else if constexpr (std::is_same_v<V, packed>) {
        const auto body = from.raw(from.count(1));
        v.body.assign(body.begin(), body.end());
        const auto arrays = from.number<std::uint32_t>();
        if (arrays > from.arrays_left())
            from.fail(std::to_string(arrays) + " arrays are said to stand beside it where " +
                      std::to_string(from.arrays_left()) + " are left");
        v.arrays.clear();
        for (std::uint32_t i = 0; i < arrays; ++i) v.arrays.push_back(from.next_array());
    } else if constexpr (std::is_same_v<V, size_names>) v.held = from.names().held;
    else if constexpr (detail::list_of<V>::value) {
        using element = typename detail::list_of<V>::element;
        constexpr bool large = std::is_same_v<element, any_array> || std::is_same_v<element, tensor_type>;
        const std::size_t n = from.count(detail::least_bytes<element>());
        if (n > (large ? most_arrays : most_entries)) from.fail("a list of " + std::to_string(n) + " is too long");
        v.clear();
        for (std::size_t i = 0; i < n; ++i) {
            element e{};
            take_value(from, e);
            v.push_back(std::move(e));
        }
    } else if constexpr (Fielded<V>)
        each_member(v, [&](const char* name, auto& member) { take_field(from, name, member); });
    else if constexpr (std::is_same_v<V, any_array>) v = take_array(from);
    else if constexpr (std::is_same_v<V, tensor_type>) v = take_type(from);
    else if constexpr (std::is_same_v<V, device_name>) v = take_device(from);
    else {
        static_assert(std::is_same_v<V, failure>, "tenon::net: there are no bytes of this type");
        v = take_failure(from);
    }
}

} // namespace tenon::net
