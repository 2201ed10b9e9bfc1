#pragma once

#include <functional>
#include <map>

#include <tenon/core/text/number_text.hpp>
#include <tenon/train/optimize/given_gradients.hpp>

// A part of train/replicated/sync_replicas.ipp: what the updates of synchronous replicas are in the graph.

namespace tenon {

namespace detail {

// A tensor as it is after another one: copies of the nodes that it is computed with, up to variables, which are read then.
inline any_tensor computed_after(const any_tensor& before, const any_tensor& x) {
    std::map<const node*, node*> copies; // of what depends on no variable: itself
    const std::function<node*(node*)> copy = [&](node* n) -> node* {
        if (const auto known = copies.find(n); known != copies.end()) return known->second;
        const control_dependencies after(before);
        if (n->op->is(op_flags::variable)) return copies[n] = untyped::identity(any_tensor({n, 0})).node();
        std::vector<any_tensor> inputs;
        bool same = true;
        for (const node_output& in : n->inputs) {
            node* const own = copy(in.node);
            same = same && own == in.node;
            inputs.emplace_back(node_output{own, in.index});
        }
        if (same) return copies[n] = n;
        return copies[n] = add_node(*n->op, std::move(inputs), n->attributes, n->name + "/then");
    };
    return any_tensor({copy(x.node()), x.index()});
}

// What replicas must have in common, in lines.
inline std::string description_of(const optimizer& how, const std::vector<gradient_and_variable>& gradients,
                                  const std::vector<bool>& rows, const minimize_options& o, bool averaged) {
    std::string text = "optimiser " + how.name();
    if (how.rate().is_number()) text += ", learning rate " + text_of_number(how.rate().number());
    if (const std::string more = how.settings(); !more.empty()) text += ", " + more;
    if (!o.advance_global_step) text += ", global step not advanced";
    if (o.scale) text += ", loss scaled";
    if (averaged) text += ", variables averaged";
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const any_tensor& v = gradients[i].variable;
        text += "\n" + std::string("variable ") + v.name() + " " + to_string(v.type());
        if (rows[i]) text += ", gradient of rows";
    }
    return text;
}

} // namespace detail

TENON_INLINE operation sync_replicas::apply_gradients(const std::vector<gradient_and_variable>& gradients,
                                                      const minimize_options& o) const {
    const std::vector<gradient_and_variable> all = detail::checked_gradients(gradients);
    const graph of(all.front().variable.node()->graph);
    const detail::home_scope scope(of);
    const name_scope names(o.name);

    std::vector<std::vector<any_tensor>> own; // a tensor, or indices and rows
    std::vector<bool> rows;
    detail::row_gradients known;
    for (const gradient_and_variable& g : all) {
        const std::optional<row_gradient> sparse = known.of(g.gradient);
        rows.push_back(sparse.has_value());
        own.push_back(sparse ? std::vector{sparse->indices, sparse->values} : std::vector{g.gradient});
    }

    // Steps that are over: what a ledger begins with that is made anew.
    const any_tensor over = [&] {
        const detail::only_devices apart(of);
        return any_tensor(variable<std::int64_t, shape<>>(o.name + "_steps", zeros(), {.trainable = false}));
    }();
    const std::string& shared = over.node()->name; // by which all replicas know what is theirs
    const sync_replicas_options& options = state_->options;
    const untyped::step_ledger ledger = [&] {
        const detail::host_scope there(over);
        return untyped::step_ledger({options.aggregate, options.total,
                                     detail::description_of(*how_, all, rows, o, options.average.has_value()), shared},
                                    options.replica, state_->process);
    }();
    std::vector<untyped::accumulator> accumulators;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const any_tensor& v = all[i].variable;
        const detail::host_scope there(v);
        accumulators.emplace_back(
            v.type(), rows[i],
            accumulator_options{.shared_name = shared + "/" + v.name(), .name = v.name() + "/gradients"});
    }

    // What this replica does in a step.
    const any_tensor turn = ledger.begin(over);
    std::vector<node*> deposits;
    for (std::size_t i = 0; i < all.size(); ++i) deposits.push_back(accumulators[i].deposit(own[i], turn).node());
    const operation committed = [&] {
        const control_dependencies after(deposits);
        return ledger.commit(turn);
    }();
    const untyped::step_ledger::token token = [&] {
        const control_dependencies after(committed);
        return ledger.await();
    }();

    // What one process does for all.
    const detail::no_controls apart;
    const untyped::step_ledger::tickets tickets = ledger.apply(over);
    std::vector<gradient_and_variable> averages;
    std::vector<node*> averaged;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::vector<any_tensor> average = accumulators[i].average(tickets.numbers, tickets.step);
        averaged.push_back(average[0].node());
        averages.push_back(
            {rows[i] ? gradient_of_rows({average[0], average[1]}, all[i].variable) : average[0], all[i].variable});
    }
    // Before the first update all averages are there: where one is not, nothing has changed on any task.
    std::map<std::string, std::vector<node*>> by_task;
    for (std::size_t i = 0; i < all.size(); ++i)
        by_task[to_string(detail::host_scope::of(all[i].variable))].push_back(averaged[i]);
    std::vector<node*> complete;
    for (const auto& [task, nodes] : by_task) {
        const control_dependencies after(nodes);
        const device_scope outside{device_name()}, there{device_name(task)};
        complete.push_back(no_op("complete").node());
    }
    sync_replicas now(*this);
    if (!now.rate_.is_number()) // of the step that is applied, not of when this one began to wait for it
        now.rate_ = learning_rate(tensor<float, shape<>>::unchecked(
            detail::computed_after(tickets.step, now.rate_.tensor()))); // of its own element type
    const operation updated = [&] {
        const detail::host_scope there(over); // what belongs to no variable
        const operation all_complete = [&] {
            const control_dependencies after(complete);
            return no_op(o.name + "/complete");
        }();
        const control_dependencies after(all_complete);
        const operation applied = now.apply_once(averages, o, tickets.step);
        if (!options.average) return applied;
        std::vector<any_tensor> variables;
        for (const gradient_and_variable& g : all) variables.push_back(g.variable);
        return options.average->after(applied, variables);
    }();
    const any_tensor next = [&] {
        const control_dependencies after(updated);
        const detail::owned_scope there(over);
        detail::tape_writer t;
        const detail::tape_value step = t.read(tickets.step) + 1;
        t.write(t.apply(opcode::maximum, step, t.read(detail::current_value(over))), element_type::int64);
        return untyped::assign(over, t.finish().front());
    }();
    const operation applied = [&] {
        const control_dependencies after(next);
        return ledger.advance(next);
    }();
    const any_tensor why = [&] {
        const detail::host_scope there(over);
        return untyped::placeholder(element_type::string, extents(), o.name + "/why");
    }();
    const any_tensor no_step = [&] {
        const detail::host_scope there(over);
        return detail::scalar_constant(-1, element_type::int64);
    }();
    const auto held = [&](const std::string& name, const operation& what) {
        const detail::host_scope there(over);
        const auto flag = [](const std::string& queue) {
            return untyped::fifo_queue({{element_type::boolean, {}}}, 1, {.name = queue});
        };
        const untyped::queue told = flag(name), never = flag(name + "/never");
        const control_dependencies after(what);
        const control_dependencies tells(told.enqueue({detail::scalar_constant(true, element_type::boolean)}));
        const operation rests = never.dequeue()[0].operation();
        const detail::no_controls by_itself;
        return detail::held_operation{rests, told.dequeue()[0], told.dequeue_some(0, 1)[0]};
    };
    state_->trainings.push_back({token, ledger.state(), over, applied, ledger.join(over), ledger.leave(why),
                                 ledger.leave(why, true), ledger.discard(no_step), ledger.discard(over), why,
                                 held(o.name + "/attends", ledger.attend()),
                                 held(o.name + "/is_paused", ledger.pause())});
    std::vector<operation> step{token.step.operation()};
    for (const operation& update : detail::forward_updates_of(gradients)) step.push_back(update);
    return group(step, o.name);
}

} // namespace tenon
