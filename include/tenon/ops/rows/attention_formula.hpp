#pragma once

#include <limits>
#include <vector>

#include <tenon/op/axis_orders.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/flow/body_kernels.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/reduce/scan.hpp>
#include <tenon/ops/rows/attention.hpp>
#include <tenon/ops/rows/softmax.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/movement.hpp>

/// Attention in other ops: for gradients of gradients, and for devices whose own kernels have no masks.

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
    attention_formula(const attention_inputs& in, const attention_op::attributes& a) {
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
        q = multiply(q, a.scale != 0 ? scalar(a.scale, q.element())
                                     : rsqrt(cast(number_of(positions_along(q, r - 1)), q.element())));
        const any_tensor key = expand_dims(positions_along(k, r - 2), {0});
        any_tensor scores = matmul(q, k, false, true), seen;
        const auto sees = [&](const any_tensor& also) { seen = seen.node() ? logical_and(seen, also) : also; };
        if (a.causal) sees(less_equal(key, expand_dims(positions_along(q, r - 2), {1})));
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

inline std::vector<any_tensor> gradients_by_formula(const std::vector<any_tensor>& of,
                                                    const attention_gradient_op::attributes& a) {
    const attention_inputs in(of, 6);
    const attention_formula made(in, a.forward());
    std::vector<any_tensor> xs{in.q, in.k, in.v};
    if (a.masked) xs.push_back(made.mask);
    return add_gradients({made.y}, xs, {of[5]});
}

/// A kernel of attention, or of its gradient, that runs the formula, in the type that is computed in.
class attention_by_formula final : public kernel_of_bodies {
public:
    explicit attention_by_formula(const kernel_setup& s) : inputs_(static_cast<std::size_t>(s.inputs.size())) {
        bytes_ = block_of(add_body(s, text_of(s), s.inputs).scratch_bytes());
        for (const tensor_type& t : s.outputs) {
            unread_.push_back(bytes_);
            bytes_ += block_of(bytes_in(t));
        }
    }
    void run(const kernel_run& r) override {
        body_runs runs = begin_body(0, r, 0);
        for (std::size_t k = 0; k < inputs_; ++k) runs.argument(k) = r.in[k];
        for (std::size_t o = 0; o < unread_.size(); ++o) runs.result(o) = r.out[o] ? r.out[o] : r.scratch + unread_[o];
        runs.run();
    }
    std::size_t scratch_bytes() const override { return bytes_; }
    double cost() const override { return body_at(0).cost(); }

private:
    static std::string text_of(const kernel_setup& s) {
        const graph own;
        const graph_scope in(own);
        std::vector<int> ranks;
        for (const type_list& types : {s.inputs, s.outputs})
            for (const tensor_type& t : types) ranks.push_back(t.extents.rank());
        const std::vector<index_list> orders = orders_in(s.attrs, ranks);
        const element_type wide = compute_type(s.inputs[0].element);
        std::vector<any_tensor> arguments, given;
        for (const tensor_type& t : s.inputs) {
            arguments.push_back(tenon::add<placeholder_op>({t.element, t.extents}, {}, "argument"));
            const any_tensor x = untyped::transpose(arguments.back(), orders[given.size()]);
            given.push_back(is_floating(t.element) ? untyped::cast(x, wide) : x);
        }
        const bool is_forward = s.outputs.size() == 2;
        for (std::size_t i = is_forward ? 3 : 6; i < given.size(); ++i)
            if (!is_floating(given[i].element())) { // a length that is none fails
                const extents& keys = given[1].extents();
                given[i] = untyped::gather(untyped::arange(element_type::int32, keys[keys.rank() - 2].size + 1), given[i], 0);
            }
        std::vector<any_tensor> results;
        if (is_forward) {
            const attention_formula f(attention_inputs(given, 3), decode<attention_op::attributes>(s.attrs));
            results = {f.y, f.logs};
        } else results = gradients_by_formula(given, decode<attention_gradient_op::attributes>(s.attrs));
        for (int o = 0; o < s.outputs.size(); ++o) {
            const index_list& order = orders[given.size() + static_cast<std::size_t>(o)];
            index_list back = order;
            for (int d = 0; d < order.count; ++d) back.values[order.values[d]] = d;
            any_tensor& y = results[static_cast<std::size_t>(o)];
            y = untyped::transpose(untyped::cast(y, s.outputs[o].element), back);
        }
        return needed_part(own, arguments, results, false).text();
    }

    const std::size_t inputs_;
    std::vector<std::size_t> unread_; // where each output lies in working memory, if nobody reads it
    std::size_t bytes_ = 0;           // of that
};

} // namespace tenon::detail
