#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <tenon/core/array/out_of_memory.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/hash.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/graph/graph_state.inl>
#include <tenon/op/attribute.hpp>

namespace tenon {

namespace detail {

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
        const inferred r = judged(*n.op, n.attributes, list, o);
        if (!r) throw invalid_argument_error(fault_sentence(*n.op, r, list, n.attributes) + names());
        if (outputs == 0) break;
        if (r.type.element == element_type::none)
            throw invalid_argument_error(std::string(n.op->name) + ": output " + std::to_string(o) +
                                         " has no element type" + names());
        // Of a rule that passes on a type that it was given.
        if (!is_countable(r.type))
            throw invalid_argument_error(fault_sentence(*n.op, fault::sizes_overflow, list, n.attributes) + names());
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

// The node that n would be again: its device is the same, or `asked` says that the same functions would be asked for it.
// The caller holds the graph's guard, here and below.
inline node* find_equal(graph_state& g, const node& n, std::size_t content, std::uint64_t asked = 0) {
    const auto [first, last] = g.by_content.equal_range(content);
    for (auto at = first; at != last; ++at) {
        const node& m = *at->second.made;
        if (m.op == n.op && m.inputs == n.inputs && m.controls == n.controls && m.colocated == n.colocated &&
            m.follows == n.follows && (asked ? at->second.asked == asked : m.device == n.device) &&
            m.container == n.container && m.attributes == n.attributes)
            return at->second.made;
    }
    return nullptr;
}

// The caller holds the graph's guard.
inline void hold_names(graph_state& g, const extents& sizes) {
    for (const extent& e : sizes)
        if (e.is_named() && !g.size_names.contains(e.name)) g.size_names.emplace(e.name, holder_of_size_name(e.name));
}

// The names of sizes become the graph's own: those that were read go when the text does. True where there are any.
inline bool take_names(graph_state& g, extents& sizes) {
    bool named = false;
    for (int i = 0; i < sizes.rank(); ++i) {
        if (!sizes[i].is_named()) continue;
        std::shared_ptr<const char> held = share_size_name(sizes[i].name);
        sizes[i] = extent::named(held.get());
        named = true;
        const std::lock_guard lock(g.guard);
        g.size_names.insert_or_assign(sizes[i].name, std::move(held));
    }
    return named;
}
inline void take_names(graph_state& g, attributes& a) {
    std::vector<named_attribute> changed;
    for (const auto& [name, value] : a) {
        if (const auto* sizes = std::get_if<extents>(&value)) {
            extents own = *sizes;
            if (take_names(g, own)) changed.push_back({name, own});
        } else if (const auto* types = std::get_if<std::vector<tensor_type>>(&value)) {
            std::vector<tensor_type> own = *types;
            bool named = false;
            for (tensor_type& t : own) named = take_names(g, t.extents) || named;
            if (named) changed.push_back({name, std::move(own)});
        }
    }
    for (auto& [name, value] : changed) a.set(name.c_str(), std::move(value));
}

// Nodes with equal attributes share them: a layer's are those of the next, and are looked at again and again when a
// step is planned. Arrays are not compared, for they may be large.
inline void share_attributes(graph_state& g, attributes& a) {
    if (a.begin() == a.end()) return;
    for (const auto& [name, value] : a)
        if (std::holds_alternative<std::shared_ptr<const any_array>>(value)) return;
    const std::size_t content = a.hash();
    const auto [first, last] = g.attribute_lists.equal_range(content);
    for (auto at = first; at != last; ++at)
        if (at->second == a) {
            a = at->second;
            return;
        }
    g.attribute_lists.emplace(content, a);
}

// All of it or nothing.
inline node* enter(graph_state& g, node&& n) {
    share_attributes(g, n.attributes);
    for (const tensor_type& t : n.outputs) hold_names(g, t.extents);
    for (const auto& [name, value] : n.attributes) {
        if (const auto* sizes = std::get_if<extents>(&value)) hold_names(g, *sizes);
        if (const auto* types = std::get_if<std::vector<tensor_type>>(&value))
            for (const tensor_type& t : *types) hold_names(g, t.extents);
    }
    for (const char** text : {&n.made_at.file, &n.made_at.function}) {
        if (!*text) continue;
        const std::string_view whole = *text;
        const bool is_function = text == &n.made_at.function; // g++ says its template arguments, too
        *text = g.files.emplace(is_function ? whole.substr(0, whole.find('<')) : whole).first->c_str();
    }
    n.number = static_cast<std::int64_t>(g.nodes.size());
    n.graph = &g;
    g.nodes.push_back(std::move(n));
    node& made = g.nodes.back();
    try {
        g.by_name.emplace(made.name, &made);
    } catch (...) {
        g.nodes.pop_back();
        throw;
    }
    return &made;
}
// Of one that was just entered: equal ones will be it. Where there is no memory to know that, they will be others.
inline void share(graph_state& g, node* made, std::size_t content, std::uint64_t asked) noexcept {
    try {
        g.by_content.emplace(content, graph_state::shared_node{made, asked});
    } catch (const std::bad_alloc&) {
    }
}

// The caller holds the graph's guard, and has looked that the name is free.
inline node* enter_restored(graph_state& g, node&& n, std::size_t content) {
    // Scopes that are opened later get prefixes of their own.
    for (std::size_t slash = n.name.find('/'); slash != std::string::npos; slash = n.name.find('/', slash + 1))
        g.used_names.emplace(n.name.substr(0, slash + 1), 1);
    const bool shared = content && !find_equal(g, n, content);
    node* made = enter(g, std::move(n));
    if (shared) share(g, made, content, 0);
    return made;
}
[[noreturn]] inline void refuse_name(const std::string& name) {
    throw invalid_argument_error("there are two nodes called \"" + name + "\"");
}

TENON_INLINE node* restore_node(const graph& to, node&& n) {
    graph_state& g = *to.state();
    take_names(g, n.attributes);
    infer_outputs(n);
    const std::size_t content = may_be_shared(*n.op) ? content_of(n) : 0;
    const std::lock_guard lock(g.guard);
    if (g.by_name.contains(n.name)) refuse_name(n.name);
    return enter_restored(g, std::move(n), content);
}

TENON_INLINE void judge_node(node& n) { infer_outputs(n); }

TENON_INLINE void enter_nodes(const graph& to, std::int64_t from, std::vector<node>&& nodes, bool shared) {
    graph_state& g = *to.state();
    const std::lock_guard lock(g.guard);
    if (static_cast<std::int64_t>(g.nodes.size()) != from)
        throw aborted_error("the graph has " + std::to_string(g.nodes.size()) + " nodes, not " + std::to_string(from) +
                            ": somebody else has added to it");
    std::unordered_map<const node*, node*> made;
    std::unordered_set<std::string_view> names;
    for (const node& n : nodes)
        if (g.by_name.contains(n.name) || !names.insert(n.name).second) refuse_name(n.name);
    const auto own = [&](node*& n) {
        if (const auto at = made.find(n); at != made.end()) n = at->second;
    };
    for (node& n : nodes) {
        for (node_output& in : n.inputs) own(in.node);
        for (node*& c : n.controls) own(c);
        for (node*& c : n.colocated) own(c);
        if (n.follows) own(n.follows);
        const std::size_t content = shared && may_be_shared(*n.op) ? content_of(n) : 0;
        made.emplace(&n, enter_restored(g, std::move(n), content));
    }
}

inline placed_op as_placed(const node& n, const std::string& name) {
    static constexpr extents none{};
    const bool any = !n.outputs.empty();
    return {shown_op(n),
            name,
            any ? n.outputs[0].element : element_type::none,
            any ? n.outputs[0].extents : none,
            n.op->is(op_flags::resource) && !n.op->is(op_flags::of_program),
            {},
            n.follows ? std::string_view(n.follows->name) : std::string_view()};
}

inline node* make_node(const op_definition& op, std::vector<any_tensor> inputs, attributes a, const std::string& name) {
    graph_state* g = current_graph();
    const scope_state& scope = current_scopes();
    const std::string shown = name.empty() ? op.name : scope.prefix + name;
    node n;
    n.op = &op;
    n.graph = g;
    n.container = scope.container;
    n.made_at = place_in_force();
    n.controls = scope.controls;
    n.colocated = scope.colocated;
    const bool shared = may_be_shared(op) && name.empty();
    // A constant that many may share is nobody's.
    if (n.colocated.empty() && !(shared && inputs.empty())) n.follows = scope.follows;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].node()) throw_empty((shown + ": input " + std::to_string(i)).c_str());
        if (inputs[i].node()->graph != g && g->builder) inputs[i] = taken_by(*g->builder, inputs[i]);
        if (inputs[i].node()->graph != g)
            throw invalid_argument_error(shown + ": input " + inputs[i].name() +
                                         " belongs to another graph; make this node inside graph_scope of its graph");
        n.inputs.push_back(inputs[i].output());
    }
    n.attributes = std::move(a);
    infer_outputs(n);

    const std::size_t content = shared ? content_of(n) : 0;
    const std::string wanted = name.empty() ? scope.prefix + shown_op(n) : shown;
    const std::uint64_t asked = scope.devices ? scope.devices->asked : 0;
    if (asked && shared) { // a node that is there already is not asked for again
        const std::lock_guard lock(g->guard);
        if (node* equal = find_equal(*g, n, content, asked)) return equal;
    }
    if (scope.devices) n.device = device_of(scope, as_placed(n, wanted));

    const std::lock_guard lock(g->guard);
    if (shared)
        if (node* equal = find_equal(*g, n, content)) {
            if (asked) share(*g, equal, content, asked);
            return equal;
        }
    n.name = g->unique_name(wanted);
    node* made = enter(*g, std::move(n));
    if (shared) share(*g, made, content, asked);
    return made;
}

template <class F> auto naming_node(const op_definition& op, const std::string& name, const F& f) {
    const auto who = [&] {
        return name.empty() ? std::string("a node of op ") + op.name : "node \"" + name + "\" (" + op.name + ")";
    };
    return naming_out_of_memory(who, f);
}

TENON_INLINE any_tensor add_made(const op_definition& op, function_ref<std::vector<any_tensor>()> inputs,
                                 function_ref<attributes()> a, const located<std::string>& name) {
    const making made(name.at, nullptr);
    const std::string& asked = name.value;
    return naming_node(op, asked, [&] { return any_tensor(node_output{make_node(op, inputs(), a(), asked), 0}); });
}

} // namespace detail

TENON_INLINE node* add_node(const op_definition& op, std::vector<any_tensor> inputs, attributes a,
                            const std::string& name) {
    return detail::naming_node(op, name, [&] { return detail::make_node(op, std::move(inputs), std::move(a), name); });
}

} // namespace tenon
