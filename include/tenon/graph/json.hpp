#pragma once

#include <string>

#include <tenon/graph/json_write.hpp>

/// A graph as text, and back.

namespace tenon {

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
#endif
