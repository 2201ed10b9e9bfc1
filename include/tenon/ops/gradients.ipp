#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/graph/body.hpp>
#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/graph/graph_state.inl>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/partition.hpp>
#include <tenon/ops/control/control.hpp>

namespace tenon {

namespace detail {

// The nodes that lie between ys and xs: what ys need and what needs some x.
class nodes_between {
public:
    nodes_between(const std::vector<any_tensor>& ys, const std::vector<any_tensor>& xs,
                  const std::vector<any_tensor>& borders) :
        graph_(ys.front().node()->graph) {
        std::int64_t most = 0; // what a node needs has smaller numbers than it
        for (const any_tensor& y : ys) most = std::max(most, y.node()->number);
        states_.resize(static_cast<std::size_t>(most) + 1);
        for (const any_tensor& x : xs)
            if (x.node()->graph == graph_ && x.node()->number <= most) state_of(x.node()).asked = true;
        for (const any_tensor& b : borders)
            if (b.node()->graph == graph_ && b.node()->number <= most) state_of(b.node()).border = true;
        std::vector<node*> stack;
        for (const any_tensor& y : ys) stack.push_back(y.node());
        while (!stack.empty()) {
            node* n = stack.back();
            stack.pop_back();
            state& s = state_of(n);
            if (s.seen) continue;
            s.seen = true;
            seen_.push_back(n);
            if (s.border) continue;
            for (const node_output& in : n->inputs)
                if (!state_of(in.node).seen) stack.push_back(in.node);
        }
        std::sort(seen_.begin(), seen_.end(), [](const node* a, const node* b) { return a->number < b->number; });
        for (node* n : seen_) {
            bool needs = false;
            if (!state_of(n).border)
                for (const node_output& in : n->inputs) needs = needs || leads(in.node);
            if (needs) between_.push_back(n);
            state_of(n).leads = needs || state_of(n).asked;
        }
        std::reverse(between_.begin(), between_.end());
    }

    /// Those that need an x, the last first: each before what it needs.
    const std::vector<node*>& last_first() const { return between_; }
    /// Whether a node is an x or needs one.
    bool leads(const node* n) const { return states_[static_cast<std::size_t>(n->number)].leads; }
    /// Whether ys need a node.
    bool is_seen(const node* n) const {
        const auto at = static_cast<std::size_t>(n->number);
        return n->graph == graph_ && at < states_.size() && states_[at].seen;
    }
    std::size_t numbers() const { return states_.size(); }

private:
    struct state {
        bool asked = false, border = false, seen = false, leads = false;
    };
    state& state_of(const node* n) { return states_[static_cast<std::size_t>(n->number)]; }
    const graph_state* graph_;
    std::vector<state> states_; // by the node's number
    std::vector<node*> seen_, between_;
};

// What flows into a tensor of node `of`: added up where that is, as it comes, but for what its op joins.
class gradient_sum {
public:
    void add(node* of, const any_tensor& amount) {
        if (amount.node()->op->join) apart_.push_back(amount);
        else if (!sum_.node()) sum_ = amount;
        else {
            const follow_scope there(of);
            sum_ = add_instruction(opcode::add, {sum_, amount});
        }
    }
    any_tensor total(node* of) {
        if (apart_.empty()) return sum_;
        const follow_scope there(of);
        if (apart_.size() > 1)
            if (any_tensor all = apart_[0].node()->op->join(apart_); all.node()) apart_ = {std::move(all)};
        for (const any_tensor& a : apart_) sum_ = sum_.node() ? add_instruction(opcode::add, {sum_, a}) : a;
        apart_.clear();
        return sum_;
    }

private:
    any_tensor sum_;
    std::vector<any_tensor> apart_;
};

// What flows into each tensor of a graph.
class flowing_gradients {
public:
    /// Of nodes with smaller numbers than this.
    explicit flowing_gradients(std::size_t numbers) : first_(numbers, -1) {}
    void add(const node_output& to, const any_tensor& amount) {
        std::int64_t& first = first_[static_cast<std::size_t>(to.node->number)];
        if (first < 0) {
            first = static_cast<std::int64_t>(sums_.size());
            sums_.resize(sums_.size() + to.node->outputs.size());
        }
        sums_[static_cast<std::size_t>(first + to.index)].add(to.node, amount);
    }
    /// An empty handle where nothing does.
    any_tensor total(const node_output& of) {
        const std::int64_t first = first_[static_cast<std::size_t>(of.node->number)];
        return first < 0 ? any_tensor() : sums_[static_cast<std::size_t>(first + of.index)].total(of.node);
    }

private:
    std::vector<std::int64_t> first_; // by the node's number: the place of its first output, or -1
    std::vector<gradient_sum> sums_;
};

// Nodes of one graph through which gradients flow to ys, and ys' own.
inline std::set<const node*> with_gradients_to(const std::vector<any_tensor>& ys) {
    std::set<const node*> seen;
    std::vector<const node*> stack;
    const auto add = [&](const node* n) {
        const auto floats = [](const tensor_type& t) { return is_floating(t.element); };
        if (std::any_of(n->outputs.begin(), n->outputs.end(), floats) && seen.insert(n).second) stack.push_back(n);
    };
    for (const any_tensor& y : ys) add(y.node());
    while (!stack.empty()) {
        const node* const n = stack.back();
        stack.pop_back();
        if (n->op->gradient)
            for (const node_output& in : n->inputs) add(in.node);
    }
    return seen;
}

// What x is in the graph of ys, where that is the body of a loop, a scan or a cond, and x of a graph around it: gradients end there, and
// so must all that ys have of x.
inline any_tensor within_body(const std::vector<any_tensor>& ys, const any_tensor& x) {
    const graph_state* const g = ys[0].node()->graph;
    if (x.node()->graph == g || !g->builder) return x;
    const any_tensor here = g->builder->here(x);
    if (here.node()->graph != g) return x; // of another graph altogether
    const std::set<const node*> inside = with_gradients_to(ys);
    std::vector<any_tensor> used; // of the graph around
    for (const auto& [t, around] : g->builder->captured())
        if (t.node() != here.node() && inside.contains(t.node())) used.push_back(around);
    if (used.empty()) return here;
    const node* const there = within_body(used, x).node();
    std::erase_if(used, [&](const any_tensor& u) { return u.node() == there; });
    if (!with_gradients_to(used).contains(there)) return here;
    for (const any_tensor& u : used) // one after another, to say which it is
        if (with_gradients_to({u}).contains(there))
            throw invalid_argument_error(
                "gradients: " + x.name() + " lies outside of this body of a loop, a scan or a cond, and so does " +
                u.name() + ", which is computed of it; compute " + u.name() + " in the body, too");
    return here;
}

TENON_INLINE std::vector<any_tensor> add_gradients(const std::vector<any_tensor>& ys, const std::vector<any_tensor>& of,
                                                   std::vector<any_tensor> output_gradients,
                                                   const std::vector<any_tensor>& borders) {
    if (ys.empty()) return {};
    const graph g(ys[0].node()->graph);
    const home_scope scope(g);
    const name_scope names("gradients");

    // What reads rows of a variable in parts reads the parts.
    std::vector<std::vector<any_tensor>> parts;
    std::vector<any_tensor> xs, asked;
    for (const any_tensor& x : of) {
        parts.push_back(parts_of(x));
        asked.push_back(xs.emplace_back(within_body(ys, x)));
        if (xs.back().node() != x.node() && !parts.back().empty())
            throw unimplemented_error(
                "gradients: " + x.name() +
                " lies outside of this body of a loop, a scan or a cond, and is in parts; make it in one piece");
        asked.insert(asked.end(), parts.back().begin(), parts.back().end());
    }
    const nodes_between between(ys, asked, borders);
    flowing_gradients flowing(between.numbers());
    for (std::size_t i = 0; i < ys.size(); ++i) {
        if (!is_floating(ys[i].element()))
            throw invalid_argument_error("gradients: " + ys[i].name() + " is " + to_string(ys[i].type()) +
                                         "; only floating tensors have gradients");
        const follow_scope there(ys[i].node());
        flowing.add(ys[i].output(), i < output_gradients.size() ? output_gradients[i] : untyped::ones_like(ys[i]));
    }
    for (node* n : between.last_first()) {
        std::vector<any_tensor> out;
        bool any = false;
        for (int o = 0; o < static_cast<int>(n->outputs.size()); ++o) {
            out.push_back(flowing.total({n, o}));
            any = any || out.back().node();
        }
        if (!any || !n->op->gradient) continue;
        const follow_scope there(n);
        gradient_context c(*n, std::move(out));
        const auto whose = [&] { return "gradient of " + std::string(n->op->name) + " (" + n->name + ")"; };
        said_of_program(whose, [&] { n->op->gradient(c); });
        for (int i = 0; i < c.inputs(); ++i) {
            const any_tensor& amount = c.input_gradients()[static_cast<std::size_t>(i)];
            if (!amount.node()) continue;
            const tensor_type& t = n->input_type(i);
            if (amount.element() != t.element || equal_shapes(amount.extents(), t.extents).what != fault::none)
                throw internal_error(whose() + ": input " + std::to_string(i) + " is " + to_string(t) +
                                     ", its gradient " + to_string(amount.type()) +
                                     "; the op's gradient function must give what is like the input");
            const node_output& input = n->inputs[static_cast<std::size_t>(i)];
            if (between.leads(input.node)) flowing.add(input, amount);
        }
    }
    std::vector<any_tensor> result;
    const auto total = [&](const any_tensor& x) {
        return between.is_seen(x.node()) ? flowing.total(x.output()) : any_tensor();
    };
    const auto or_zeros = [](const any_tensor& sum, const any_tensor& x) {
        const follow_scope there(x.node());
        return sum.node() ? sum : untyped::zeros_like(x);
    };
    for (std::size_t i = 0; i < xs.size(); ++i) {
        std::vector<any_tensor> sums;
        for (const any_tensor& p : parts[i]) sums.push_back(total(p));
        if (std::any_of(sums.begin(), sums.end(), [](const any_tensor& s) { return s.node(); })) {
            for (std::size_t p = 0; p < sums.size(); ++p) sums[p] = or_zeros(sums[p], parts[i][p]);
            result.push_back(untyped::concat(sums, 0));
        } else result.push_back(or_zeros(total(xs[i]), xs[i]));
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
            throw invalid_argument_error(fault_sentence("gradients", r, list) + " (" + names + ")");
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
