#pragma once

#include <optional>

#include <tenon/core/function_ref.hpp>
#include <tenon/expr/written_loop.hpp>
#include <tenon/graph/gradient_context.hpp>
#include <tenon/ops/flow/bodies.hpp>

/// A computation that is repeated while a value of it says so.
///
///     const auto [i, x] = tn::while_loop([](const auto& i, const auto& x) { return i < 100 && norm2(x) > 1e-6f; },
///                                        [&](const auto& i, const auto& x) { return std::tuple(i + 1, step(x)); },
///                                        tn::constant(0), start);

namespace tenon {

/// in: `carried` tensors c, then what both bodies are given besides. While condition(c, the rest), one bool, is true: c = body(c, the rest).
/// out: the last c, and how many times that was, int64.
struct while_op {
    static constexpr const char* name = "while_loop";
    struct attributes {
        std::string condition, body; ///< body::text()
        std::int64_t carried = 0;
    };
    static constexpr char the_condition_is_one_bool[] = "the condition gives one bool";
    static constexpr char the_body_gives_other_types_than_it_is_given[] = "the body gives other types than it is given";
    static int outputs(const attributes& a, int inputs);
    static inferred infer(const attributes& a, type_list in, int output);
    static std::vector<std::string> bodies(const attributes& a) { return {a.condition, a.body}; }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(while_loop, while);

/// in: the first c and the rest of a while_loop, how many times it ran, and what flows into each floating last c. out: what flows into each
/// floating first c, and into each floating one of the rest. It keeps some carries and computes those between again.
struct while_gradient_op {
    static constexpr const char* name = "while_gradient";
    struct attributes {
        std::string body, gradient_body; ///< the second: of one run, to what flows backwards and to sums for the rest
        std::int64_t carried = 0;
    };
    static constexpr char operands_are_those_of_its_loop[] =
        "its operands are those of its loop, the number of runs, and gradients";
    static int outputs(const attributes& a, int inputs);
    static inferred infer(const attributes& a, type_list in, int output);
    static std::vector<std::string> bodies(const attributes& a) { return {a.body, a.gradient_body}; }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(while_loop, while_gradient);

namespace untyped {
/// The last tensors. Both functions are called once, now, to build a body each. `written`: what they left there is entered.
std::vector<any_tensor> while_loop(function_ref<any_tensor(const std::vector<any_tensor>&)> condition,
                                   function_ref<std::vector<any_tensor>(const std::vector<any_tensor>&)> f,
                                   const std::vector<any_tensor>& first, const detail::written_loop* written = nullptr,
                                   called_from here = caller());
} // namespace untyped

namespace detail {
struct condition_rule {
    static constexpr const char* name = while_op::name;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in[0].element != element_type::boolean || in[0].extents.rank() != 0)
            return while_op::the_condition_is_one_bool;
        return in[0];
    }
};

// What a loop's functions are given: where expressions are compiled, tensors that know by their types which they are.
template <class Loop, class Tuple, class Indices> struct as_carried;
template <class Loop, class... T, std::size_t... I>
struct as_carried<Loop, std::tuple<T...>, std::index_sequence<I...>> {
#if TENON_COMPILE_EXPRESSIONS
    using type = std::tuple<carried_tensor<Loop, static_cast<int>(I), T>...>;
#else
    using type = std::tuple<T...>;
#endif
};
template <class Condition, class F, class... Xs> struct loop_of;
// Of what a loop begins with: void where not all are tensors.
template <class Condition, class F, class... Xs> struct loop_arguments { using type = void; };
template <class Condition, class F, class... Xs>
    requires(Typed<Xs>&&...)
struct loop_arguments<Condition, F, Xs...> {
    using carried = std::tuple<std::remove_cvref_t<decltype(as_tensor(std::declval<const Xs&>()))>...>;
    using type = typename as_carried<loop_of<Condition, F, Xs...>, carried, std::index_sequence_for<Xs...>>::type;
};
template <class Condition, class F, class A, class B, class C>
struct loop_arguments<Condition, F, A, B, C, not_given> : loop_arguments<Condition, F, A, B, C> {};
template <class Condition, class F, class A, class B>
struct loop_arguments<Condition, F, A, B, not_given, not_given> : loop_arguments<Condition, F, A, B> {};
template <class Condition, class F, class A>
struct loop_arguments<Condition, F, A, not_given, not_given, not_given> : loop_arguments<Condition, F, A> {};

// The condition and the results of a loop, as tensors, and as what they were written as.
template <class Loop, class Carried, class Given, class Condition, class F>
std::vector<any_tensor> add_while_loop(const Condition& condition, const F& f, const std::vector<any_tensor>& first) {
#if TENON_COMPILE_EXPRESSIONS
    using asked = std::remove_cvref_t<decltype(std::apply(condition, std::declval<const Given&>()))>;
    std::optional<asked> goes_on;
    written_loop written;
    return untyped::while_loop(
        [&](const std::vector<any_tensor>& x) -> any_tensor {
            goes_on.emplace(result_of<Given>(condition, x));
            return as_tensor(*goes_on);
        },
        [&](const std::vector<any_tensor>& x) {
            const auto next = result_of<Given>(f, x);
            const auto enter = [&](const auto&... r) { enter_results<Loop, Carried>(written, *goes_on, r...); };
            if constexpr (is_several<std::remove_cvref_t<decltype(next)>>) std::apply(enter, next);
            else enter(next);
            return untyped_of(tensors_of(next));
        },
        first, &written);
#else
    return untyped::while_loop(
        [&](const std::vector<any_tensor>& x) -> any_tensor { return as_tensor(result_of<Given>(condition, x)); },
        [&](const std::vector<any_tensor>& x) { return untyped_of(tensors_of(result_of<Given>(f, x))); }, first);
#endif
}

// asked, given: what the condition and the function give. They are found where the program calls, which makes what is told of them short.
template <class asked, class given, class Condition, class F, class... Xs>
auto while_loop_of(const Condition& condition, const F& f, const Xs&... first) {
    constexpr bool tensors = ((detail::Typed<Xs> || detail::any_mistake<Xs>)&&...);
    static_assert(tensors,
                  "tenon::while_loop: typed tensors are given one by one: while_loop(condition, function, a, b)");
    if constexpr (!tensors || (detail::any_mistake<Xs> || ...)) return ill_shaped{};
    else {
        using carried = typename loop_arguments<Condition, F, Xs...>::carried;
        using arguments = typename loop_arguments<Condition, F, Xs...>::type;
        static_assert(!std::is_same_v<asked, detail::nothing> && !std::is_same_v<given, detail::nothing>,
                      "tenon::while_loop: both functions take as many tensors as it is given: const auto& each");
        using verdict_on_condition =
            detail::verdict_of<detail::condition_rule, detail::without_attributes, detail::operand_of_t<asked>>;
        static_assert(verdict_on_condition::agree, "tenon: shapes do not agree");
        static_assert(detail::are_operands<given>,
                      "tenon::while_loop: the function gives a tensor, or as many as it is given as std::tuple");
        if constexpr (!verdict_on_condition::fits || !detail::are_operands<given> || detail::any_mistake<given>)
            return ill_shaped{};
        else {
            using next = decltype(detail::tensors_of(std::declval<const given&>()));
            static_assert(
                std::tuple_size_v<next> == sizeof...(Xs),
                "tenon::while_loop: the function gives as many tensors as it is given, several as std::tuple");
            using verdict = detail::carried_verdict<while_op, carried, next>;
            static_assert(verdict::agree, "tenon: shapes do not agree");
            if constexpr (!verdict::fits) return ill_shaped{};
            else {
                const std::vector<any_tensor> made =
                    detail::add_while_loop<loop_of<Condition, F, Xs...>, carried, arguments>(
                        condition, f, {detail::as_tensor(first)...});
                return detail::as_given<std::conditional_t<sizeof...(Xs) == 1, any_tensor, carried>>(
                    detail::typed_from<carried>(made));
            }
        }
    }
}
} // namespace detail

/// x = first...; while condition(x...), one bool, is true: x... = f(x...). f gives a tensor, or as many as it is given as std::tuple, of the types
/// of the first. The result is the last x, as a tuple where there are several. Both functions are called once, now, and build bodies; these
/// compute and nothing else (variables they use; they are made, and random numbers drawn, outside, where texts stay, too). A step with a deadline, or that is
/// stopped, ends between two runs.
///
/// Gradients flow through all runs that there were, how many being known in the step only: in memory that is planned before, some
/// carries are kept and those between computed again (treeverse: Griewank, Achieving logarithmic growth of temporal and spatial complexity
/// in reverse automatic differentiation, 1992). Up to 64 MiB of carries each run is computed again once.
template <class Condition, class F, OperandOrIllShaped... Xs>
    requires(sizeof...(Xs) > 0)
auto while_loop(const Condition& condition, const F& f, const Xs&... first) {
    using arguments = typename detail::loop_arguments<Condition, F, Xs...>::type;
    using asked = decltype(detail::given_by(condition, detail::to<arguments>));
    using given = decltype(detail::given_by(f, detail::to<arguments>));
    return detail::while_loop_of<asked, given>(condition, f, first...);
}
template <class Condition, class F, OperandOrIllShaped A, detail::OperandIfGiven B = detail::not_given,
          detail::OperandIfGiven C = detail::not_given, detail::OperandIfGiven D = detail::not_given>
auto while_loop(const Condition& condition, const F& f, const A& first, const B& second = {}, const C& third = {},
                const D& fourth = {}, called_from here = caller()) {
    const making made(here);
    using arguments = typename detail::loop_arguments<Condition, F, A, B, C, D>::type;
    using asked = decltype(detail::given_by(condition, detail::to<arguments>));
    using given = decltype(detail::given_by(f, detail::to<arguments>));
    if constexpr (!detail::is_given<B>) return detail::while_loop_of<asked, given>(condition, f, first);
    else if constexpr (!detail::is_given<C>) return detail::while_loop_of<asked, given>(condition, f, first, second);
    else if constexpr (!detail::is_given<D>)
        return detail::while_loop_of<asked, given>(condition, f, first, second, third);
    else return detail::while_loop_of<asked, given>(condition, f, first, second, third, fourth);
}

/// A mistake: what it begins with is no tensor.
template <class Condition, class F>
ill_shaped while_loop(const Condition&, const F&, std::initializer_list<any_tensor>) {
    static_assert(detail::is_mistake<F>,
                  "tenon::while_loop: tensors are given one by one: while_loop(condition, function, a, b)");
    return {};
}
template <class Condition, class F, class... Xs>
    requires(sizeof...(Xs) == 0 || !(OperandOrIllShaped<Xs> && ...))
ill_shaped while_loop(const Condition&, const F&, const Xs&...) {
    static_assert(
        detail::is_mistake<F>,
        "tenon::while_loop: give a condition, a function, and the tensors that it begins with, such as constant(0)");
    return {};
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_while_loop)

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/untyped_elementwise.hpp>
#include <tenon/ops/flow/while_gradient_kernel.hpp>
#include <tenon/ops/flow/while_kernel.hpp>
#include <tenon/ops/shape/assembly.hpp>

namespace tenon {

namespace detail {
inline bool fits_in(std::int64_t count, std::int64_t most) noexcept { return count >= 0 && count <= most; }

inline std::size_t rest_of(const while_gradient_op::attributes& a) {
    const auto arguments = static_cast<std::int64_t>(body::of_text(a.body)->arguments().size());
    return fits_in(a.carried, arguments) ? static_cast<std::size_t>(arguments - a.carried) : 0;
}
} // namespace detail

TENON_INLINE int while_op::outputs(const attributes& a, int inputs) {
    return detail::fits_in(a.carried, inputs) ? static_cast<int>(a.carried) + 1 : 0;
}

TENON_INLINE inferred while_op::infer(const attributes& a, type_list in, int output) {
    if (!detail::fits_in(a.carried, in.size())) return fault::expects_more_operands;
    const std::vector<tensor_type> goes_on = body::of_text(a.condition)->result_types(in),
                                   next = body::of_text(a.body)->result_types(in);
    if (goes_on.size() != 1 || goes_on[0].element != element_type::boolean || goes_on[0].extents.rank() != 0)
        return the_condition_is_one_bool;
    if (static_cast<std::int64_t>(next.size()) != a.carried) return the_body_gives_other_types_than_it_is_given;
    for (std::size_t c = 0; c < next.size(); ++c)
        if (const tensor_type& given = in[static_cast<int>(c)]; !detail::types_agree(next[c], given))
            return detail::not_agreeing(the_body_gives_other_types_than_it_is_given, next[c], given);
    return output < a.carried ? inferred(in[output]) : inferred(element_type::int64, extents());
}

namespace detail {
// Where all that the expressions are given are arguments of the bodies; else more is done than is written.
inline void enter_written(const std::string& condition, const std::string& text, const written_loop& w,
                          const std::vector<any_tensor> (&givens)[2], const body& asks, const body& repeats) {
    std::vector<int> operands[2];
    for (int part = 0; part < 2; ++part)
        for (const any_tensor& t : givens[part]) {
            const bool is_asked = part == 0 && operands[part].size() < w.uniform.of_condition;
            const std::vector<any_tensor>& all = (is_asked ? asks : repeats).arguments();
            const auto at =
                std::find_if(all.begin(), all.end(), [&](const any_tensor& x) { return x.output() == t.output(); });
            if (at == all.end()) return;
            operands[part].push_back(static_cast<int>(at - all.begin()));
        }
    enter_written_loop(condition, text, w, operands);
}
} // namespace detail

namespace untyped {
TENON_INLINE std::vector<any_tensor> while_loop(function_ref<any_tensor(const std::vector<any_tensor>&)> condition,
                                                function_ref<std::vector<any_tensor>(const std::vector<any_tensor>&)> f,
                                                const std::vector<any_tensor>& first,
                                                const detail::written_loop* written, called_from here) {
    const making made(here);
    detail::captured_tensors captured;
    detail::body_builder asks(captured), repeats(captured);
    const auto body_of = [&](detail::body_builder& b, auto&& call) {
        std::vector<any_tensor> x;
        for (const any_tensor& t : first) x.push_back(b.add_argument(t.type()));
        const detail::body_scope in(b);
        std::vector<any_tensor> results = call(x);
        for (any_tensor& r : results) r = b.here(r);
        return results;
    };
    const std::vector<any_tensor> goes_on =
        body_of(asks, [&](const auto& x) { return std::vector<any_tensor>{condition(x)}; });
    const std::vector<any_tensor> next = body_of(repeats, f);
    // What the expressions are given beside what is carried, as the bodies have it.
    const auto givens_of = [&](const detail::written_part& p) {
        std::vector<any_tensor> all;
        for (const any_tensor& t : p.given.operands)
            all.push_back((all.size() < p.of_condition ? asks : repeats).here(t));
        return all;
    };
    std::vector<any_tensor> givens[2];
    const bool is_written = written && written->uniform.code && (written->elements.code || written->is_all_uniform);
    if (is_written) givens[0] = givens_of(written->uniform), givens[1] = givens_of(written->elements);
    const body condition_body = asks.finish(goes_on), next_body = repeats.finish(next);
    const while_op::attributes a{condition_body.text(), next_body.text(), static_cast<std::int64_t>(first.size())};
    if (is_written) detail::enter_written(a.condition, a.body, *written, givens, condition_body, next_body);
    std::vector<any_tensor> inputs = first;
    detail::append(inputs, captured);
    node* const n = add_node(definition_of<while_op>(), std::move(inputs), encode(a));
    std::vector<any_tensor> last = detail::outputs_of(n);
    last.pop_back(); // how often it ran
    return last;
}
} // namespace untyped

TENON_INLINE void while_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    detail::body_gradient b(a.body);
    const std::vector<any_tensor>& own = b.of().arguments();
    const auto count = static_cast<std::size_t>(a.carried);
    const std::vector<std::size_t> carried = detail::floating_of(own, 0, count),
                                   rest = detail::floating_of(own, count, own.size() - count);
    if (carried.empty()) return;
    std::vector<any_tensor> ys, xs, flowing, sums, inputs;
    for (int i = 0; i < g.inputs(); ++i) inputs.push_back(g.input(i));
    inputs.push_back(g.output(static_cast<int>(count)));
    for (const std::size_t c : carried) {
        ys.push_back(b.of().results()[c]);
        xs.push_back(own[c]);
        flowing.push_back(b.add_argument(own[c].type()));
        const auto o = static_cast<int>(c);
        inputs.push_back(g.output_gradient(o).node() ? g.output_gradient(o) : untyped::zeros_like(g.output(o)));
    }
    for (const std::size_t r : rest) {
        xs.push_back(own[r]);
        sums.push_back(b.add_argument(own[r].type()));
    }
    std::vector<any_tensor> gives = b.of(ys, flowing, xs), arguments = flowing;
    for (std::size_t r = 0; r < rest.size(); ++r) gives[carried.size() + r] = b.sum(sums[r], gives[carried.size() + r]);
    detail::append(arguments, sums);
    detail::append(arguments, own);
    node* const made = add_node(
        definition_of<while_gradient_op>(), std::move(inputs),
        encode(while_gradient_op::attributes{b.text(own, b.of().results()), b.text(arguments, gives), a.carried}));
    int output = 0;
    for (const std::vector<std::size_t>* which : {&carried, &rest})
        for (const std::size_t k : *which) g.set(static_cast<int>(k), any_tensor({made, output++}));
}

TENON_INLINE int while_gradient_op::outputs(const attributes& a, int inputs) {
    const std::shared_ptr<const body> b = body::of_text(a.gradient_body);
    return inputs < static_cast<int>(b->results().size()) ? 0 : static_cast<int>(b->results().size());
}

TENON_INLINE inferred while_gradient_op::infer(const attributes& a, type_list in, int output) {
    const std::size_t arguments = body::of_text(a.body)->arguments().size(), rest = detail::rest_of(a);
    if (!detail::fits_in(a.carried, static_cast<std::int64_t>(arguments)) ||
        in.size() < static_cast<int>(arguments) + 1)
        return fault::expects_more_operands;
    const detail::floating_inputs floats(in, arguments - rest, rest);
    if (in.size() != static_cast<int>(arguments + 1 + floats.of_carried.size())) return operands_are_those_of_its_loop;
    if (const tensor_type& runs = in[static_cast<int>(arguments)];
        runs.element != element_type::int64 || runs.extents.rank() != 0)
        return operands_are_those_of_its_loop;
    std::vector<tensor_type> given;
    for (std::size_t k = 0; k < floats.size(); ++k) given.push_back(in[static_cast<int>(floats[k])]);
    for (std::size_t c = 0; c < floats.of_carried.size(); ++c)
        if (!detail::types_agree(in[static_cast<int>(arguments + 1 + c)], given[c]))
            return operands_are_those_of_its_loop;
    for (std::size_t k = 0; k < arguments; ++k) given.push_back(in[static_cast<int>(k)]);
    const std::vector<tensor_type> results =
        body::of_text(a.gradient_body)->result_types({given.data(), static_cast<int>(given.size())});
    if (results.size() != floats.size()) return operands_are_those_of_its_loop;
    for (std::size_t k = 0; k < results.size(); ++k)
        if (!detail::types_agree(results[k], given[k])) return operands_are_those_of_its_loop;
    return output < static_cast<int>(floats.size()) ? inferred(given[static_cast<std::size_t>(output)])
                                                    : inferred(fault::none);
}

namespace detail {
// A run of a loop beside which tangents are carried: how its floating carries change where they, and the floating ones of the rest, do.
struct loop_of_tangents {
    explicit loop_of_tangents(const while_gradient_op::attributes& a) : b(a.body) {
        const std::vector<any_tensor>& own = b.of().arguments();
        const std::size_t count = own.size() - rest_of(a);
        carried = floating_of(own, 0, count);
        rest = floating_of(own, count, own.size() - count);
        arguments.push_back(b.add_argument({element_type::int64, extents()})); // how many runs are left
        std::vector<any_tensor> xs, ys, tangents, flowing;
        for (const std::vector<std::size_t>* which : {&carried, &rest})
            for (const std::size_t k : *which) {
                xs.push_back(own[k]);
                tangents.push_back(b.add_argument(own[k].type()));
            }
        const graph_scope in(b.of().of());
        for (std::size_t c = 0; c < carried.size(); ++c) {
            ys.push_back(b.of().results()[carried[c]]);
            flowing.push_back(untyped::identity(tangents[c])); // of any value: what is linear in it is asked for
        }
        const std::vector<any_tensor> changed = b.of(b.of(ys, flowing, xs), tangents, flowing);
        const auto own_rest = own.begin() + static_cast<std::ptrdiff_t>(count);
        const auto tangents_of_rest = tangents.begin() + static_cast<std::ptrdiff_t>(carried.size());
        results.push_back(untyped::subtract(arguments[0], 1));
        append(results, b.of().results());
        append(results, changed);
        arguments.insert(arguments.end(), own.begin(), own_rest);
        arguments.insert(arguments.end(), tangents.begin(), tangents_of_rest);
        arguments.insert(arguments.end(), own_rest, own.end());
        arguments.insert(arguments.end(), tangents_of_rest, tangents.end());
        goes_on = untyped::greater(arguments[0], 0);
    }
    while_op::attributes attributes() const {
        return {b.text(arguments, {goes_on}), b.text(arguments, results), static_cast<std::int64_t>(results.size())};
    }

    body_gradient b;
    std::vector<std::size_t> carried, rest; // which of the loop's arguments are floating
    std::vector<any_tensor> arguments, results;
    any_tensor goes_on;
};
} // namespace detail

// Where u flows into what it gives, the sum of u times that is the sum of what flows into the last carries times how these change where
// the first ones, and the rest, change by u. So what flows back is such changes, of a loop that carries them, and that loop's gradient.
TENON_INLINE void while_gradient_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    const detail::loop_of_tangents loop(a);
    const int own = static_cast<int>(loop.b.of().arguments().size()),
              carried = own - static_cast<int>(detail::rest_of(a)), floats = static_cast<int>(loop.carried.size());
    std::vector<any_tensor> inputs{g.input(own)};
    const auto add = [&](int first, int end) {
        for (int k = first; k < end; ++k) inputs.push_back(g.input(k));
    };
    const auto add_tangents = [&](int first, int end) {
        for (int o = first; o < end; ++o)
            inputs.push_back(g.output_gradient(o).node() ? g.output_gradient(o) : untyped::zeros_like(g.output(o)));
    };
    add(0, carried);
    add_tangents(0, floats);
    add(carried, own);
    add_tangents(floats, g.outputs());
    node* const changes = add_node(definition_of<while_op>(), std::move(inputs), encode(loop.attributes()));
    std::vector<any_tensor> flowing(changes->outputs.size());
    for (int c = 0; c < floats; ++c) {
        const int output = 1 + carried + c, flow = own + 1 + c;
        g.set(flow, any_tensor({changes, output}));
        flowing[static_cast<std::size_t>(output)] = g.input(flow);
    }
    gradient_context back(*changes, std::move(flowing));
    while_op::gradient(back);
    for (const std::size_t c : loop.carried) g.set(static_cast<int>(c), back.input_gradients()[1 + c]);
    for (const std::size_t r : loop.rest)
        g.set(static_cast<int>(r), back.input_gradients()[1 + loop.carried.size() + r]);
}

TENON_INLINE kernel_pointer while_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::while_kernel>(s);
}
TENON_INLINE kernel_pointer while_gradient_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::while_gradient_kernel>(s);
}

} // namespace tenon

#endif
