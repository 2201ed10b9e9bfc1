#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include <tenon/graph/graph.hpp>

namespace tenon::python {

/// tenon.Graph: a graph, and what its tensors are called outside it, as in the ONNX model that it was.
struct held_graph {
    using names = std::vector<std::pair<std::string, any_tensor>>;
    graph of;
    names inputs, outputs;
    std::string origin; ///< the file; for people

    /// A tensor, or an operation without one, by its name here or in the graph. not_found_error lists similar ones.
    any_tensor tensor(const std::string& name) const;
};

/// What is named: a str, a tenon.Tensor or a tenon.Node, as a tensor or, of a node without one, as an operation. TypeError for others.
std::pair<any_tensor, operation> find_in(const held_graph& g, nanobind::handle named);

/// Placeholders; and tensors that are computed for nobody in the graph but gradients. None of updates and of savers.
held_graph::names placeholders_of(const graph& g);
held_graph::names results_of(const graph& g);

/// tenon.Tensor, tenon.Node, tenon.Graph, and the functions that read graphs.
void add_graph(nanobind::module_& m);

} // namespace tenon::python
