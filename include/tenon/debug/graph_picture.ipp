#pragma once

#include <map>

#include <tenon/debug/graph_picture.hpp>
#include <tenon/op/op_definition.hpp>

namespace tenon {

namespace detail {

struct graph_picture {
    std::map<std::int64_t, const node*> nodes; // by number: inputs first
    std::int64_t left_out = 0;
};

inline bool is_pictured(const node& n, const picture_options& o) {
    return o.constants || !n.op->is(op_flags::constant) || n.outputs.empty() || n.outputs[0].extents.elements() != 1;
}

inline graph_picture picture_of(const std::vector<any_tensor>& of, const picture_options& o) {
    graph_picture p;
    std::map<std::int64_t, const node*> all;
    std::vector<const node*> open;
    const auto reach = [&](const node* n) {
        if (is_pictured(*n, o) && all.emplace(n->number, n).second) open.push_back(n);
    };
    for (const any_tensor& t : of) reach(require_node(t.node(), "tensor"));
    while (!open.empty()) {
        const node* const n = open.back();
        open.pop_back();
        for (const node_output& i : n->inputs) reach(i.node);
        for (const node* c : n->controls) reach(c);
    }
    for (const auto& entry : all) {
        if (static_cast<std::int64_t>(p.nodes.size()) < o.most_nodes) p.nodes.insert(entry);
        else ++p.left_out;
    }
    return p;
}
inline graph_picture picture_of(const graph& g, const picture_options& o) {
    graph_picture p;
    for (std::int64_t i = 0; i < g.size(); ++i) {
        const node* const n = g.at(i);
        if (!is_pictured(*n, o)) continue;
        if (static_cast<std::int64_t>(p.nodes.size()) < o.most_nodes) p.nodes.emplace(n->number, n);
        else ++p.left_out;
    }
    return p;
}
inline graph_picture picture_of(const pictured& of, const picture_options& o) {
    return of.whole() ? picture_of(*of.whole(), o) : picture_of(of.tensors(), o);
}

// Characters that end a text in quotes, or mean something there.
inline std::string escaped(const std::string& text, bool mermaid) {
    std::string s;
    for (const char c : text) {
        if (mermaid && (c == '"' || c == '#' || c == '<' || c == '>' || c == '`'))
            s += '#' + std::to_string(static_cast<int>(c)) + ';';
        else if (!mermaid && (c == '"' || c == '\\')) s += std::string("\\") + c;
        else s += c;
    }
    return s;
}

// Each edge once: f(from, to, its tensor, or nullptr).
template <class F> void for_each_edge(const graph_picture& p, F&& f) {
    for (const auto& [number, n] : p.nodes) {
        for (int i = 0; i < static_cast<int>(n->inputs.size()); ++i)
            if (const node* from = n->inputs[static_cast<std::size_t>(i)].node; p.nodes.contains(from->number))
                f(*from, *n, &n->input_type(i));
        for (const node* c : n->controls)
            if (p.nodes.contains(c->number)) f(*c, *n, nullptr);
    }
}
inline std::string rest_of_picture(const graph_picture& p) { return std::to_string(p.left_out) + " more nodes"; }

inline std::string mermaid_text(const graph_picture& p) {
    std::string text = "flowchart TD\n";
    for (const auto& [number, n] : p.nodes) {
        // Variables are cylinders, what is fed has slanted sides.
        const bool variable = n->op->is(op_flags::variable), fed = n->op->is(op_flags::fed);
        text += "    n" + std::to_string(number) +
                (variable ? "[(\""
                 : fed    ? "[/\""
                          : "[\"") +
                escaped(n->name, true) + "<br/>" + escaped(shown_op(*n), true) +
                (variable ? "\")]\n"
                 : fed    ? "\"/]\n"
                          : "\"]\n");
    }
    for_each_edge(p, [&](const node& from, const node& to, const tensor_type* t) {
        text += "    n" + std::to_string(from.number) +
                (t ? " -->|\"" + escaped(to_string(*t), true) + "\"| n" : " -.-> n") + std::to_string(to.number) + "\n";
    });
    if (p.left_out > 0) text += "    rest[\"" + rest_of_picture(p) + "\"]\n";
    return text;
}

inline std::string dot_text(const graph_picture& p) {
    std::string text = "digraph graph_of_tenon {\n  node [shape=box];\n";
    for (const auto& [number, n] : p.nodes)
        text += "  n" + std::to_string(number) + " [label=\"" + escaped(n->name, false) + "\\n" +
                escaped(shown_op(*n), false) + '"' +
                (n->op->is(op_flags::variable) ? ", shape=cylinder"
                 : n->op->is(op_flags::fed)    ? ", shape=parallelogram"
                                               : "") +
                "];\n";
    for_each_edge(p, [&](const node& from, const node& to, const tensor_type* t) {
        text += "  n" + std::to_string(from.number) + " -> n" + std::to_string(to.number) +
                (t ? " [label=\"" + escaped(to_string(*t), false) + "\"];\n" : " [style=dashed];\n");
    });
    if (p.left_out > 0) text += "  rest [label=\"" + rest_of_picture(p) + "\"];\n";
    return text + "}\n";
}

} // namespace detail

TENON_INLINE std::string to_mermaid(const pictured& of, const picture_options& o) {
    return detail::mermaid_text(detail::picture_of(of, o));
}
TENON_INLINE std::string to_dot(const pictured& of, const picture_options& o) {
    return detail::dot_text(detail::picture_of(of, o));
}

} // namespace tenon
