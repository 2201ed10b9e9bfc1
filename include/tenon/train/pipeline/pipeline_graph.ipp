#pragma once

#include <algorithm>
#include <optional>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/graph/graph_state.inl>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/partition.hpp>
#include <tenon/train/pipeline/pipeline_graph.hpp>

namespace tenon::detail {

TENON_INLINE void check_stages(const pipeline_stages& s) {
    for (std::size_t i = 0; i < s.devices.size(); ++i)
        if (s.devices[i].empty())
            throw invalid_argument_error(
                "pipeline: stage " + std::to_string(i) + " of " + std::to_string(s.devices.size()) +
                " has no device; name one for each, as stage(\"/gpu:" + std::to_string(i) + "\", layer)");
    if (s.micro_batches < 1)
        throw invalid_argument_error("pipeline: " + std::to_string(s.micro_batches) +
                                     " micro-batches; pipeline_options::micro_batches must be 1 at least");
}

TENON_INLINE device_name device_of_stage(const std::vector<device_name>& devices, int stage) {
    if (stage < 0 || static_cast<std::size_t>(stage) >= devices.size())
        throw invalid_argument_error("pipeline: there is no stage " + std::to_string(stage) + "; there are " +
                                     std::to_string(devices.size()) + ", counted from 0");
    return devices[static_cast<std::size_t>(stage)];
}

// A function that is called several times makes its variables in its first call that comes to an end: in the others it is given those
// again, in their order among those that are called alike. What is made is also what the policy around, of replicas, makes of it.
class stage_variables final : public variable_policy {
public:
    // f() inside a scope of these variables.
    template <class F> tensor_list call(F&& f) {
        around_ = current_scopes().variables;
        if (first_) made_.clear();
        for (made& m : made_) m.taken = false;
        const variable_policy_scope shared(this);
        tensor_list results = f();
        first_ = false;
        return results;
    }
    any_tensor make(const std::string& name, const std::string& wished, const tensor_type& type,
                    const variable_options& o) override {
        if (first_) {
            made_.push_back({wished, around_ ? around_->make(name, wished, type, o) : enter_variable(name, type, o)});
            return made_.back().variable;
        }
        const auto at = std::find_if(made_.begin(), made_.end(), [&](const made& m) {
            return !m.taken && m.wished == wished && m.variable.type() == type;
        });
        if (at == made_.end())
            throw invalid_argument_error("pipeline: a stage makes a variable \"" + wished + "\" (" + to_string(type) +
                                         ") that it did not make when it was first called; its function must make the "
                                         "same variables whenever it is called");
        if (!(graph(at->variable.node()->graph) == graph::current()))
            throw invalid_argument_error("pipeline: a stage whose " + at->variable.name() +
                                         " belongs to another graph is called; make another pipeline for this graph");
        return here(at->variable);
    }
    any_tensor initial_value(const any_tensor& variable, const any_tensor& value) override {
        const any_tensor begins = first_ ? value : initialized_value_of(original(variable));
        return around_ ? around_->initial_value(variable, begins) : begins;
    }
    any_tensor here(const any_tensor& variable) override {
        for (made& m : made_)
            if (m.variable.node() == variable.node()) m.taken = true; // a layer has it already
        return around_ ? around_->here(variable) : variable;
    }
    any_tensor original(const any_tensor& variable) override {
        return around_ ? around_->original(variable) : variable;
    }

private:
    struct made {
        std::string wished;
        any_tensor variable;
        bool taken = false; // in this call
    };
    variable_policy* around_ = nullptr; // of this call
    bool first_ = true;                 // none has come to its end
    std::vector<made> made_;
};

TENON_INLINE std::shared_ptr<std::vector<stage_variables>> no_segment_variables(int stages) {
    return std::make_shared<std::vector<stage_variables>>(static_cast<std::size_t>(stages));
}

// What a stage's function makes on the stage's device.
inline tensor_list through_stage(const pipeline_stages& s, std::size_t stage, const tensor_list& inputs, nn::phase p) {
    const device_scope there(s.devices[stage]);
    return (*s.variables)[stage].call([&] { return s.functions[stage](inputs, p); });
}

TENON_INLINE tensor_list through_segments(const pipeline_stages& s, const tensor_list& inputs, nn::phase p) {
    tensor_list values = inputs;
    for (std::size_t i = 0; i < s.devices.size(); ++i) values = through_stage(s, i, values, p);
    return values;
}

// What asks for no device of its task means its first GPU, else its first CPU, as placing does.
TENON_INLINE std::vector<device_report> reports_of(const step_report& r, const std::vector<device_name>& devices) {
    std::vector<device_report> found;
    for (const device_name& d : devices) {
        const device_report* best = nullptr;
        for (const device_report& there : r.devices) {
            device_name name(there.device);
            if (name.job.empty()) { // of a session of one task
                name.job = d.job;
                name.replica = d.replica;
                name.task = d.task;
            }
            if (d.allows(name) && (!best || (d.type.empty() && name.type == "GPU" && name.index == 0))) best = &there;
        }
        if (!best) {
            std::string all;
            for (const device_report& there : r.devices) all += " " + there.device;
            throw not_found_error("pipeline: the report has no device " + to_string(d) + "; it has" + all);
        }
        found.push_back(*best);
    }
    return found;
}

// One variable's gradient at one stage: added up as it comes, but for sparse ones, which are joined at the end.
struct gradient_at_stage {
    any_tensor variable, sum;
    std::vector<any_tensor> sparse;
};

// A stage while its passes are built.
struct built_stage {
    explicit built_stage(std::vector<pipeline_slot> o) : order(std::move(o)) {}

    std::vector<pipeline_slot> order;
    std::size_t next = 0;                            // in the order
    std::vector<node*> last;                         // what the slot before ended with
    std::vector<tensor_list> inputs, outputs, given; // by micro-batch; given: gradients of the inputs
    std::vector<gradient_at_stage> gradients;
};

class pipeline_builder {
public:
    pipeline_builder(const pipeline_stages& s, const stage_function& loss, const std::vector<any_tensor>& variables) :
        s_(s), loss_(loss), count_(static_cast<std::size_t>(s.micro_batches)) {
        for (std::size_t i = 0; i < s.devices.size(); ++i) {
            built_stage& b = stages_.emplace_back(
                pipeline_order(s.schedule, static_cast<int>(s.devices.size()), s.micro_batches, static_cast<int>(i)));
            b.inputs.resize(count_);
            b.outputs.resize(count_);
            b.given.resize(count_);
        }
        for (const any_tensor& v : variables) {
            const std::vector<any_tensor> parts = parts_of(v);
            asked_.insert(asked_.end(), parts.begin(), parts.end());
            if (parts.empty()) asked_.push_back(v);
        }
    }

    pipeline_step run(const tensor_list& inputs, const tensor_list& labels) {
        const graph g(inputs.front().node()->graph);
        const home_scope scope(g);
        // Before anything is made: a stage that complains leaves nothing behind that trains.
        for (const tensor_list* list : {&inputs, &labels})
            for (const any_tensor& x : *list) check_rows(x);
        labels_.resize(count_);
        for (const any_tensor& x : inputs) take_apart(x, stages_.front().inputs);
        for (const any_tensor& x : labels) take_apart(x, labels_);
        // In rounds, of which each takes a pass of every stage that can go on: the order in which steps run where nothing
        // else decides is that in which nodes are made.
        for (bool more = true; more;) {
            more = false;
            std::vector<std::size_t> able;
            for (std::size_t i = 0; i < stages_.size(); ++i)
                if (is_ready(i)) able.push_back(i);
            for (const std::size_t i : able) {
                const pipeline_slot slot = stages_[i].order[stages_[i].next++];
                if (slot.backward) go_back(i, static_cast<std::size_t>(slot.micro_batch));
                else go_forward(i, static_cast<std::size_t>(slot.micro_batch));
                more = true;
            }
        }
        return {mean_loss(), all_gradients()};
    }

private:
    // Throws where the rows are known, and are no multiple of the micro-batches.
    void check_rows(const any_tensor& x) const {
        require_node(x.node(), "pipeline: an input or label");
        if (x.rank() == 0) return;
        const extent rows = x.extents()[0];
        if (!rows.is_number() || rows.size % s_.micro_batches == 0) return;
        throw invalid_argument_error(
            "pipeline: " + std::to_string(s_.micro_batches) + " micro-batches do not divide the " +
            std::to_string(rows.size) + " rows of " + x.name() + ", " + to_string(x.type()) +
            "; pad the batch, leave rows out, or choose a number of micro-batches that divides it");
    }

    // What is fed is taken apart on the host, another tensor where it lies. The node's name says into how many parts: where the rows
    // are known in the step alone, the step's error has it.
    void take_apart(const any_tensor& x, std::vector<tensor_list>& to) const {
        if (x.rank() == 0) {
            for (tensor_list& t : to) t.push_back(x);
            return;
        }
        const bool fed = x.node()->op->is(op_flags::source) && !x.node()->op->is(op_flags::variable);
        const auto split = [&] {
            split_op::attributes a;
            a.parts = s_.micro_batches;
            return add_node(definition_of<split_op>(), {x}, encode(a),
                            "pipeline/" + x.node()->name + "_in_" + std::to_string(s_.micro_batches) +
                                "_micro_batches");
        };
        node* const parts = fed ? on("/device:CPU:0", split) : colocate_with(x, split);
        for (std::size_t j = 0; j < count_; ++j) to[j].push_back(any_tensor({parts, static_cast<int>(j)}));
    }

    std::string called(std::size_t stage) const {
        return "stage " + std::to_string(stage) + " (" + to_string(s_.devices[stage]) + ")";
    }
    bool is_last(std::size_t stage) const { return stage + 1 == stages_.size(); }

    bool is_ready(std::size_t i) const {
        const built_stage& b = stages_[i];
        if (b.next == b.order.size()) return false;
        const pipeline_slot slot = b.order[b.next];
        const auto j = static_cast<std::size_t>(slot.micro_batch);
        if (!slot.backward) return i == 0 || !stages_[i - 1].outputs[j].empty();
        return !b.outputs[j].empty() && (is_last(i) || !stages_[i + 1].given[j].empty());
    }

    // x on the stage's device, once the pass before has ended. A pass waits with what comes into it, not with each of its
    // nodes: those are free to be joined.
    static any_tensor entered(const any_tensor& x, const std::vector<node*>& after, const char* name) {
        const tenon::control_dependencies wait(after);
        return untyped::identity(x, name);
    }

    void go_forward(std::size_t i, std::size_t j) {
        built_stage& b = stages_[i];
        std::optional<name_scope> names;
        if (j > 0) names.emplace("stage_" + std::to_string(i) + "_micro_batch_" + std::to_string(j));
        const device_scope there(s_.devices[i]);
        if (i > 0) b.inputs[j] = stages_[i - 1].outputs[j];
        for (any_tensor& x : b.inputs[j]) x = entered(x, b.last, "stage_input");
        tensor_list made = through_stage(s_, i, b.inputs[j], nn::training);
        if (is_last(i)) {
            made.insert(made.end(), labels_[j].begin(), labels_[j].end());
            made = loss_variables_.call([&] { return loss_(made, nn::training); });
            const any_tensor& l = made.front();
            if (l.rank() != 0 || !is_floating(l.element()))
                throw invalid_argument_error(
                    "pipeline: the loss " + l.name() + " is " + to_string(l.type()) +
                    "; it must be a floating scalar, the mean over the rows of its micro-batch");
        }
        b.last.clear();
        for (const any_tensor& y : made) b.last.push_back(y.node());
        b.outputs[j] = std::move(made);
    }

    void go_back(std::size_t i, std::size_t j) {
        built_stage& b = stages_[i];
        tensor_list ys, flowing;
        if (is_last(i)) {
            ys = b.outputs[j];
            const device_scope there(s_.devices[i]);
            // It waits, so it is no constant, of whose sizes each micro-batch would keep another one.
            flowing.push_back(
                entered(scalar_constant(1.0 / s_.micro_batches, ys[0].element()), b.last, "loss_gradient"));
        } else {
            const tensor_list& from = stages_[i + 1].given[j];
            for (std::size_t k = 0; k < from.size(); ++k) {
                if (!from[k].node()) continue;
                const device_scope there(s_.devices[i]);
                ys.push_back(b.outputs[j][k]);
                flowing.push_back(entered(from[k], b.last, "stage_gradient"));
            }
        }
        b.given[j].resize(std::max<std::size_t>(b.inputs[j].size(), 1)); // empty handles: none flows
        if (ys.empty()) return;
        // Of the first stage gradients flow on to what the batch is computed of.
        const tensor_list borders = i > 0 ? b.inputs[j] : tensor_list();
        const tensor_list variables = trained_by(ys, borders);
        tensor_list xs = variables;
        std::vector<std::size_t> into; // inputs, by what is asked
        for (std::size_t k = 0; k < b.inputs[j].size() && i > 0; ++k) {
            if (!is_floating(b.inputs[j][k].element())) continue;
            into.push_back(k);
            xs.push_back(b.inputs[j][k]);
        }
        if (xs.empty()) return;
        const tensor_list found = add_gradients(ys, xs, flowing, borders);
        std::vector<node*> ends;
        for (std::size_t v = 0; v < variables.size(); ++v)
            if (!is_no_gradient({found[v], variables[v]})) add(b, variables[v], found[v], ends);
        for (std::size_t k = 0; k < into.size(); ++k) {
            const any_tensor& g = found[variables.size() + k];
            if (is_no_gradient({g, b.inputs[j][into[k]]})) continue;
            b.given[j][into[k]] = g;
            ends.push_back(g.node());
        }
        if (!ends.empty()) b.last = std::move(ends);
    }

    // The trainable variables, or those asked for, that gradients of ys flow to without passing the borders.
    tensor_list trained_by(const tensor_list& ys, const tensor_list& borders) {
        if (trainable_.empty()) {
            const graph g(ys[0].node()->graph);
            for (const any_tensor& v : asked_.empty() ? g.collection(trainable_variables) : asked_)
                trainable_.insert(v.node());
        }
        std::set<node*> seen;
        for (const any_tensor& x : borders) seen.insert(x.node());
        std::vector<node*> open;
        const auto visit = [&](node* n) {
            if (seen.insert(n).second) open.push_back(n);
        };
        for (const any_tensor& y : ys) visit(y.node());
        tensor_list found;
        while (!open.empty()) {
            node* n = open.back();
            open.pop_back();
            if (n->op->is(op_flags::variable) && trainable_.contains(original_variable(any_tensor({n, 0})).node()))
                found.push_back(any_tensor({n, 0}));
            if (!n->op->gradient) continue;
            for (const node_output& in : n->inputs) visit(in.node);
        }
        std::sort(found.begin(), found.end(),
                  [](const any_tensor& a, const any_tensor& b) { return a.node()->number < b.node()->number; });
        return found;
    }

    // A sum ends its pass: the next micro-batch's gradients are not computed before, so that there are never more than one beside it.
    static void add(built_stage& b, const any_tensor& variable, const any_tensor& gradient, std::vector<node*>& ends) {
        auto at = std::find_if(b.gradients.begin(), b.gradients.end(),
                               [&](const gradient_at_stage& g) { return g.variable.output() == variable.output(); });
        if (at == b.gradients.end()) at = b.gradients.insert(at, {variable, {}, {}});
        if (const std::optional<row_gradient> rows = sparse_rows(gradient)) {
            at->sparse.push_back(gradient);
            ends.push_back(rows->values.node());
            return;
        }
        const follow_scope there(variable.node());
        at->sum = at->sum.node() ? add_instruction(opcode::add, {at->sum, gradient}) : gradient;
        ends.push_back(at->sum.node());
    }

    any_tensor mean_loss() const {
        const std::vector<tensor_list>& losses = stages_.back().outputs;
        const device_scope there(s_.devices.back());
        any_tensor sum = losses[0][0];
        for (std::size_t j = 1; j < count_; ++j) sum = add_instruction(opcode::add, {sum, losses[j][0]});
        if (count_ == 1) return sum;
        const any_tensor share = scalar_constant(1.0 / s_.micro_batches, sum.element());
        return add_instruction(opcode::multiply, {sum, share});
    }

    std::vector<gradient_and_variable> all_gradients() const {
        std::vector<gradient_and_variable> all;
        const auto put = [&](const any_tensor& variable, const any_tensor& gradient) {
            const auto at = std::find_if(all.begin(), all.end(), [&](const gradient_and_variable& g) {
                return g.variable.output() == variable.output();
            });
            if (at == all.end()) {
                all.push_back({gradient, variable});
                return;
            }
            const follow_scope there(variable.node()); // of several stages
            at->gradient = add_instruction(opcode::add, {at->gradient, gradient});
        };
        for (const built_stage& b : stages_)
            for (const gradient_at_stage& g : b.gradients) {
                if (g.sum.node()) put(g.variable, g.sum);
                if (g.sparse.empty()) continue;
                std::vector<row_gradient> rows;
                const follow_scope there(g.variable.node());
                for (const any_tensor& s : g.sparse) rows.push_back(*sparse_rows(s));
                put(g.variable, rows.size() == 1 ? g.sparse[0] : gradient_of_rows(join_rows(rows), g.variable));
            }
        for (const any_tensor& v : asked_)
            if (std::none_of(all.begin(), all.end(),
                             [&](const gradient_and_variable& g) { return g.variable.output() == v.output(); }))
                throw invalid_argument_error("pipeline: the loss does not depend on " + v.name() +
                                             " in a way that has a gradient");
        if (all.empty())
            throw invalid_argument_error("pipeline: the loss depends on no trainable variable in a way that has a "
                                         "gradient; give stages that have such");
        return all;
    }

    const pipeline_stages& s_;
    const stage_function& loss_;
    const std::size_t count_;
    std::vector<built_stage> stages_;
    stage_variables loss_variables_;
    std::vector<tensor_list> labels_; // by micro-batch
    std::vector<any_tensor> asked_;   // variables; empty: all that are trainable
    std::set<node*> trainable_;
};

TENON_INLINE pipeline_step pipeline_gradients_of(const pipeline_stages& s, const stage_function& loss,
                                                 const tensor_list& inputs, const tensor_list& labels,
                                                 const std::vector<any_tensor>& variables) {
    check_stages(s);
    return pipeline_builder(s, loss, variables).run(inputs, labels);
}

} // namespace tenon::detail
