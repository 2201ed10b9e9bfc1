#pragma once

#include <tenon/core/function_ref.hpp>
#include <tenon/graph/gradient_context.hpp>
#include <tenon/ops/flow/bodies.hpp>
#include <tenon/ops/shape/selection.hpp>

/// One of two computations, by a value of the step.
///
///     const auto y = tn::cond(mean(x) > 0.0f, [&] { return x / norm; }, [&] { return x; });

namespace tenon {

/// in: one bool, then what the bodies are given. Runs `then_body` where it is true, else `else_body`, both on all of that, and gives what it
/// gives: as many tensors, of the same types. The other one does not run.
struct cond_op {
    static constexpr const char* name = "cond";
    struct attributes {
        std::string then_body, else_body; ///< body::text()
    };
    static constexpr char the_condition_is_one_bool[] = "the condition is one bool";
    static constexpr char bodies_give_different_types[] =
        "both bodies give as many tensors, of the same types and sizes; with cond<Axis> sizes along an axis may differ";
    static int outputs(const attributes& a, int inputs);
    static inferred infer(const attributes& a, type_list in, int output);
    static std::vector<std::string> bodies(const attributes& a) { return {a.then_body, a.else_body}; }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(cond, cond);

namespace untyped {
/// What `then` gives where `condition`, one bool, is true, else what `otherwise` gives. Both are called once, now, to build a body each; what
/// they use of the graph around them is computed before, whichever runs.
std::vector<any_tensor> cond(const any_tensor& condition, function_ref<std::vector<any_tensor>()> then,
                             function_ref<std::vector<any_tensor>()> otherwise, called_from here = caller());
/// The same of results whose sizes along `axis` may differ. `size`: what the types say of that size, as boolean_mask is told it.
std::vector<any_tensor> cond(const any_tensor& condition, function_ref<std::vector<any_tensor>()> then,
                             function_ref<std::vector<any_tensor>()> otherwise, int axis, const extents& size = {},
                             called_from here = caller());
} // namespace untyped

namespace detail {
template <auto Size, class S, int D, bool IsSaid> constexpr auto size_or_own() {
    if constexpr (IsSaid) return canonical_dim<Size>();
    else return dim_table<S>::template at<D>();
}
// S, of whose size along Axis is said what Size says.
template <int Axis, auto Size, class S> constexpr auto with_size_along() {
    constexpr int axis = Axis < 0 ? Axis + S::rank : Axis;
    return []<int... D>(std::integer_sequence<int, D...>) { return shape<size_or_own<Size, S, D, D == axis>()...>{}; }
    (std::make_integer_sequence<int, S::rank>{});
}

// The axis along which sizes may differ, and what is said of the size; by default along none.
template <int Axis, auto Size> struct differing_along {
    template <class T>
    using sized = tensor<typename T::element_type, decltype(with_size_along<Axis, Size, typename T::shape_type>())>;
    static constexpr bool fits(const extents& e) { return Axis < e.rank() && Axis >= -e.rank(); }
    static constexpr extents without_size(extents e) {
        e[Axis < 0 ? Axis + e.rank() : Axis] = extent();
        return e;
    }
    template <class... A> static std::vector<any_tensor> add(const A&... a) {
        return untyped::cond(a..., Axis, selection_size<Size>());
    }
};
struct differing_nowhere {
    template <class T> using sized = T;
    static constexpr bool fits(const extents&) { return true; }
    static constexpr extents without_size(const extents& e) { return e; }
    template <class... A> static std::vector<any_tensor> add(const A&... a) { return untyped::cond(a...); }
};

// The condition, and what one and the other function give.
template <class Differing> struct cond_rule {
    static constexpr const char* name = cond_op::name;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in[0].element != element_type::boolean || in[0].extents.rank() != 0)
            return cond_op::the_condition_is_one_bool;
        if (in[1].element != in[2].element) return cond_op::bodies_give_different_types;
        if (!Differing::fits(in[1].extents) || !Differing::fits(in[2].extents)) return fault::axis_out_of_range;
        const merged_extents both =
            equal_shapes(Differing::without_size(in[1].extents), Differing::without_size(in[2].extents));
        return both.what == fault::none ? inferred(in[1].element, both.extents)
                                        : inferred(cond_op::bodies_give_different_types);
    }
};

template <class Rule, class P, class Then, class Else> struct cond_types;
template <class Rule, class P, class... A, class... B> struct cond_types<Rule, P, std::tuple<A...>, std::tuple<B...>> {
    using verdict = typename first_mistake<rule_on<Rule, operand_of_t<P>, operand_of_t<A>, operand_of_t<B>>...>::type;
};
template <class Differing, class P, class Then, class Else> struct cond_results;
template <class Differing, class P, class... A, class... B>
struct cond_results<Differing, P, std::tuple<A...>, std::tuple<B...>> {
    using type = std::tuple<typename Differing::template sized<
        op_result_t<cond_rule<Differing>, without_attributes, 0, typename A::element_type, operand_of_t<P>,
                    operand_of_t<A>, operand_of_t<B>>>...>;
};

template <class P, class One, class Other>
inline constexpr bool are_two_sides = Operand<P> && !std::is_same_v<One, nothing> && !std::is_same_v<Other, nothing>;

template <class Differing, class One, class Other, class P, class Then, class Else>
auto cond_of(const P& condition, const Then& then, const Else& otherwise) {
    if constexpr (!Operand<P> || !are_operands<One> || !are_operands<Other> || std::is_same_v<P, ill_shaped> ||
                  any_mistake<One> || any_mistake<Other>)
        return ill_shaped{};
    else {
        using yes = decltype(tensors_of(then()));
        using no = decltype(tensors_of(otherwise()));
        static_assert(std::tuple_size_v<yes> == std::tuple_size_v<no>,
                      "tenon::cond: both functions give as many tensors: one, or std::tuple(a, b, ..)");
        if constexpr (std::tuple_size_v<yes> != std::tuple_size_v<no>) return ill_shaped{};
        else {
            using verdict = typename cond_types<cond_rule<Differing>, P, yes, no>::verdict;
            static_assert(verdict::agree, "tenon: shapes do not agree");
            if constexpr (!verdict::fits) return ill_shaped{};
            else {
                using results = typename cond_results<Differing, P, yes, no>::type;
                const std::vector<any_tensor> tensors = Differing::add(
                    as_tensor(condition), [&] { return untyped_of(tensors_of(then())); },
                    [&] { return untyped_of(tensors_of(otherwise())); });
                return as_given<One>(typed_from<results>(tensors));
            }
        }
    }
}
} // namespace detail

/// What `then` gives where the condition, one bool, is true in the step, else what `otherwise` gives; only that runs. They are functions
/// without arguments that give a tensor, an expression, or several as std::tuple: both as many, of the same element types and
/// sizes. They are called once, now; what they use that was made before is computed before, whichever of them runs, and what they make
/// themselves only where they do. They compute and nothing else: variables are made and updated, and random numbers drawn,
/// outside, where texts stay, too. Gradients flow through the function that ran. On a GPU the value lies there, and the host never sees it.
///
///     const auto step = tn::cond(norm > 1.0f, [&] { return g / norm; }, [&] { return g; });
template <class P, class Then, class Else>
auto cond(const P& condition, const Then& then, const Else& otherwise, called_from here = caller()) {
    const making made(here);
    using one = decltype(detail::given_by(then, detail::to<std::tuple<>>));
    using other = decltype(detail::given_by(otherwise, detail::to<std::tuple<>>));
    static_assert(detail::are_two_sides<P, one, other>,
                  "tenon::cond: both sides are functions without arguments, and the condition is a tensor: "
                  "cond(c, [&] { return x; }, [&] { return y; })");
    static_assert(detail::are_operands<one> && detail::are_operands<other>,
                  "tenon::cond: both sides give tensors, or several as std::tuple: constant(1.0f)");
    return detail::cond_of<detail::differing_nowhere, one, other>(condition, then, otherwise);
}
/// The same of results whose sizes along Axis may differ, as those of a search that found something or nothing: of that size the types say what
/// Size says, dyn or a named size, and the step goes on when it is known, which on a GPU it is on the host. In the function of a loop or of
/// another cond what is made of such a result is made for either side until it has one size, as what that function gives has; up to 8 of them
/// may meet before.
///
///     const auto shown = tn::cond<0>(all, [&] { return rows; }, [&] { return tn::slice<tn::range{0, 10}>(rows); });
template <int Axis, auto Size = dyn, class P, class Then, class Else>
auto cond(const P& condition, const Then& then, const Else& otherwise, called_from here = caller()) {
    const making made(here);
    using one = decltype(detail::given_by(then, detail::to<std::tuple<>>));
    using other = decltype(detail::given_by(otherwise, detail::to<std::tuple<>>));
    static_assert(detail::are_two_sides<P, one, other>,
                  "tenon::cond: both sides are functions without arguments, and the condition is a tensor: "
                  "cond(c, [&] { return x; }, [&] { return y; })");
    static_assert(detail::are_operands<one> && detail::are_operands<other>,
                  "tenon::cond: both sides give tensors, or several as std::tuple: constant(1.0f)");
    return detail::cond_of<detail::differing_along<Axis, Size>, one, other>(condition, then, otherwise);
}
template <class P, class Then> ill_shaped cond(const P&, const Then&) {
    static_assert(detail::is_mistake<P>,
                  "tenon::cond: both sides are said: cond(c, [&] { return x; }, [&] { return y; })");
    return {};
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_cond)

#include <tenon/core/error.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/untyped_elementwise.hpp>
#include <tenon/ops/flow/cond_kernel.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/movement.hpp>

namespace tenon {

TENON_INLINE int cond_op::outputs(const attributes& a, int) {
    return static_cast<int>(body::of_text(a.then_body)->results().size());
}

TENON_INLINE inferred cond_op::infer(const attributes& a, type_list in, int output) {
    if (in.size() < 1) return fault::expects_more_operands;
    if (in[0].element != element_type::boolean || in[0].extents.rank() != 0) return the_condition_is_one_bool;
    const type_list given(in.begin() + 1, in.size() - 1);
    const std::vector<tensor_type> one = body::of_text(a.then_body)->result_types(given),
                                   other = body::of_text(a.else_body)->result_types(given);
    if (one.size() != other.size()) return bodies_give_different_types;
    for (std::size_t k = 0; k < one.size(); ++k)
        if (!detail::types_agree(one[k], other[k]))
            return detail::not_agreeing(bodies_give_different_types, one[k], other[k]);
    const auto k = static_cast<std::size_t>(output);
    if (k >= one.size()) return fault::none; // it has no output
    return inferred(one[k].element, equal_shapes(one[k].extents, other[k].extents).extents);
}

namespace detail {
// Both functions as bodies, and the inputs of a node that has them: the condition, and what they are given.
struct two_bodies {
    two_bodies(const any_tensor& condition, function_ref<std::vector<any_tensor>()> then,
               function_ref<std::vector<any_tensor>()> otherwise) {
        captured_tensors captured;
        body_builder yes(captured), no(captured);
        const auto made = [](body_builder& b, function_ref<std::vector<any_tensor>()> f) {
            std::vector<any_tensor> given;
            {
                const body_scope in(b);
                given = f();
            }
            for (any_tensor& r : given) r = b.here(r);
            return given;
        };
        const std::vector<any_tensor> then_gives = made(yes, then), else_gives = made(no, otherwise);
        if (then_gives.empty() || then_gives.size() != else_gives.size())
            throw invalid_argument_error("cond: both functions give as many tensors, one at least, not " +
                                         std::to_string(then_gives.size()) + " and " +
                                         std::to_string(else_gives.size()));
        const body then_made = yes.finish(then_gives), else_made = no.finish(else_gives);
        of = {then_made.text(), else_made.text()};
        for (std::size_t k = 0; k < then_made.results().size(); ++k) {
            then_types.push_back(then_made.results()[k].type());
            else_types.push_back(else_made.results()[k].type());
        }
        inputs = {condition};
        append(inputs, captured);
    }
    std::vector<any_tensor> run(const std::string& then_body, const std::string& else_body) const {
        return outputs_of(
            add_node(definition_of<cond_op>(), inputs, encode(cond_op::attributes{then_body, else_body})));
    }
    cond_op::attributes of;
    std::vector<any_tensor> inputs;
    std::vector<tensor_type> then_types, else_types;
};
// What two types have in common but for the size along `axis`, of which is said what `size` says.
inline tensor_type common_type(tensor_type a, tensor_type b, int axis, const extents& size) {
    const int at = axis < 0 ? axis + a.extents.rank() : axis;
    const bool is_axis = a.extents.rank() == b.extents.rank() && at >= 0 && at < a.extents.rank();
    if (is_axis) a.extents[at] = b.extents[at] = size.rank() == 1 ? size[0] : extent();
    if (!is_axis || !types_agree(a, b))
        throw invalid_argument_error(
            "cond: " + std::string(is_axis ? cond_op::bodies_give_different_types : "no such axis") + " (" +
            to_string(a) + " and " + to_string(b) + ", axis " + std::to_string(axis) + ")");
    return {a.element, equal_shapes(a.extents, b.extents).extents};
}
// A body that gives zeros of the sizes that another one gives.
inline std::string zeros_of_body(const std::string& text) {
    const body_gradient b(text);
    const graph_scope in(b.of().of());
    std::vector<any_tensor> zeros;
    for (const any_tensor& r : b.of().results()) zeros.push_back(untyped::zeros_like(r));
    return b.text(b.of().arguments(), zeros);
}
} // namespace detail

namespace untyped {
TENON_INLINE std::vector<any_tensor> cond(const any_tensor& condition, function_ref<std::vector<any_tensor>()> then,
                                          function_ref<std::vector<any_tensor>()> otherwise, called_from here) {
    const making made(here);
    const detail::two_bodies both(condition, then, otherwise);
    return both.run(both.of.then_body, both.of.else_body);
}

// What both give, of which one is zeros that cost nothing but to fill; and of these, one after another, the part that is there.
TENON_INLINE std::vector<any_tensor> cond(const any_tensor& condition, function_ref<std::vector<any_tensor>()> then,
                                          function_ref<std::vector<any_tensor>()> otherwise, int axis,
                                          const extents& size, called_from here) {
    const making made(here);
    const detail::two_bodies both(condition, then, otherwise);
    if (detail::body_builder* const around = detail::builder_in_scope()) {
        std::vector<tensor_type> types;
        for (std::size_t k = 0; k < both.then_types.size(); ++k)
            types.push_back(detail::common_type(both.then_types[k], both.else_types[k], axis, size));
        return around->choose(
            {condition, both.of.then_body, both.of.else_body, {both.inputs.begin() + 1, both.inputs.end()}, size, {}},
            types);
    }
    const std::vector<any_tensor> one = both.run(both.of.then_body, detail::zeros_of_body(both.of.then_body)),
                                  other = both.run(detail::zeros_of_body(both.of.else_body), both.of.else_body);
    std::vector<any_tensor> results;
    for (std::size_t k = 0; k < one.size(); ++k) {
        const auto there = [&](const any_tensor& x, const any_tensor& is) {
            return logical_and(greater_equal(arange_like(x, element_type::int64, axis), 0), is);
        };
        const any_tensor chosen = concat({there(one[k], condition), there(other[k], logical_not(condition))}, 0);
        const any_tensor all = moveaxis(concat({one[k], other[k]}, axis), axis, 0);
        results.push_back(moveaxis(boolean_mask(all, chosen, size), 0, axis));
    }
    return results;
}
} // namespace untyped

// The gradient of each body is a body, which computes again what it needs of it.
TENON_INLINE void cond_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    std::vector<any_tensor> given, inputs{g.input(0)};
    for (int i = 1; i < g.inputs(); ++i) given.push_back(g.input(i));
    const std::vector<std::size_t> wanted = detail::floating_of(given, 0, given.size());
    std::vector<std::size_t> flowing;
    detail::append(inputs, given);
    for (int o = 0; o < g.outputs(); ++o)
        if (g.output_gradient(o).node()) {
            flowing.push_back(static_cast<std::size_t>(o));
            inputs.push_back(g.output_gradient(o));
        }
    if (wanted.empty() || flowing.empty()) return;
    const auto gradient_of = [&](const std::string& text) {
        detail::body_gradient b(text);
        std::vector<any_tensor> ys, amounts, xs, arguments = b.of().arguments();
        for (const std::size_t o : flowing) {
            ys.push_back(b.of().results()[o]);
            amounts.push_back(b.add_argument(g.output(static_cast<int>(o)).type()));
        }
        for (const std::size_t k : wanted) xs.push_back(arguments[k]);
        detail::append(arguments, amounts);
        return b.text(arguments, b.of(ys, amounts, xs));
    };
    node* const n = add_node(definition_of<cond_op>(), std::move(inputs),
                             encode(attributes{gradient_of(a.then_body), gradient_of(a.else_body)}));
    for (std::size_t k = 0; k < wanted.size(); ++k)
        g.set(static_cast<int>(wanted[k]) + 1, any_tensor({n, static_cast<int>(k)}));
}

TENON_INLINE kernel_pointer cond_op::prepare(const kernel_setup& s) { return std::make_unique<detail::cond_kernel>(s); }

} // namespace tenon

#endif
