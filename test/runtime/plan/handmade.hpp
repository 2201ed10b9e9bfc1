#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/expr/fused.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/runtime/device/gpu_backend.hpp>
#include <tenon/runtime/plan/program.hpp>
#include <tenon/tape/shared_tape.hpp>

/// Programs made by hand for tests of the planner's passes.

namespace handmade {

namespace tn = tenon;

/// How an item is made beside its op, attributes and inputs.
struct with {
    int device = 0;
    std::vector<int> after = {}; ///< items that run before it
    bool target = false;
};

/// A program whose items and values are entered one by one; their nodes are entered into a graph, which knows their types.
class maker {
    std::vector<std::unique_ptr<tn::device>> devices_; // they outlive the program

public:
    /// CPUs, and behind them GPUs.
    explicit maker(int devices = 1, const std::shared_ptr<const tn::gpu_backend>& gpus = nullptr) {
        for (int d = 0; d < devices; ++d) devices_.push_back(tn::make_cpu_device(0, d));
        if (gpus)
            for (auto& g : gpus->make({})) devices_.push_back(std::move(g));
        std::vector<tn::device*> own;
        for (const auto& d : devices_) own.push_back(d.get());
        options.set_devices(std::move(own));
    }

    tn::runtime::program program;
    tn::runtime::plan_options options;

    /// A value that is fed.
    int feed(const tn::extents& shape = {4}, tn::element_type element = tn::element_type::float32) {
        tn::runtime::program_value v;
        v.origin = {node(tn::placeholder_definition, sized(element, shape), {}), 0};
        v.type = {element, shape};
        v.feed = static_cast<int>(program.feed_types.size());
        program.feed_types.push_back(v.type);
        return program.add(std::move(v));
    }
    /// The value of a variable, and its item.
    int variable(const tn::extents& shape = {4}, const with& w = {}) {
        return item(tn::variable_definition, sized(tn::element_type::float32, shape), {}, w);
    }
    /// The value of a constant item: floats that are all the same.
    int constant(float number, const tn::extents& shape = {4}) {
        tn::any_array a(tn::element_type::float32, shape);
        std::fill_n(static_cast<float*>(a.data()), shape.elements(), number);
        return item(tn::constant_definition,
                    tn::encode(tn::constant_op::attributes{std::make_shared<const tn::any_array>(std::move(a))}), {});
    }
    /// The first output of a new item.
    int item(const tn::op_definition& op, const tn::attributes& a, const std::vector<int>& inputs, const with& w = {}) {
        std::vector<tn::node_output> from;
        for (const int v : inputs) from.push_back(program.value(v).origin);
        tn::runtime::program_item i;
        i.origin = node(op, a, from);
        i.op = &op;
        i.attributes = a;
        i.inputs = {inputs.begin(), inputs.end()};
        i.predecessors = {w.after.begin(), w.after.end()};
        i.device = w.device;
        i.target = w.target;
        const std::size_t outputs = op.is(tn::op_flags::variable) ? 1 : i.origin->outputs.size();
        for (std::size_t o = 0; o < outputs; ++o) {
            tn::runtime::program_value v;
            v.origin = {const_cast<tn::node*>(i.origin), static_cast<int>(o)};
            v.type = i.origin->outputs[o];
            v.producer = static_cast<int>(program.items.size());
            v.device = w.device;
            i.outputs.push_back(program.add(std::move(v)));
        }
        const int first = i.outputs.empty() ? -1 : i.outputs[0];
        program.add(std::move(i));
        return first;
    }
    /// One elementwise instruction on floats.
    int fused(tn::opcode op, const std::vector<int>& inputs, const with& w = {}) {
        tn::tape t;
        tn::instruction i{.op = op, .type = tn::element_type::float32};
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            const int r = t.emit_input(t.add_input(tn::element_type::float32));
            (k == 0 ? i.a : k == 1 ? i.b : i.c) = static_cast<std::int16_t>(r);
        }
        t.add_output(t.emit(i), tn::element_type::float32);
        return fused(t, inputs, w);
    }
    int fused(const tn::tape& t, const std::vector<int>& inputs, const with& w = {}) {
        tn::fused_attributes a{.tape = tn::share_tape(t)};
        return item(tn::fused_definition, tn::encode(a), inputs, w);
    }
    int identity(int of, const with& w = {}) { return item(tn::identity_definition, {}, {of}, w); }
    /// The variable's value after it.
    int assign(int variable, int value, const with& w = {}) {
        return item(tn::assign_definition, {}, {variable, value}, w);
    }
    void fetch(int value) {
        program.fetches.push_back(value);
        program.fetched.push_back(program.value(value).origin);
    }

    /// The item that made a value; also where a pass has made that a constant or a view.
    int number_of(int value) const {
        for (std::size_t i = 0; i < program.items.size(); ++i)
            for (const int o : program.items[i].outputs)
                if (o == value) return static_cast<int>(i);
        return -1;
    }
    tn::runtime::program_item& item_of(int value) { return program.item(number_of(value)); }
    /// Items that are left.
    int left() const {
        return static_cast<int>(std::count_if(program.items.begin(), program.items.end(),
                                              [](const tn::runtime::program_item& i) { return !i.removed; }));
    }

private:
    static tn::attributes sized(tn::element_type element, const tn::extents& shape) {
        return tn::encode(tn::placeholder_op::attributes{element, shape});
    }
    tn::node* node(const tn::op_definition& op, const tn::attributes& a, const std::vector<tn::node_output>& inputs) {
        tn::node n;
        n.op = &op;
        n.attributes = a;
        n.inputs = inputs;
        n.name = std::string(op.name) + "_" + std::to_string(graph_.size());
        return tn::detail::restore_node(graph_, std::move(n));
    }
    tn::graph graph_;
};

} // namespace handmade
