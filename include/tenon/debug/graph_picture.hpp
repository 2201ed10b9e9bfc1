#pragma once

#include <string>
#include <vector>

#include <tenon/graph/graph.hpp>

/// Graphs as text that other programs draw: Mermaid (which Markdown on GitHub and GitLab shows) and Graphviz. A box a node, with its name
/// and op; an arrow a tensor, with its element type and sizes.
///
///     std::puts(tn::to_mermaid({loss}).c_str());        // ```mermaid .. ``` in a Markdown file
///     std::ofstream("loss.dot") << tn::to_dot({loss});  // dot -Tsvg loss.dot > loss.svg

namespace tenon {

struct picture_options {
    bool constants = false;        ///< also those of one element
    std::int64_t most_nodes = 500; ///< a picture of more nodes ends with one that says how many were left out
};

/// What these tensors are computed of, as a Mermaid flowchart. Arrows without a tensor (control dependencies) are dashed.
std::string to_mermaid(const std::vector<any_tensor>& of, const picture_options& o = {});
/// All of a graph.
std::string to_mermaid(const graph& g, const picture_options& o = {});
/// The same for Graphviz.
std::string to_dot(const std::vector<any_tensor>& of, const picture_options& o = {});
std::string to_dot(const graph& g, const picture_options& o = {});

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/debug/graph_picture.ipp>
#endif
