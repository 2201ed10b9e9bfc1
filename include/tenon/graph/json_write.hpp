#pragma once

#include <string>

#include <tenon/graph/graph.hpp>

/// A graph as text; graph/json.hpp reads it.

namespace tenon {

/// The whole graph as JSON: a line a node, which says its name, op, inputs ("name", or "name:1" for a later output),
/// control inputs, attributes, colocated nodes, what it follows, device, container and output types; then the collections.
/// Numbers come back exactly. The same graph gives the same text.
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

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/graph/json_write.ipp>
#endif
