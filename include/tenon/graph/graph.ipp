#pragma once

#include <ostream>

#include <tenon/core/array/out_of_memory.hpp>
#include <tenon/core/hash.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/op/attribute.hpp>
#include <tenon/graph/graph_state.inl>
#include <tenon/tape/tape.hpp>

namespace tenon {

namespace detail {

TENON_INLINE void throw_empty(const char* what) {
    throw invalid_argument_error(
        std::string(what) + " is empty: it was made by its default constructor, or moved from, and is of no graph");
}

TENON_INLINE void retain(graph_state* g) noexcept {
    if (g) g->references.fetch_add(1, std::memory_order_relaxed);
}
TENON_INLINE void release(graph_state* g) noexcept {
    if (g && g->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete g;
}

} // namespace detail

TENON_INLINE graph::graph() : state_(new graph_state) { detail::retain(state_); }

TENON_INLINE graph graph::current() { return graph(detail::current_graph()); }

TENON_INLINE std::int64_t graph::size() const {
    const std::lock_guard lock(live().guard);
    return static_cast<std::int64_t>(live().nodes.size());
}

TENON_INLINE node* graph::at(std::int64_t number) const {
    const std::lock_guard lock(live().guard);
    if (number < 0 || number >= static_cast<std::int64_t>(live().nodes.size()))
        throw out_of_range_error("the graph has no node number " + std::to_string(number) + " among its " +
                                 std::to_string(live().nodes.size()));
    return &live().nodes[static_cast<std::size_t>(number)];
}

TENON_INLINE node* graph::find(const std::string& name) const {
    const std::lock_guard lock(live().guard);
    if (const auto at = live().by_name.find(name); at != live().by_name.end()) return at->second;
    std::string similar;
    int shown = 0;
    for (const node& n : live().nodes)
        if (shown < 8 && (n.name.find(name) != std::string::npos || name.find(n.name) != std::string::npos)) {
            similar += " " + n.name;
            ++shown;
        }
    throw not_found_error("the graph has no node \"" + name + "\" among its " + std::to_string(live().nodes.size()) +
                          (shown ? "; similar names:" + similar : ""));
}

TENON_INLINE any_tensor graph::tensor(const std::string& name) const {
    const std::size_t colon = name.rfind(':');
    if (colon == std::string::npos) {
        node* n = find(name);
        if (n->outputs.empty()) throw invalid_argument_error("\"" + name + "\" is an operation without a tensor");
        return any_tensor({n, 0});
    }
    node* n = find(name.substr(0, colon));
    const std::string digits = name.substr(colon + 1);
    if (digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string::npos ||
        std::stoul(digits) >= n->outputs.size())
        throw invalid_argument_error("\"" + name + "\": " + n->name + " has " + std::to_string(n->outputs.size()) +
                                     " outputs, numbered from 0");
    return any_tensor({n, std::stoi(digits)});
}

TENON_INLINE std::vector<any_tensor> graph::collection(const std::string& name) const {
    std::vector<node_output> members;
    {
        const std::lock_guard lock(live().guard);
        if (const auto at = live().collections.find(name); at != live().collections.end()) members = at->second;
    }
    std::vector<any_tensor> result;
    for (const node_output& o : members) result.emplace_back(o);
    return result;
}

TENON_INLINE void graph::add_to_collection(const std::string& name, const any_tensor& t) {
    detail::require_node(t.node(), "add_to_collection: the tensor");
    if (t.node()->graph != &live())
        throw invalid_argument_error("collection \"" + name + "\": " + t.name() + " belongs to another graph");
    const std::lock_guard lock(live().guard);
    live().collections[name].push_back(t.output());
}

TENON_INLINE std::vector<std::string> graph::collections() const {
    const std::lock_guard lock(live().guard);
    std::vector<std::string> names;
    for (const auto& [name, members] : live().collections) names.push_back(name);
    return names;
}

TENON_INLINE void graph::set_seed(std::uint64_t seed) {
    const std::lock_guard lock(live().guard);
    live().seed = seed;
}

TENON_INLINE std::uint64_t graph::seed() const {
    const std::lock_guard lock(live().guard);
    return live().seed;
}

TENON_INLINE std::string any_tensor::name() const {
    if (!node()) return "(no tensor)";
    return index_ == 0 ? node()->name : node()->name + ":" + std::to_string(index_);
}

TENON_INLINE std::ostream& operator<<(std::ostream& out, const any_tensor& t) {
    return t.node() ? out << t.name() << ": " << to_string(t.type()) : out << "empty tensor";
}
TENON_INLINE std::ostream& operator<<(std::ostream& out, const operation& o) {
    return o ? out << o.name() << ": " << o.node()->op->name : out << "empty operation";
}
TENON_INLINE std::ostream& detail::print_expression(std::ostream& out, const tensor_type& type) {
    return out << "expression: " << to_string(type);
}

namespace detail {

// As TensorFlow's users know them.
inline const char* shown_name(opcode op) {
    switch (op) {
    case opcode::subtract: return "sub";
    case opcode::multiply: return "mul";
    case opcode::divide: return "div";
    default: return info_of(op).name;
    }
}

} // namespace detail

TENON_INLINE const char* shown_op(const node& n) {
    const attribute* t = n.attributes.find("tape");
    if (const auto* shared = t ? std::get_if<std::shared_ptr<const tape>>(t) : nullptr; shared && *shared)
        if (const tape& code = **shared; code.output_count == 1)
            return detail::shown_name(code.code[code.outputs[0].reg].op);
    return n.op->name;
}

TENON_INLINE graph_scope::graph_scope(const graph& g) {
    if (!g.state()) detail::moved_from("graph");
    state().begin_again(g.state());
}

TENON_INLINE detail::home_scope::home_scope(const graph& g) : scope_base(current_graph() != g.state()) {
    if (current_graph() != g.state()) state().begin_again(g.state());
}

TENON_INLINE detail::only_devices::only_devices(const graph& g) {
    const bool at_home = current_graph() == g.state();
    const std::shared_ptr<const device_layer> devices = state().devices;
    variable_policy* const variables = state().variables;
    state().begin_again(g.state());
    if (!at_home) return;
    state().devices = devices;
    state().variables = variables;
}

} // namespace tenon
