#pragma once

#include <algorithm>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/ops/collective/collective.hpp>
#include <tenon/ops/collective/device_collective.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/resources/collective/process_sums.hpp>
#include <tenon/train/optimize/tape_writer.hpp>
#include <tenon/train/replicated/mirrored.hpp>

namespace tenon {

namespace detail {

// A variable that a strategy has on all its devices.
struct mirrored_variable {
    std::vector<any_tensor> copies; // by replica; the others' are empty until they are made
    std::string wished;             // its name, as replicas can compare them; empty: it was there before
    variable_options options;

    const any_tensor& first() const { return copies.front(); }
    bool complete() const {
        return std::all_of(copies.begin(), copies.end(), [](const any_tensor& c) { return c.node() != nullptr; });
    }
    bool has(const any_tensor& v) const {
        return std::any_of(copies.begin(), copies.end(), [&](const any_tensor& c) { return c.output() == v.output(); });
    }
};

// Of one thread at a time, as the strategy.
class mirrored_state {
public:
    std::vector<device_name> devices;
    std::shared_ptr<const all_reduce_method> reduce;
    std::shared_ptr<collective_group> processes; // nullptr: this one
    std::string alone_since;                     // why there are no others, of a group of one
    chosen_process_sums sums;                    // of dense gradients, over those
    std::int64_t bucket_bytes = 1 << 20;
    std::optional<quantized_gradients> compression; // between processes
    std::vector<mirrored_variable> variables;

    std::size_t replicas() const { return devices.size(); }
    std::string called(std::size_t replica) const {
        return "replica " + std::to_string(replica) + " (" + to_string(devices[replica]) + ")";
    }
    mirrored_variable* find(const any_tensor& v) {
        const auto at = std::find_if(variables.begin(), variables.end(), [&](const auto& m) { return m.has(v); });
        return at == variables.end() ? nullptr : &*at;
    }
};

inline std::string described(const any_tensor& variable) {
    return "\"" + variable.node()->name + "\" (" + to_string(variable.type()) + ")";
}

// What becomes of the variables that the replicas make in the calls of one function.
class replica_variables final : public variable_policy {
public:
    replica_variables(mirrored_state& s, std::size_t known) : state_(s), known_(known) {}

    void begin(std::size_t replica) { replica_ = replica; }

    any_tensor make(const std::string& name, const std::string& wished, const tensor_type& type,
                    const variable_options& o) override {
        if (replica_ == 0) {
            mirrored_variable m{std::vector<any_tensor>(state_.replicas()), wished, o};
            m.copies[0] = enter_variable(name, type, o);
            state_.variables.push_back(std::move(m));
            return state_.variables.back().first();
        }
        const auto from = state_.variables.begin() + static_cast<std::ptrdiff_t>(known_);
        // Those that are called alike, in the order in which the first replica made them.
        const auto at = std::find_if(from, state_.variables.end(), [&](const mirrored_variable& m) {
            return m.wished == wished && !m.copies[replica_].node();
        });
        if (at == state_.variables.end()) {
            std::string made;
            for (auto m = from; m != state_.variables.end(); ++m)
                made += (made.empty() ? "it makes " : ", ") + described(m->first());
            throw invalid_argument_error("mirrored_strategy: " + state_.called(replica_) + " makes a variable \"" +
                                         wished + "\" (" + to_string(type) + "), which replica 0 does not make; " +
                                         (made.empty() ? "it makes none" : made) +
                                         "; the function must make the same variables for each replica");
        }
        if (!(at->first().type() == type))
            throw invalid_argument_error("mirrored_strategy: " + state_.called(replica_) + " makes the variable \"" +
                                         wished + "\" as " + to_string(type) + ", replica 0 as " +
                                         to_string(at->first().type()) +
                                         "; the function must make the same variables for each replica");
        return add_copy(*at);
    }

    any_tensor initial_value(const any_tensor& variable, const any_tensor& value) override {
        const mirrored_variable* m = state_.find(variable);
        if (m && !(m->first().output() == variable.output())) return initialized_value_of(m->first());
        if (!m || !state_.processes) return value;
        const only_devices apart{graph(variable.node()->graph)}; // not where a slot is to be: with its variable
        return add_collective(state_.processes, collective_kind::broadcast, value);
    }

    any_tensor here(const any_tensor& variable) override {
        mirrored_variable* m = state_.find(variable);
        if (!m) {
            const auto in = [&](const char* collection) {
                for (const any_tensor& v : graph(variable.node()->graph).collection(collection))
                    if (v.output() == variable.output()) return true;
                return false;
            };
            state_.variables.push_back({std::vector<any_tensor>(state_.replicas()),
                                        {},
                                        {.trainable = in(trainable_variables), .collected = in(global_variables)}});
            m = &state_.variables.back();
            m->copies[0] = variable;
            if (state_.processes) begin_alike(variable, m->options);
        }
        if (!m->copies[replica_].node()) set_initial_value(add_copy(*m), m->first(), m->options);
        return m->copies[replica_];
    }

    any_tensor original(const any_tensor& variable) override {
        const mirrored_variable* m = state_.find(variable);
        return m ? m->first() : variable;
    }

private:
    // It has an initial value already: after that is assigned, rank 0's is.
    void begin_alike(const any_tensor& variable, const variable_options& o) {
        const absolute_names names;
        const device_scope anywhere{device_name()};
        const any_tensor value =
            add_collective(state_.processes, collective_kind::broadcast, initialized_value_of(variable));
        const auto after = control_dependencies(std::vector<node*>{initializer_of(variable).node()});
        const any_tensor assigned = untyped::assign(variable, value);
        if (o.collected) graph(variable.node()->graph).add_to_collection("initializers", assigned);
    }

    // It enters no collection but that of the copies.
    any_tensor add_copy(mirrored_variable& m) {
        const any_tensor& first = m.first();
        const absolute_names names;
        const container_scope container(first.node()->container);
        const any_tensor copy = enter_variable(first.node()->name + "/replica_" + std::to_string(replica_),
                                               first.type(), {.trainable = false, .collected = false});
        graph(first.node()->graph).add_to_collection(copies_of(first.node()->name), copy);
        return m.copies[replica_] = copy;
    }

    mirrored_state& state_;
    const std::size_t known_;
    std::size_t replica_ = 0;
};

TENON_INLINE std::shared_ptr<mirrored_state> make_mirrored(const std::vector<device_name>& devices,
                                                           std::shared_ptr<const all_reduce_method> reduce,
                                                           std::shared_ptr<collective_group> processes) {
    if (devices.empty()) throw invalid_argument_error("mirrored_strategy: there are no devices; name one at least");
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (devices[i].empty())
            throw invalid_argument_error("mirrored_strategy: the name of device " + std::to_string(i) +
                                         " is empty; name each, as \"/gpu:0\"");
        for (std::size_t j = 0; j < i; ++j)
            if (devices[i] == devices[j])
                throw invalid_argument_error("mirrored_strategy: " + to_string(devices[i]) + " is given twice, as " +
                                             std::to_string(j) + " and " + std::to_string(i) +
                                             "; a device has one replica");
    }
    auto s = std::make_shared<mirrored_state>();
    s->devices = devices;
    s->reduce = reduce ? std::move(reduce) : default_all_reduce();
    if (processes && processes->size() > 1) {
        s->processes = std::move(processes);
        s->sums = choose_process_sums(s->processes, devices[0]);
    } else if (processes) s->alone_since = processes->explained();
    return s;
}

TENON_INLINE mirrored_calls::mirrored_calls(mirrored_state& s) :
    state_(s), known_(s.variables.size()), variables_(std::make_unique<replica_variables>(s, known_)) {}
TENON_INLINE mirrored_calls::~mirrored_calls() { state_.variables.resize(known_); }
TENON_INLINE int mirrored_calls::replicas() const noexcept { return static_cast<int>(state_.replicas()); }
TENON_INLINE void mirrored_calls::finish() {
    for (std::size_t k = known_; k < state_.variables.size(); ++k)
        for (std::size_t i = 0; i < state_.replicas(); ++i)
            if (!state_.variables[k].copies[i].node())
                throw invalid_argument_error("mirrored_strategy: replica 0 makes a variable " +
                                             described(state_.variables[k].first()) + ", which " + state_.called(i) +
                                             " does not make; the function must make the same variables for each "
                                             "replica");
    known_ = state_.variables.size();
}

TENON_INLINE replica_scope::replica_scope(mirrored_calls& calls, int i) :
    device_(calls.state_.devices[static_cast<std::size_t>(i)]), names_(i), variables_(calls.variables_.get()) {
    calls.variables_->begin(static_cast<std::size_t>(i));
}

TENON_INLINE void check_replicas(const mirrored_state& s, int values, const char* what) {
    if (values >= 0 && values != static_cast<int>(s.replicas()))
        throw invalid_argument_error(std::string(what) + ": a per_replica argument has " + std::to_string(values) +
                                     " values, the strategy " + std::to_string(s.replicas()) +
                                     " replicas; give what distribute() or run() returned");
}

TENON_INLINE per_replica<any_tensor> distribute(const mirrored_state& s, const any_tensor& batch) {
    require_node(batch.node(), "distribute: the batch");
    if (batch.rank() == 0)
        throw invalid_argument_error("distribute: " + batch.name() + " is a scalar, which has no rows");
    const home_scope scope{graph(batch.node()->graph)};
    const int n = static_cast<int>(s.replicas());
    const node* from = batch.node();
    const bool fed = from->op->is(op_flags::source) && !from->op->is(op_flags::variable);
    const auto split = [&] { return untyped::split_evenly(batch, n); };
    per_replica<any_tensor> parts{fed ? on("/device:CPU:0", split) : colocate_with(batch, split)};
    if (s.processes) parts.batch = batch;
    const extent rows = batch.extents()[0];
    if (n == 1 || (rows.is_number() && rows.size % n == 0)) return parts;
    for (std::size_t i = 0; i < s.replicas(); ++i) {
        const device_scope inside(s.devices[i]);
        const auto count = [](const any_tensor& x) {
            return tenon::add<element_count_op>({index_list(0), element_type::float64}, {x});
        };
        parts.shares.push_back(add_instruction(opcode::divide, {count(parts.values[i]), count(batch)}));
    }
    return parts;
}

// x times a replica's share; zero where that is, whatever x is: a mean over no rows is no number.
inline any_tensor weighted(const any_tensor& x, const per_replica<any_tensor>& of, std::size_t replica) {
    if (of.size() == 1) return x;
    const element_type type = compute_type(x.element());
    tape_writer t;
    const tape_value value = t.read(x);
    if (of.shares.empty()) {
        t.write(value * (1.0 / of.size()), x.element());
    } else {
        tape_writer s; // a node that all gradients of a replica share
        s.write(s.cast(s.read(of.shares[replica]), type), type);
        const tape_value share = t.read(s.finish().front()), none = t.literal(0, type);
        t.write(t.apply(opcode::select, t.apply(opcode::less, none, share), value * share, none), x.element());
    }
    return t.finish().front();
}

TENON_INLINE any_tensor mirrored_mean(const mirrored_state& s, const per_replica<any_tensor>& values) {
    check_replicas(s, values.size(), "mean");
    for (const any_tensor& v : values) {
        require_node(v.node(), "mean: a value");
        if (v.rank() != 0 || !is_floating(v.element()))
            throw invalid_argument_error("mean: " + v.name() + " is " + to_string(v.type()) +
                                         "; each value must be a floating scalar");
    }
    const home_scope scope{graph(values[0].node()->graph)};
    any_tensor sum;
    for (std::size_t i = 0; i < s.replicas(); ++i) {
        const any_tensor part = on(s.devices[i], [&] { return weighted(values.values[i], values, i); });
        const device_scope first(s.devices[0]);
        sum = sum.node() ? add_instruction(opcode::add, {sum, part}) : part;
    }
    return s.processes ? add_collective(s.processes, collective_kind::mean, sum, values.batch, "mean") : sum;
}

TENON_INLINE any_tensor mirrored_join(const mirrored_state& s, const std::vector<any_tensor>& parts) {
    check_replicas(s, static_cast<int>(parts.size()), "join");
    require_node(parts[0].node(), "join: the part of replica 0");
    const home_scope scope{graph(parts[0].node()->graph)};
    const device_scope first(s.devices[0]);
    return untyped::concat(parts, 0);
}

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

// Of several variables, as one tensor.
inline std::vector<replica_gradients> sum_bundle(const mirrored_state& s,
                                                 const std::vector<replica_gradients>& gradients) {
    if (gradients.size() == 1) return {s.reduce->sum(gradients[0], s.devices)};
    std::vector<std::vector<any_tensor>> lists(s.replicas());
    std::vector<any_tensor> bundles;
    for (std::size_t i = 0; i < s.replicas(); ++i) {
        const device_scope inside(s.devices[i]);
        for (const replica_gradients& g : gradients) lists[i].push_back(as_list(g[i]));
        bundles.push_back(untyped::concat(lists[i], 0));
    }
    bundles = s.reduce->sum(bundles, s.devices);
    std::vector<replica_gradients> sums(gradients.size());
    for (std::size_t i = 0; i < s.replicas(); ++i) {
        const device_scope inside(s.devices[i]);
        const std::vector<any_tensor> parts = untyped::split_like(bundles[i], lists[i], 0);
        for (std::size_t k = 0; k < parts.size(); ++k)
            sums[k].push_back(untyped::reshape_like(parts[k], gradients[k][i]));
    }
    return sums;
}

// Dense gradients of variables, summed; small ones together, for each transfer has a cost of its own.
inline std::vector<replica_gradients> sum_dense(const mirrored_state& s,
                                                const std::vector<replica_gradients>& gradients) {
    constexpr std::int64_t most_bytes = 1 << 20;
    if (s.replicas() == 1) return gradients;
    std::vector<replica_gradients> sums, bundle;
    std::int64_t bytes = 0;
    const auto finish = [&] {
        if (bundle.empty()) return;
        for (replica_gradients& g : sum_bundle(s, bundle)) sums.push_back(std::move(g));
        bundle.clear();
        bytes = 0;
    };
    for (const replica_gradients& g : gradients) {
        const std::int64_t size = bytes_of(g[0].type());
        if (bytes + size > most_bytes || (!bundle.empty() && bundle[0][0].element() != g[0].element())) finish();
        bundle.push_back(g);
        bytes += size;
    }
    finish();
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

TENON_INLINE const std::shared_ptr<collective_group>& mirrored_strategy::processes() const { return live().processes; }
TENON_INLINE void mirrored_strategy::set_bucket_bytes(std::int64_t bytes) {
    if (bytes < 0) throw invalid_argument_error("mirrored_strategy: a bucket of " + std::to_string(bytes) + " bytes");
    live().bucket_bytes = bytes;
}
TENON_INLINE void mirrored_strategy::set_compression(const quantized_gradients& how) {
    detail::check(how);
    live().compression = how;
}
TENON_INLINE std::string mirrored_strategy::explained() const {
    const detail::mirrored_state& s = live();
    std::string text = std::to_string(s.replicas()) + (s.replicas() == 1 ? " device" : " devices") + " of this process";
    if (s.replicas() > 1) text += ", summed by nodes of the graph";
    if (!s.processes)
        return text + "; no other process takes part" + (s.alone_since.empty() ? "" : ", " + s.alone_since);
    text += "; " + std::to_string(s.processes->size()) + " processes, " + s.processes->explained();
    return s.sums.explained.empty() ? text : text + "; " + s.sums.explained;
}
TENON_INLINE int mirrored_strategy::replicas() const { return static_cast<int>(live().replicas()); }
TENON_INLINE const std::vector<device_name>& mirrored_strategy::devices() const { return live().devices; }

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
    std::vector<detail::replica_gradients> dense;
    std::vector<std::size_t> dense_variables;
    for (std::size_t k = 0; k < of.size(); ++k) {
        if (!flows[k]) continue;
        if (std::optional sparse = detail::sum_sparse(s, gradients[k], of[k]->copies, losses)) {
            gradients[k] = std::move(*sparse);
            continue;
        }
        for (std::size_t i = 0; i < s.replicas(); ++i)
            gradients[k][i] = on(s.devices[i], [&] { return detail::weighted(gradients[k][i], losses, i); });
        dense.push_back(gradients[k]);
        dense_variables.push_back(k);
    }
    dense = detail::sum_dense(s, dense);
    for (std::size_t d = 0; d < dense.size(); ++d) gradients[dense_variables[d]] = std::move(dense[d]);
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
        updates.push_back(how.apply_gradients(gradients[i], of));
    }
    calls.finish();
    return group(updates, o.name);
}

TENON_INLINE operation mirrored_strategy::broadcast() const {
    std::vector<operation> all;
    for (const detail::mirrored_variable& m : live().variables) {
        if (m.first().node()->graph != graph::current().state()) continue;
        const std::shared_ptr<collective_group>& group = live().processes;
        const any_tensor value = group ? add_collective(group, collective_kind::broadcast, m.first()) : m.first();
        for (std::size_t i = group ? 0 : 1; i < m.copies.size(); ++i)
            all.push_back(untyped::assign(m.copies[i], value).operation());
    }
    return group(all, "broadcast");
}

TENON_INLINE std::vector<any_tensor> mirrored_strategy::copies(const any_tensor& variable) const {
    detail::require_node(variable.node(), "copies: the variable");
    if (const detail::mirrored_variable* m = live().find(variable)) return m->copies;
    throw not_found_error("copies: " + variable.name() + " is no variable of the strategy");
}

} // namespace tenon
