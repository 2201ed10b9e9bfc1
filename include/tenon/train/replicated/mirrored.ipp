#pragma once

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/ops/collective/collective.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/assembly.hpp>
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

#include <tenon/train/replicated/mirrored_gradients.inl>
