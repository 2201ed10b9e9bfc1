#pragma once

#include <cmath>
#include <limits>

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/flow/scan_slices.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/linear/windows.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/rows/attention.hpp>
#include <tenon/ops/rows/softmax.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ONNX of transformers and of what is used in their place: attention, positions as rotations, recurrences of states.

namespace tenon::detail::onnx {

// [batch, time, heads * size] as [batch, time, heads, size], and heads before times; and back.
inline any_tensor in_heads(const call& c, const any_tensor& x, std::int64_t heads) {
    if (x.rank() != 3) c.wrong("an operand has " + std::to_string(x.rank()) + " dimensions; 3 or 4 are needed");
    const std::int64_t width = number_of(c, x.extents()[2], "the width");
    if (heads < 1 || width % heads != 0)
        c.wrong("a width of " + std::to_string(width) + " is not of " + std::to_string(heads) + " heads");
    return reshaped(x, {reshape_op::copied(0), reshape_op::copied(1), heads, width / heads});
}
inline any_tensor heads_first(const any_tensor& x) { return untyped::transpose(x, {0, 2, 1, 3}); }
inline any_tensor without_heads(const call& c, const any_tensor& x) {
    const std::int64_t heads = number_of(c, x.extents()[2], "the number of heads"),
                       size = number_of(c, x.extents()[3], "the size of a head");
    return reshaped(x, {reshape_op::copied(0), reshape_op::copied(1), heads * size});
}
// As many heads of keys as of queries, each for those that are side by side.
inline any_tensor repeated_heads(const call& c, const any_tensor& k, std::int64_t heads) {
    const std::int64_t own = number_of(c, k.extents()[1], "the number of heads of keys");
    if (own == heads) return k;
    if (own < 1 || heads % own != 0)
        c.wrong(std::to_string(own) + " heads of keys are not for " + std::to_string(heads) + " of queries");
    return untyped::repeat(k, static_cast<int>(within(c, heads / own, 1, 1 << 20, "heads of queries")), 1);
}

struct attention_sides {
    explicit attention_sides(const call& of) : c(of) {
        q = c.x(0), k = c.x(1), v = c.x(2);
        flat = q.rank() == 3;
        if (flat) {
            q = heads_first(in_heads(c, q, c.integer("q_num_heads", 0)));
            k = heads_first(in_heads(c, k, c.integer("kv_num_heads", 0)));
            v = heads_first(in_heads(c, v, c.integer("kv_num_heads", 0)));
        }
        if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4)
            c.wrong("its operands have 3 or 4 dimensions, all as many");
        heads = number_of(c, q.extents()[1], "the number of heads");
        const std::int64_t size = number_of(c, q.extents()[3], "the size of a head");
        scale = c.real("scale", 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(size, 1))));
    }
    // The products, where the root of the scale is a factor of both: in 16 bits that matters.
    any_tensor scores() const {
        const any_tensor root = scalar_like(std::sqrt(scale), q);
        return untyped::matmul(untyped::multiply(q, root), untyped::multiply(repeated_heads(c, k, heads), root), false,
                               true);
    }
    void give(const any_tensor& y) const { c.give(flat ? without_heads(c, heads_first(y)) : y, 0); }

    const call& c;
    any_tensor q, k, v;
    bool flat = false;
    std::int64_t heads = 1;
    double scale = 1;
};

inline any_tensor and_also(const any_tensor& a, const any_tensor& b) {
    return a.node() ? untyped::logical_and(a, b) : b;
}
inline any_tensor zero_or_infinite(const any_tensor& seen, element_type e) { // 0 where it is seen
    return untyped::select(seen, untyped::scalar(0.0, e), untyped::scalar(-std::numeric_limits<double>::infinity(), e));
}

inline void attention(const call& c) {
    attention_sides a(c);
    const element_type e = a.q.element();
    const bool causal = c.integer("is_causal", 0) != 0, past = c.has(4), padded = c.has(6);
    const std::int64_t left = c.integer("left_window_size", -1), right = c.integer("right_window_size", -1);
    const double cap = c.real("softcap", 0);
    const std::int64_t precision = c.integer("softmax_precision", 0);
    if (past) a.k = joined(c, {c.x(4), a.k}, 2);
    if (c.has(5)) a.v = joined(c, {c.x(5), a.v}, 2);
    c.give(a.k, 1);
    c.give(a.v, 2);
    const bool by_position = (causal && (past || padded)) || left >= 0 || right >= 0;
    if (!c.has(3) && !by_position && cap == 0 && !c.wants(3) && precision <= 1 && (!padded || !causal)) {
        const attention_op::attributes how{causal, a.scale};
        if (!padded) return a.give(untyped::attention(a.q, a.k, a.v, how));
        return a.give(untyped::attention(a.q, a.k, a.v, untyped::cast(c.x(6), element_type::int64), how));
    }
    any_tensor scores = a.scores(), shown = scores;
    const std::int64_t mode = c.integer("qk_matmul_output_mode", 0);
    if (cap > 0)
        scores = untyped::multiply(untyped::tanh(untyped::divide(scores, scalar_like(cap, scores))),
                                   scalar_like(cap, scores));
    if (mode == 1) shown = scores;

    // Which keys a query sees: by their places, which begin behind what is past, and as a mask says.
    const any_tensor row = untyped::expand_dims(untyped::arange_like(a.q, element_type::int64, 2), {1}),
                     column = untyped::arange_like(a.k, element_type::int64, 2);
    any_tensor place = row, seen, bias;
    if (padded) {
        const any_tensor lengths =
            reshaped(untyped::cast(c.x(6), element_type::int64), {reshape_op::copied(0), 1, 1, 1});
        seen = untyped::less(column, lengths);
        place = untyped::add(row, untyped::subtract(lengths, size_of_axis(a.q, 2)));
    } else if (past) place = untyped::add(row, size_of_axis(c.x(4), 2));
    if (causal) seen = and_also(seen, untyped::less_equal(column, place));
    if (left >= 0) seen = and_also(seen, untyped::less_equal(untyped::subtract(place, column), left));
    if (right >= 0) seen = and_also(seen, untyped::less_equal(untyped::subtract(column, place), right));
    if (seen.node()) bias = zero_or_infinite(seen, e);
    if (c.has(3)) {
        any_tensor mask = c.x(3);
        if (mask.rank() < 1) c.wrong("its mask has no dimensions");
        if (mask.element() == element_type::boolean) mask = zero_or_infinite(mask, e);
        if (a.k.extents()[2].is_named() && mask.extents()[mask.rank() - 1].is_named())
            mask = with_size_named(mask, mask.rank() - 1, a.k.extents()[2]);
        const extent &columns = mask.extents()[mask.rank() - 1], &keys = a.k.extents()[2];
        if (columns.is_number() && keys.is_number() && columns.size < keys.size) { // the others are not seen
            std::vector<margin> more(static_cast<std::size_t>(mask.rank()));
            more.back().after = keys.size - columns.size;
            mask = untyped::pad(mask, more, -std::numeric_limits<double>::infinity());
        }
        bias = bias.node() ? untyped::add(bias, mask) : mask;
    }
    if (bias.node() && cap == 0 && !c.wants(3) && precision <= 1)
        return a.give(untyped::attention(a.q, a.k, a.v, bias, {false, a.scale}));
    if (bias.node()) scores = untyped::add(scores, bias);
    if (mode == 2) shown = scores;
    if (precision > 1) scores = untyped::cast(scores, element_of(precision));
    any_tensor p = untyped::softmax(scores, -1);
    if (bias.node()) { // who sees none gets none
        const any_tensor most = untyped::max(bias, {-1}, true);
        p = untyped::select(untyped::logical_and(untyped::is_inf(most), untyped::less(most, scalar_like(0, most))),
                            scalar_like(0, p), p);
    }
    p = untyped::cast(p, e);
    c.give(mode == 3 ? p : shown, 3);
    a.give(untyped::matmul(p, repeated_heads(c, a.v, a.heads)));
}

// With graphs that change scores and probabilities.
inline void flex_attention(const call& c) {
    const attention_sides a(c);
    element_type e = a.q.element();
    if (size_of(e) < 4) e = element_type::float32;
    if (const std::int64_t asked = c.integer("softmax_precision", 0); asked != 0) e = element_of(asked);
    if (!is_floating(e)) c.wrong("softmax_precision is no floating type");
    const auto changed = [&](const any_tensor& x, const char* by) {
        if (!c.attribute(by)) return x;
        const std::vector<value> results = c.results_of(c.graph_of(by), {value_of(x)});
        if (results.size() != 1) c.wrong(std::string(by) + " gives " + std::to_string(results.size()) + " tensors");
        return results[0].first;
    };
    const any_tensor p = changed(untyped::softmax(changed(untyped::cast(a.scores(), e), "score_mod"), -1), "prob_mod");
    a.give(untyped::cast(untyped::matmul(p, untyped::cast(repeated_heads(c, a.v, a.heads), e)), a.v.element()));
}

inline void rotary_embedding(const call& c) {
    const any_tensor x = c.x();
    const bool flat = x.rank() == 3, interleaved = c.integer("interleaved", 0) != 0;
    const any_tensor all =
        flat ? in_heads(c, x, c.integer("num_heads", 0)) : heads_first(x); // [batch, time, heads, size]
    const std::int64_t size = number_of(c, all.extents()[3], "the size of a head");
    std::int64_t turned = c.integer("rotary_embedding_dim", 0);
    if (turned == 0) turned = size;
    if (turned < 0 || turned > size || turned % 2 != 0)
        c.wrong("it turns " + std::to_string(turned) + " of " + std::to_string(size));
    const auto cache = [&](int i) {
        any_tensor t = c.x(i);
        if (c.has(3)) t = untyped::gather(t, c.x(3), 0);
        return untyped::expand_dims(t, {2});
    };
    const any_tensor cos = cache(1), sin = cache(2), part = part_along(all, 3, 0, turned);
    const std::int64_t half = turned / 2;
    const auto side = [&](std::int64_t i) {
        std::vector<range> r(4);
        r[3] = interleaved ? range{i, unbounded, 2} : range{i * half, (i + 1) * half, 1};
        return untyped::slice(part, r);
    };
    const any_tensor a = side(0), b = side(1);
    const any_tensor real = untyped::subtract(untyped::multiply(cos, a), untyped::multiply(sin, b)),
                     imaginary = untyped::add(untyped::multiply(sin, a), untyped::multiply(cos, b));
    any_tensor y = interleaved ? untyped::reshape_like(untyped::stack({real, imaginary}, 4), part)
                               : untyped::concat({real, imaginary}, 3);
    if (turned < size) y = untyped::concat({y, part_along(all, 3, turned, size)}, 3);
    c.give(flat ? without_heads(c, y) : heads_first(y));
}

// state = decay * state + key (x) (value, less what the state gives for the key); y = query * state. A step is a slice of a scan.
inline void linear_attention(const call& c) {
    const std::string rule = c.text("update_rule", "gated_delta");
    const bool gated = rule == "gated" || rule == "gated_delta", corrected = rule == "delta" || rule == "gated_delta";
    if (!gated && !corrected && rule != "linear") c.wrong("its update_rule is \"" + rule + '"');
    if (c.has(4) != gated || c.has(5) != corrected) c.wrong("update_rule \"" + rule + "\" does not go with its inputs");
    const std::int64_t heads = c.integer("q_num_heads", 0), key_heads = c.integer("kv_num_heads", 0);
    const element_type wide = c.x().element() == element_type::float64 ? element_type::float64 : element_type::float32;
    // [time, batch, heads, size]
    const auto steps = [&](int i, std::int64_t n) {
        return untyped::cast(untyped::transpose(in_heads(c, c.x(i), n), {1, 0, 2, 3}), wide);
    };
    std::vector<any_tensor> xs{steps(0, heads), steps(1, key_heads), steps(2, key_heads)};
    const std::int64_t size = number_of(c, xs[0].extents()[3], "the size of a key");
    if (gated) xs.push_back(steps(4, key_heads));
    if (corrected) {
        if (c.x(5).rank() != 3) c.wrong("beta has " + std::to_string(c.x(5).rank()) + " dimensions; 3 are needed");
        const extent& n = c.x(5).extents()[2];
        xs.push_back(steps(5, n == extent(1) ? 1 : key_heads));
    }
    any_tensor state;
    if (c.has(3)) state = untyped::cast(c.x(3), wide);
    else { // zeros, of sizes that a product has
        const any_tensor k = untyped::expand_dims(untyped::sum(xs[1], {0}), {3}),
                         v = untyped::expand_dims(untyped::sum(xs[2], {0}), {2});
        state = untyped::zeros_like(untyped::multiply(k, v));
    }
    double scale = c.real("scale", 0);
    if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(size, 1)));
    const std::vector<any_tensor> made = untyped::scan(
        [&](const std::vector<any_tensor>& carried, const std::vector<any_tensor>& x) {
            any_tensor s = carried[0], v = untyped::expand_dims(x[2], {2}); // [batch, heads, 1, size]
            const any_tensor k = untyped::expand_dims(x[1], {2});
            if (gated) s = untyped::multiply(s, untyped::expand_dims(untyped::exp(x[3]), {3}));
            if (corrected)
                v = untyped::multiply(untyped::expand_dims(x.back(), {2}), untyped::subtract(v, untyped::matmul(k, s)));
            s = untyped::add(s, untyped::multiply(untyped::expand_dims(x[1], {3}), v));
            const any_tensor y = untyped::matmul(untyped::expand_dims(x[0], {2}), repeated_heads(c, s, heads));
            return carried_and_given{{s}, {untyped::multiply(untyped::squeeze(y, {2}), scalar_like(scale, y))}};
        },
        {state}, xs);
    c.give(untyped::cast(without_heads(c, untyped::transpose(made[1], {1, 0, 2, 3})), c.x().element()), 0);
    c.give(untyped::cast(made[0], c.has(3) ? c.x(3).element() : c.x().element()), 1);
}

// A convolution over time of each channel, which sees what was and what is.
inline void causal_convolution(const call& c) {
    const any_tensor x = c.x(), w = c.x(1);
    if (x.rank() != 3 || w.rank() != 3) c.wrong("its operands have 3 dimensions");
    const std::int64_t channels = within(c, number_of(c, w.extents()[0], "the number of channels"), 1, 1 << 20,
                                         "the number of channels"),
                       k = within(c, number_of(c, w.extents()[2], "the window"), 1, 1 << 20, "the window");
    const any_tensor before = c.has(3) ? c.x(3) : any_tensor();
    const any_tensor all =
        before.node() ? untyped::concat({before, x}, 2) : untyped::pad(x, {{0, 0}, {0, 0}, {k - 1, 0}});
    any_tensor y = untyped::conv1d(untyped::transpose(all, {0, 2, 1}), untyped::transpose(w, {2, 1, 0}),
                                   {.groups = static_cast<int>(channels)});
    if (c.has(2)) y = untyped::add(y, c.x(2));
    const std::string activation = c.text("activation", "none");
    if (activation == "silu" || activation == "swish") y = untyped::multiply(y, untyped::sigmoid(y));
    else if (activation != "none") c.wrong("its activation is \"" + activation + '"');
    c.give(untyped::transpose(y, {0, 2, 1}), 0);
    if (k == 1) return c.give(part_along(all, 2, 0, 0), 1);
    c.give(part_along(all, 2, 1 - k, unbounded), 1);
}

TENON_INLINE std::vector<entry> attention_operators() {
    return {{"Attention", onnx::attention},
            {"CausalConvWithState", causal_convolution},
            {"LinearAttention", linear_attention},
            {"RotaryEmbedding", rotary_embedding},
            {"ai.onnx.preview.FlexAttention", flex_attention}};
}

} // namespace tenon::detail::onnx
