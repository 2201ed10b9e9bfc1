#pragma once

#include <string>

#include <tenon/graph/graph.hpp>

/// A graph as text, and back.

namespace tenon {

/// The whole graph as JSON: a line a node, which says its name, op, inputs ("name", or "name:1" for a later output),
/// control inputs, attributes, colocated nodes, device, container and output types; then the collections. Numbers come back exactly.
/// The same graph gives the same text.
///
///     {"format": "tenon graph", "version": 1, "seed": 0,
///      "nodes": [
///       {"name":"x","op":"placeholder","attributes":{"element":{"element":"float"},"shape":{"shape":["batch",3]}},...},
///       {"name":"exp","op":"fused","inputs":["x"],"attributes":{"tape":{"tape":{"inputs":["float"],
///        "code":[["input","float",0],["exp","float",0]],"outputs":[["float",1]]}},...},...}
///      ],
///      "collections": {"variables": ["w", "b"]}}
///
/// An attribute is an integer, a text, a list of integers, or an object that names its kind: {"number": 0.5} ("nan",
/// "inf" and "-inf" too), {"element": "float"}, {"shape": ["batch", 784, null]} (null: known at run time), {"array":
/// {"element", "shape", "values" or "base64"}}, {"tape": {"inputs", "constants", "code", "outputs"}}, {"hex"} for text
/// that is not UTF-8.
///
/// Throws invalid_argument_error for a name that is not UTF-8.
std::string to_json(const graph& g);

/// The graph that such a text tells of, whose nodes have exactly its names. The ops' rules are run on it as on a graph
/// that is written in C++, and what they give is compared with the types that the text states, where it states any.
/// Nodes may stand in any order that their inputs allow; what is left out is empty.
///
/// Throws data_loss_error when the text is no JSON or an array's bytes are not as many as its sizes say, and
/// invalid_argument_error, naming the node, for all else: an op this program does not know, an input that is not there,
/// a cycle, a wrong attribute, shapes that do not fit.
graph graph_from_json(const std::string& text);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/graph/json.ipp>
#include <tenon/graph/json_write.ipp>
#endif
