#pragma once

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Scaled dot-product attention (A. Vaswani et al., Attention is all you need, NeurIPS 2017), with no more memory than its operands take,
/// however long the sequences are: the scores of all queries with all keys are never there at once.
///
///     y[.., h, i, :] = sum over j of p[j] v[.., g, j, :],   p = softmax over j of scale * sum over l of q[.., h, i, l] k[.., g, j, l]
///
///     auto y = tn::attention(q, k, v);                      // [b, 8, n, 64] x [b, 8, m, 64] x [b, 8, m, 64] -> [b, 8, n, 64]
///     auto c = tn::attention(q, k, v, {.causal = true});    // query i sees the keys 0 .. i
///     auto l = tn::attention(q, k, v, lengths);             // lengths: int32[b]; of sequence s the first lengths[s] keys are seen
///     auto m = tn::attention(q, k, v, mask);                // mask: float[8, n, m], added to the scores: a bias, or -infinity
///
/// Queries [.., heads, n, d], keys [.., key heads, m, d], values [.., key heads, m, e] -> [.., heads, n, e]; or without heads [n, d], and
/// [b, n, d] where lengths [b] are given. The keys' heads divide the queries': head h reads their head g = h / (heads / key heads). What
/// a query does not see takes no part, whatever it is (of causal attention: whatever finite it is); a query that sees no key gives 0.
/// Element types float, double, half and bfloat16, the last two computed in float.
///
/// A mask of q's element type is added to the scaled scores [.., heads, n, m], whose sizes it has, or 1, from the last on. Where it is
/// -infinity a key is not seen, whatever finite its value is. With it a gradient of the mask takes the memory of all scores, and on a GPU
/// so does all of it, which is computed there by the formula.

namespace tenon {

/// in: q, k, v and, where not all keys count, key lengths, int32 or int64; then, where there is one, a mask with as many dimensions as q.
/// out: y; and the logarithm of the sum that softmax divides by, [.., heads, n], for the gradient, in the type that is computed in.
struct attention_op {
    static constexpr const char* name = "attention";
    static constexpr op_flags flags = op_flags::any_order;
    struct attributes {
        bool causal = false;
        double scale = 0; ///< 0: 1 / sqrt(d)
    };
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr char heads_do_not_divide[] = "the number of heads of keys does not divide that of queries";
    static constexpr char lengths_differ[] = "there is not one key length for each sequence";
    static constexpr char mask_does_not_fit[] =
        "the mask is added to scores [.., heads, queries, keys]: its sizes are theirs, or 1";

    /// What follows `first` operands: which input has key lengths, and which the mask; 0: none.
    struct extras {
        constexpr extras(type_list in, int first) {
            const int last = in.size() - 1;
            if (last >= first && is_floating(in[last].element)) mask = last;
            if (last >= first && mask != first) lengths = first;
        }
        int lengths = 0, mask = 0;
    };

    static constexpr inferred infer(const attributes&, type_list in, int output) {
        if (in.size() < 3 || in.size() > 5) return fault::expects_more_operands;
        const extras more(in, 3);
        const extents &q = in[0].extents, &k = in[1].extents, &v = in[2].extents;
        const int r = q.rank();
        for (int i = 0; i < 3; ++i) {
            if (!is_floating(in[i].element)) return fault::element_type_must_be_floating;
            if (in[i].element != in[0].element) return fault::element_types_differ;
            if (in[i].extents.rank() < 2) return fault::rank_too_low;
            if (in[i].extents.rank() != r) return fault::ranks_differ;
        }
        if (equal_sizes(q[r - 1], k[r - 1]).what != fault::none) return fault::inner_dimensions_differ;
        if (equal_sizes(k[r - 2], v[r - 2]).what != fault::none) return fault::sizes_differ;
        extents batch;
        for (int i = 0; i < r - 3; ++i) {
            const merged_extent keys = equal_sizes(k[i], v[i]), all = equal_sizes(q[i], keys.size);
            if (keys.what != fault::none || all.what != fault::none) return fault::batch_sizes_differ;
            batch.push_back(all.size);
        }
        if (more.lengths) {
            if (in[3].element != element_type::int32 && in[3].element != element_type::int64)
                return fault::element_type_must_be_integer;
            const merged_extents m = equal_shapes(batch, in[3].extents);
            if (m.what != fault::none) return lengths_differ;
            batch = m.extents;
        }
        if (r > 2) {
            const extent heads = q[r - 3];
            const merged_extent of_keys = equal_sizes(k[r - 3], v[r - 3]);
            if (of_keys.what != fault::none) return fault::sizes_differ;
            if (heads.is_number() && of_keys.size.is_number() &&
                (of_keys.size.size == 0 ? heads.size != 0 : heads.size % of_keys.size.size != 0))
                return heads_do_not_divide;
            batch.push_back(heads);
        }
        batch.push_back(q[r - 2]);
        if (in.size() == 5 && !more.mask) return fault::element_type_must_be_floating;
        if (more.mask) {
            const tensor_type& mask = in[more.mask];
            if (mask.element != in[0].element) return fault::element_types_differ;
            if (mask.extents.rank() != r) return fault::ranks_differ;
            for (int i = 0; i < r; ++i)
                if (mask.extents[i] != extent(1) &&
                    equal_sizes(mask.extents[i], i < r - 1 ? batch[i] : k[r - 2]).what != fault::none)
                    return mask_does_not_fit;
        }
        if (output == 1) return inferred(compute_type(in[0].element), batch);
        batch.push_back(v[r - 1]);
        return inferred(in[0].element, batch);
    }
    /// Both products, of which half is seen where it is causal, and of each weight the scale and what softmax takes.
    static double operations(const attributes& a, type_list in, type_list out) {
        const extents &q = in[0].extents, &k = in[1].extents, &v = in[2].extents;
        const int r = q.rank();
        const double weights = static_cast<double>(out[1].extents.elements()) * static_cast<double>(k[r - 2].size);
        const double each = 2.0 * static_cast<double>(q[r - 1].size + v[r - 1].size) + 6;
        return weights * each * (a.causal ? 0.5 : 1);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
    /// What is said of a length that is none.
    static std::string refusal(const std::string& node, std::int64_t length, std::int64_t sequence, std::int64_t keys);
};
TENON_OP(attention, attention);

/// in: q, k, v, attention's outputs 0 and 1, the gradient of output 0, then key lengths and a mask where there are some. out: the
/// gradients of q, k and v, and, where it is `masked`, of the mask as if it were as large as the scores.
struct attention_gradient_op {
    static constexpr const char* name = "attention_gradient";
    static constexpr op_flags flags = op_flags::any_order;
    struct attributes {
        bool causal = false;
        double scale = 0;
        bool masked = false;
    };
    static constexpr int outputs(const attributes& a, int) { return a.masked ? 4 : 3; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() < 6 || in.size() > 8) return fault::expects_more_operands;
        tensor_type forward[5] = {in[0], in[1], in[2]};
        for (int i = 6; i < in.size(); ++i) forward[i - 3] = in[i];
        const type_list of(forward, in.size() - 3);
        if ((attention_op::extras(of, 3).mask != 0) != a.masked) return fault::expects_more_operands;
        for (int i = 3; i < 6; ++i) {
            const inferred r = attention_op::infer({a.causal, a.scale}, of, i == 4 ? 1 : 0);
            if (!r) return r;
            if (in[i].element != r.type.element) return fault::element_types_differ;
            if (equal_shapes(r.type.extents, in[i].extents).what != fault::none) return fault::gradient_shape_differs;
        }
        if (output < 3) return in[output];
        extents scores = in[0].extents;
        scores[scores.rank() - 1] = in[1].extents[scores.rank() - 2];
        return inferred(in[0].element, scores);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(attention, attention_gradient);

/// Attention of queries to keys and values.
template <OperandOrIllShaped Q, OperandOrIllShaped K, OperandOrIllShaped V>
auto attention(const Q& queries, const K& keys, const V& values, const attention_op::attributes& a = {},
               called_from here = caller()) {
    const making made(here);
    return apply_op<attention_op, detail::default_attributes<attention_op>>(a, queries, keys, values);
}
namespace detail {
// Whether there is a length for each of [b, n, d], which is no head then.
template <class Q, class L> inline constexpr bool are_headless = false;
template <Operand Q, Operand L>
inline constexpr bool are_headless<Q, L> = Q::shape_type::rank == 3 && L::shape_type::rank == 1;
template <class M> inline constexpr bool is_mask = false;
template <Operand M> inline constexpr bool is_mask<M> = is_floating(element_type_of<typename M::element_type>);

// With sizes of 1 before the others, so that there are Rank.
template <int Rank, class M> auto with_leading_sizes(const M& mask) {
    if constexpr (Operand<M>)
        if constexpr (M::shape_type::rank < Rank) return with_leading_sizes<Rank>(expand_dims<0>(mask));
        else return as_tensor(mask);
    else return mask;
}
template <class Q, class M> auto mask_for(const M& mask) {
    if constexpr (Operand<Q>) return with_leading_sizes<Q::shape_type::rank>(mask);
    else return mask;
}
} // namespace detail

/// The same where sequence s has lengths[s] keys: int32 or int64, of the sizes before those of heads, or [b] for [b, n, d] without heads.
/// A length that is negative or more than there are keys fails the step with invalid_argument_error, which names it. Or with a mask of
/// q's element type, whose sizes are those of the scores [.., heads, n, m] or 1 from the last on: [n, m], [heads, 1, m].
template <OperandOrIllShaped Q, OperandOrIllShaped K, OperandOrIllShaped V, OperandOrIllShaped L>
auto attention(const Q& queries, const K& keys, const V& values, const L& lengths_or_mask,
               const attention_op::attributes& a = {}, called_from here = caller()) {
    const making made(here);
    using by_default = detail::default_attributes<attention_op>;
    if constexpr (detail::are_headless<Q, L> && !detail::is_mask<L>)
        return squeeze<-3>(
            attention(expand_dims<-3>(queries), expand_dims<-3>(keys), expand_dims<-3>(values), lengths_or_mask, a));
    else if constexpr (detail::is_mask<L>)
        return apply_op<attention_op, by_default>(a, queries, keys, values, detail::mask_for<Q>(lengths_or_mask));
    else return apply_op<attention_op, by_default>(a, queries, keys, values, lengths_or_mask);
}
/// With both: of [b, n, d] without heads the mask is [b, n, m] or [n, m].
template <OperandOrIllShaped Q, OperandOrIllShaped K, OperandOrIllShaped V, OperandOrIllShaped L, OperandOrIllShaped M>
auto attention(const Q& queries, const K& keys, const V& values, const L& key_lengths, const M& mask,
               const attention_op::attributes& a = {}, called_from here = caller()) {
    const making made(here);
    if constexpr (detail::are_headless<Q, L>)
        return squeeze<-3>(attention(expand_dims<-3>(queries), expand_dims<-3>(keys), expand_dims<-3>(values),
                                     key_lengths, expand_dims<-3>(detail::mask_for<Q>(mask)), a));
    else
        return apply_op<attention_op, detail::default_attributes<attention_op>>(a, queries, keys, values, key_lengths,
                                                                                detail::mask_for<Q>(mask));
}

namespace untyped {
any_tensor attention(const any_tensor& queries, const any_tensor& keys, const any_tensor& values,
                     const attention_op::attributes& a = {}, called_from here = caller());
any_tensor attention(const any_tensor& queries, const any_tensor& keys, const any_tensor& values,
                     const any_tensor& lengths_or_mask, const attention_op::attributes& a = {},
                     called_from here = caller());
any_tensor attention(const any_tensor& queries, const any_tensor& keys, const any_tensor& values,
                     const any_tensor& key_lengths, const any_tensor& mask, const attention_op::attributes& a = {},
                     called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_attention)

#include <cmath>

#include <tenon/core/error.hpp>
#include <tenon/memory/paid_memory.hpp>
#include <tenon/op/axis_orders.hpp>
#include <tenon/op/widened.hpp>
#include <tenon/ops/rows/attention_blocks.hpp>
#include <tenon/ops/rows/attention_formula.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor attention(const any_tensor& queries, const any_tensor& keys, const any_tensor& values,
                                  const attention_op::attributes& a, called_from here) {
    return tenon::add<attention_op>(a, {queries, keys, values}, here);
}
TENON_INLINE any_tensor attention(const any_tensor& queries, const any_tensor& keys, const any_tensor& values,
                                  const any_tensor& lengths_or_mask, const attention_op::attributes& a,
                                  called_from here) {
    const making made(here);
    if (is_floating(lengths_or_mask.element())) return attention(queries, keys, values, {}, lengths_or_mask, a);
    return attention(queries, keys, values, lengths_or_mask, {}, a);
}
TENON_INLINE any_tensor attention(const any_tensor& queries, const any_tensor& keys, const any_tensor& values,
                                  const any_tensor& key_lengths, const any_tensor& mask,
                                  const attention_op::attributes& a, called_from here) {
    const making made(here);
    std::vector<any_tensor> in{queries, keys, values};
    if (key_lengths.node()) in.push_back(key_lengths);
    if (mask.node()) {
        in.push_back(mask);
        while (in.back().rank() < queries.rank()) in.back() = expand_dims(in.back(), {0});
    }
    if (queries.rank() != 3 || !key_lengths.node() || key_lengths.rank() != 1) return tenon::add<attention_op>(a, in);
    for (any_tensor& t : in)
        if (t.rank() == 3) t = expand_dims(t, {-3}); // of one head
    return squeeze(tenon::add<attention_op>(a, in), {-3});
}
} // namespace untyped

TENON_INLINE std::string attention_op::refusal(const std::string& node, std::int64_t length, std::int64_t sequence,
                                               std::int64_t keys) {
    return node + ": key length " + std::to_string(length) + " of sequence " + std::to_string(sequence) +
           " is not one of 0 to " + std::to_string(keys) + ", the number of keys";
}

TENON_INLINE void attention_op::gradient(gradient_context& g) {
    if (!g.output_gradient(0).node()) return; // the logarithms are the gradient's own
    std::vector<any_tensor> in{g.input(0), g.input(1), g.input(2), g.output(0), g.output(1), g.output_gradient(0)};
    for (int i = 3; i < g.inputs(); ++i) in.push_back(g.input(i));
    const auto a = g.attributes<attributes>();
    const bool masked = g.inputs() > 3 && is_floating(in.back().element());
    node* n = add_node(definition_of<attention_gradient_op>(), in,
                       encode(attention_gradient_op::attributes{a.causal, a.scale, masked}));
    for (int i = 0; i < 3; ++i) g.set(i, any_tensor({n, i}));
    if (masked) g.set(g.inputs() - 1, detail::add_sum_to(any_tensor({n, 3}), in.back()));
}

namespace detail {

TENON_INLINE attention_sizes sizes_of_attention(const kernel_setup& s) {
    const auto a = decode<attention_op::attributes>(s.attrs);
    const std::vector<ordered_tensor> all = ordered_tensors(s);
    const extents &q = all[0].sizes, &k = all[1].sizes;
    const int r = q.rank();
    attention_sizes z;
    for (int i = 0; i < r - 3; ++i) z.batch *= q[i].size;
    if (r > 2) {
        z.heads = q[r - 3].size;
        z.key_heads = k[r - 3].size;
    }
    z.queries = q[r - 2].size;
    z.keys = k[r - 2].size;
    z.size = q[r - 1].size;
    z.value_size = all[2].sizes[r - 1].size;
    z.scale = a.scale != 0 || z.size == 0 ? a.scale : 1 / std::sqrt(static_cast<double>(z.size));
    z.masked = attention_op::extras(s.inputs, s.outputs.size() == 2 ? 3 : 6).mask != 0;
    z.causal = a.causal;
    const auto steps = [&](int tensor) {
        const auto& [sizes, by] = all[static_cast<std::size_t>(tensor)];
        const std::int64_t whole = sizes.elements();
        return attention_steps{r > 3 ? by[r - 4] : whole, r > 2 ? by[r - 3] : whole, by[r - 2]};
    };
    const int results = s.inputs.size();
    z.q = steps(0);
    z.k = steps(1);
    z.v = steps(2);
    if (s.outputs.size() == 2) z.y = steps(results);
    else {
        z.y = steps(3);
        z.dy = steps(5);
        z.dq = steps(results);
        z.dk = steps(results + 1);
        z.dv = steps(results + 2);
    }
    if (z.queries == 1 && z.key_heads > 0 &&
        !z.causal) { // those of the heads that read the same keys are queries of one
        z.queries = z.heads / z.key_heads;
        z.heads = z.key_heads;
        for (attention_steps* const of : {&z.q, &z.y, &z.dy, &z.dq}) {
            of->row = of->head;
            of->head *= z.queries;
        }
    }
    return z;
}

// Of the tensor of that number, inputs before outputs, which has as many dimensions as the scores and their sizes or 1.
inline score_places places_of_scores(const kernel_setup& s, int tensor, const attention_sizes& z) {
    const std::vector<ordered_tensor> all = ordered_tensors(s);
    const ordered_tensor& t = all[static_cast<std::size_t>(tensor)];
    const extents& queries = all[0].sizes;
    const int r = queries.rank();
    const auto step = [&](int d) { return d < 0 || t.sizes[d] == extent(1) ? 0 : t.steps[d]; };
    score_places p{step(r - 3), step(r - 2), step(r - 1), {}, {}};
    for (int d = 0; d < r - 3; ++d) {
        p.batch.push_back(queries[d]);
        p.steps.push_back(step(d));
    }
    if (r > 2 && z.heads > 0 && z.heads != queries[r - 3].size) { // heads are queries
        p.row = p.head;
        p.head *= queries[r - 3].size / z.heads;
    }
    return p;
}

template <class T> struct attention_kernel : kernel {
    explicit attention_kernel(const kernel_setup& s, int operands = 3) :
        sizes(sizes_of_attention(s)),
        threads(s.threads),
        more(s.inputs, operands),
        wide_lengths(more.lengths != 0 && s.inputs[more.lengths].element == element_type::int64),
        node_name(s.node.name) {
        if (more.mask != 0) mask_at = places_of_scores(s, more.mask, sizes);
    }
    void run(const kernel_run& r) override {
        const label_list list = key_lengths(r);
        attend<T>(sizes, operands(r, list), r.output<T>(0), r.output<T>(1), r.scratch, threads, r.pool);
    }
    std::size_t scratch_bytes() const override { return attention_scratch<T>(sizes, threads); }
    double cost() const override { return 200 + 2 * products(); }

protected:
    label_list key_lengths(const kernel_run& r) const {
        const label_list list{r.in[more.lengths], wide_lengths};
        for (std::int64_t i = 0; more.lengths != 0 && i < sizes.batch; ++i)
            if (list[i] < 0 || list[i] > sizes.keys)
                throw invalid_argument_error(attention_op::refusal(node_name, list[i], i, sizes.keys));
        return list;
    }
    attention_operands<T> operands(const kernel_run& r, const label_list& list) const {
        return {r.input<T>(0),
                r.input<T>(1),
                r.input<T>(2),
                more.lengths != 0 ? &list : nullptr,
                more.mask != 0 ? r.input<T>(more.mask) : nullptr,
                &mask_at};
    }
    /// Nanoseconds of one product of scores' size.
    double products() const {
        return static_cast<double>(sizes.batch * sizes.heads) * static_cast<double>(sizes.queries) *
               static_cast<double>(sizes.keys) * static_cast<double>(sizes.size + sizes.value_size) *
               (sizes.causal ? 0.5 : 1) * 0.003 * sizeof(T);
    }
    attention_sizes sizes;
    int threads;
    attention_op::extras more;
    bool wide_lengths;
    std::string node_name;
    score_places mask_at;
};

template <class T> struct attention_gradient_kernel final : attention_kernel<T> {
    explicit attention_gradient_kernel(const kernel_setup& s) : attention_kernel<T>(s, 6) {
        if (s.outputs.size() == 4) dmask_at = places_of_scores(s, s.inputs.size() + 3, this->sizes);
    }
    void run(const kernel_run& r) override {
        const label_list list = this->key_lengths(r);
        attend_backward<T>(this->sizes, this->operands(r, list), r.input<T>(3), r.input<T>(4), r.input<T>(5),
                           {r.output<T>(0), r.output<T>(1), r.output<T>(2),
                            this->more.mask != 0 ? r.output<T>(3) : nullptr, &dmask_at},
                           r.scratch, this->threads, r.pool);
    }
    std::size_t scratch_bytes() const override { return attention_backward_scratch<T>(this->sizes, this->threads); }
    double cost() const override { return 300 + 5 * this->products(); }

private:
    score_places dmask_at;
};

} // namespace detail

// The formula again, as a function of q, k, v, dy and the mask.
TENON_INLINE void attention_gradient_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    std::vector<any_tensor>
        of; // under names of their own: dy may depend on q, and only what the formula does with each is asked for
    for (int i = 0; i < g.inputs(); ++i) of.push_back(untyped::identity(g.input(i)));
    const std::vector<any_tensor> first = detail::gradients_by_formula(of, a.causal, a.scale);
    std::vector<any_tensor> ys, flowing;
    for (int o = 0; o < g.outputs(); ++o)
        if (g.output_gradient(o).node()) {
            ys.push_back(first[static_cast<std::size_t>(o)]);
            flowing.push_back(g.output_gradient(o));
        }
    std::vector<std::size_t> places{0, 1, 2, 5};
    if (a.masked) places.push_back(of.size() - 1);
    std::vector<any_tensor> xs;
    for (const std::size_t i : places) xs.push_back(of[i]);
    const std::vector<any_tensor> d = detail::add_gradients(ys, xs, flowing);
    for (std::size_t k = 0; k < places.size(); ++k) g.set(static_cast<int>(places[k]), d[k]);
}

TENON_INLINE kernel_pointer attention_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::attention_kernel>(s);
}
TENON_INLINE kernel_pointer attention_gradient_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::attention_gradient_kernel>(s);
}

} // namespace tenon

#endif
