#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include <tenon/core/array/array.hpp>
#include <tenon/core/array/nested_values.hpp>
#include <tenon/graph/tensor.hpp>

/// What is fed and fetched.
///
///     auto loss_value = sess.run(tn::feed(x, images), tn::feed(y, labels), loss);   // array<float, shape<>>
///     auto step = sess.callable(tn::feeds(x, y), tn::fetches(train, loss));

namespace tenon {

/// A value for a tensor, in one run. It is only read, so a copy shares its memory: lists of them can be written in braces.
struct fed_value {
    fed_value() = default;
    fed_value(any_tensor t, any_array v) : tensor(std::move(t)), value(std::move(v)) {}
    fed_value(const fed_value& o) : tensor(o.tensor), value(o.value.share()) {}
    fed_value(fed_value&&) noexcept = default;
    fed_value& operator=(fed_value&&) noexcept = default;
    any_tensor tensor;
    any_array value;
};

namespace detail {

/// What is asked of a step. Not inline, as what follows: each run in a program would repeat it.
struct fetch_request {
    fetch_request();
    ~fetch_request();
    fetch_request(const fetch_request&);
    fetch_request(fetch_request&&) noexcept;
    fetch_request& operator=(fetch_request&&) noexcept;
    std::vector<any_tensor> fetches;
    std::vector<operation> targets;
};
struct run_request : fetch_request {
    run_request();
    ~run_request();
    run_request(run_request&&) noexcept;
    run_request& operator=(run_request&&) noexcept;
    std::vector<fed_value> feeds;
    double timeout = 0; ///< seconds; 0: the session's
};

template <class A> inline constexpr bool is_array = false;
template <class T, class S> inline constexpr bool is_array<array<T, S>> = true;
template <class T, class S> inline constexpr bool is_array<const_array<T, S>> = true;
template <class A>
concept HostArray = is_array<A>;

struct feed_rule {
    static constexpr const char* name = "feed";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        if (in[0].element != in[1].element) return fault::element_types_differ;
        extents sizes = in[1].extents;
        for (int i = 0; i < sizes.rank() && i < in[0].extents.rank();
             ++i) // a number is what a named size is in this step
            if (in[0].extents[i].is_named() && sizes[i].size >= 0) sizes[i] = in[0].extents[i];
        const merged_extents m = equal_shapes(in[0].extents, sizes);
        return m.what == fault::none ? inferred(in[0]) : inferred(m.what);
    }
};

// Checks by type what is known by type; the rest is checked in the run.
template <class X, class A> constexpr bool check_feed() {
    if constexpr (UntypedTensor<X>) {
        constexpr bool fits = std::is_same_v<A, any_array> || is_array<A> || std::is_convertible_v<A, nested_value>;
        static_assert(fits, "tenon::feed: what is fed to an untyped tensor must be an array or a number");
        return fits;
    } else if constexpr (std::is_same_v<A, any_array>) return true;
    else if constexpr (is_array<A>) {
        using T = typename A::value_type;
        if constexpr (requires { typename A::shape_type; }) {
            using verdict =
                verdict_of<feed_rule, without_attributes, operand_of_t<X>, operand_type<T, typename A::shape_type>>;
            static_assert(verdict::agree, "tenon: shapes do not agree");
            return verdict::fits;
        } else {
            static_assert(std::is_same_v<T, typename X::element_type>,
                          "tenon::feed: the array's element type is not the tensor's");
            return std::is_same_v<T, typename X::element_type>;
        }
    } else {
        constexpr bool fits = X::shape_type::rank == 0 && Literal<A, typename X::element_type>;
        static_assert(fits, "tenon::feed: what is fed must be an array, or for a scalar tensor a number of its kind: "
                            "none with a fraction where the elements are integers");
        return fits;
    }
}

// A view of what is fed; a number gets memory of its own.
template <class X, class A> any_array feed_view(const A& a) {
    if constexpr (std::is_same_v<A, any_array>) return a.share();
    else if constexpr (is_array<A>) return a.untyped().share();
    else {
        any_array scalar(element_type_of<typename X::element_type>, {});
        *static_cast<typename X::element_type*>(scalar.data()) = nested<typename X::element_type>(a).value();
        return scalar;
    }
}

template <class F> inline constexpr bool is_fetched_tensor = std::is_base_of_v<any_tensor, F> || Operand<F>;

// What fetching an F, no operation, gives.
template <class F> struct fetched { using type = array<typename F::element_type, typename F::shape_type>; };
template <> struct fetched<any_tensor> { using type = any_array; };
template <> struct fetched<ill_shaped> { using type = ill_shaped; };

template <class... A> struct fetched_arrays {
    using tuple = std::tuple<A...>;
    static tuple of(any_array* values) { return at(values, std::index_sequence_for<A...>{}); }
    template <std::size_t... I> static tuple at([[maybe_unused]] any_array* values, std::index_sequence<I...>) {
        return tuple(A(std::move(values[I]))...);
    }
};
// What a run gives: an array for each tensor in F..., behind those of Done.
template <class Done, class... F> struct results_of { using type = Done; };
template <class... A, class F, class... Rest> struct results_of<fetched_arrays<A...>, F, Rest...> {
    static constexpr auto next() {
        if constexpr (is_fetched_tensor<F>)
            return results_of<fetched_arrays<A..., typename fetched<F>::type>, Rest...>{};
        else return results_of<fetched_arrays<A...>, Rest...>{};
    }
    using type = typename decltype(next())::type;
};
template <class... F> using results_t = typename results_of<fetched_arrays<>, F...>::type;

template <class Tuple> auto single(Tuple&& t) {
    if constexpr (std::tuple_size_v<std::remove_cvref_t<Tuple>> == 0) return;
    else if constexpr (std::tuple_size_v<std::remove_cvref_t<Tuple>> == 1) return std::get<0>(std::move(t));
    else return std::move(t);
}

// The results of a step with a mistake in it: as many as there would be.
template <class... F> auto ill_shaped_results() {
    return std::tuple_cat(std::conditional_t<is_fetched_tensor<F>, std::tuple<ill_shaped>, std::tuple<>>{}...);
}

void add_fetch(fetch_request& r, const any_tensor& t);
void add_fetch(fetch_request& r, const operation& o);
template <class E>
    requires requires(const E& e) { e.materialize(); }
void add_fetch(fetch_request& r, const E& e) { add_fetch(r, static_cast<const any_tensor&>(e.materialize())); }
void add_fetch(run_request& r, fed_value&& f);
void add_fetch(run_request& r, const fed_value& f);
inline void add_fetch(fetch_request&, ill_shaped) {}
inline void add_fetch(run_request&, ill_shaped) {}
/// What can be fetched, and what a run takes.
template <class F>
inline constexpr bool is_fetchable = std::is_convertible_v<F, const any_tensor&> || std::is_convertible_v<F, operation>;
template <class F>
inline constexpr bool is_runnable = is_fetchable<F> || std::is_same_v<std::remove_cvref_t<F>, fed_value>;
template <class F>
    requires(!is_fetchable<const F&>)
void add_fetch(fetch_request&, const F&) {} // who runs it has complained

/// A value for a scalar, or values for a tensor, of a type known at run time only.
fed_value feed_values(const any_tensor& x, const nested_value& values);

} // namespace detail

/// A value for x in one run: an array, or a number for a scalar, which x's element type must hold: a floating number
/// for integers does not compile, an integer out of range is an invalid_argument_error. A wrong element type or shape
/// does not compile where it is known by type, and is an invalid_argument_error with both shapes where not (SEMANTICS
/// 16).
template <Operand X, class A = detail::in_braces> fed_value feed(const X& x, const A& value) {
    if constexpr (detail::any_ill_shaped<X, A>) return {};
    else if constexpr (detail::check_feed<X, A>()) return {detail::as_tensor(x), detail::feed_view<X>(value)};
    else return {};
}
/// The same for an untyped tensor: what does not fit is an invalid_argument_error, of an array in the run.
inline fed_value feed(const any_tensor& x, any_array value) { return {x, std::move(value)}; }
template <detail::UntypedTensor X, detail::HostArray A> fed_value feed(const X& x, const A& value) {
    return {x, value.untyped().share()};
}
template <detail::UntypedTensor X> fed_value feed(const X& x, const detail::nested_value& number) {
    return detail::feed_values(x, number);
}
/// Elements in nested braces, which the element type must hold: 300 is none of uint8.
template <detail::UntypedTensor X> fed_value feed(const X& x, std::initializer_list<detail::nested_value> values) {
    return detail::feed_values(x, detail::nested_value(values));
}
template <class X, class A>
    requires(!std::is_convertible_v<const X&, any_tensor>)
fed_value feed(const X&, const A&) {
    static_assert(detail::is_mistake<X>, "tenon::feed: first the tensor that is fed, by its handle, not by its name, "
                                         "then its value: feed(x, value)");
    return {};
}
template <class... X>
    requires(sizeof...(X) < 2)
fed_value feed(const X&...) {
    static_assert(detail::is_mistake<X...>, "tenon::feed: say the value, too: feed(x, value)");
    return {};
}
/// Elements in nested braces: feed(x, {{1, 2}, {3, 4}}).
template <Operand X>
fed_value feed(const X& x, std::initializer_list<detail::nested<typename X::element_type>> values) {
    constexpr bool is_list = X::shape_type::rank > 0 || std::is_same_v<X, ill_shaped>;
    static_assert(is_list, "tenon::feed: the tensor is a scalar, and is fed one value: feed(x, 0.5f)");
    if constexpr (!is_list || std::is_same_v<X, ill_shaped>) return {};
    else return {detail::as_tensor(x), array<typename X::element_type, typename X::shape_type>(values).untyped()};
}

namespace detail {
template <class X>
concept CanBeFed = Operand<X> || UntypedTensor<X>;
template <CanBeFed X> any_tensor handle_of(const X& x) {
    if constexpr (UntypedTensor<X>) return x;
    else return as_tensor(x);
}
} // namespace detail

/// The tensors that a callable is fed, in order. What fits an untyped one is seen in the run.
template <class... X> struct feed_list { std::vector<any_tensor> tensors; };
template <detail::CanBeFed... X> feed_list<X...> feeds(const X&... x) {
    if constexpr (detail::any_ill_shaped<X...>) return {};
    else return {{detail::handle_of(x)...}};
}
template <class... X>
    requires(!(detail::CanBeFed<X> && ...))
feed_list<detail::ill_shaped_for<X>...> feeds(const X&...) {
    static_assert(detail::is_mistake<X...>, "tenon::feeds: it takes the tensors that are fed; their values are "
                                            "given where the callable is called");
    return {};
}

/// What a callable fetches, in order: tensors and operations.
template <class... F> struct fetch_list { detail::fetch_request request; };
template <class... F> fetch_list<F...> fetches(const F&... f) {
    static_assert(((detail::is_fetchable<const F&> || std::is_same_v<F, ill_shaped>)&&...),
                  "tenon::fetches: it takes tensors and operations");
    fetch_list<F...> all;
    (detail::add_fetch(all.request, f), ...);
    return all;
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/session/feed.ipp>
#endif
