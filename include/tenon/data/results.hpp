#pragma once

#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/data/schema.hpp>
#include <tenon/data/untyped_data_set.hpp>

/// What steps with functions make of elements, as types: of a data set's components and of what a function gives the data set behind it.

namespace tenon {

template <class... C> class data_set;

namespace detail {

template <class List> struct data_set_of_operands;
template <class... Operand> struct data_set_of_operands<operand_list<Operand...>> {
    using type = data_set<typename component_of_operand<Operand>::type...>;
};

// What a function of the host gives: components, or a struct.
template <class R> struct data_set_of_result {
    static constexpr bool good = !std::is_void_v<typename named_component<R>::type>;
    using type = typename data_set_of_operands<
        operand_list<std::conditional_t<good, typename named_component<R>::type, operand_type<float, shape<>>>>>::type;
};
template <Record R> struct data_set_of_result<R> {
    static constexpr bool good = true;
    using type = data_set<R>;
};
template <class... R> struct data_set_of_result<std::tuple<R...>> {
    static constexpr bool good = sizeof...(R) > 0 && (!std::is_void_v<typename named_component<R>::type> && ...);
    template <bool> struct of { using type = data_set<float>; };
    using type =
        typename std::conditional_t<good, data_set_of_operands<operand_list<typename named_component<R>::type...>>,
                                    of<false>>::type;
};

// What a function of a graph gives.
template <class R> struct tensors_of_result {
    static constexpr bool good = Operand<R> && !std::is_same_v<R, ill_shaped>;
    static constexpr bool ill = std::is_same_v<R, ill_shaped>;
};
template <class... R> struct tensors_of_result<std::tuple<R...>> {
    static constexpr bool good = sizeof...(R) > 0 && ((Operand<R> && !std::is_same_v<R, ill_shaped>)&&...);
    static constexpr bool ill = (std::is_same_v<R, ill_shaped> || ...);
};
template <class A, class B> struct tensors_of_result<std::pair<A, B>> {
    static constexpr bool good = false, ill = false;
};
template <class R> struct data_set_of_tensors {
    using type = typename data_set_of_operands<operand_list<operand_of_t<R>>>::type;
};
template <class... R> struct data_set_of_tensors<std::tuple<R...>> {
    using type = typename data_set_of_operands<operand_list<operand_of_t<R>...>>::type;
};

template <class X> void add_tensors(std::vector<any_tensor>& to, const X& x) { to.push_back(as_tensor(x)); }
template <class... X> void add_tensors(std::vector<any_tensor>& to, const std::tuple<X...>& all) {
    std::apply([&](const X&... x) { (to.push_back(as_tensor(x)), ...); }, all);
}

template <class X> inline constexpr bool is_data_set = false;
template <class... C> inline constexpr bool is_data_set<data_set<C...>> = true;

template <class Operands> struct tensor_call;
template <class... Operand> struct tensor_call<operand_list<Operand...>> {
    template <class F>
    static constexpr bool can = std::is_invocable_v<F&, tensor<typename Operand::element, typename Operand::shape>...>;
    template <class F> static auto call(F& f, const std::vector<any_tensor>& in) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return f(tensor<typename Operand::element, typename Operand::shape>::unchecked(in[I])...);
        }
        (std::index_sequence_for<Operand...>{});
    }
    template <class F> struct result {
        using type =
            std::remove_cvref_t<decltype(call(std::declval<F&>(), std::declval<const std::vector<any_tensor>&>()))>;
    };
};

template <auto N, class Operands> struct stacked_list;
template <auto N, class... Operand> struct stacked_list<N, operand_list<Operand...>> {
    using type = typename data_set_of_operands<operand_list<typename stacked_operand<N, Operand>::type...>>::type;
};
template <auto N, class Operands> struct padded_list;
template <auto N, class... Operand> struct padded_list<N, operand_list<Operand...>> {
    using type = typename data_set_of_operands<
        operand_list<typename stacked_operand<N, typename padded_operand<Operand>::type>::type...>>::type;
};
template <class Operands> struct row_list;
template <class... Operand> struct row_list<operand_list<Operand...>> {
    static constexpr bool good = (!std::is_void_v<typename row_operand<Operand>::type> && ...);
    template <bool> struct of {
        using type = typename data_set_of_operands<operand_list<typename row_operand<Operand>::type...>>::type;
    };
};
template <class First, class Operands> struct list_after;
template <class First, class... Operand> struct list_after<First, operand_list<Operand...>> {
    using type = typename data_set_of_operands<operand_list<First, Operand...>>::type;
};
template <class... Lists> struct joined_lists;
template <class... A> struct joined_lists<operand_list<A...>> {
    using type = typename data_set_of_operands<operand_list<A...>>::type;
};
template <class... A, class... B, class... Rest> struct joined_lists<operand_list<A...>, operand_list<B...>, Rest...> {
    using type = typename joined_lists<operand_list<A..., B...>, Rest...>::type;
};

// The same types as tensors, from place `first` of a list on.
template <class Operands> struct tensors_in;
template <class... Operand> struct tensors_in<operand_list<Operand...>> {
    static constexpr std::size_t count = sizeof...(Operand);
    using all = std::tuple<tensor<typename Operand::element, typename Operand::shape>...>;
    static all take(const std::vector<any_tensor>& in, std::size_t first) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return all(tensor<typename Operand::element, typename Operand::shape>::unchecked(in[first + I])...);
        }
        (std::index_sequence_for<Operand...>{});
    }
};

// ---- what a scan carries

template <class Set> struct schema_of_set;
template <class... C> struct schema_of_set<data_set<C...>> { using type = schema<C...>; };

// The data set whose elements are like a state.
template <class State> struct carried { static constexpr bool good = false; };
template <class State>
    requires(data_set_of_result<State>::good)
struct carried<State> {
    using set = typename data_set_of_result<State>::type;
    static constexpr bool good = std::is_same_v<typename set::value_type, State>;
};

template <class State>
concept HostState = carried<State>::good;
template <class State>
concept TensorState = HostState<State> && !Record<State>;

template <class X> void add_state(std::vector<any_array>& to, const X& x) {
    if constexpr (Record<X>)
        std::apply([&](const auto&... f) { (to.push_back(array_from(x.*(f.member)).copy()), ...); }, X::fields());
    else to.push_back(array_from(x).copy());
}
template <class... X> void add_state(std::vector<any_array>& to, const std::tuple<X...>& all) {
    std::apply([&](const X&... x) { (add_state(to, x), ...); }, all);
}
template <class State> untyped::carried_state state_of(const State& s) {
    untyped::carried_state made{{}, carried<State>::set::types()};
    add_state(made.initial, s);
    return made;
}

// What a scan's function gives: the next state, and what stands for the element.
template <class R> struct state_and_element { static constexpr bool good = false; };
template <class A, class B> struct state_and_element<std::pair<A, B>> {
    static constexpr bool good = true;
    using state = A;
    using element = B;
};
template <class A, class B> struct state_and_element<std::tuple<A, B>> : state_and_element<std::pair<A, B>> {};

template <class F, class First, class Rest> struct applied_behind;
template <class F, class First, class... X>
struct applied_behind<F, First, std::tuple<X...>> : std::is_invocable<F&, First, X...> {
    template <class G> struct result { using type = std::remove_cvref_t<std::invoke_result_t<G&, First, X...>>; };
};

struct no_scan {
    static constexpr bool has_state = false, can = false, good = false, ill = false;
};
struct no_call : no_scan {
    static constexpr bool has_state = true;
};

template <class State, class Operands> struct scanned_tensors {
    using state = tensors_in<typename carried<State>::set::operands>;
    using element = tensors_in<Operands>;
    static constexpr bool single = state::count == 1;
    using argument = typename std::conditional_t<single, std::tuple_element<0, typename state::all>,
                                                 std::type_identity<typename state::all>>::type;

    template <class R> struct verdict { static constexpr bool good = false, ill = false; };
    template <class R>
        requires(state_and_element<R>::good)
    struct verdict<R> {
        using next = tensors_of_result<typename state_and_element<R>::state>;
        using made = tensors_of_result<typename state_and_element<R>::element>;
        static constexpr bool ill = next::ill || made::ill;
        static constexpr bool same() {
            if constexpr (!next::good) return false;
            else
                return std::is_same_v<typename data_set_of_tensors<typename state_and_element<R>::state>::type,
                                      typename carried<State>::set>;
        }
        static constexpr bool good = same() && made::good;
    };
};
// ---- of tensors
template <class F, class State, class Operands>
concept ScansTensors = TensorState<State> && applied_behind < F,
        typename scanned_tensors<State, Operands>::argument,
typename scanned_tensors<State, Operands>::element::all > ::value;
template <class State, class Operands, class F> struct tensor_scan : no_scan {};
template <class State, class Operands, class F>
    requires TensorState<State>
struct tensor_scan<State, Operands, F> : no_call {
};
template <class State, class Operands, class F>
    requires ScansTensors<F, State, Operands>
struct tensor_scan<State, Operands, F> {
    using types = scanned_tensors<State, Operands>;
    using given =
        typename applied_behind<F, typename types::argument, typename types::element::all>::template result<F>::type;
    using verdict = typename types::template verdict<given>;
    static constexpr bool has_state = true, can = true, good = verdict::good, ill = verdict::ill;
    template <bool> struct made { using type = data_set<float>; };
    using result = typename std::conditional_t<good, data_set_of_tensors<typename state_and_element<given>::element>,
                                               made<false>>::type;

    static std::vector<any_tensor> call(F& f, const std::vector<any_tensor>& in) {
        const auto state = types::state::take(in, 0);
        const auto gives = std::apply(
            [&](const auto&... x) {
                if constexpr (types::single) return f(std::get<0>(state), x...);
                else return f(state, x...);
            },
            types::element::take(in, types::state::count));
        std::vector<any_tensor> out;
        add_tensors(out, std::get<0>(gives));
        add_tensors(out, std::get<1>(gives));
        return out;
    }
};

// ---- of the host
template <class State, class F> struct behind_state {
    F& f;
    const State& state;
    template <class... X> auto operator()(X&&... x) const -> decltype(f(state, std::forward<X>(x)...)) {
        return f(state, std::forward<X>(x)...);
    }
};
template <class F, class State, class Schema>
concept ScansHost = HostState<State> && Schema::template can_call<behind_state<State, F>>;
template <class State, class Schema, class F> struct host_scan : no_scan {};
template <class State, class Schema, class F>
    requires HostState<State>
struct host_scan<State, Schema, F> : no_call {
};
template <class State, class Schema, class F>
    requires ScansHost<F, State, Schema>
struct host_scan<State, Schema, F> {
    using given = std::remove_cvref_t<typename Schema::template called<behind_state<State, F>>::type>;
    using parts = state_and_element<given>;
    static constexpr bool fits() {
        if constexpr (!parts::good) return false;
        else return std::is_same_v<typename parts::state, State> && data_set_of_result<typename parts::element>::good;
    }
    static constexpr bool has_state = true, can = true, good = fits();
    template <bool> struct made { using type = data_set<float>; };
    template <class P> struct result_of { using type = typename data_set_of_result<typename P::element>::type; };
    using result = typename std::conditional_t<good, result_of<parts>, made<false>>::type;

    static void call(F& f, std::vector<any_array>& x) {
        using state_schema = typename schema_of_set<typename carried<State>::set>::type;
        const auto count = static_cast<std::ptrdiff_t>(carried<State>::set::types().size());
        std::vector<any_array> before(std::make_move_iterator(x.begin()), std::make_move_iterator(x.begin() + count));
        x.erase(x.begin(), x.begin() + count);
        const State state = state_schema::to_host(before);
        behind_state<State, F> called{f, state};
        given gives = Schema::consume(called, x);
        x = state_schema::to_arrays(std::move(std::get<0>(gives)));
        std::vector<any_array> element = result::arrays(std::move(std::get<1>(gives)));
        for (any_array& a : element) x.push_back(std::move(a));
    }
};

} // namespace detail
} // namespace tenon
