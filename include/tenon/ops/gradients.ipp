#pragma once

#include <algorithm>
#include <map>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/ops/control.hpp>
#include <tenon/ops/gradients.hpp>

namespace tenon {

namespace detail {

// The nodes whose gradients are asked for on the way from ys to xs: those that ys need and that need some x.
inline std::vector<node*> nodes_between(const std::vector<any_tensor>& ys, const std::vector<any_tensor>& xs) {
    enum class state { unseen, open, idle, leads }; // leads: it is an x or needs one
    std::map<node*, state> states;
    std::set<node*> wanted;
    for (const any_tensor& x : xs) wanted.insert(x.node());
    std::vector<node*> order, stack;
    for (const any_tensor& y : ys) stack.push_back(y.node());
    while (!stack.empty()) {
        node* n = stack.back();
        state& s = states[n];
        if (s == state::unseen) {
            s = state::open;
            for (const node_output& in : n->inputs)
                if (states[in.node] == state::unseen) stack.push_back(in.node);
            continue;
        }
        stack.pop_back();
        if (s != state::open) continue;
        bool needs = false;
        for (const node_output& in : n->inputs) needs = needs || states[in.node] == state::leads;
        s = needs || wanted.contains(n) ? state::leads : state::idle;
        if (needs) order.push_back(n);
    }
    // Later nodes first: a node's number is larger than those of its inputs.
    std::sort(order.begin(), order.end(), [](const node* a, const node* b) { return a->number > b->number; });
    return order;
}

// What flows into a tensor: added up as it comes, but for what its op joins.
class gradient_sum {
public:
    void add(const any_tensor& amount) {
        if (amount.node()->op->join) apart_.push_back(amount);
        else sum_ = sum_ ? add_instruction(opcode::add, {sum_, amount}) : amount;
    }
    any_tensor total() {
        if (apart_.size() > 1)
            if (any_tensor all = apart_[0].node()->op->join(apart_)) apart_ = {std::move(all)};
        for (const any_tensor& a : apart_) sum_ = sum_ ? add_instruction(opcode::add, {sum_, a}) : a;
        apart_.clear();
        return sum_;
    }

private:
    any_tensor sum_;
    std::vector<any_tensor> apart_;
};

TENON_INLINE std::vector<any_tensor> add_gradients(const std::vector<any_tensor>& ys, const std::vector<any_tensor>& xs,
                                                   std::vector<any_tensor> output_gradients) {
    if (ys.empty()) return {};
    const graph g(ys[0].node()->graph);
    const home_scope scope(g);
    const name_scope names("gradients");

    std::map<std::pair<node*, int>, gradient_sum> flowing;
    const auto contribute = [&](const node_output& to, const any_tensor& amount) {
        flowing[{to.node, to.index}].add(amount);
    };
    const auto sum_at = [&](const node_output& of) {
        const auto at = flowing.find({of.node, of.index});
        return at == flowing.end() ? any_tensor() : at->second.total();
    };
    for (std::size_t i = 0; i < ys.size(); ++i) {
        if (!is_floating(ys[i].element()))
            throw invalid_argument_error("gradients: " + ys[i].name() + " is " + to_string(ys[i].type()) +
                                         "; only floating tensors have gradients");
        contribute(ys[i].output(), i < output_gradients.size() ? output_gradients[i] : untyped::ones_like(ys[i]));
    }
    for (node* n : nodes_between(ys, xs)) {
        std::vector<any_tensor> out;
        bool any = false;
        for (int o = 0; o < static_cast<int>(n->outputs.size()); ++o) {
            out.push_back(sum_at({n, o}));
            any = any || out.back();
        }
        if (!any || !n->op->gradient) continue;
        gradient_context c(*n, std::move(out));
        n->op->gradient(c);
        for (int i = 0; i < c.inputs(); ++i) {
            const any_tensor& amount = c.input_gradients()[static_cast<std::size_t>(i)];
            if (!amount) continue;
            const tensor_type& t = n->input_type(i);
            if (amount.element() != t.element || equal_shapes(amount.extents(), t.extents).what != fault::none)
                throw internal_error("gradient of " + std::string(n->op->name) + " (" + n->name + "): input " +
                                     std::to_string(i) + " is " + to_string(t) + ", its gradient " +
                                     to_string(amount.type()));
            contribute(n->inputs[static_cast<std::size_t>(i)], amount);
        }
    }
    std::vector<any_tensor> result;
    for (const any_tensor& x : xs) {
        const any_tensor sum = sum_at(x.output());
        result.push_back(sum ? sum : untyped::zeros_like(x));
    }
    return result;
}

} // namespace detail

TENON_INLINE std::vector<any_tensor> gradients(const any_tensor& loss, const std::vector<any_tensor>& xs) {
    std::vector<tensor_type> types{loss.type()};
    std::string names = loss.name();
    const auto check = [&] {
        const type_list list(types.data(), static_cast<int>(types.size()));
        if (const inferred r = detail::gradients_rule::infer({}, list, 0); !r)
            throw invalid_argument_error(fault_sentence("gradients", r.what, list) + " (" + names + ")");
    };
    check(); // the loss alone first
    for (const any_tensor& x : xs) {
        types.push_back(x.type());
        names += " " + x.name();
    }
    check();
    return detail::add_gradients({loss}, xs);
}

} // namespace tenon
