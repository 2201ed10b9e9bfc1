#pragma once

#include <set>

#include <tenon/onnx/onnx_import.hpp>

/// Operators that a model defines itself: where a node is one, the function's nodes stand in its place.

namespace tenon::detail::onnx {

// A function's nodes as one node calls it: with names that nobody else has, and that node's attributes.
class function_call {
public:
    function_call(const function_message& f, const node_message& n, std::string prefix) :
        function_(f), node_(n), prefix_(std::move(prefix)) {
        for (std::size_t i = 0; i < f.inputs.size(); ++i)
            if (i >= n.inputs.size() || n.inputs[i].empty()) missing_.insert(f.inputs[i]);
    }
    std::string named(const std::string& name) const {
        return name.empty() || missing_.contains(name) ? "" : prefix_ + name;
    }
    node_message made(node_message n) const {
        for (std::string& i : n.inputs) i = named(i);
        for (std::string& o : n.outputs) o = named(o);
        std::vector<attribute_message> attributes;
        for (attribute_message& a : n.attributes)
            if (const attribute_message* given = a.of.empty() ? &a : attribute(a.of)) {
                attribute_message own = *given;
                own.name = a.name;
                if (own.g && a.of.empty()) own.g = std::make_shared<graph_message>(made(*own.g));
                attributes.push_back(std::move(own));
            }
        n.attributes = std::move(attributes);
        return n;
    }

private:
    graph_message made(graph_message g) const {
        for (node_message& n : g.nodes) n = made(std::move(n));
        for (tensor_message& t : g.initializers) t.name = named(t.name);
        for (value_message& v : g.inputs) v.name = named(v.name);
        for (value_message& v : g.outputs) v.name = named(v.name);
        return g;
    }
    const attribute_message* attribute(const std::string& name) const {
        for (const auto* list : {&node_.attributes, &function_.otherwise})
            for (const attribute_message& a : *list)
                if (a.name == name) return &a;
        return nullptr; // then the operator's own default counts
    }

    const function_message& function_;
    const node_message& node_;
    std::string prefix_;
    std::set<std::string> missing_; // inputs that the node does not have
};

TENON_INLINE void importer::add_function(const function_message& f, const node_message& n) {
    if (depth_ >= 32) throw model_mistake("function " + f.name + " calls itself, or is more than 32 deep in others");
    added_ += static_cast<std::int64_t>(f.nodes.size()) + 1;
    if (added_ > most_added_) throw unimplemented_error("its functions within functions are of too many nodes");
    const function_call call_of(f, n, n.op + "#" + std::to_string(calls_++) + "/");
    if (n.inputs.size() > f.inputs.size() || n.outputs.size() > f.outputs.size())
        throw model_mistake("function " + f.name + " has " + std::to_string(f.inputs.size()) + " inputs and " +
                            std::to_string(f.outputs.size()) + " outputs");
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (!n.inputs[i].empty()) set(call_of.named(f.inputs[i]), value(find(n.inputs[i])));
    ++depth_;
    const std::int64_t around = std::exchange(opset_, f.opset != 0 ? f.opset : opset_);
    const auto back = [&] {
        --depth_;
        opset_ = around;
    };
    try {
        for (const node_message& inner : f.nodes) {
            const node_message made = call_of.made(inner);
            add_node_of(made);
        }
    } catch (...) {
        back();
        throw;
    }
    back();
    for (std::size_t o = 0; o < n.outputs.size(); ++o) {
        if (n.outputs[o].empty()) continue;
        const std::string inner = call_of.named(f.outputs[o]);
        if (missing_.contains(inner)) missing_[n.outputs[o]] = true; // it is said why
        else set(n.outputs[o], value(find(inner)));
    }
}

} // namespace tenon::detail::onnx
