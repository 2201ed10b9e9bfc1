#pragma once

#include <bit>

#include <tenon/core/with_element.hpp>
#include <tenon/io/example/example_wire.hpp>
#include <tenon/io/onnx/onnx_messages.hpp>
#include <tenon/onnx/onnx_writer.hpp>
#include <tenon/ops/elementwise/constant.hpp>

/// The bytes of nodes, values and graphs of a model that is written.

namespace tenon::detail::onnx {

TENON_INLINE void put_number(std::string& to, std::uint32_t field, std::uint64_t value) {
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

TENON_INLINE writer& writer::with_graph(const char* name, const std::string& graph) {
    std::string v;
    write_field(v, 6, graph);
    put_attribute(attributes_, name, 5, v);
    return *this;
}

TENON_INLINE std::string writer::unused(std::string wished) {
    if (wished.empty()) wished = "value";
    std::string name = wished;
    for (int i = 1; !model_->used.insert(name).second; ++i) name = wished + "_" + std::to_string(i);
    return name;
}

TENON_INLINE void writer::put_inputs(std::string& to, const std::vector<std::string>& names) {
    for (const std::string& i : names) write_field(to, 1, i);
    model_->read.insert(names.begin(), names.end());
}
TENON_INLINE std::vector<std::string> writer::add(const char* op, const std::vector<std::string>& inputs, int outputs) {
    std::string n;
    put_inputs(n, inputs);
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

TENON_INLINE void writer::put_node(const char* op, const std::vector<std::string>& inputs, const std::string& name) {
    std::string n;
    put_inputs(n, inputs);
    write_field(n, 2, name);
    write_field(n, 4, op);
    n += std::exchange(attributes_, {});
    write_field(nodes, 1, n);
}
TENON_INLINE std::string writer::add_distinct(const char* op, const std::vector<std::string>& inputs) {
    std::string name = unused(std::string(op) + "_out");
    put_node(op, inputs, name);
    return name;
}

TENON_INLINE std::string writer::initializer(const any_array& a, const std::string& wished) {
    const std::string name = unused(wished.empty() ? "constant" : wished);
    put_initializer(name, a);
    return name;
}
TENON_INLINE std::string writer::initializers() const {
    std::string all;
    for (const auto& [name, bytes] : initializers_)
        if (model_->read.contains(name)) write_field(all, 5, bytes);
    return all;
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

TENON_INLINE std::string value_info(const std::string& name, const tensor_type& type) {
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

TENON_INLINE std::string graph_bytes(writer& w, const std::string& name, const declared_values& inputs,
                                     const declared_values& outputs) {
    std::string graph = std::move(w.nodes);
    write_field(graph, 2, name);
    graph += w.initializers();
    for (const auto& [input, type] : inputs) write_field(graph, 11, value_info(input, type));
    for (const auto& [output, type] : outputs) write_field(graph, 12, value_info(output, type));
    return graph;
}

TENON_INLINE const std::map<std::string, write_node>& written_ops() {
    static const auto& all = []() -> auto& {
        auto& table = *new std::map<std::string, write_node>{{"fused", write_fused}};
        for (const auto& family : {written_flow(), written_images(), written_indices(), written_layers(),
                                   written_shapes(), written_signals()})
            for (const write_entry& e : family) table.emplace(e.op, e.write);
        return table;
    }
    ();
    return all;
}
// Why some ops cannot be written.
inline std::string reason_against(const std::string& op) {
    for (const char* const solves : {"cholesky", "eigh", "inverse", "qr", "solve", "svd", "triangular_solve"})
        if (op == solves) return "no operator of ONNX takes matrices apart or solves equations";
    if (op == "slogdet") return "ONNX has the determinant alone, which overflows where its logarithm does not";
    return {};
}
TENON_INLINE void write_one(writer& w, const node& n) {
    for (const tensor_type& t : n.outputs)
        if (data_type_of(t.element) == 0)
            throw unimplemented_error(std::string("elements of type ") + tenon::name_of(t.element));
    if (n.op->is(op_flags::identity) && !n.inputs.empty()) return w.give(n, w.input(n, 0));
    if (n.op == &definition_of<constant_op>())
        return w.give(n, w.initializer(*decode<constant_op::attributes>(n.attributes).value, n.name));
    const auto found = written_ops().find(n.op->name);
    if (found == written_ops().end()) throw unimplemented_error(reason_against(n.op->name));
    found->second(w, n);
}

} // namespace tenon::detail::onnx
