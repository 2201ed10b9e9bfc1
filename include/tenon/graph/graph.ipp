#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

#include <tenon/core/error.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/graph/op.hpp>

namespace tenon {

// A graph's nodes. Guarded by `guard`: graphs may be built from several threads; nodes never change once
// they are in.
class graph_state {
public:
    std::atomic<std::int64_t> references{0};
    mutable std::mutex guard;
    std::deque<node> nodes;
    std::unordered_map<std::string, node*> by_name;
    std::unordered_multimap<std::size_t, node*> by_content;
    std::unordered_map<std::string, std::int64_t> used_names; // next number of a taken name
    std::map<std::string, std::vector<node_output>> collections;
    std::uint64_t seed = 0;

    // The caller holds `guard`.
    std::string unique_name(const std::string& wanted) {
        if (!by_name.contains(wanted)) return wanted;
        std::int64_t& next = used_names[wanted];
        for (;;) {
            std::string name = wanted + "_" + std::to_string(++next);
            if (!by_name.contains(name)) return name;
        }
    }
};

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

// What the scopes of this thread say; each scope saves it and puts it back.
struct scope_state {
    graph_state* graph = nullptr;
    std::string prefix;
    std::string container;
    std::string device;
    std::vector<node*> controls;
};

inline std::vector<scope_state>& scopes() {
    thread_local std::vector<scope_state> stack(1);
    return stack;
}

inline graph_state* default_graph() {
    // Never destroyed: handles in static objects may outlive it.
    static graph_state* g = [] {
        auto* s = new graph_state;
        retain(s);
        return s;
    }();
    return g;
}

inline graph_state* current_graph() {
    graph_state* g = scopes().back().graph;
    return g ? g : default_graph();
}

TENON_INLINE scope_base::scope_base() { scopes().push_back(scopes().back()); }
TENON_INLINE scope_base::~scope_base() { scopes().pop_back(); }

} // namespace detail

TENON_INLINE graph::graph() : state_(new graph_state) { detail::retain(state_); }

TENON_INLINE graph graph::current() { return graph(detail::current_graph()); }

TENON_INLINE std::int64_t graph::size() const {
    const std::lock_guard lock(state_->guard);
    return static_cast<std::int64_t>(state_->nodes.size());
}

TENON_INLINE node* graph::at(std::int64_t number) const {
    const std::lock_guard lock(state_->guard);
    if (number < 0 || number >= static_cast<std::int64_t>(state_->nodes.size()))
        throw out_of_range_error("the graph has no node number " + std::to_string(number) + " among its " +
                                 std::to_string(state_->nodes.size()));
    return &state_->nodes[static_cast<std::size_t>(number)];
}

TENON_INLINE node* graph::find(const std::string& name) const {
    const std::lock_guard lock(state_->guard);
    const auto at = state_->by_name.find(name);
    if (at != state_->by_name.end()) return at->second;
    std::string similar;
    int shown = 0;
    for (const node& n : state_->nodes)
        if (shown < 8 && (n.name.find(name) != std::string::npos || name.find(n.name) != std::string::npos)) {
            similar += " " + n.name;
            ++shown;
        }
    throw not_found_error("the graph has no node \"" + name + "\" among its " + std::to_string(state_->nodes.size()) +
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
        const std::lock_guard lock(state_->guard);
        const auto at = state_->collections.find(name);
        if (at != state_->collections.end()) members = at->second;
    }
    std::vector<any_tensor> result;
    for (const node_output& o : members) result.emplace_back(o);
    return result;
}

TENON_INLINE void graph::add_to_collection(const std::string& name, const any_tensor& t) {
    detail::require_node(t.node(), "add_to_collection: the tensor");
    if (t.node()->graph != state_)
        throw invalid_argument_error("collection \"" + name + "\": " + t.name() + " belongs to another graph");
    const std::lock_guard lock(state_->guard);
    state_->collections[name].push_back(t.output());
}

TENON_INLINE std::vector<std::string> graph::collections() const {
    const std::lock_guard lock(state_->guard);
    std::vector<std::string> names;
    for (const auto& [name, members] : state_->collections) names.push_back(name);
    return names;
}

TENON_INLINE void graph::set_seed(std::uint64_t seed) {
    const std::lock_guard lock(state_->guard);
    state_->seed = seed;
}

TENON_INLINE std::uint64_t graph::seed() const {
    const std::lock_guard lock(state_->guard);
    return state_->seed;
}

TENON_INLINE graph_scope::graph_scope(const graph& g) {
    detail::scope_state& s = detail::scopes().back();
    detail::retain(g.state());
    s = detail::scope_state{};
    s.graph = g.state();
}

TENON_INLINE graph_scope::~graph_scope() { detail::release(detail::scopes().back().graph); }

TENON_INLINE name_scope::name_scope(const std::string& name) {
    detail::scope_state& s = detail::scopes().back();
    graph_state* g = detail::current_graph();
    const std::lock_guard lock(g->guard);
    // A prefix is taken like a name, so that two layers called alike do not mix.
    std::string wanted = s.prefix + name + "/";
    for (std::int64_t n = g->used_names[wanted]++; n > 0 && g->used_names.contains(wanted); ++n)
        wanted = s.prefix + name + "_" + std::to_string(n) + "/";
    if (g->used_names[wanted] == 0) g->used_names[wanted] = 1;
    s.prefix = wanted;
}

TENON_INLINE container_scope::container_scope(const std::string& name) { detail::scopes().back().container = name; }

TENON_INLINE device_scope::device_scope(const std::string& device) { detail::scopes().back().device = device; }

TENON_INLINE void control_dependencies::add(node* n) {
    detail::require_node(n, "control_dependencies: an operation or tensor");
    if (n->graph != detail::current_graph())
        throw invalid_argument_error("control_dependencies: " + n->name + " belongs to another graph");
    std::vector<node*>& controls = detail::scopes().back().controls;
    if (std::find(controls.begin(), controls.end(), n) == controls.end()) controls.push_back(n);
}

TENON_INLINE std::string any_tensor::name() const {
    if (!node()) return "(no tensor)";
    return index_ == 0 ? node()->name : node()->name + ":" + std::to_string(index_);
}

TENON_INLINE std::string fault_sentence(const op_definition& op, fault what, type_list operands, const attributes& a) {
    std::string text = fault_sentence(op.name, what, operands);
    bool first = operands.size() == 0;
    for (const auto& [name, value] : a) {
        if (const auto* sizes = std::get_if<extents>(&value); sizes && !is_about_elements(what)) {
            text += (first ? "" : " x ") + to_string(*sizes);
            first = false;
        } else if (is_about_axes(what) && name == "axis") {
            if (const auto* axis = std::get_if<std::int64_t>(&value)) text += ", axis " + std::to_string(*axis);
        } else if (is_about_axes(what) && name == "axes") {
            if (const auto* axes = std::get_if<std::vector<std::int64_t>>(&value))
                for (std::size_t i = 0; i < axes->size(); ++i)
                    text += (i ? ", " : axes->size() > 1 ? ", axes " : ", axis ") + std::to_string((*axes)[i]);
        }
    }
    return text;
}

namespace detail {

TENON_INLINE bool fits_memory(const tensor_type& t) {
    std::int64_t room =
        (std::int64_t{1} << 62) / static_cast<std::int64_t>(std::max<std::size_t>(1, size_of(t.element)));
    for (const extent& e : t.extents)
        if (e.size > 1) room /= e.size;
    return room > 0;
}

// Runs the rule of n's op and fills n.outputs; throws invalid_argument_error with the rule's words.
inline void infer_outputs(node& n) {
    constexpr int most_outputs = 1 << 16;
    const int inputs = static_cast<int>(n.inputs.size());
    std::vector<tensor_type> types;
    for (int i = 0; i < inputs; ++i) types.push_back(n.input_type(i));
    // Where a graph that was read gives an op too few inputs, its rule sees inputs of no type.
    types.resize(types.size() + 4);
    const type_list list(types.data(), inputs);
    const auto names = [&] {
        std::string text;
        for (const node_output& in : n.inputs) text += (text.empty() ? " (inputs " : " ") + any_tensor(in).name();
        return text.empty() ? text : text + ")";
    };
    const int outputs = n.op->outputs(n.attributes, inputs);
    if (outputs < 0 || outputs > most_outputs)
        throw invalid_argument_error(std::string(n.op->name) + ": " + std::to_string(outputs) +
                                     " outputs are asked for, at most " + std::to_string(most_outputs) + " can be" +
                                     names());
    // A rule that has no output to answer for still judges the inputs.
    for (int o = 0; o < (outputs > 0 ? outputs : 1); ++o) {
        const inferred r = n.op->infer(n.attributes, list, o);
        if (!r) throw invalid_argument_error(fault_sentence(*n.op, r.what, list, n.attributes) + names());
        if (outputs == 0) break;
        if (r.type.element == element_type::none)
            throw invalid_argument_error(std::string(n.op->name) + ": output " + std::to_string(o) +
                                         " has no element type" + names());
        if (!fits_memory(r.type))
            throw invalid_argument_error(std::string(n.op->name) + ": output " + std::to_string(o) + " would be " +
                                         to_string(r.type) + ", more than 2^62 bytes" + names());
        n.outputs.push_back(r.type);
    }
}

inline bool may_be_shared(const op_definition& op) { return !op.is(op_flags::stateful) && !op.is(op_flags::source); }

inline std::size_t content_of(const node& n) {
    std::size_t content = mix(reinterpret_cast<std::size_t>(n.op), n.attributes.hash());
    for (const node_output& in : n.inputs)
        content = mix(content, reinterpret_cast<std::size_t>(in.node) + static_cast<std::size_t>(in.index));
    return content;
}

// The caller holds the graph's guard, here and below.
inline node* find_equal(graph_state& g, const node& n, std::size_t content) {
    const auto [first, last] = g.by_content.equal_range(content);
    for (auto at = first; at != last; ++at) {
        const node& m = *at->second;
        if (m.op == n.op && m.inputs == n.inputs && m.controls == n.controls && m.device == n.device &&
            m.container == n.container && m.attributes == n.attributes)
            return at->second;
    }
    return nullptr;
}

inline node* enter(graph_state& g, node&& n) {
    n.number = static_cast<std::int64_t>(g.nodes.size());
    n.graph = &g;
    g.nodes.push_back(std::move(n));
    node& made = g.nodes.back();
    g.by_name.emplace(made.name, &made);
    return &made;
}

TENON_INLINE node* restore_node(const graph& to, node&& n) {
    graph_state& g = *to.state();
    infer_outputs(n);
    const std::size_t content = may_be_shared(*n.op) ? content_of(n) : 0;
    const std::lock_guard lock(g.guard);
    if (g.by_name.contains(n.name)) throw invalid_argument_error("there are two nodes called \"" + n.name + "\"");
    // Scopes that are opened later get prefixes of their own.
    for (std::size_t slash = n.name.find('/'); slash != std::string::npos; slash = n.name.find('/', slash + 1))
        g.used_names.emplace(n.name.substr(0, slash + 1), 1);
    const bool shared = may_be_shared(*n.op) && !find_equal(g, n, content);
    node* made = enter(g, std::move(n));
    if (shared) g.by_content.emplace(content, made);
    return made;
}

} // namespace detail

TENON_INLINE node* add_node(const op_definition& op, std::vector<any_tensor> inputs, attributes a,
                            const std::string& name) {
    graph_state* g = detail::current_graph();
    const detail::scope_state& scope = detail::scopes().back();
    const std::string shown = name.empty() ? op.name : scope.prefix + name;
    node n;
    n.op = &op;
    n.graph = g;
    n.device = scope.device;
    n.container = scope.container;
    n.controls = scope.controls;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i]) detail::throw_empty((shown + ": input " + std::to_string(i)).c_str());
        if (inputs[i].node()->graph != g)
            throw invalid_argument_error(shown + ": input " + inputs[i].name() +
                                         " belongs to another graph; make this node inside graph_scope of its graph");
        n.inputs.push_back(inputs[i].output());
    }
    n.attributes = std::move(a);
    detail::infer_outputs(n);

    const bool shared = detail::may_be_shared(op) && name.empty();
    const std::size_t content = shared ? detail::content_of(n) : 0;
    const std::lock_guard lock(g->guard);
    if (shared)
        if (node* equal = detail::find_equal(*g, n, content)) return equal;
    std::string wanted = shown;
    if (name.empty()) {
        wanted = scope.prefix + op.name;
        // A fused node is called after its last instruction.
        if (const attribute* t = n.attributes.find("tape"))
            if (const auto* shared_tape = std::get_if<std::shared_ptr<const tape>>(t)) {
                const tape& tp = **shared_tape;
                if (tp.output_count == 1 && tp.outputs[0].like < 0)
                    wanted = scope.prefix + info_of(tp.code[tp.outputs[0].reg].op).name;
            }
    }
    n.name = g->unique_name(wanted);
    node* made = detail::enter(*g, std::move(n));
    if (shared) g->by_content.emplace(content, made);
    return made;
}

namespace detail {
struct op_registry {
    std::mutex guard;
    std::map<std::string, op_definition> ops;
};
inline op_registry& registry() {
    static auto& r = *new op_registry;
    return r;
}
} // namespace detail

TENON_INLINE const op_definition& register_op(const op_definition& d) {
    detail::op_registry& r = detail::registry();
    const std::lock_guard lock(r.guard);
    return r.ops.emplace(d.name, d).first->second;
}

TENON_INLINE const op_definition* find_op(const std::string& name) {
    detail::op_registry& r = detail::registry();
    const std::lock_guard lock(r.guard);
    const auto at = r.ops.find(name);
    return at == r.ops.end() ? nullptr : &at->second;
}

TENON_INLINE std::vector<const op_definition*> all_ops() {
    detail::op_registry& r = detail::registry();
    const std::lock_guard lock(r.guard);
    std::vector<const op_definition*> result;
    for (const auto& [name, d] : r.ops) result.push_back(&d);
    return result;
}

} // namespace tenon
