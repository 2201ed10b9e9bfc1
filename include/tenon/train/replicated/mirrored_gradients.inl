#pragma once

#include <optional>
#include <set>

#include <tenon/ops/collective/device_collective.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/reshape.hpp>

// A part of train/replicated/mirrored.ipp: gradients of all replicas and processes, summed.

namespace tenon {

namespace detail {

// The variables that gradients of a loss flow to.
inline std::vector<any_tensor> variables_under(const any_tensor& loss) {
    std::set<node*> seen{loss.node()};
    std::vector<node*> open{loss.node()};
    std::vector<any_tensor> found;
    while (!open.empty()) {
        node* n = open.back();
        open.pop_back();
        if (n->op->is(op_flags::variable)) found.push_back(any_tensor({n, 0}));
        if (!n->op->gradient) continue;
        for (const node_output& in : n->inputs)
            if (seen.insert(in.node).second) open.push_back(in.node);
    }
    return found;
}

// Throws where the loss would train what is not this replica's.
inline void check_loss(mirrored_state& s, const any_tensor& loss, std::size_t replica, bool all_variables) {
    std::set<node*> trainable;
    if (all_variables)
        for (const any_tensor& v : graph(loss.node()->graph).collection(trainable_variables))
            trainable.insert(v.node());
    for (const any_tensor& v : variables_under(loss)) {
        const std::string depends =
            "minimize: the loss of " + s.called(replica) + ", " + loss.name() + ", depends on " + v.name();
        if (const mirrored_variable* m = s.find(v)) {
            if (m->options.trainable && !(m->copies[replica].output() == v.output()))
                throw invalid_argument_error(depends + ", which is another replica's; give a loss for each replica, as "
                                                       "run() returns them");
        } else if (trainable.contains(v.node()))
            throw invalid_argument_error(depends + ", which is not mirrored; make it in the function that run() "
                                                   "calls, or by a layer that is called there, or not trainable");
    }
}

// Gradients of one variable's copies, by replica.
using replica_gradients = std::vector<any_tensor>;

// Where all are sparse: the rows that they name go to all devices, and are one sparse gradient there.
inline std::optional<replica_gradients> sum_sparse(const mirrored_state& s, const replica_gradients& gradients,
                                                   const std::vector<any_tensor>& copies,
                                                   const per_replica<any_tensor>& of) {
    std::vector<row_gradient> rows;
    for (std::size_t i = 0; i < s.replicas(); ++i) {
        const device_scope inside(s.devices[i]);
        const std::optional<row_gradient> own = sparse_rows(gradients[i]);
        if (!own) return std::nullopt;
        rows.push_back({own->indices, weighted(own->values, of, i)});
    }
    replica_gradients sums;
    for (std::size_t i = 0; i < s.replicas(); ++i)
        sums.push_back(on(s.devices[i], [&] { return gradient_of_rows(join_rows(rows), copies[i]); }));
    return sums;
}

// What this process's rows are of all processes': a double scalar.
inline any_tensor share_of_process(const mirrored_state& s, const any_tensor& batch) {
    const any_tensor rows = tenon::add<element_count_op>({index_list(0), element_type::float64}, {batch});
    return add_instruction(opcode::divide, {rows, add_collective(s.processes, collective_kind::sum, rows)});
}

// A sparse gradient of this process, with those of the others: all rows that any names.
inline any_tensor gather_sparse(const mirrored_state& s, const any_tensor& gradient, const any_tensor& variable,
                                const any_tensor& share) {
    const std::optional<row_gradient> own = sparse_rows(gradient);
    tape_writer t;
    const tape_value value = t.read(own->values);
    const element_type type = compute_type(own->values.element());
    if (share.node()) {
        tape_writer w;
        w.write(w.cast(w.read(share), type), type);
        t.write(value * t.read(w.finish().front()), own->values.element());
    } else t.write(value * (1.0 / s.processes->size()), own->values.element());
    const any_tensor indices = add_collective(s.processes, collective_kind::gather, own->indices);
    const any_tensor values = add_collective(s.processes, collective_kind::gather, t.finish().front());
    return gradient_of_rows({indices, values}, variable);
}

// Dense gradients of the first replica, one of each variable: their means over all processes. Small ones go together, in the order in
// which the backward pass has them, so that what it has first travels while it goes on.
inline void mean_over_processes(const mirrored_state& s, std::vector<any_tensor*> gradients, const any_tensor& batch) {
    std::stable_sort(gradients.begin(), gradients.end(),
                     [](const any_tensor* a, const any_tensor* b) { return a->node()->number < b->node()->number; });
    std::vector<any_tensor*> bucket;
    std::int64_t bytes = 0;
    const auto mean = [&](const any_tensor& x) {
        return s.sums.by ? add_device_collective(s.processes, s.sums.name, collective_kind::mean, x, batch, "gradients")
                         : add_collective(s.processes, collective_kind::mean, x, batch, "gradients");
    };
    const auto finish = [&] {
        if (bucket.size() == 1) *bucket[0] = mean(*bucket[0]);
        else if (!bucket.empty()) {
            std::vector<any_tensor> lists;
            for (const any_tensor* g : bucket) lists.push_back(as_list(*g));
            const std::vector<any_tensor> parts = untyped::split_like(mean(untyped::concat(lists, 0)), lists, 0);
            for (std::size_t k = 0; k < parts.size(); ++k) *bucket[k] = untyped::reshape_like(parts[k], *bucket[k]);
        }
        bucket.clear();
        bytes = 0;
    };
    for (any_tensor* g : gradients) {
        const std::int64_t size = bytes_of(g->type());
        if (size > s.bucket_bytes) { // by itself, as soon as it is there
            *g = mean(*g);
            continue;
        }
        if (bytes + size > s.bucket_bytes || (!bucket.empty() && bucket[0]->element() != g->element())) finish();
        bucket.push_back(g);
        bytes += size;
    }
    finish();
}

// The processes' values of x, [n, ..], each with sizes that are known: [processes, n, ..].
inline any_tensor gathered_by_rank(const mirrored_state& s, const any_tensor& x) {
    extents sizes{s.processes->size()};
    for (const extent& e : x.extents()) sizes.push_back(e);
    return untyped::reshape(add_collective(s.processes, collective_kind::gather, x), sizes);
}
// The mean of a gradient as integers of 8 bits. What each process has of it is weighed before it is rounded.
inline any_tensor quantized_mean(const mirrored_state& s, const any_tensor& gradient, const any_tensor& variable,
                                 const any_tensor& share) {
    const quantized_gradients& how = *s.compression;
    const std::int64_t n = variable.extents().elements();
    const int processes = s.processes->size();
    const element_type type = compute_type(gradient.element());
    const any_tensor list = as_list(gradient);
    tape_writer weigh;
    const tape_value weight = share.node() ? weigh.cast(weigh.read(share), type) : weigh.literal(1.0 / processes, type);
    weigh.write(weigh.cast(weigh.read(list), type) * weight, type);
    const any_tensor own = weigh.finish().front();
    any_tensor left, sum = own;
    if (how.error_feedback) {
        left = add_local_variable("processes/" + variable.node()->name + "/residual", {type, extents{n}}, gradient);
        sum = add_instruction(opcode::add, {own, left});
    }

    constexpr int most_gathered = 4; // beyond that the sum of 16-bit integers takes fewer bytes
    quantized_list mine;
    any_tensor mean;
    if (processes <= most_gathered) {
        mine = quantize(sum, how.block);
        const std::vector<any_tensor> values = untyped::unstack(gathered_by_rank(s, mine.values), processes),
                                      scales = untyped::unstack(gathered_by_rank(s, mine.scales), processes);
        for (std::size_t p = 0; p < values.size(); ++p) {
            const any_tensor its = dequantize({values[p], scales[p]}, n);
            mean = p == 0 ? its : add_instruction(opcode::add, {mean, its});
        }
    } else {
        const any_tensor scales = untyped::max(gathered_by_rank(s, scales_of(sum, how.block)), {0});
        mine = quantize(sum, how.block, scales);
        const element_type wide = processes <= 257 ? element_type::int16 : element_type::int32;
        const any_tensor all = add_collective(s.processes, collective_kind::sum,
                                              add_instruction(opcode::cast, {mine.values}, wide), {}, "gradients");
        mean = dequantize({all, scales}, n);
    }
    std::vector<node*> kept;
    if (left.node()) {
        tape_writer t;
        const tape_value rest = t.read(own) - t.read(dequantize(mine, n));
        t.write(t.apply(opcode::select, t.apply(opcode::is_finite, rest), rest, t.literal(0, type)), type);
        kept.push_back(untyped::assign_add(left, t.finish().front()).node());
    }
    const control_dependencies after(kept); // who uses the gradient has what is left kept
    tape_writer t;
    t.write(t.read(mean), gradient.element());
    return untyped::reshape_like(untyped::identity(t.finish().front()), gradient);
}
inline bool is_compressed(const mirrored_state& s, const any_tensor& gradient, const any_tensor& variable) {
    return s.compression && is_floating(gradient.element()) && variable.extents().is_static() &&
           variable.extents().elements() >= std::max<std::int64_t>(s.compression->least_elements, 1);
}

// From the gradients of this process's replicas, of variables that gradients flow to, the means over all processes.
inline void join_processes(const mirrored_state& s, std::vector<replica_gradients*> gradients,
                           const std::vector<any_tensor>& variables, const any_tensor& batch) {
    const device_scope first(s.devices[0]);
    const name_scope names("processes");
    std::vector<any_tensor*> dense;
    any_tensor share;
    for (std::size_t k = 0; k < gradients.size(); ++k) {
        any_tensor& g = gradients[k]->front();
        const bool is_sparse = sparse_rows(g).has_value();
        if (!is_sparse && !is_compressed(s, g, variables[k])) {
            dense.push_back(&g);
            continue;
        }
        if (batch.node() && !share.node()) share = share_of_process(s, batch);
        g = is_sparse ? gather_sparse(s, g, variables[k], share) : quantized_mean(s, g, variables[k], share);
    }
    mean_over_processes(s, dense, batch);
}

} // namespace detail

TENON_INLINE per_replica<std::vector<gradient_and_variable>>
mirrored_strategy::gradients_of(const per_replica<any_tensor>& losses, const std::vector<any_tensor>& variables) const {
    detail::mirrored_state& s = live();
    detail::check_replicas(s, losses.size(), "minimize");
    const node* first = detail::require_node(losses[0].node(), "minimize: the loss of replica 0");
    const detail::home_scope scope{graph(first->graph)};

    std::vector<const detail::mirrored_variable*> of;
    for (const any_tensor& v : variables)
        if (!v.node() || !s.find(v))
            throw invalid_argument_error("minimize: " + (v.node() ? v.name() : "an empty handle") +
                                         " is no variable of the strategy: make it in the function that run() calls");
    for (const detail::mirrored_variable& m : s.variables) {
        const bool asked = variables.empty() ? m.options.trainable
                                             : std::any_of(variables.begin(), variables.end(),
                                                           [&](const any_tensor& v) { return m.has(v); });
        if (asked && m.complete() && m.first().node()->graph == first->graph) of.push_back(&m);
    }
    std::vector<detail::replica_gradients> gradients(of.size());
    std::vector<bool> flows(of.size());
    for (std::size_t i = 0; i < s.replicas(); ++i) {
        detail::require_node(losses.values[i].node(), "minimize: a loss");
        detail::check_loss(s, losses.values[i], i, variables.empty());
        const device_scope inside(s.devices[i]);
        std::vector<any_tensor> xs;
        for (const detail::mirrored_variable* m : of) xs.push_back(m->copies[i]);
        std::vector<any_tensor> values = tenon::gradients(losses.values[i], xs);
        for (std::size_t k = 0; k < of.size(); ++k) {
            flows[k] = flows[k] || !detail::is_no_gradient({values[k], xs[k]});
            gradients[k].push_back(std::move(values[k]));
        }
    }
    struct dense_gradient {
        std::size_t variable;
        std::int64_t made; // when the backward pass has it
    };
    std::vector<dense_gradient> order;
    for (std::size_t k = 0; k < of.size(); ++k) {
        if (!flows[k]) continue;
        if (std::optional sparse = detail::sum_sparse(s, gradients[k], of[k]->copies, losses)) {
            gradients[k] = std::move(*sparse);
            continue;
        }
        order.push_back({k, gradients[k][0].node()->number});
        for (std::size_t i = 0; i < s.replicas(); ++i)
            gradients[k][i] = on(s.devices[i], [&] { return detail::weighted(gradients[k][i], losses, i); });
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.made < b.made; });
    std::vector<detail::replica_gradients> dense;
    for (const dense_gradient& d : order) dense.push_back(gradients[d.variable]);
    dense = s.reduce->sum_all(dense, s.devices);
    for (std::size_t d = 0; d < dense.size(); ++d) gradients[order[d].variable] = std::move(dense[d]);
    if (s.processes) {
        std::vector<detail::replica_gradients*> own;
        std::vector<any_tensor> firsts;
        for (std::size_t k = 0; k < of.size(); ++k)
            if (flows[k]) {
                own.push_back(&gradients[k]);
                firsts.push_back(of[k]->first());
            }
        detail::join_processes(s, own, firsts, losses.batch);
        for (detail::replica_gradients* g : own) std::fill(g->begin() + 1, g->end(), g->front());
    }

    per_replica<std::vector<gradient_and_variable>> result;
    result.values.resize(s.replicas());
    for (std::size_t k = 0; k < of.size(); ++k)
        for (std::size_t i = 0; i < s.replicas() && flows[k]; ++i)
            result.values[i].push_back({gradients[k][i], of[k]->copies[i]});
    if (result[0].empty())
        throw invalid_argument_error("minimize: the losses (" + losses[0].name() + " of replica 0) depend on none of " +
                                     std::to_string(of.size()) +
                                     " variables of the strategy in a way that has a gradient");
    return result;
}

TENON_INLINE operation mirrored_strategy::apply_gradients(
    const optimizer& how, const per_replica<std::vector<gradient_and_variable>>& gradients,
    const minimize_options& o) const {
    if (o.scale)
        throw invalid_argument_error("mirrored_strategy::apply_gradients: a loss_scale is given to minimize() of the "
                                     "strategy, which scales the loss of each replica");
    return apply_in_replicas(how, gradients, o, {});
}

TENON_INLINE operation mirrored_strategy::apply_in_replicas(
    const optimizer& how, const per_replica<std::vector<gradient_and_variable>>& gradients, const minimize_options& o,
    const std::vector<loss_scale>& scales) const {
    detail::check_replicas(live(), gradients.size(), "apply_gradients");
    if (gradients[0].empty()) throw invalid_argument_error("apply_gradients: there are no gradients");
    const node* first = detail::require_node(gradients[0][0].variable.node(), "apply_gradients: a variable");
    const detail::home_scope scope{graph(first->graph)};
    detail::mirrored_calls calls(live());
    std::vector<operation> updates;
    for (int i = 0; i < calls.replicas(); ++i) {
        const detail::replica_scope inside(calls, i);
        minimize_options of = o;
        of.advance_global_step = o.advance_global_step && i == 0;
        if (scales.empty()) updates.push_back(how.apply_gradients(gradients[i], of));
        else {
            of.scale = scales[static_cast<std::size_t>(i)];
            updates.push_back(how.apply_gradients(of.scale->unscaled(gradients[i]), of));
        }
    }
    calls.finish();
    return group(updates, o.name);
}

// Gradients are the same in all replicas once they are added up, and so is what each of them finds, and its scale.
TENON_INLINE operation mirrored_strategy::minimize_scaled(const optimizer& how, const per_replica<any_tensor>& losses,
                                                          const minimize_options& o) const {
    detail::check_replicas(live(), losses.size(), "minimize");
    if (o.scale->value().node())
        throw invalid_argument_error(
            "mirrored_strategy::minimize: the loss_scale has scaled another loss; make one for each minimize");
    const detail::home_scope scope{graph(detail::require_node(losses[0].node(), "minimize: a loss")->graph)};
    std::vector<loss_scale> scales{*o.scale};
    per_replica<any_tensor> scaled = losses;
    {
        detail::mirrored_calls calls(live());
        for (int i = 0; i < calls.replicas(); ++i) {
            const detail::replica_scope inside(calls, i);
            if (i > 0) scales.emplace_back(o.scale->options());
            const auto at = static_cast<std::size_t>(i);
            scaled.values[at] = scales[at].scaled(losses[i]);
        }
        calls.finish();
    }
    return apply_in_replicas(how, gradients_of(scaled, o.variables), o, scales);
}

} // namespace tenon
