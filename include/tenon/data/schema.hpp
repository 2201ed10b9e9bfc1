#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/array/array.hpp>
#include <tenon/ops/queue/queue.hpp>

/// What the elements of a data set are: components as queues have them, or structs with named members.
///
///     struct sample {
///         tn::array<std::uint8_t, tn::shape<28, 28>> image;
///         std::int32_t label;
///         static constexpr auto fields() { return tn::record_fields("image", &sample::image, "label", &sample::label); }
///     };

namespace tenon {

/// A member of a struct that is an element, and what it is called.
template <class R, class M> struct record_field {
    const char* name;
    M R::*member;
};

/// The members of a struct that are components, in order, each with its name: what its fields() returns.
constexpr std::tuple<> record_fields() { return {}; }
template <class R, class M, class... Rest>
constexpr auto record_fields(const char* name, M R::*member, const Rest&... rest) {
    return std::tuple_cat(std::tuple<record_field<R, M>>{{name, member}}, record_fields(rest...));
}

/// A struct whose fields() says what its members are called.
template <class R>
concept Record = std::is_class_v<R> && requires {
    R::fields();
};

namespace detail {

template <class... Operand> struct operand_list {};

// A scalar is its element, other components are arrays.
template <class C> struct host_of;
template <class T, class S> struct host_of<operand_type<T, S>> { using type = array<T, S>; };
template <class T> struct host_of<operand_type<T, shape<>>> { using type = T; };
template <class C> using host_t = typename host_of<C>::type;

template <class C> struct component_of_operand;
template <class T, class S> struct component_of_operand<operand_type<T, S>> { using type = component<T, S>; };
template <class T> struct component_of_operand<operand_type<T, shape<>>> { using type = T; };

// What stands for a component where it is named: array<T, S>, T, a tensor. void: nothing does.
template <class X> struct named_component { using type = void; };
template <Element T> struct named_component<T> { using type = operand_type<T, shape<>>; };
template <class T, Shape S> struct named_component<array<T, S>> { using type = operand_type<T, S>; };
template <class T, Shape S> struct named_component<const_array<T, S>> { using type = operand_type<T, S>; };

template <class T> T scalar_of(any_array& a) {
    if constexpr (std::is_same_v<T, std::string>) {
        if (a.is_unique()) return std::move(*static_cast<T*>(a.data()));
    }
    return *static_cast<const T*>(a.data());
}
template <class Host> Host host_from(any_array& a) {
    if constexpr (Element<Host>) return scalar_of<Host>(a);
    else return Host(std::move(a));
}
template <Element T> any_array array_from(const T& value) {
    any_array a(element_type_of<T>, extents());
    *static_cast<T*>(a.data()) = value;
    return a;
}
template <class T, class S> any_array array_from(const array<T, S>& value) { return value.untyped().share(); }
template <class T, class S> any_array array_from(array<T, S>&& value) { return std::move(value).untyped(); }
template <class T, class S> any_array array_from(const const_array<T, S>& value) { return value.untyped().share(); }

/// Elements with components C...: what they are on the host, and how arrays become that and are made of it.
template <class... C> struct schema {
    using operands = operand_list<component_t<C>...>;
    using hosts = std::tuple<host_t<component_t<C>>...>;
    static constexpr bool is_single = sizeof...(C) == 1;
    using host = std::conditional_t<is_single, std::tuple_element_t<0, hosts>, hosts>;

    static host to_host(std::vector<any_array>& element) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            if constexpr (is_single) return host_from<host>(element[0]);
            else return host(host_from<std::tuple_element_t<I, hosts>>(element[I])...);
        }
        (std::index_sequence_for<C...>{});
    }
    /// f on the components of an element, which stays.
    template <class F> static decltype(auto) call(F& f, const std::vector<any_array>& element) {
        std::vector<any_array> shares;
        for (const any_array& a : element) shares.push_back(a.share());
        if constexpr (is_single) return f(to_host(shares));
        else return std::apply(f, to_host(shares));
    }
    /// The same, of an element that is not needed any more.
    template <class F> static decltype(auto) consume(F& f, std::vector<any_array>& element) {
        if constexpr (is_single) return f(to_host(element));
        else return std::apply(f, to_host(element));
    }
    template <class F> static constexpr bool can_call = std::is_invocable_v<F&, host_t<component_t<C>>...>;
    template <class F> struct called { using type = std::invoke_result_t<F&, host_t<component_t<C>>...>; };
    static std::vector<any_array> to_arrays(host&& value) {
        std::vector<any_array> element;
        if constexpr (is_single) element.push_back(array_from(std::move(value)));
        else std::apply([&](auto&... part) { (element.push_back(array_from(std::move(part))), ...); }, value);
        return element;
    }
};

template <Record R> struct schema<R> {
    using members = decltype(R::fields());
    template <class F> struct member_of;
    template <class M> struct member_of<record_field<R, M>> { using type = M; };
    template <class Fields> struct split;
    template <class... F> struct split<std::tuple<F...>> {
        static_assert((!std::is_void_v<typename named_component<typename member_of<F>::type>::type> && ...),
                      "tenon::record_fields: a member is a number, a text, or array<T, shape<...>>");
        using operands = operand_list<typename named_component<typename member_of<F>::type>::type...>;
    };
    using operands = typename split<members>::operands;
    using host = R;

    static R to_host(std::vector<any_array>& element) {
        R value{};
        std::size_t i = 0;
        std::apply(
            [&](const auto&... f) {
                ((value.*(f.member) = host_from<std::remove_cvref_t<decltype(value.*(f.member))>>(element[i++])), ...);
            },
            R::fields());
        return value;
    }
    template <class F> static decltype(auto) call(F& f, const std::vector<any_array>& element) {
        std::vector<any_array> shares;
        for (const any_array& a : element) shares.push_back(a.share());
        return f(to_host(shares));
    }
    template <class F> static decltype(auto) consume(F& f, std::vector<any_array>& element) {
        return f(to_host(element));
    }
    template <class F> static constexpr bool can_call = std::is_invocable_v<F&, R>;
    template <class F> struct called { using type = std::invoke_result_t<F&, R>; };
    static std::vector<any_array> to_arrays(R&& value) {
        std::vector<any_array> element;
        std::apply([&](const auto&... f) { (element.push_back(array_from(std::move(value.*(f.member)))), ...); },
                   R::fields());
        return element;
    }
    static std::vector<std::string> names() {
        return std::apply([](const auto&... f) { return std::vector<std::string>{f.name...}; }, R::fields());
    }
};

// Which of its struct's fields() a member is; one that fields() does not name does not compile.
template <auto Member> constexpr std::size_t field_index() {
    constexpr auto of = []<class R, class M>(M R::*member) {
        std::size_t at = 0, found = std::tuple_size_v<decltype(R::fields())>;
        const auto look = [&](const auto& f) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(f.member)>, M R::*>) {
                if (f.member == member) found = at;
            }
            ++at;
        };
        std::apply([&](const auto&... f) { (look(f), ...); }, R::fields());
        return std::pair(found, at);
    }(Member);
    static_assert(of.first < of.second, "tenon: fields() of the element's struct does not name this member");
    return of.first;
}

template <class... Operand> std::vector<tensor_type> types_of(operand_list<Operand...>) { return {Operand::type...}; }

// Sizes of components along a new dimension 0, without theirs, and where those that differ are filled up.
template <auto N, class C> struct stacked_operand;
template <auto N, class T, class S> struct stacked_operand<N, operand_type<T, S>> {
    using type = operand_type<T, typename stacked_shape<N, S>::type>;
};
template <class C> struct row_operand { using type = void; };
template <class T, auto First, auto... Rest> struct row_operand<operand_type<T, shape<First, Rest...>>> {
    using type = operand_type<T, shape<Rest...>>;
};
template <auto D> constexpr auto number_or_dyn() {
    if constexpr (is_count<D>) return D;
    else return dyn;
}
template <class C> struct padded_operand;
template <class T, auto... D> struct padded_operand<operand_type<T, shape<D...>>> {
    using type = operand_type<T, shape<number_or_dyn<D>()...>>;
};

} // namespace detail
} // namespace tenon
