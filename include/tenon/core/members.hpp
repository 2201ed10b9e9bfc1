#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tenon/core/config.hpp>

/// The members of a struct, in order, and their names, so that nothing has to list them beside it: op attributes and the
/// protocol's messages are read and written by these. The struct is an aggregate without base classes, of at most 24 members,
/// none of which is an array of C.

// clang: the object whose members' places are looked at is meant to be defined nowhere.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif

namespace tenon {

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
inline constexpr std::size_t most_members = 24;
template <class T, std::size_t N = 0> constexpr std::size_t count_members() {
    if constexpr (is_made_of<T>(std::make_index_sequence<N + 1>())) return count_members<T, N + 1>();
    else return N;
}
// As many as it takes to make one, where some member cannot be made of nothing.
template <class T, std::size_t N = 0> constexpr std::size_t fewest_to_make() {
    if constexpr (N > most_members) return 0;
    else if constexpr (is_made_of<T>(std::make_index_sequence<N>())) return N;
    else return fewest_to_make<T, N + 1>();
}

} // namespace detail

template <class T>
inline constexpr std::size_t
    member_count = detail::count_members<std::remove_cv_t<T>, detail::fewest_to_make<std::remove_cv_t<T>>()>();

/// f(first, second, ...), with all of them. A wrong count does not compile.
template <class T, class F> constexpr decltype(auto) with_members(T& t, F&& f) {
    constexpr std::size_t n = member_count<T>;
    static_assert(n <= 24, "tenon: a struct whose members are listed by the compiler has 24 at most");
    if constexpr (n == 0) return f();
#define TENON_MEMBERS(N, ...)    \
    else if constexpr (n == N) { \
        auto& [__VA_ARGS__] = t; \
        return f(__VA_ARGS__);   \
    }
    TENON_MEMBERS(1, a)
    TENON_MEMBERS(2, a, b)
    TENON_MEMBERS(3, a, b, c)
    TENON_MEMBERS(4, a, b, c, d)
    TENON_MEMBERS(5, a, b, c, d, e)
    TENON_MEMBERS(6, a, b, c, d, e, g)
    TENON_MEMBERS(7, a, b, c, d, e, g, h)
    TENON_MEMBERS(8, a, b, c, d, e, g, h, i)
    TENON_MEMBERS(9, a, b, c, d, e, g, h, i, j)
    TENON_MEMBERS(10, a, b, c, d, e, g, h, i, j, k)
    TENON_MEMBERS(11, a, b, c, d, e, g, h, i, j, k, l)
    TENON_MEMBERS(12, a, b, c, d, e, g, h, i, j, k, l, m)
    TENON_MEMBERS(13, a, b, c, d, e, g, h, i, j, k, l, m, o)
    TENON_MEMBERS(14, a, b, c, d, e, g, h, i, j, k, l, m, o, p)
    TENON_MEMBERS(15, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q)
    TENON_MEMBERS(16, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r)
    TENON_MEMBERS(17, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s)
    TENON_MEMBERS(18, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u)
    TENON_MEMBERS(19, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v)
    TENON_MEMBERS(20, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w)
    TENON_MEMBERS(21, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x)
    TENON_MEMBERS(22, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y)
    TENON_MEMBERS(23, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y, z)
    TENON_MEMBERS(24, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y, z, last)
#undef TENON_MEMBERS
}

namespace detail {

// A compiler says a member's name where it says a template's argument that is the member's place.
template <class T> struct nowhere {
    const T value;
    static const nowhere here;
};
struct place {
    const void* of;
};
// Member number I. A function of the compiler's alone, so that no program holds the place, which is nowhere.
template <std::size_t I> struct place_picker {
    template <class... M> constexpr place operator()(const M&... members) const {
        const void* const all[] = {&members...};
        return {all[I]};
    }
};
template <class T, std::size_t I> consteval place member_place() {
    return with_members(nowhere<T>::here.value, place_picker<I>());
}

template <place Place> constexpr std::string_view said_of_place() { return __PRETTY_FUNCTION__; }

// What is said behind the name, of every place.
struct probe {
    int probed, other;
};
inline constexpr std::size_t said_behind_a_name =
    said_of_place<member_place<probe, 0>()>().size() - said_of_place<member_place<probe, 0>()>().rfind("probed") - 6;

constexpr std::string_view name_in(std::string_view said) {
    said.remove_suffix(said_behind_a_name);
    std::size_t begin = said.size();
    while (begin > 0 &&
           (said[begin - 1] == '_' || (said[begin - 1] >= '0' && said[begin - 1] <= '9') ||
            (said[begin - 1] >= 'a' && said[begin - 1] <= 'z') || (said[begin - 1] >= 'A' && said[begin - 1] <= 'Z')))
        --begin;
    return said.substr(begin);
}

static_assert(name_in(said_of_place<member_place<probe, 1>()>()) == "other",
              "tenon: how this compiler says the name of a member is not known (core/members.hpp)");

// Each an array of its own, ended by a zero.
template <class T, std::size_t I> constexpr auto text_of_name() {
    constexpr std::string_view name = name_in(said_of_place<member_place<T, I>()>());
    std::array<char, name.size() + 1> text{};
    for (std::size_t k = 0; k < name.size(); ++k) text[k] = name[k];
    return text;
}
template <class T, std::size_t I> inline constexpr auto name_of_member = text_of_name<T, I>();
template <class T, std::size_t... I> constexpr auto pointers_to_names(std::index_sequence<I...>) {
    return std::array<const char*, sizeof...(I)>{name_of_member<T, I>.data()...};
}

} // namespace detail

template <class T>
inline constexpr auto member_names = detail::pointers_to_names<T>(std::make_index_sequence<member_count<T>>());

/// f(name, member) of each; or of those that the struct says itself, where names are to be other ones than its members':
///     static constexpr void fields(auto&& field) { field("micro-batches", &attributes::parts); ... }
template <class T, class F> constexpr void each_member(T& t, F&& f) {
    if constexpr (requires { T::fields([](const char*, auto) {}); })
        T::fields([&](const char* name, auto member) { f(name, t.*member); });
    else
        with_members(t, [&](auto&... members) {
            const char* const* name = member_names<std::remove_cv_t<T>>.data();
            (f(*name++, members), ...);
            static_cast<void>(name);
        });
}

} // namespace tenon

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
