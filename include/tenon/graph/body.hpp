#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/graph/graph.hpp>
#include <tenon/graph/scope.hpp>

/// A part of a graph as a function: what ops of control flow run, once or many times (ops/flow/).

namespace tenon {

/// A graph of its own, whose placeholders are the arguments. It computes and nothing else: no variables, no queues, no random numbers, no texts.
class body {
public:
    /// Throws invalid_argument_error where a node does more than compute.
    body(graph of, std::vector<any_tensor> arguments, std::vector<any_tensor> results);
    /// The one that text() gave this; kept for a while, since a node's rule asks again and again. Throws what graph_from_json throws, and as
    /// above.
    static std::shared_ptr<const body> of_text(const std::string& text);
    /// The same for changes, which nobody else sees.
    static body copy_of_text(const std::string& text);

    const graph& of() const noexcept { return graph_; }
    const std::vector<any_tensor>& arguments() const noexcept { return arguments_; }
    const std::vector<any_tensor>& results() const noexcept { return results_; }
    /// JSON: the graph, whose collections "arguments" and "results" are these.
    std::string text() const;
    /// What it gives where its arguments are of these types, by the rules of its ops. Throws invalid_argument_error that names its node.
    std::vector<tensor_type> result_types(type_list arguments) const;

private:
    graph graph_;
    std::vector<any_tensor> arguments_, results_;
};

namespace detail {

/// Tensors that bodies of one node take from the graph around them, in order: further arguments of each.
using captured_tensors = std::vector<any_tensor>;

/// In a body of control flow one of two bodies whose results differ in size: which of them runs is not decided yet.
struct body_choice {
    any_tensor condition;
    std::string then_body, else_body;
    std::vector<any_tensor> given;   // to both
    extents size;                    // of which they differ, where it has a name
    std::vector<any_tensor> results; // placeholders, whose types say what both have in common
};
struct chosen_part;

/// Makes a body, on one thread: in a body_scope what is made is a node of it, and a tensor of the graph around it that is used there
/// becomes an argument.
class body_builder {
public:
    explicit body_builder(captured_tensors& captured);
    ~body_builder();
    body_builder(body_builder&&) = delete;

    const graph& of() const noexcept { return graph_; }
    any_tensor add_argument(const tensor_type& type);
    /// A tensor of the body, or of a graph around it.
    any_tensor here(const any_tensor& t);
    /// What stands here for tensors of the graph around, and which these are.
    std::vector<std::pair<any_tensor, any_tensor>> captured() const;
    /// What one of two bodies gives, of such types. What is made of it is made twice, once for each, until it has sizes that do not depend on
    /// the choice, so that sizes are known before it runs; the results of this body have the same ones either way.
    std::vector<any_tensor> choose(body_choice c, const std::vector<tensor_type>& types);
    /// After all bodies of the node are made: the arguments that were added, then what they captured. Throws invalid_argument_error where more
    /// than 8 choices meet.
    body finish(const std::vector<any_tensor>& results);

private:
    any_tensor add_placeholder(const tensor_type& type, const char* name);
    void decide(const body_choice& c, std::vector<any_tensor>& results);
    std::vector<any_tensor> copy(const body_choice& c, const std::string& chosen, const chosen_part& part,
                                 const body_builder& from);

    captured_tensors& captured_;
    graph graph_, around_;
    std::vector<any_tensor> arguments_,
        captures_; // of what is captured: an empty handle where this body does not use it
    std::vector<body_choice> choices_;
    std::map<std::int64_t, int> decided_; // numbers of the nodes that they became: how many are within each, and itself
};

/// Of a graph what these results need, as a graph of its own; `with_shows`: with the ops that are op_flags::shows.
body needed_part(const graph& of, const std::vector<any_tensor>& arguments, const std::vector<any_tensor>& results,
                 bool with_shows);

/// Nodes made inside are the body's; of the scopes around it those of names, devices and variables count.
class body_scope : scope_base {
public:
    explicit body_scope(const body_builder& of);

private:
    const making by_the_program_{making::anew{}};
};

/// The graph in scope, or around it where that is a body's: where variables are.
graph outermost_graph();
/// Who makes the graph in scope, where that is a body's; else nullptr.
body_builder* builder_in_scope();
/// Whether the graph in scope is a body's, and g around it.
bool is_around_body(const graph& g);
/// In a body, nodes made inside are that graph's.
class outside_of_bodies : scope_base {
public:
    outside_of_bodies();
};

} // namespace detail
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/graph/body.ipp>
#endif
