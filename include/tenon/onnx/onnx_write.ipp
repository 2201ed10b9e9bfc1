#pragma once

#include <tenon/graph/graph.hpp>
#include <tenon/io/example/example_wire.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/io/onnx/onnx_messages.hpp>
#include <tenon/onnx/onnx_write.hpp>
#include <tenon/onnx/onnx_writer.hpp>
#include <tenon/ops/elementwise/constant.hpp>

namespace tenon {

namespace detail::onnx {

// The version of the format that an operator set came with.
inline std::uint64_t format_of(std::uint64_t opset) {
    return opset < 19 ? 8 : opset < 21 ? 9 : opset < 23 ? 10 : opset < 25 ? 11 : 12;
}

inline std::string write_model(session& s, const std::vector<named_tensor>& inputs,
                               const std::vector<named_tensor>& outputs, const onnx_write_options& o,
                               const std::string& who) {
    writer w;
    const auto mistake = [&](const std::string& words) -> void { throw invalid_argument_error(who + ": " + words); };
    std::map<std::pair<node*, int>, std::string> given; // the inputs
    declared_values takes, gives;
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
        takes.emplace_back(i.name, i.tensor.type());
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
        for (const node_output& i : n->inputs) need(i);
    }
    for (const any_tensor& v : variables) {
        const std::string name = w.unused(v.node()->name);
        w.give(*v.node(), name, 0);
        w.give(*v.node(), name, 1);
    }
    for (const auto& [number, n] : needed) {
        if (n->op->is(op_flags::variable)) continue;
        try {
            write_one(w, *n);
        } catch (const unimplemented_error& e) {
            const std::string why = e.what();
            refused.push_back("\"" + n->name + "\" (" + n->op->name + ")" + (why.empty() ? "" : ": " + why));
            for (int i = 0; i < static_cast<int>(n->outputs.size()); ++i)
                w.give(*n, "", i); // what follows is looked at, too
        }
    }
    if (!refused.empty()) {
        std::string list;
        for (const std::string& r : refused) list += (list.empty() ? "" : ", ") + r;
        throw unimplemented_error(who + ": ONNX is not written for these nodes: " + list);
    }
    if (!variables.empty()) {
        const std::vector<any_array> now = s.run_untyped({}, variables);
        for (std::size_t i = 0; i < variables.size(); ++i) w.put_initializer(w.name_of(variables[i].output()), now[i]);
    }
    for (const named_tensor& t : outputs) {
        w.give_output(w.name_of(t.tensor.output()), t.name);
        gives.emplace_back(t.name, t.tensor.type());
    }

    const std::string graph = graph_bytes(w, o.graph_name, takes, gives);
    std::string model, opset;
    put_number(model, 1, format_of(w.opset()));
    write_field(model, 2, "tenon");
    put_number(opset, 2, w.opset());
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
    detail::text_to_file("write_onnx", path,
                         detail::onnx::write_model(s, inputs, outputs, o, "write_onnx: '" + path + "'"));
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/onnx/onnx_writer.ipp>
#include <tenon/onnx/write/onnx_write_elements.ipp>
#include <tenon/onnx/write/onnx_write_flow.ipp>
#include <tenon/onnx/write/onnx_write_images.ipp>
#include <tenon/onnx/write/onnx_write_indices.ipp>
#include <tenon/onnx/write/onnx_write_layers.ipp>
#include <tenon/onnx/write/onnx_write_shapes.ipp>
#include <tenon/onnx/write/onnx_write_signals.ipp>
#endif
