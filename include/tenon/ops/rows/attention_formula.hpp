#pragma once

#include <limits>
#include <vector>

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/reduce/scan.hpp>
#include <tenon/ops/rows/softmax.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/movement.hpp>

/// Attention in other ops, for gradients of gradients, and for devices whose own kernels have no masks (attention_by_formula.hpp).

namespace tenon::detail {

// 0, 1, .. along an axis of x, counted where its size is known.
inline any_tensor positions_along(const any_tensor& x, int axis) {
    index_list others;
    for (int i = 0; i < x.rank(); ++i)
        if (i != axis) others.push_back(i);
    return untyped::cumsum(untyped::ones_like(untyped::cast(untyped::sum(x, others), element_type::int32)), 0,
                           {.exclusive = true});
}

// Of an op's inputs, q, k and v first, key lengths and the mask, which are behind `operands`: none are empty handles.
struct attention_inputs {
    attention_inputs(const std::vector<any_tensor>& in, std::size_t operands) : q(in[0]), k(in[1]), v(in[2]) {
        for (std::size_t i = operands; i < in.size(); ++i) (is_floating(in[i].element()) ? mask : lengths) = in[i];
    }
    any_tensor q, k, v, lengths, mask;
};

// Attention in ops that have gradients of any order: y, and logarithms of sums; makes all scores at once.
struct attention_formula {
    attention_formula(const attention_inputs& in, bool causal, double scale) {
        using namespace untyped;
        const any_tensor& lengths = in.lengths;
        any_tensor q = in.q, k = in.k, v = in.v;
        const auto number_of = [](const any_tensor& positions) { return sum(ones_like(positions)); };
        const int r = q.rank();
        if (r > 2 && (q.extents()[r - 3].is_dynamic() || !(q.extents()[r - 3] == k.extents()[r - 3]))) { // each head's
            const any_tensor heads = positions_along(q, r - 3), of_keys = number_of(positions_along(k, r - 3));
            const any_tensor read = divide(multiply(heads, of_keys), number_of(heads));
            k = gather(k, read, r - 3);
            v = gather(v, read, r - 3);
        }
        q = multiply(q, scale != 0 ? scalar(scale, q.element())
                                   : rsqrt(cast(number_of(positions_along(q, r - 1)), q.element())));
        const any_tensor key = expand_dims(positions_along(k, r - 2), {0});
        any_tensor scores = matmul(q, k, false, true), seen;
        const auto sees = [&](const any_tensor& also) { seen = seen.node() ? logical_and(seen, also) : also; };
        if (causal) sees(less_equal(key, expand_dims(positions_along(q, r - 2), {1})));
        if (lengths.node()) {
            index_list behind;
            for (int i = lengths.rank(); i < r; ++i) behind.push_back(i);
            sees(less(key, expand_dims(cast(lengths, element_type::int32), behind)));
        }
        if (in.mask.node()) {
            mask = broadcast_like(in.mask, scores);
            sees(not_equal(mask, scalar(-std::numeric_limits<double>::infinity(), mask.element())));
            scores = add(scores, mask);
        }
        if (!seen.node()) {
            y = matmul(softmax(scores), v);
            logs = logsumexp(scores, {-1});
            return;
        }
        // Finite, so that the rows of those that see nothing are no NaN before they are 0.
        const double hidden = q.element() == element_type::float16 ? -65504.0 : -3e38;
        scores = select(seen, scores, scalar(hidden, q.element()));
        y = matmul(select(seen, softmax(scores), scalar(0, q.element())), v);
        logs = select(any(seen, {-1}), logsumexp(scores, {-1}),
                      scalar(-std::numeric_limits<double>::infinity(), q.element()));
    }
    any_tensor y, logs, mask; ///< the mask as large as the scores
};

/// Of attention_gradient's inputs what it gives.
inline std::vector<any_tensor> gradients_by_formula(const std::vector<any_tensor>& of, bool causal, double scale) {
    const attention_inputs in(of, 6);
    const attention_formula made(in, causal, scale);
    std::vector<any_tensor> xs{in.q, in.k, in.v};
    if (in.mask.node()) xs.push_back(made.mask);
    return add_gradients({made.y}, xs, {of[5]});
}

} // namespace tenon::detail
