#pragma once

#include <tenon/core/function_ref.hpp>
#include <tenon/graph/gradient_context.hpp>
#include <tenon/ops/flow/bodies.hpp>

/// A recurrence: a body that is run on the slices of tensors, one after another, and hands on what it carries.
///
///     // float[32, 64], and float[20, batch, 32] -> the last state, and all of them: float[20, batch, 64]
///     const auto [last, all] = tn::scan([&](const auto& h, const auto& x) {
///         const auto next = tanh(matmul(x, w) + matmul(h, u));
///         return std::pair(next, next);
///     }, start, inputs);

namespace tenon {

/// in: `carried` tensors c, `sliced` tensors x of as many slices along axis 0, and what each run is given besides. For each slice, the
/// last first where `reversed`:  c, y = body(c, slice of each x, the rest).  out: the last c; each y, stacked along axis 0 where its x lay;
/// the c that each run was given, stacked in the same way.
struct scan_op {
    static constexpr const char* name = "scan";
    struct attributes {
        std::string body; ///< body::text()
        std::int64_t carried = 0, sliced = 0;
        bool reversed = false;
    };
    static constexpr char there_is_a_tensor_to_go_through[] =
        "there is one tensor at least whose slices it goes through";
    static constexpr char slices_are_of_tensors_of_rank_1[] =
        "what it goes through has an axis 0, of the same size in all";
    static constexpr char the_body_gives_other_types_than_it_is_given[] =
        "the body gives other types for what it carries than it is given";
    static int outputs(const attributes& a, int inputs);
    static inferred infer(const attributes& a, type_list in, int output);
    static std::vector<std::string> bodies(const attributes& a) { return {a.body}; }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s); ///< for GPUs, too
};
TENON_OP(scan_slices, scan);

/// How tn::scan goes through its slices.
struct slice_order {
    bool reversed = false; ///< from the last slice to the first
};

namespace detail {
/// What a body of scan gives: what it carries on, and what is stacked.
struct carried_and_given {
    std::vector<any_tensor> carried, given;
};
} // namespace detail

namespace untyped {
/// The last of what is carried, then what the body gives, stacked.
std::vector<any_tensor> scan(function_ref<detail::carried_and_given(const std::vector<any_tensor>& carried,
                                                                    const std::vector<any_tensor>& slices)>
                                 f,
                             const std::vector<any_tensor>& carried, const std::vector<any_tensor>& sliced,
                             slice_order o = {}, called_from here = caller());
} // namespace untyped

namespace detail {
constexpr inferred slice_of(const tensor_type& x) {
    if (x.extents.rank() < 1) return scan_op::slices_are_of_tensors_of_rank_1;
    extents sizes;
    for (int d = 1; d < x.extents.rank(); ++d) sizes.push_back(x.extents[d]);
    return inferred(x.element, sizes);
}
constexpr inferred stack_of(const extent& count, const tensor_type& slice) {
    extents sizes;
    sizes.push_back(count);
    for (const extent& e : slice.extents) sizes.push_back(e);
    return inferred(slice.element, sizes);
}
// All that is gone through: slices of the first.
struct sliced_rule {
    static constexpr const char* name = scan_op::name;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        for (const tensor_type& t : in)
            if (t.extents.rank() < 1 || equal_sizes(t.extents[0], in[0].extents[0]).what != fault::none)
                return scan_op::slices_are_of_tensors_of_rank_1;
        return slice_of(in[0]);
    }
};
// One of them, and a slice of what is stacked.
struct stacked_rule {
    static constexpr const char* name = scan_op::name;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) { return stack_of(in[0].extents[0], in[1]); }
};

template <class... X> struct types_of_slices {
    using type =
        std::tuple<op_result_t<sliced_rule, without_attributes, 0, typename X::element_type, operand_of_t<X>>...>;
};
template <class Xs> struct slices_of;
template <class... X> struct slices_of<std::tuple<X...>> {
    using verdict = verdict_of<sliced_rule, without_attributes, operand_of_t<X>...>;
    using where_they_fit = types_of_slices<X...>;
};
template <class X, class Ys> struct stacks_of;
template <class X, class... Y> struct stacks_of<X, std::tuple<Y...>> {
    using type = std::tuple<op_result_t<stacked_rule, without_attributes, 0, typename Y::element_type, operand_of_t<X>,
                                        operand_of_t<Y>>...>;
};
// Of tensors and expressions, one or a tuple.
template <class X> using tensors_of_t = decltype(tensors_of(std::declval<const X&>()));
template <class R> inline constexpr bool is_pair = false;
template <class A, class B> inline constexpr bool is_pair<std::pair<A, B>> = true;
template <class R> struct pair_of {
    using first = ill_shaped;
    using second = ill_shaped;
};
template <class A, class B> struct pair_of<std::pair<A, B>> {
    using first = A;
    using second = B;
};
// A body is called with what stands for one tensor, or for a tuple of them.
template <class R, class Tuple>
using given_as_t = std::conditional_t<is_several<R>, Tuple, std::tuple_element_t<0, Tuple>>;
} // namespace detail

/// Runs f(carry, slice) for each slice of xs along axis 0, in order: it gives std::pair(next carry, y). The result is std::pair(last carry,
/// ys): ys are the y of all slices, stacked along axis 0. carry, xs and y are each a tensor, or several as std::tuple, which f is given and
/// gives as tuples; what f gives as the next carry has the type of the first. Where there are no slices, the last carry is
/// the first. f is called once, now, and builds a body; it computes and nothing else (variables it uses; they are made, and random
/// numbers drawn, outside, where texts stay, too). One node whatever the number of slices, which may be known in the step only.
///
/// Gradients flow through all steps, second ones too. They are a scan backwards, which computes each step again from the carry
/// that it was given: what is kept is a carry a slice.
template <class F, class C, class X>
auto scan(const F& f, const C& first, const X& xs, slice_order o = {}, called_from here = caller()) {
    const making made(here);
    constexpr bool good = detail::are_operands<C> && detail::are_operands<X>;
    static_assert(good, "tenon::scan: what is carried and what it goes through are tensors, or several as std::tuple: "
                        "write constant(0.0f)");
    if constexpr (!good || detail::any_mistake<C> || detail::any_mistake<X>) return std::pair<ill_shaped, ill_shaped>{};
    else {
        using carried = detail::tensors_of_t<C>;
        using sliced = detail::tensors_of_t<X>;
        using slices = typename detail::slices_of<sliced>;
        static_assert(slices::verdict::agree, "tenon: shapes do not agree");
        if constexpr (!slices::verdict::fits) return std::pair<ill_shaped, ill_shaped>{};
        else {
            using slice = typename slices::where_they_fit::type;
            using arguments = std::tuple<detail::given_as_t<C, carried>, detail::given_as_t<X, slice>>;
            using given = decltype(detail::given_by(f, detail::to<arguments>));
            constexpr bool gives = detail::are_operands<given>;
            static_assert(gives, "tenon::scan: what the function gives are tensors, each or several as std::tuple: "
                                 "constant(1.0f)");
            static_assert(!gives || detail::is_pair<given>,
                          "tenon::scan: the function takes the carry and a slice, each a tensor or one std::tuple of "
                          "several, and gives std::pair(next carry, what is stacked)");
            using next = typename detail::pair_of<given>::first;
            using y = typename detail::pair_of<given>::second;
            if constexpr (!gives || detail::any_mistake<next> || detail::any_mistake<y>)
                return std::pair<ill_shaped, ill_shaped>{};
            else {
                static_assert(std::tuple_size_v<detail::tensors_of_t<next>> == std::tuple_size_v<carried>,
                              "tenon::scan: the function carries on as many tensors as it is given");
                using verdict = detail::carried_verdict<scan_op, carried, detail::tensors_of_t<next>>;
                static_assert(verdict::agree, "tenon: shapes do not agree");
                if constexpr (!verdict::fits) return std::pair<ill_shaped, ill_shaped>{};
                else {
                    using stacks =
                        typename detail::stacks_of<std::tuple_element_t<0, sliced>, detail::tensors_of_t<y>>::type;
                    const std::vector<any_tensor> tensors = untyped::scan(
                        [&](const std::vector<any_tensor>& c, const std::vector<any_tensor>& x) {
                            const auto carry = detail::as_given<C>(detail::typed_from<carried>(c));
                            const auto each = detail::as_given<X>(detail::typed_from<slice>(x));
                            const auto both = f(carry, each);
                            return detail::carried_and_given{detail::untyped_of(detail::tensors_of(both.first)),
                                                             detail::untyped_of(detail::tensors_of(both.second))};
                        },
                        detail::untyped_of(detail::tensors_of(first)), detail::untyped_of(detail::tensors_of(xs)), o);
                    return std::pair(
                        detail::as_given<C>(detail::typed_from<carried>(tensors)),
                        detail::as_given<y>(detail::typed_from<stacks>(tensors, std::tuple_size_v<carried>)));
                }
            }
        }
    }
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_scan_slices)

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/expr/tape_loop.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/flow/body_kernels.hpp>
#include <tenon/ops/shape/assembly.hpp>

namespace tenon {

namespace detail {
// How many of each there are; counts from a file may be any.
struct scan_counts {
    scan_counts(const scan_op::attributes& a, std::size_t inputs, const body& b) :
        carried(static_cast<std::size_t>(a.carried)), sliced(static_cast<std::size_t>(a.sliced)) {
        const auto all = static_cast<std::int64_t>(inputs);
        const auto results = static_cast<std::int64_t>(b.results().size());
        fit =
            a.carried >= 0 && a.sliced >= 1 && a.carried <= all && a.sliced <= all - a.carried && a.carried <= results;
        if (fit) given = b.results().size() - carried;
    }
    std::size_t carried, sliced, given = 0;
    bool fit;
};
} // namespace detail

TENON_INLINE int scan_op::outputs(const attributes& a, int inputs) {
    const detail::scan_counts n(a, static_cast<std::size_t>(inputs), *body::of_text(a.body));
    return n.fit ? static_cast<int>(2 * n.carried + n.given) : 0;
}

TENON_INLINE inferred scan_op::infer(const attributes& a, type_list in, int output) {
    const std::shared_ptr<const body> b = body::of_text(a.body);
    const detail::scan_counts n(a, static_cast<std::size_t>(in.size()), *b);
    if (!n.fit) return there_is_a_tensor_to_go_through;
    const type_list sliced(in.begin() + n.carried, static_cast<int>(n.sliced));
    if (const inferred r = detail::sliced_rule::infer({}, sliced, 0); !r) return r;
    std::vector<tensor_type> given(in.begin(), in.end());
    for (std::size_t k = 0; k < n.sliced; ++k)
        given[n.carried + k] = detail::slice_of(sliced[static_cast<int>(k)]).type;
    const std::vector<tensor_type> results = b->result_types({given.data(), static_cast<int>(given.size())});
    for (std::size_t c = 0; c < n.carried; ++c)
        if (!detail::types_agree(results[c], given[c]))
            return detail::not_agreeing(the_body_gives_other_types_than_it_is_given, results[c], given[c]);
    extent count = sliced[0].extents[0];
    for (const tensor_type& t : sliced) count = equal_sizes(count, t.extents[0]).size;
    const auto o = static_cast<std::size_t>(output);
    if (o < n.carried) return in[output];
    if (o < n.carried + n.given) return detail::stack_of(count, results[o]);
    return o < 2 * n.carried + n.given ? detail::stack_of(count, in[static_cast<int>(o - n.carried - n.given)])
                                       : inferred(fault::none);
}

namespace untyped {
TENON_INLINE std::vector<any_tensor> scan(function_ref<detail::carried_and_given(const std::vector<any_tensor>& carried,
                                                                                 const std::vector<any_tensor>& slices)>
                                              f,
                                          const std::vector<any_tensor>& carried, const std::vector<any_tensor>& sliced,
                                          slice_order o, called_from here) {
    const making made(here);
    detail::captured_tensors captured;
    detail::body_builder b(captured);
    std::vector<any_tensor> c, x;
    for (const any_tensor& t : carried) c.push_back(b.add_argument(t.type()));
    for (const any_tensor& t : sliced) {
        const inferred slice = detail::slice_of(t.type());
        if (!slice) throw invalid_argument_error("scan: " + t.name() + ": " + slice.words());
        x.push_back(b.add_argument(slice.type));
    }
    std::vector<any_tensor> results;
    {
        const detail::body_scope in(b);
        detail::carried_and_given both = f(c, x);
        if (both.carried.size() != carried.size())
            throw invalid_argument_error("scan: the function is given " + std::to_string(carried.size()) +
                                         " tensors to carry on, and gives " + std::to_string(both.carried.size()));
        detail::append(both.carried, both.given);
        for (const any_tensor& t : both.carried) results.push_back(b.here(t));
    }
    const scan_op::attributes a{b.finish(results).text(), static_cast<std::int64_t>(carried.size()),
                                static_cast<std::int64_t>(sliced.size()), o.reversed};
    std::vector<any_tensor> inputs = carried;
    detail::append(inputs, sliced);
    detail::append(inputs, captured);
    node* const n = add_node(definition_of<scan_op>(), std::move(inputs), encode(a));
    std::vector<any_tensor> outputs = detail::outputs_of(n);
    outputs.resize(results.size());
    return outputs;
}
} // namespace untyped

// A scan the other way round, whose body has the gradient of one step. It carries what flows into the carry, and the sums of what
// flows into what all steps are given; it goes through the carries that were, the slices, and what flows into each stack.
TENON_INLINE void scan_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    detail::body_gradient b(a.body);
    const detail::scan_counts n(a, static_cast<std::size_t>(g.inputs()), b.of());
    const std::vector<any_tensor>&own = b.of().arguments(), &results = b.of().results();
    const std::size_t rest = n.carried + n.sliced;
    const std::vector<std::size_t> carried = detail::floating_of(own, 0, n.carried),
                                   sliced = detail::floating_of(own, n.carried, n.sliced),
                                   shared = detail::floating_of(own, rest, own.size() - rest);
    const auto flowing_into = [&](std::size_t output) { return g.output_gradient(static_cast<int>(output)); };

    std::vector<any_tensor> ys, flowing, xs, first, stacks, next_arguments, slice_arguments;
    for (const std::size_t c : carried) {
        ys.push_back(results[c]);
        flowing.push_back(b.add_argument(own[c].type()));
        const any_tensor last = g.output(static_cast<int>(c));
        first.push_back(flowing_into(c).node() ? flowing_into(c) : untyped::zeros_like(last));
    }
    next_arguments = flowing;
    std::vector<any_tensor> sums;
    for (const std::size_t s : shared) {
        sums.push_back(b.add_argument(own[s].type()));
        first.push_back(untyped::zeros_like(g.input(static_cast<int>(s))));
    }
    detail::append(next_arguments, sums);
    for (std::size_t c = 0; c < n.carried; ++c) {
        stacks.push_back(g.output(static_cast<int>(n.carried + n.given + c)));
        slice_arguments.push_back(own[c]);
    }
    for (std::size_t x = n.carried; x < rest; ++x) {
        stacks.push_back(g.input(static_cast<int>(x)));
        slice_arguments.push_back(own[x]);
    }
    for (std::size_t y = n.carried; y < n.carried + n.given; ++y)
        if (flowing_into(y).node()) {
            ys.push_back(results[y]);
            flowing.push_back(b.add_argument(results[y].type()));
            stacks.push_back(flowing_into(y));
            slice_arguments.push_back(flowing.back());
        }
    if (ys.empty()) return;
    for (const std::vector<std::size_t>* which : {&carried, &sliced, &shared})
        for (const std::size_t k : *which) xs.push_back(own[k]);
    std::vector<any_tensor> amounts = b.of(ys, flowing, xs);
    for (std::size_t k = 0; k < carried.size(); ++k) // what flows into the carry by itself
        if (const std::size_t stack = n.carried + n.given + carried[k]; flowing_into(stack).node()) {
            slice_arguments.push_back(b.add_argument(own[carried[k]].type()));
            stacks.push_back(flowing_into(stack));
            amounts[k] = b.sum(amounts[k], slice_arguments.back());
        }
    std::vector<any_tensor> gives(amounts.begin(), amounts.begin() + static_cast<std::ptrdiff_t>(carried.size()));
    for (std::size_t s = 0; s < shared.size(); ++s)
        gives.push_back(b.sum(sums[s], amounts[carried.size() + sliced.size() + s]));
    for (std::size_t x = 0; x < sliced.size(); ++x) gives.push_back(amounts[carried.size() + x]);

    std::vector<any_tensor> inputs = first, arguments = next_arguments;
    detail::append(inputs, stacks);
    detail::append(arguments, slice_arguments);
    for (std::size_t s = rest; s < own.size(); ++s) {
        inputs.push_back(g.input(static_cast<int>(s)));
        arguments.push_back(own[s]);
    }
    const attributes backwards{b.text(arguments, gives), static_cast<std::int64_t>(first.size()),
                               static_cast<std::int64_t>(stacks.size()), !a.reversed};
    node* const made = add_node(definition_of<scan_op>(), std::move(inputs), encode(backwards));
    int output = 0;
    for (const std::vector<std::size_t>* which : {&carried, &shared, &sliced})
        for (const std::size_t k : *which) g.set(static_cast<int>(k), any_tensor({made, output++}));
}

namespace detail {
// Where the body is elementwise, a tape_loop. Else a carry lies, from one run to the next: where it was given; where its stack is, if that is read; or in one of two places in turn; the
// last where its output is. How often the body runs is known from sizes, so that a stream is given all runs at once.
class scan_slices_kernel final : public kernel_of_bodies {
public:
    explicit scan_slices_kernel(const kernel_setup& s) : reversed_(s.attrs.get<std::int64_t>("reversed") != 0) {
        const auto a = decode<scan_op::attributes>(s.attrs);
        const std::shared_ptr<const body> b = body::of_text(a.body);
        const scan_counts n(a, static_cast<std::size_t>(s.inputs.size()), *b);
        std::vector<tensor_type> given(s.inputs.begin(), s.inputs.end());
        steps_ = given[n.carried].extents[0].size;
        for (std::size_t x = n.carried; x < n.carried + n.sliced; ++x) {
            given[x] = slice_of(given[x]).type;
            sliced_.push_back(bytes_in(given[x]));
        }
        bytes_ = block_of(add_body(s, a.body, {given.data(), static_cast<int>(given.size())}).scratch_bytes());
        inputs_ = given.size();
        for (std::size_t c = 0; c < n.carried; ++c) {
            carried_.push_back({bytes_in(given[c]), bytes_, tensor_copy(s, given[c])});
            bytes_ += 2 * block_of(carried_.back().bytes);
        }
        for (std::size_t y = n.carried; y < n.carried + n.given; ++y) {
            stacked_.push_back({bytes_in(slice_of(s.outputs[static_cast<int>(y)]).type), bytes_});
            bytes_ += block_of(stacked_.back().bytes);
        }
        if (const body_tape* const of = body_at(0).as_tape()) {
            const type_list arguments(given.data(), static_cast<int>(given.size()));
            tapes_ =
                tape_loop::make(nullptr, of, arguments, b->result_types(arguments), n.carried, n.sliced, s.threads);
        }
        tapes_at_ = bytes_;
        if (tapes_) bytes_ += tapes_->scratch_bytes();
    }
    void run(const kernel_run& r) override { tapes_ ? run_tapes(r) : run_bodies(r); }
    std::size_t scratch_bytes() const override { return bytes_; }
    double cost() const override { return body_at(0).cost() * static_cast<double>(steps_); }
    // A recording of very many kernels takes longer to make than it saves.
    bool may_be_recorded() const override {
        constexpr std::size_t most = std::size_t{1} << 16;
        const auto kernels = std::max<std::size_t>(body_at(0).kernels(), 1);
        return static_cast<std::size_t>(steps_) <= most / kernels && kernel_of_bodies::may_be_recorded();
    }

private:
    std::int64_t slice(std::int64_t step) const { return reversed_ ? steps_ - 1 - step : step; }
    // Of tensors of so many bytes, one after another: where that of the first step is, and how far it is from one to the next.
    std::ptrdiff_t offset_of(std::size_t bytes) const {
        return steps_ > 0 ? static_cast<std::ptrdiff_t>(bytes) * slice(0) : 0;
    }
    std::ptrdiff_t step_of(std::size_t bytes) const {
        return reversed_ ? -static_cast<std::ptrdiff_t>(bytes) : static_cast<std::ptrdiff_t>(bytes);
    }
    run_target in_order(std::byte* at, std::size_t bytes) const {
        return {at ? at + offset_of(bytes) : nullptr, step_of(bytes)};
    }

    void run_tapes(const kernel_run& r) {
        std::byte* const own = r.scratch + tapes_at_;
        const tape_loop::places to = tapes_->begin(own);
        const auto output = [&](std::size_t o) { return r.output<std::byte>(static_cast<int>(o)); };
        for (std::size_t k = 0; k < inputs_; ++k) to.operands[k].at = r.input<std::byte>(static_cast<int>(k));
        for (std::size_t x = 0; x < sliced_.size(); ++x) {
            run_source& slices = to.operands[carried_.size() + x];
            slices.step = step_of(sliced_[x]);
            slices.at = slices.at + offset_of(sliced_[x]);
        }
        for (std::size_t c = 0; c < carried_.size(); ++c) {
            const std::size_t stack = carried_.size() + stacked_.size() + c;
            to.carries[c] = {to.operands[c].at, output(c) ? output(c) : r.scratch + carried_[c].offset,
                             in_order(output(stack), carried_[c].bytes)};
        }
        for (std::size_t y = 0; y < stacked_.size(); ++y)
            to.given[y] = in_order(output(carried_.size() + y), stacked_[y].bytes);
        tapes_->run(steps_, own, r.pool, [&] { require_wanted(r); });
    }

    void run_bodies(const kernel_run& r) {
        const auto stack = [&](std::size_t c) {
            return r.output<std::byte>(static_cast<int>(carried_.size() + stacked_.size() + c));
        };
        // The carry that run number `step` is given.
        const auto place_of = [&](std::size_t c, std::int64_t step) -> std::byte* {
            const carry& b = carried_[c];
            if (step == steps_ && r.out[c]) return r.output<std::byte>(static_cast<int>(c));
            if (step < steps_ && stack(c)) return stack(c) + static_cast<std::size_t>(slice(step)) * b.bytes;
            return r.scratch + b.offset + static_cast<std::size_t>(step % 2) * block_of(b.bytes);
        };
        body_runs each = begin_body(0, r, 0);
        for (std::size_t c = 0; c < carried_.size(); ++c) {
            each.argument(c) = r.in[c];
            if ((steps_ == 0 && r.out[c]) || (steps_ > 0 && stack(c))) carried_[c].copy(place_of(c, 0), r.in[c], r);
        }
        for (std::size_t k = carried_.size() + sliced_.size(); k < inputs_; ++k) each.argument(k) = r.in[k];
        for (std::int64_t step = 0; step < steps_; ++step) {
            require_wanted(r);
            const auto at = static_cast<std::size_t>(slice(step));
            for (std::size_t x = 0; x < sliced_.size(); ++x)
                each.argument(carried_.size() + x) =
                    r.input<std::byte>(static_cast<int>(carried_.size() + x)) + at * sliced_[x];
            for (std::size_t c = 0; c < carried_.size(); ++c) each.result(c) = place_of(c, step + 1);
            for (std::size_t y = 0; y < stacked_.size(); ++y) {
                auto* const to = r.output<std::byte>(static_cast<int>(carried_.size() + y));
                each.result(carried_.size() + y) = to ? to + at * stacked_[y].bytes : r.scratch + stacked_[y].offset;
            }
            each.run();
            for (std::size_t c = 0; c < carried_.size(); ++c) each.argument(c) = each.result(c);
        }
    }

    struct block {
        std::size_t bytes, offset; // in working memory
    };
    struct carry {
        std::size_t bytes, offset;
        tensor_copy copy;
    };
    bool reversed_;
    std::int64_t steps_ = 0;
    std::size_t inputs_ = 0;          // of the body
    std::vector<std::size_t> sliced_; // bytes of a slice
    std::vector<carry> carried_;
    std::vector<block> stacked_;
    std::unique_ptr<const tape_loop> tapes_; // of a body that is elementwise
    std::size_t tapes_at_ = 0, bytes_ = 0;   // in working memory, and of it
};
} // namespace detail

TENON_INLINE kernel_pointer scan_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::scan_slices_kernel>(s);
}

} // namespace tenon

#endif
