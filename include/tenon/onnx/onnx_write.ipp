#pragma once

#include <algorithm>
#include <bit>

#include <tenon/core/with_element.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/io/example/example_wire.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/io/onnx/onnx_messages.hpp>
#include <tenon/onnx/onnx_write.hpp>
#include <tenon/onnx/onnx_writer.hpp>
#include <tenon/ops/elementwise/constant.hpp>

namespace tenon {

namespace detail::onnx {

// The operator set that is written, and the version of the format that it came with.
inline constexpr std::uint64_t written_opset = 18, written_ir = 8;

inline void put_number(std::string& to, std::uint32_t field, std::uint64_t value) {
    write_tag(to, field, wire_type::varint);
    write_varint(to, value);
}
inline void put_attribute(std::string& to, const char* name, std::uint64_t type, const std::string& value) {
    std::string a;
    write_field(a, 1, name);
    a += value;
    put_number(a, 20, type);
    write_field(to, 5, a);
}
TENON_INLINE writer& writer::with(const char* name, std::int64_t i) {
    std::string v;
    put_number(v, 3, static_cast<std::uint64_t>(i));
    put_attribute(attributes_, name, 2, v);
    return *this;
}
TENON_INLINE writer& writer::with(const char* name, double f) {
    std::string v;
    write_tag(v, 2, wire_type::fixed32);
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(f));
    for (int i = 0; i < 4; ++i) v += static_cast<char>(bits >> (8 * i));
    put_attribute(attributes_, name, 1, v);
    return *this;
}
TENON_INLINE writer& writer::with(const char* name, const char* s) {
    std::string v;
    write_field(v, 4, s);
    put_attribute(attributes_, name, 3, v);
    return *this;
}
TENON_INLINE writer& writer::with(const char* name, const std::vector<std::int64_t>& ints) {
    std::string v;
    for (const std::int64_t i : ints) put_number(v, 8, static_cast<std::uint64_t>(i));
    put_attribute(attributes_, name, 7, v);
    return *this;
}

TENON_INLINE std::string writer::unused(std::string wished) {
    if (wished.empty()) wished = "value";
    std::string name = wished;
    for (int i = 1; !used_.insert(name).second; ++i) name = wished + "_" + std::to_string(i);
    return name;
}

TENON_INLINE std::vector<std::string> writer::add(const char* op, const std::vector<std::string>& inputs, int outputs) {
    std::string n;
    for (const std::string& i : inputs) write_field(n, 1, i);
    write_field(n, 4, op);
    n += std::exchange(attributes_, {});
    if (outputs == 1)
        if (const auto made = made_.find(n); made != made_.end()) return {made->second};
    std::vector<std::string> names;
    std::string given;
    for (int i = 0; i < outputs; ++i) {
        names.push_back(unused(std::string(op) + "_out"));
        write_field(given, 2, names.back());
    }
    if (outputs == 1) made_.emplace(n, names[0]);
    write_field(nodes, 1, n + given);
    return names;
}
TENON_INLINE std::string writer::add(const char* op, const std::vector<std::string>& inputs) {
    return add(op, inputs, 1)[0];
}

TENON_INLINE std::string writer::initializer(const any_array& a, const std::string& wished) {
    const std::string name = unused(wished.empty() ? "constant" : wished);
    write_field(initializers, 5, tensor_bytes(name, a));
    return name;
}
TENON_INLINE std::string writer::integers(const std::vector<std::int64_t>& list, bool scalar) {
    std::string key = scalar ? "scalar" : "list";
    for (const std::int64_t i : list) key += ' ' + std::to_string(i);
    std::string& name = made_[key];
    if (name.empty()) {
        any_array a(element_type::int64, scalar ? extents{} : extents{static_cast<std::int64_t>(list.size())});
        std::copy(list.begin(), list.end(), a.data<std::int64_t>());
        name = initializer(a);
    }
    return name;
}
TENON_INLINE std::string writer::number(double v, element_type e) {
    std::string& name = made_["number " + std::to_string(std::bit_cast<std::uint64_t>(v)) + tenon::name_of(e)];
    if (name.empty()) {
        any_array a(e, {});
        with_element(e, [&]<class T>(const T&) {
            if constexpr (!std::is_same_v<T, std::string>) *static_cast<T*>(a.data()) = static_cast<T>(v);
        });
        name = initializer(a);
    }
    return name;
}

TENON_INLINE std::string writer::transposed(const std::string& x, const std::vector<std::int64_t>& axes) {
    bool same = true;
    for (std::size_t i = 0; i < axes.size(); ++i) same = same && axes[i] == static_cast<std::int64_t>(i);
    if (same) return x;
    if (const auto before = transposed_.find(x); before != transposed_.end()) {
        const auto& [source, order] = before->second;
        std::vector<std::int64_t> both;
        for (const std::int64_t a : axes) both.push_back(order[static_cast<std::size_t>(a)]);
        return transposed(std::string(source), both);
    }
    const std::string y = with("perm", axes).add("Transpose", {x});
    transposed_.emplace(y, std::pair(x, axes));
    return y;
}

inline std::string value_info(const std::string& name, const tensor_type& type) {
    std::string shape;
    for (const extent& e : type.extents) {
        std::string dim;
        if (e.is_number()) put_number(dim, 1, static_cast<std::uint64_t>(e.size));
        else if (e.is_named()) write_field(dim, 2, e.name);
        write_field(shape, 1, dim);
    }
    std::string tensor, whole, info;
    put_number(tensor, 1, static_cast<std::uint64_t>(data_type_of(type.element)));
    write_field(tensor, 2, shape);
    write_field(whole, 1, tensor);
    write_field(info, 1, name);
    write_field(info, 2, whole);
    return info;
}

// What is only another name of its input.
inline bool is_alias(const node& n) { return n.op->is(op_flags::identity) && n.inputs.size() == 1; }
inline node_output behind_aliases(node_output o, const std::map<std::pair<node*, int>, std::string>& stops) {
    while (is_alias(*o.node) && !stops.contains({o.node, o.index})) o = o.node->inputs[0];
    return o;
}

inline std::string write_model(session& s, const std::vector<named_tensor>& inputs,
                               const std::vector<named_tensor>& outputs, const onnx_write_options& o,
                               const std::string& who) {
    std::map<std::string, write_node> table{{"fused", write_fused}};
    for (const auto& family : {written_layers(), written_shapes()})
        for (const write_entry& e : family) table.emplace(e.op, e.write);
    writer w;
    const auto mistake = [&](const std::string& words) -> void { throw invalid_argument_error(who + ": " + words); };
    std::map<std::pair<node*, int>, std::string> given; // the inputs
    std::string values;
    std::set<std::string> names;
    for (const auto* list : {&inputs, &outputs})
        for (const named_tensor& t : *list) {
            require_node(t.tensor.node(), "tensor");
            if (t.name.empty()) mistake("an input or output has no name");
            if (!names.insert(t.name).second) mistake("the name \"" + t.name + "\" is given twice");
            w.reserve(t.name);
        }
    if (outputs.empty()) mistake("there are no outputs; give at least one");
    for (const named_tensor& i : inputs) {
        given[{i.tensor.node(), i.tensor.index()}] = i.name;
        w.give(*i.tensor.node(), i.name, i.tensor.index());
        write_field(values, 11, value_info(i.name, i.tensor.type()));
    }

    // What the outputs are computed of, inputs first.
    std::map<std::int64_t, node*> needed;
    std::vector<node*> open;
    std::vector<std::string> refused;
    std::vector<any_tensor> variables;
    const auto need = [&](const node_output& from) {
        if (!given.contains({from.node, from.index}) && needed.emplace(from.node->number, from.node).second)
            open.push_back(from.node);
    };
    for (const named_tensor& t : outputs) need(t.tensor.output());
    while (!open.empty()) {
        node* const n = open.back();
        open.pop_back();
        if (n->op->is(op_flags::variable)) {
            variables.emplace_back(node_output{n, 0});
            continue;
        }
        if (n->op->is(op_flags::fed) && n->inputs.empty())
            mistake("\"" + n->name + "\" is a placeholder that the outputs need; name it among the inputs");
        if (!is_alias(*n) && n->op != &definition_of<constant_op>() && !table.contains(n->op->name))
            refused.push_back("\"" + n->name + "\" (" + n->op->name + ")");
        for (const node_output& i : n->inputs) need(i);
    }
    const auto refuse = [&] {
        if (refused.empty()) return;
        std::string list;
        for (const std::string& r : refused) list += (list.empty() ? "" : ", ") + r;
        throw unimplemented_error(who + ": ONNX is not written for these nodes: " + list);
    };
    refuse();
    if (!variables.empty()) {
        const std::vector<any_array> now = s.run_untyped({}, variables);
        for (std::size_t i = 0; i < variables.size(); ++i) {
            const std::string name = w.initializer(now[i], variables[i].node()->name);
            w.give(*variables[i].node(), name, 0);
            w.give(*variables[i].node(), name, 1);
        }
    }
    for (const auto& [number, n] : needed) {
        if (n->op->is(op_flags::variable)) continue;
        try {
            for (const tensor_type& t : n->outputs)
                if (data_type_of(t.element) == 0)
                    throw unimplemented_error(std::string("elements of type ") + tenon::name_of(t.element));
            if (is_alias(*n)) w.give(*n, w.input(*n, 0));
            else if (n->op == &definition_of<constant_op>())
                w.give(*n, w.initializer(*decode<constant_op::attributes>(n->attributes).value, n->name));
            else table.at(n->op->name)(w, *n);
        } catch (const unimplemented_error& e) {
            refused.push_back("\"" + n->name + "\" (" + n->op->name + "): " + e.what());
            for (int i = 0; i < static_cast<int>(n->outputs.size()); ++i)
                w.give(*n, "", i); // what follows is looked at, too
        }
    }
    refuse();
    for (const named_tensor& t : outputs) {
        std::string n;
        write_field(n, 1, w.name_of(t.tensor.output()));
        write_field(n, 2, t.name);
        write_field(n, 4, "Identity");
        write_field(w.nodes, 1, n);
        write_field(values, 12, value_info(t.name, t.tensor.type()));
    }

    std::string graph = std::move(w.nodes), model, opset;
    write_field(graph, 2, o.graph_name);
    graph += w.initializers;
    graph += values;
    put_number(model, 1, written_ir);
    write_field(model, 2, "tenon");
    put_number(opset, 2, written_opset);
    write_field(model, 8, opset);
    write_field(model, 7, graph);
    // Readers of protocol buffers take no more.
    if (model.size() >= (std::size_t{1} << 31))
        throw unimplemented_error(who + ": the model has " + std::to_string(model.size()) +
                                  " bytes; ONNX files have less than 2 GiB");
    return model;
}

} // namespace detail::onnx

TENON_INLINE std::string onnx_bytes(session& s, const std::vector<named_tensor>& inputs,
                                    const std::vector<named_tensor>& outputs, const onnx_write_options& o) {
    return detail::onnx::write_model(s, inputs, outputs, o, "onnx_bytes");
}
TENON_INLINE void write_onnx(session& s, const std::string& path, const std::vector<named_tensor>& inputs,
                             const std::vector<named_tensor>& outputs, const onnx_write_options& o) {
    const std::string bytes = detail::onnx::write_model(s, inputs, outputs, o, "write_onnx: '" + path + "'");
    detail::output_file file("write_onnx", path);
    file.write(bytes.data(), bytes.size());
    file.commit();
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/onnx/write/onnx_write_elements.ipp>
#include <tenon/onnx/write/onnx_write_layers.ipp>
#include <tenon/onnx/write/onnx_write_shapes.ipp>
#endif
