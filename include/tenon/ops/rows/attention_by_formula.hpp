#pragma once

#include <string>
#include <vector>

#include <tenon/op/axis_orders.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/flow/body_kernels.hpp>
#include <tenon/ops/rows/attention.hpp>
#include <tenon/ops/rows/attention_formula.hpp>
#include <tenon/ops/shape/fill.hpp>

/// Attention of devices whose own kernels have no masks.

namespace tenon::detail {

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
        const auto a = decode<attention_op::attributes>(s.attrs);
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
                given[i] =
                    untyped::gather(untyped::arange(element_type::int32, keys[keys.rank() - 2].size + 1), given[i], 0);
            }
        std::vector<any_tensor> results;
        if (is_forward) {
            const attention_formula f(attention_inputs(given, 3), a.causal, a.scale);
            results = {f.y, f.logs};
        } else results = gradients_by_formula(given, a.causal, a.scale);
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
