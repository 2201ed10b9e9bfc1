#include <net/python/graph.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <net/python/values.hpp>
#include <tenon/core/array/print.hpp>
#include <tenon/debug/graph_picture.hpp>
#include <tenon/graph/json.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/onnx/onnx.hpp>

namespace tenon::python {

namespace nb = nanobind;

namespace {

std::string shown(const any_tensor& t) { return t.name() + ": " + to_string(t.type()); }

std::string shown(const node& n) {
    std::string text = n.name + " = " + shown_op(n) + "(";
    for (std::size_t i = 0; i < n.inputs.size(); ++i) text += (i ? ", " : "") + any_tensor(n.inputs[i]).name();
    text += ")";
    for (std::size_t i = 0; i < n.outputs.size(); ++i) text += (i ? ", " : " -> ") + to_string(n.outputs[i]);
    if (!n.device.empty()) text += " on " + to_string(n.device);
    return text;
}

std::vector<any_tensor> outputs_of(const operation& o) {
    std::vector<any_tensor> all;
    for (int i = 0; i < static_cast<int>(o.node()->outputs.size()); ++i) all.emplace_back(node_output{o.node(), i});
    return all;
}

nb::dict named(const held_graph::names& all) {
    nb::dict d;
    for (const auto& [name, t] : all) d[name.c_str()] = t;
    return d;
}

std::vector<operation> nodes_of(const graph& g, const std::function<bool(const node&)>& wanted) {
    std::vector<operation> all;
    for (std::int64_t i = 0; i < g.size(); ++i)
        if (wanted(*g.at(i))) all.emplace_back(g.at(i));
    return all;
}

// What a saver has added.
bool is_savers(const node& n) { return n.name.starts_with("checkpoint/"); }

// Operations without a tensor that are run for their effect: training steps, initialisers; not those that others wait for.
std::vector<operation> operations_of(const graph& g) {
    std::set<const node*> awaited;
    for (std::int64_t i = 0; i < g.size(); ++i) awaited.insert(g.at(i)->controls.begin(), g.at(i)->controls.end());
    return nodes_of(g, [&](const node& n) { return n.outputs.empty() && !awaited.contains(&n) && !is_savers(n); });
}

std::string in_units(double bytes) {
    const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
    char text[32];
    std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text;
}

std::string lines_of(const char* what, const held_graph::names& all, std::size_t most) {
    std::string text;
    for (std::size_t i = 0; i < all.size() && i < most; ++i)
        text += std::string("\n  ") + what + " " + all[i].first + ": " + to_string(all[i].second.type());
    if (all.size() > most) text += std::string("\n  ") + what + "s: " + std::to_string(all.size() - most) + " more";
    return text;
}

std::string shown(const held_graph& g) {
    const std::vector<any_tensor> variables = g.of.collection(global_variables);
    return "tenon.Graph" + (g.origin.empty() ? "" : " of " + g.origin) + ": " + std::to_string(g.of.size()) +
           " nodes, " + std::to_string(variables.size()) + " variables" + lines_of("input", g.inputs, 8) +
           lines_of("output", g.outputs, 8);
}

// A table of the variables.
std::string summary(const held_graph& g) {
    const std::vector<any_tensor> variables = g.of.collection(global_variables);
    std::set<const node*> trainable;
    for (const any_tensor& v : g.of.collection(trainable_variables)) trainable.insert(v.node());
    std::size_t widest = 0, widest_type = 0;
    for (const any_tensor& v : variables) {
        widest = std::max(widest, v.name().size());
        widest_type = std::max(widest_type, to_string(v.type()).size());
    }
    std::string text = shown(g);
    std::int64_t parameters = 0;
    double bytes = 0;
    for (const any_tensor& v : variables) {
        const std::int64_t elements = checked_elements(v.element(), v.extents());
        const std::string type = to_string(v.type());
        text += "\n  variable " + v.name() + std::string(widest - v.name().size() + 1, ' ') + type +
                std::string(widest_type - type.size() + 1, ' ') + (trainable.contains(v.node()) ? "trainable" : "");
        while (text.back() == ' ') text.pop_back();
        if (trainable.contains(v.node())) parameters += elements;
        bytes += static_cast<double>(elements) * static_cast<double>(size_of(v.element()));
    }
    return text + "\n  " + std::to_string(parameters) + " parameters; all variables have " + in_units(bytes);
}

held_graph graph_of_text(const std::string& text, std::string origin) {
    held_graph g{graph_from_json(text), {}, {}, std::move(origin)};
    g.inputs = placeholders_of(g.of);
    g.outputs = results_of(g.of);
    return g;
}

held_graph read_graph(const std::filesystem::path& file) {
    const std::string path = file.string();
    std::string text;
    {
        const nb::gil_scoped_release others_go_on;
        text = detail::text_of_file("read_graph", path);
    }
    return graph_of_text(text, path);
}

held_graph read_model(const std::filesystem::path& file, bool variables,
                      const std::map<std::string, std::vector<std::int64_t>>& sizes) {
    onnx_read_options o{.variables = variables};
    for (const auto& [name, of] : sizes) {
        extents e;
        for (const std::int64_t size : of) e.push_back(size);
        o.sizes[name] = e;
    }
    const nb::gil_scoped_release others_go_on;
    held_graph g{graph(), {}, {}, file.string()};
    const graph_scope there(g.of);
    const onnx_model model = read_onnx(file.string(), o);
    for (std::size_t i = 0; i < model.inputs.size(); ++i) g.inputs.emplace_back(model.input_names[i], model.inputs[i]);
    for (std::size_t i = 0; i < model.outputs.size(); ++i)
        g.outputs.emplace_back(model.output_names[i], model.outputs[i]);
    return g;
}

std::vector<any_tensor> tensors_of(const held_graph& g, nb::handle named) {
    std::vector<any_tensor> all;
    const auto one = [&](nb::handle what) {
        const auto [t, o] = find_in(g, what);
        if (!t.node()) throw invalid_argument_error("\"" + o.name() + "\" is an operation without a tensor");
        all.push_back(t);
    };
    if (PyList_Check(named.ptr()) || PyTuple_Check(named.ptr()))
        for (const nb::handle what : nb::borrow<nb::sequence>(named)) one(what);
    else one(named);
    return all;
}

template <class OfTensors, class OfGraph>
std::string picture(const held_graph& g, nb::handle of, std::int64_t most_nodes, bool constants, OfTensors tensors,
                    OfGraph whole) {
    const picture_options o{constants, most_nodes};
    return of.is_none() ? whole(g.of, o) : tensors(tensors_of(g, of), o);
}

} // namespace

any_tensor held_graph::tensor(const std::string& name) const {
    for (const names* all : {&inputs, &outputs})
        for (const auto& [known, t] : *all)
            if (known == name) return t;
    return of.tensor(name);
}

std::pair<any_tensor, operation> find_in(const held_graph& g, nb::handle named) {
    if (nb::isinstance<any_tensor>(named)) return {nb::cast<any_tensor>(named), {}};
    operation o;
    if (nb::isinstance<operation>(named)) o = nb::cast<operation>(named);
    else if (nb::isinstance<nb::str>(named)) {
        const auto name = nb::cast<std::string>(named);
        bool known = name.find(':') != std::string::npos;
        for (const held_graph::names* all : {&g.inputs, &g.outputs})
            for (const auto& one : *all) known = known || one.first == name;
        if (known) return {g.tensor(name), {}};
        o = operation(g.of.find(name));
    } else
        throw nb::type_error(("what is fed or fetched is said by its name, a tenon.Tensor or a tenon.Node, not by a " +
                              std::string(Py_TYPE(named.ptr())->tp_name))
                                 .c_str());
    if (o.node()->outputs.empty()) return {{}, o};
    return {any_tensor(node_output{o.node(), 0}), {}};
}

held_graph::names placeholders_of(const graph& g) {
    held_graph::names all;
    for (const operation& o : nodes_of(g, [](const node& n) { return n.op->is(op_flags::fed) && !is_savers(n); }))
        all.emplace_back(o.name(), any_tensor(node_output{o.node(), 0}));
    return all;
}

held_graph::names results_of(const graph& g) {
    std::set<std::pair<const node*, int>> read; // by others than gradients, which follow what they are of
    for (std::int64_t i = 0; i < g.size(); ++i)
        if (!g.at(i)->follows || g.at(i)->op->is(op_flags::updates))
            for (const node_output& in : g.at(i)->inputs) read.emplace(in.node, in.index);
    const auto is_computed = [](const node& n) {
        return !is_savers(n) && !n.follows && !n.op->is(op_flags::updates) && !n.op->is(op_flags::uses) &&
               !n.op->is(op_flags::source) && (!n.inputs.empty() || n.op->is(op_flags::stateful)); // no constant
    };
    held_graph::names all;
    for (const operation& o : nodes_of(g, is_computed))
        for (const any_tensor& t : outputs_of(o))
            if (!read.contains({t.node(), t.index()})) all.emplace_back(t.name(), t);
    return all;
}

void add_graph(nb::module_& m) {
    nb::class_<any_tensor>(m, "Tensor", "What a node of a graph computes: a type; values are what a session gives.")
        .def_prop_ro("name", [](const any_tensor& t) { return t.name(); })
        .def_prop_ro("dtype", [](const any_tensor& t) { return tenon::name_of(t.element()); })
        .def_prop_ro(
            "shape", [](const any_tensor& t) { return shape_of(t.extents()); },
            "Numbers; a str for a size that has a name; None for one that only a step knows.")
        .def_prop_ro("node", [](const any_tensor& t) { return t.operation(); })
        .def("__eq__",
             [](const any_tensor& a, nb::handle b) {
                 return nb::isinstance<any_tensor>(b) && a.output() == nb::cast<const any_tensor&>(b).output();
             })
        .def("__hash__",
             [](const any_tensor& t) {
                 return std::hash<const void*>()(t.node()) ^ static_cast<std::size_t>(t.index());
             })
        .def("__repr__", [](const any_tensor& t) { return "tenon.Tensor " + shown(t); });

    nb::class_<operation>(m, "Node", "An operation of a graph.")
        .def_prop_ro("name", [](const operation& o) { return o.name(); })
        .def_prop_ro("op", [](const operation& o) { return shown_op(*o.node()); })
        .def_prop_ro("inputs",
                     [](const operation& o) {
                         std::vector<any_tensor> all;
                         for (const node_output& in : o.node()->inputs) all.emplace_back(in);
                         return all;
                     })
        .def_prop_ro(
            "controls",
            [](const operation& o) {
                std::vector<operation> all;
                for (node* n : o.node()->controls) all.emplace_back(n);
                return all;
            },
            "What it runs after, although no data flows.")
        .def_prop_ro("outputs", outputs_of)
        .def_prop_ro(
            "device", [](const operation& o) { return to_string(o.node()->device); },
            "As it was asked for; \"\" where nothing was.")
        .def_prop_ro("container", [](const operation& o) { return o.node()->container; })
        .def("__eq__",
             [](const operation& a, nb::handle b) {
                 return nb::isinstance<operation>(b) && a.node() == nb::cast<const operation&>(b).node();
             })
        .def("__hash__", [](const operation& o) { return std::hash<const void*>()(o.node()); })
        .def("__repr__", [](const operation& o) { return "tenon.Node " + shown(*o.node()); });

    nb::class_<held_graph>(m, "Graph", "What a C++ program has written: nodes, which sessions run.")
        .def_prop_ro(
            "inputs", [](const held_graph& g) { return named(g.inputs); },
            "What is to be fed, by name: placeholders, or what an ONNX model calls its inputs.")
        .def_prop_ro(
            "outputs", [](const held_graph& g) { return named(g.outputs); },
            "What is computed for nobody in the graph, by name, or what an ONNX model calls its outputs.")
        .def_prop_ro("variables",
                     [](const held_graph& g) {
                         held_graph::names all;
                         for (const any_tensor& v : g.of.collection(global_variables)) all.emplace_back(v.name(), v);
                         return named(all);
                     })
        .def_prop_ro(
            "trainable",
            [](const held_graph& g) {
                held_graph::names all;
                for (const any_tensor& v : g.of.collection(trainable_variables)) all.emplace_back(v.name(), v);
                return named(all);
            },
            "The variables that training changes.")
        .def_prop_ro(
            "operations", [](const held_graph& g) { return operations_of(g.of); },
            "Nodes that are run for their effect alone: training steps, initialisers.")
        .def_prop_ro("nodes", [](const held_graph& g) { return nodes_of(g.of, [](const node&) { return true; }); })
        .def(
            "__getitem__", [](const held_graph& g, const std::string& name) { return g.tensor(name); },
            "The tensor of this name; \"split:1\" is a later output of a node.")
        .def("__contains__",
             [](const held_graph& g, const std::string& name) {
                 try {
                     (void)g.tensor(name);
                     return true;
                 } catch (const error&) {
                     return false;
                 }
             })
        .def("node", [](const held_graph& g, const std::string& name) { return operation(g.of.find(name)); })
        .def("__len__", [](const held_graph& g) { return g.of.size(); })
        .def("collection", [](const held_graph& g, const std::string& name) { return g.of.collection(name); })
        .def(
            "to_json", [](const held_graph& g) { return to_json(g.of); }, "What read_graph reads.")
        .def("summary", summary, "Inputs, outputs and variables, a line each, with sizes.")
        .def(
            "mermaid",
            [](const held_graph& g, nb::handle of, std::int64_t most_nodes, bool constants) {
                return picture(
                    g, of, most_nodes, constants, [](const auto& t, const auto& o) { return to_mermaid(t, o); },
                    [](const auto& t, const auto& o) { return to_mermaid(t, o); });
            },
            nb::arg("of") = nb::none(), nb::arg("most_nodes") = 500, nb::arg("constants") = false,
            "A picture of what tensors (one, or a list) are computed of, or of all, for Markdown: a notebook's cell of "
            "Markdown "
            "shows it between ```mermaid and ```.")
        .def(
            "dot",
            [](const held_graph& g, nb::handle of, std::int64_t most_nodes, bool constants) {
                return picture(
                    g, of, most_nodes, constants, [](const auto& t, const auto& o) { return to_dot(t, o); },
                    [](const auto& t, const auto& o) { return to_dot(t, o); });
            },
            nb::arg("of") = nb::none(), nb::arg("most_nodes") = 500, nb::arg("constants") = false,
            "The same for Graphviz.")
        .def("__repr__", [](const held_graph& g) { return shown(g); });

    m.def("read_graph", read_graph, nb::arg("path"), "A graph from a file that C++ wrote with tn::to_json.");
    m.def(
        "graph_from_json", [](const std::string& text) { return graph_of_text(text, ""); }, nb::arg("text"));
    m.def("read_onnx", read_model, nb::arg("path"), nb::arg("variables") = false,
          nb::arg("sizes") = std::map<std::string, std::vector<std::int64_t>>(),
          "An ONNX model as a graph. variables: its weights are variables, which can be trained, read and set; sizes: "
          "those of inputs in "
          "place of what the model says.");
}

} // namespace tenon::python
