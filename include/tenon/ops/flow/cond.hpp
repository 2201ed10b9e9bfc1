#pragma once

#include <tenon/core/function_ref.hpp>
#include <tenon/graph/gradient_context.hpp>
#include <tenon/ops/flow/bodies.hpp>

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
        "both bodies give as many tensors, of the same types and sizes";
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
                             function_ref<std::vector<any_tensor>()> otherwise);
} // namespace untyped

namespace detail {
// The condition, and what one and the other function give.
struct cond_rule {
    static constexpr const char* name = cond_op::name;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in[0].element != element_type::boolean || in[0].extents.rank() != 0)
            return cond_op::the_condition_is_one_bool;
        if (in[1].element != in[2].element) return cond_op::bodies_give_different_types;
        const merged_extents both = equal_shapes(in[1].extents, in[2].extents);
        return both.what == fault::none ? inferred(in[1].element, both.extents)
                                        : inferred(cond_op::bodies_give_different_types);
    }
};
std::vector<any_tensor> add_cond(const any_tensor& condition, body_builder& then, const std::vector<any_tensor>& given,
                                 body_builder& otherwise, const std::vector<any_tensor>& given_otherwise,
                                 const captured_tensors& captured);

template <class P, class Then, class Else> struct cond_types;
template <class P, class... A, class... B> struct cond_types<P, std::tuple<A...>, std::tuple<B...>> {
    using verdict =
        typename first_mistake<rule_on<cond_rule, operand_of_t<P>, operand_of_t<A>, operand_of_t<B>>...>::type;
};
template <class P, class Then, class Else> struct cond_results;
template <class P, class... A, class... B> struct cond_results<P, std::tuple<A...>, std::tuple<B...>> {
    using type = std::tuple<op_result_t<cond_rule, without_attributes, 0, typename A::element_type, operand_of_t<P>,
                                        operand_of_t<A>, operand_of_t<B>>...>;
};
} // namespace detail

/// What `then` gives where the condition, one bool, is true in the step, else what `otherwise` gives; only that runs. They are functions
/// without arguments that give a tensor, an expression, or several as std::tuple: both as many, of the same element types and
/// sizes. They are called once, now; what they use that was made before is computed before, whichever of them runs, and what they make
/// themselves only where they do. They compute and nothing else: variables are made and updated, and random numbers drawn,
/// outside. Gradients flow through the function that ran. On a GPU the value lies there, and the host never sees it.
///
///     const auto step = tn::cond(norm > 1.0f, [&] { return g / norm; }, [&] { return g; });
template <class P, class Then, class Else>
auto cond(const P& condition, const Then& then, const Else& otherwise, called_from here = caller()) {
    const making made(here);
    constexpr bool good = Operand<P> && detail::takes<Then, std::tuple<>> && detail::takes<Else, std::tuple<>>;
    static_assert(good, "tenon::cond: both sides are functions without arguments, and the condition is a tensor: "
                        "cond(c, [&] { return x; }, [&] { return y; })");
    using given = detail::applied_t<Then, std::tuple<>>;
    if constexpr (!good || std::is_same_v<P, ill_shaped> || detail::any_mistake<given> ||
                  detail::any_mistake<detail::applied_t<Else, std::tuple<>>>)
        return ill_shaped{};
    else {
        using yes = decltype(detail::tensors_of(then()));
        using no = decltype(detail::tensors_of(otherwise()));
        static_assert(std::tuple_size_v<yes> == std::tuple_size_v<no>,
                      "tenon::cond: both functions give as many tensors: one, or std::tuple(a, b, ..)");
        if constexpr (std::tuple_size_v<yes> != std::tuple_size_v<no>) return ill_shaped{};
        else {
            using verdict = typename detail::cond_types<P, yes, no>::verdict;
            static_assert(verdict::agree, "tenon: shapes do not agree");
            if constexpr (!verdict::fits) return ill_shaped{};
            else {
                using results = typename detail::cond_results<P, yes, no>::type;
                const std::vector<any_tensor> tensors = untyped::cond(
                    detail::as_tensor(condition), [&] { return detail::untyped_of(detail::tensors_of(then())); },
                    [&] { return detail::untyped_of(detail::tensors_of(otherwise())); });
                return detail::as_given<given>(detail::typed_from<results>(tensors));
            }
        }
    }
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_cond)

#include <tenon/core/error.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/flow/cond_kernel.hpp>
#include <tenon/ops/shape/assembly.hpp>

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

namespace untyped {
TENON_INLINE std::vector<any_tensor> cond(const any_tensor& condition, function_ref<std::vector<any_tensor>()> then,
                                          function_ref<std::vector<any_tensor>()> otherwise) {
    detail::captured_tensors captured;
    detail::body_builder yes(captured), no(captured);
    const auto made = [](const detail::body_builder& b, function_ref<std::vector<any_tensor>()> f) {
        const detail::body_scope in(b);
        return f();
    };
    const std::vector<any_tensor> one = made(yes, then), other = made(no, otherwise);
    if (one.empty() || one.size() != other.size())
        throw invalid_argument_error("cond: both functions give as many tensors, one at least, not " +
                                     std::to_string(one.size()) + " and " + std::to_string(other.size()));
    const auto here = [](detail::body_builder& b, std::vector<any_tensor> t) {
        for (any_tensor& r : t) r = b.here(r);
        return t;
    };
    const std::vector<any_tensor> then_gives = here(yes, one), else_gives = here(no, other);
    const cond_op::attributes a{yes.finish(then_gives).text(), no.finish(else_gives).text()};
    std::vector<any_tensor> inputs{condition};
    detail::append(inputs, captured);
    return detail::outputs_of(add_node(definition_of<cond_op>(), std::move(inputs), encode(a)));
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
