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
///
/// Queries [.., heads, n, d], keys [.., key heads, m, d], values [.., key heads, m, e] -> [.., heads, n, e]; or without heads [n, d], and
/// [b, n, d] where lengths [b] are given. The keys' heads divide the queries': head h reads their head g = h / (heads / key heads). What
/// a query does not see takes no part, whatever it is (of causal attention: whatever finite it is); a query that sees no key gives 0.
/// Element types float, double, half and bfloat16, the last two computed in float.

namespace tenon {

/// in: q, k, v and, where not all keys count, key lengths, int32 or int64. out: y; and the logarithm of the sum that softmax
/// divides by, [.., heads, n], for the gradient, in the type that is computed in.
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

    static constexpr inferred infer(const attributes&, type_list in, int output) {
        if (in.size() != 3 && in.size() != 4) return fault::expects_more_operands;
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
        if (in.size() > 3) {
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

/// in: q, k, v, attention's outputs 0 and 1, the gradient of output 0, and key lengths where there are some. out: the
/// gradients of q, k and v.
struct attention_gradient_op {
    static constexpr const char* name = "attention_gradient";
    static constexpr op_flags flags = op_flags::any_order;
    using attributes = attention_op::attributes;
    static constexpr int outputs(const attributes&, int) { return 3; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 6 && in.size() != 7) return fault::expects_more_operands;
        const tensor_type forward[] = {in[0], in[1], in[2], in.size() > 6 ? in[6] : tensor_type{}};
        for (int i = 3; i < 6; ++i) {
            const inferred r = attention_op::infer(a, type_list(forward, in.size() > 6 ? 4 : 3), i == 4 ? 1 : 0);
            if (!r) return r;
            if (in[i].element != r.type.element) return fault::element_types_differ;
            if (equal_shapes(r.type.extents, in[i].extents).what != fault::none) return fault::gradient_shape_differs;
        }
        return in[output];
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
} // namespace detail

/// The same where sequence s has lengths[s] keys: int32 or int64, of the sizes before those of heads, or [b] for [b, n, d] without heads.
/// A length that is negative or more than there are keys fails the step with invalid_argument_error, which names it.
template <OperandOrIllShaped Q, OperandOrIllShaped K, OperandOrIllShaped V, OperandOrIllShaped L>
auto attention(const Q& queries, const K& keys, const V& values, const L& key_lengths,
               const attention_op::attributes& a = {}, called_from here = caller()) {
    const making made(here);
    if constexpr (detail::are_headless<Q, L>)
        return squeeze<-3>(
            attention(expand_dims<-3>(queries), expand_dims<-3>(keys), expand_dims<-3>(values), key_lengths, a));
    else return apply_op<attention_op, detail::default_attributes<attention_op>>(a, queries, keys, values, key_lengths);
}

namespace untyped {
any_tensor attention(const any_tensor& queries, const any_tensor& keys, const any_tensor& values,
                     const attention_op::attributes& a = {});
any_tensor attention(const any_tensor& queries, const any_tensor& keys, const any_tensor& values,
                     const any_tensor& key_lengths, const attention_op::attributes& a = {});
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_attention)

#include <cmath>
#include <limits>

#include <tenon/core/error.hpp>
#include <tenon/memory/paid_memory.hpp>
#include <tenon/op/axis_orders.hpp>
#include <tenon/op/widened.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/reduce/scan.hpp>
#include <tenon/ops/rows/attention_blocks.hpp>
#include <tenon/ops/rows/softmax.hpp>
#include <tenon/ops/shape/gather.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor attention(const any_tensor& queries, const any_tensor& keys, const any_tensor& values,
                                  const attention_op::attributes& a) {
    return tenon::add<attention_op>(a, {queries, keys, values});
}
TENON_INLINE any_tensor attention(const any_tensor& queries, const any_tensor& keys, const any_tensor& values,
                                  const any_tensor& key_lengths, const attention_op::attributes& a) {
    if (queries.rank() != 3 || key_lengths.rank() != 1)
        return tenon::add<attention_op>(a, {queries, keys, values, key_lengths});
    const auto one_head = [](const any_tensor& x) { return expand_dims(x, {-3}); };
    return squeeze(attention(one_head(queries), one_head(keys), one_head(values), key_lengths, a), {-3});
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
    if (g.inputs() > 3) in.push_back(g.input(3));
    node* n = add_node(definition_of<attention_gradient_op>(), in, encode(g.attributes<attributes>()));
    for (int i = 0; i < 3; ++i) g.set(i, any_tensor({n, i}));
}

namespace detail {

// 0, 1, .. along an axis of x, counted where its size is known.
inline any_tensor positions_along(const any_tensor& x, int axis) {
    index_list others;
    for (int i = 0; i < x.rank(); ++i)
        if (i != axis) others.push_back(i);
    return untyped::cumsum(untyped::ones_like(untyped::cast(untyped::sum(x, others), element_type::int32)), 0,
                           {.exclusive = true});
}

// Attention in ops that have gradients of any order; makes all scores at once.
inline any_tensor attention_formula(any_tensor q, any_tensor k, any_tensor v, const any_tensor& lengths,
                                    const attention_op::attributes& a) {
    using namespace untyped;
    const auto number_of = [](const any_tensor& positions) { return sum(ones_like(positions)); };
    const int r = q.rank();
    if (r > 2 && (q.extents()[r - 3].is_dynamic() || !(q.extents()[r - 3] == k.extents()[r - 3]))) { // each head's keys
        const any_tensor heads = positions_along(q, r - 3), of_keys = number_of(positions_along(k, r - 3));
        const any_tensor read = divide(multiply(heads, of_keys), number_of(heads));
        k = gather(k, read, r - 3);
        v = gather(v, read, r - 3);
    }
    q = multiply(q, a.scale != 0 ? scalar(a.scale, q.element())
                                 : rsqrt(cast(number_of(positions_along(q, r - 1)), q.element())));
    const any_tensor scores = matmul(q, k, false, true);
    if (!a.causal && !lengths.node()) return matmul(softmax(scores), v);
    const any_tensor key = expand_dims(positions_along(k, r - 2), {0});
    any_tensor seen;
    if (a.causal) seen = less_equal(key, expand_dims(positions_along(q, r - 2), {1}));
    if (lengths.node()) {
        index_list behind;
        for (int i = lengths.rank(); i < r; ++i) behind.push_back(i);
        const any_tensor counted = less(key, expand_dims(cast(lengths, element_type::int32), behind));
        seen = seen.node() ? logical_and(seen, counted) : counted;
    }
    // Finite, so that the rows of those that see nothing are no NaN before they are 0.
    const double hidden = q.element() == element_type::float16 ? -65504.0 : -3e38;
    const any_tensor p = softmax(select(seen, scores, scalar(hidden, q.element())));
    return matmul(select(seen, p, scalar(0, q.element())), v);
}

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

template <class T> struct attention_kernel : kernel {
    explicit attention_kernel(const kernel_setup& s, int lengths_at = 3) :
        sizes(sizes_of_attention(s)),
        threads(s.threads),
        lengths(s.inputs.size() > lengths_at ? lengths_at : 0),
        wide_lengths(lengths != 0 && s.inputs[lengths].element == element_type::int64),
        node_name(s.node.name) {}
    void run(const kernel_run& r) override {
        const label_list list = key_lengths(r);
        attend<T>(sizes, operands(r, list), r.output<T>(0), r.output<T>(1), r.scratch, threads, r.pool);
    }
    std::size_t scratch_bytes() const override { return attention_scratch<T>(sizes, threads); }
    double cost() const override { return 200 + 2 * products(); }

protected:
    label_list key_lengths(const kernel_run& r) const {
        const label_list list{r.in[lengths], wide_lengths};
        for (std::int64_t i = 0; lengths != 0 && i < sizes.batch; ++i)
            if (list[i] < 0 || list[i] > sizes.keys)
                throw invalid_argument_error(attention_op::refusal(node_name, list[i], i, sizes.keys));
        return list;
    }
    attention_operands<T> operands(const kernel_run& r, const label_list& list) const {
        return {r.input<T>(0), r.input<T>(1), r.input<T>(2), lengths != 0 ? &list : nullptr};
    }
    /// Nanoseconds of one product of scores' size.
    double products() const {
        return static_cast<double>(sizes.batch * sizes.heads) * static_cast<double>(sizes.queries) *
               static_cast<double>(sizes.keys) * static_cast<double>(sizes.size + sizes.value_size) *
               (sizes.causal ? 0.5 : 1) * 0.003 * sizeof(T);
    }
    attention_sizes sizes;
    int threads, lengths; ///< input `lengths` has them, if it is not 0
    bool wide_lengths;
    std::string node_name;
};

template <class T> struct attention_gradient_kernel final : attention_kernel<T> {
    explicit attention_gradient_kernel(const kernel_setup& s) : attention_kernel<T>(s, 6) {}
    void run(const kernel_run& r) override {
        const label_list list = this->key_lengths(r);
        attend_backward<T>(this->sizes, this->operands(r, list), r.input<T>(3), r.input<T>(4), r.input<T>(5),
                           r.output<T>(0), r.output<T>(1), r.output<T>(2), r.scratch, this->threads, r.pool);
    }
    std::size_t scratch_bytes() const override { return attention_backward_scratch<T>(this->sizes, this->threads); }
    double cost() const override { return 300 + 5 * this->products(); }
};

} // namespace detail

// The formula again, as a function of q, k, v and dy.
TENON_INLINE void attention_gradient_op::gradient(gradient_context& g) {
    // Under names of their own: dy may depend on q, and only what the formula does with each is asked for.
    const std::vector<any_tensor> of{untyped::identity(g.input(0)), untyped::identity(g.input(1)),
                                     untyped::identity(g.input(2)), untyped::identity(g.input(5))};
    const any_tensor lengths = g.inputs() > 6 ? g.input(6) : any_tensor{};
    const any_tensor y = detail::attention_formula(of[0], of[1], of[2], lengths, g.attributes<attributes>());
    const std::vector<any_tensor> first = detail::add_gradients({y}, {of[0], of[1], of[2]}, {of[3]});
    std::vector<any_tensor> ys, flowing;
    for (int o = 0; o < 3; ++o)
        if (g.output_gradient(o).node()) {
            ys.push_back(first[static_cast<std::size_t>(o)]);
            flowing.push_back(g.output_gradient(o));
        }
    const std::vector<any_tensor> d = detail::add_gradients(ys, of, flowing);
    for (int i = 0; i < 4; ++i) g.set(i < 3 ? i : 5, d[static_cast<std::size_t>(i)]);
}

TENON_INLINE kernel_pointer attention_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::attention_kernel>(s);
}
TENON_INLINE kernel_pointer attention_gradient_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::attention_gradient_kernel>(s);
}

} // namespace tenon

#endif
