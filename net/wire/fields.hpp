#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <net/wire/values.hpp>

/// Structs as bytes. A struct says its members once, in
///     static constexpr void fields(auto&& field) { field("session", &run::session); ... }
/// from which it is written, read and named in docs/protocol.md; one that is left out does not compile. Structs of the library
/// say theirs beside it, in fields_of.

namespace tenon::net {

/// For a struct that is not ours to change.
template <class T> struct fields_of;

namespace detail {

template <class T>
concept HasFields = requires {
    T::fields([](const char*, auto) {});
};
template <class T>
concept HasOuterFields = requires {
    fields_of<T>::fields([](const char*, auto) {});
};

} // namespace detail

/// A struct that has a list of its members.
template <class T>
concept Fielded = detail::HasFields<T> || detail::HasOuterFields<T>;

template <Fielded T> constexpr void each_field(auto&& f) {
    if constexpr (detail::HasFields<T>) T::fields(f);
    else fields_of<T>::fields(f);
}

/// How many values an enumeration has that travels: 0 .. count - 1.
template <class E> inline constexpr std::size_t enum_count = 0;

namespace detail {

// Becomes any member; not what a device_name is read from, for then there would be two ways. Never called.
struct anything {
    template <class T>
        requires(!std::is_same_v<T, std::string_view>)
    operator T() const;
};
template <class T, std::size_t... I> constexpr bool is_made_of(std::index_sequence<I...>) {
    return requires { T{(static_cast<void>(I), anything{})...}; };
}
template <class T, std::size_t N = 0> constexpr std::size_t count_members() {
    if constexpr (is_made_of<T>(std::make_index_sequence<N + 1>())) return count_members<T, N + 1>();
    else return N;
}
template <class T> constexpr std::size_t count_fields() {
    std::size_t n = 0;
    each_field<T>([&](const char*, auto) { ++n; });
    return n;
}

template <class T> struct list_of : std::false_type {};
template <class T> struct list_of<std::vector<T>> : std::true_type { using element = T; };
template <class T> struct digits_of : std::false_type {};
template <std::size_t N> struct digits_of<std::array<std::byte, N>> : std::true_type {};

// The fewest bytes that a value takes: lists that cannot be there are refused before anything is allocated.
template <class V> constexpr std::size_t least_bytes() {
    if constexpr (std::is_arithmetic_v<V> || std::is_enum_v<V>) return sizeof(V);
    else if constexpr (digits_of<V>::value) return sizeof(V);
    else if constexpr (std::is_same_v<V, any_array>) return 1;
    else if constexpr (std::is_same_v<V, tensor_type>) return 2;
    else if constexpr (std::is_same_v<V, failure>) return 5;
    else if constexpr (std::is_same_v<V, size_names>) return 0;
    else if constexpr (Fielded<V>) {
        std::size_t sum = 0;
        each_field<V>([&]<class S, class M>(const char*, M S::*) { sum += least_bytes<M>(); });
        return sum;
    } else return 4; // a text or a list
}

// Whether there is an M in it, wherever.
template <class V, class M> constexpr bool has_any() {
    bool any = std::is_same_v<V, M>;
    if constexpr (list_of<V>::value) any = any || has_any<typename list_of<V>::element, M>();
    else if constexpr (Fielded<V>)
        each_field<V>([&]<class S, class F>(const char*, F S::*) { any = any || has_any<F, M>(); });
    return any;
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
    } else if constexpr (Fielded<V>) {
        static_assert(detail::count_fields<V>() == detail::count_members<V>(),
                      "tenon::net: a member of this struct is missing in its list of fields");
        each_field<V>([&](const char*, auto member) { put_value(to, v.*member); });
    } else put(to, v);
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
        each_field<V>([&](const char* name, auto member) {
            try {
                take_value(from, v.*member);
            } catch (const invalid_argument_error& e) {
                throw invalid_argument_error(std::string(name) + ": " + e.what());
            }
        });
    else if constexpr (std::is_same_v<V, any_array>) v = take_array(from);
    else if constexpr (std::is_same_v<V, tensor_type>) v = take_type(from);
    else if constexpr (std::is_same_v<V, device_name>) v = take_device(from);
    else {
        static_assert(std::is_same_v<V, failure>, "tenon::net: there are no bytes of this type");
        v = take_failure(from);
    }
}

} // namespace tenon::net
