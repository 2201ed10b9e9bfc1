#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
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

/// What a picture shows: what tensors are computed of, or all of a graph.
// A class, so that each function below is one: a compiler that refuses a call has little to say.
class pictured {
public:
    pictured(const graph& all) : whole_(all) {}                  // NOLINT
    pictured(std::vector<any_tensor> of) : of_(std::move(of)) {} // NOLINT
    pictured(std::initializer_list<any_tensor> of) : of_(of) {}  // NOLINT
    pictured(const any_tensor& of) : of_{of} {}                  // NOLINT
    const std::optional<graph>& whole() const noexcept { return whole_; }
    const std::vector<any_tensor>& tensors() const noexcept { return of_; }

private:
    std::optional<graph> whole_;
    std::vector<any_tensor> of_;
};

/// A Mermaid flowchart. Arrows without a tensor (control dependencies) are dashed.
std::string to_mermaid(const pictured& of, const picture_options& o = {});
/// The same for Graphviz.
std::string to_dot(const pictured& of, const picture_options& o = {});

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/debug/graph_picture.ipp>
#endif
