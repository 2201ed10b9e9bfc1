#pragma once

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/shape/partition.hpp>
#include <tenon/ops/state/step_ledger.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/train/optimize/moving_average.hpp>
#include <tenon/train/optimize/slots.hpp>
#include <tenon/train/optimize/tape_writer.hpp>

namespace tenon {

struct moving_average::state {
    double decay;
    moving_average_options options;
    struct kept {
        any_tensor variable, average, held;
    };
    std::vector<kept> all;
    operation in, out;

    void require() const {
        if (all.empty())
            throw failed_precondition_error(
                "moving_average: there are no averages yet; make the operation of after() first");
    }
};

TENON_INLINE moving_average::moving_average(double decay, const moving_average_options& o) :
    state_(std::make_shared<state>(state{decay, o, {}, {}, {}})) {
    if (!(decay >= 0 && decay < 1))
        throw invalid_argument_error("moving_average: the decay is " + detail::text_of_number(decay) +
                                     "; give a number from 0, less than 1");
}

namespace detail {

// Which runs of an operation change variables.
class changing_runs {
public:
    explicit changing_runs(const operation& step) {
        std::vector<node*> next{step.node()};
        for (std::unordered_set<const node*> seen{step.node()}; !next.empty();) {
            node* const n = next.back();
            next.pop_back();
            if (n->op == &definition_of<ledger_await_op>())
                throw invalid_argument_error(
                    "moving_average::after: the step is a replica's, whose run returns when a step of all replicas is "
                    "over, and each would update the averages; give them to sync_replicas_options::average");
            if (n->op->is(op_flags::updates)) updates_.push_back(n);
            if (n->op != &definition_of<no_op_op>()) continue;
            for (node* c : n->controls)
                if (seen.insert(c).second) next.push_back(c);
        }
        const std::vector<any_tensor> all = graph(step.node()->graph).collection(guarded_updates);
        for (std::size_t i = 0; i + 1 < all.size(); i += 2) guards_[all[i].node()] = all[i + 1];
    }
    // Those of one of the variables, a scalar bool; an empty handle: all.
    any_tensor of(const std::vector<any_tensor>& variables) const {
        any_tensor any;
        std::unordered_set<const node*> known;
        for (const any_tensor& v : variables) {
            bool is_changed = false;
            for (const node* n : updates_) {
                if (n->inputs[0].node != v.node()) continue;
                const auto guard = guards_.find(n);
                if (guard == guards_.end()) return {};
                is_changed = true;
                if (known.insert(guard->second.node()).second)
                    any = any.node() ? add_instruction(opcode::logical_or, {any, guard->second}) : guard->second;
            }
            if (!is_changed) return {}; // by what is not known
        }
        return any;
    }
    // What a run changes this variable with.
    std::vector<node*> updates_of(const any_tensor& variable) const {
        std::vector<node*> all;
        for (node* n : updates_)
            if (n->inputs[0].node == variable.node()) all.push_back(n);
        return all;
    }

private:
    std::vector<node*> updates_;
    std::unordered_map<const node*, any_tensor> guards_;
};

} // namespace detail

TENON_INLINE operation moving_average::after(const operation& step, const std::vector<any_tensor>& variables) const {
    if (!step.node()) throw invalid_argument_error("moving_average::after: the step is an empty handle");
    const graph of(step.node()->graph);
    const std::vector<any_tensor> wanted =
        variables.empty() ? of.collection(trainable_variables) : detail::with_parts(variables);
    if (wanted.empty()) throw invalid_argument_error("moving_average::after: the graph has no trainable variables");
    const detail::home_scope scope(of);
    const detail::changing_runs runs(step);
    const auto chosen = [](detail::tape_writer& t, const any_tensor& guard, detail::tape_value next,
                           detail::tape_value was) {
        return guard.node() ? t.apply(opcode::select, t.read(guard), next, was) : next;
    };
    std::vector<operation> all{step};
    any_tensor decay;
    if (state_->options.warm_up) {
        const any_tensor count = detail::add_count(of, "moving_average_runs");
        const detail::owned_scope there(count);
        detail::tape_writer t;
        const detail::tape_value was = t.read(detail::current_value(count)), now = was + 1,
                                 so_many = t.cast(now, element_type::float64);
        t.write(minimum((1 + so_many) / (10 + so_many), t.literal(state_->decay, so_many.type)), element_type::float64);
        t.write(chosen(t, runs.of(wanted), now, was), element_type::int64);
        const std::vector<any_tensor> is = t.finish();
        decay = is[0];
        all.push_back(untyped::assign(count, is[1]).operation());
    }
    for (const any_tensor& v : wanted) {
        if (detail::is_in_parts(v)) continue; // its parts are there
        const element_type type = compute_type(v.element());
        const any_tensor average = detail::add_copy(v, "moving_average", type);
        state_->all.push_back({v, average, detail::add_slot(v, "held", v.type(), 0)});
        const any_tensor guard = runs.of({v});
        // Reads what the step left; without waiting for other tasks both change in one stage, or neither does.
        const control_dependencies then(guard.node() ? runs.updates_of(v) : std::vector{step.node()});
        const detail::owned_scope there(average);
        detail::tape_writer t;
        const detail::tape_value was = t.read(detail::current_value(average)), now = t.read(v);
        const detail::tape_value part =
            decay.node() ? 1 - t.cast(t.read(decay), type) : t.literal(1 - state_->decay, type);
        t.write(chosen(t, guard, multiply_add(part, now - was, was), was), type);
        all.push_back(untyped::assign(average, t.finish().front()).operation());
    }
    state_->in = state_->out = {};
    return group(all, "moving_average");
}

TENON_INLINE any_tensor moving_average::of(const any_tensor& variable) const {
    for (const state::kept& k : state_->all)
        if (k.variable.node() == variable.node()) return k.average;
    throw invalid_argument_error("moving_average::of: there is no average of " +
                                 (variable.node() ? variable.name() : std::string("an empty handle")));
}

namespace detail {
// A variable's value, or its average's, as the other's type has it.
inline operation assign_as(const any_tensor& to, const any_tensor& value) {
    return untyped::assign(to, to.element() == value.element() ? value
                                                               : add_instruction(opcode::cast, {value}, to.element()))
        .operation();
}
} // namespace detail

TENON_INLINE operation moving_average::restart() const {
    state_->require();
    const detail::home_scope scope{graph(state_->all.front().variable.node()->graph)};
    std::vector<operation> all;
    for (const state::kept& k : state_->all) {
        const detail::owned_scope there(k.variable);
        all.push_back(detail::assign_as(k.average, k.variable));
    }
    return group(all, "moving_average/restart");
}
TENON_INLINE operation moving_average::swap_in() const {
    state_->require();
    if (state_->in.node()) return state_->in;
    const detail::home_scope scope{graph(state_->all.front().variable.node()->graph)};
    std::vector<operation> all;
    for (const state::kept& k : state_->all) {
        const detail::owned_scope there(k.variable);
        all.push_back(untyped::assign(k.held, k.variable).operation());
        all.push_back(detail::assign_as(k.variable, k.average));
    }
    return state_->in = group(all, "moving_average/swap_in");
}
TENON_INLINE operation moving_average::swap_out() const {
    state_->require();
    if (state_->out.node()) return state_->out;
    const detail::home_scope scope{graph(state_->all.front().variable.node()->graph)};
    std::vector<operation> all;
    for (const state::kept& k : state_->all) all.push_back(untyped::assign(k.variable, k.held).operation());
    return state_->out = group(all, "moving_average/swap_out");
}

TENON_INLINE moving_average::swap::swap(const moving_average& of, session& in) : in_(&in), out_(of.swap_out()) {
    in.run(of.swap_in());
}
TENON_INLINE moving_average::swap::~swap() {
    try {
        restore();
    } catch (...) { // who wants to know has called restore
    }
}
TENON_INLINE void moving_average::swap::restore() {
    if (session* const in = std::exchange(in_, nullptr)) in->run(out_);
}

} // namespace tenon
