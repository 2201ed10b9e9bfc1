#pragma once

#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/op/op_definition.hpp>

/// Graphs; graph/scope.hpp has the scopes in which their nodes are made.

namespace tenon {

/// A graph: append-only; each node gets the next number. Copies are handles on the same graph.
class graph {
public:
    graph();
    explicit graph(graph_state* state) noexcept : state_(state) { detail::retain(state_); }
    graph(const graph& o) noexcept : state_(o.state_) {
        if (state_) detail::retain(state_);
    }
    graph(graph&& o) noexcept : state_(o.state_) { o.state_ = nullptr; }
    graph& operator=(graph o) noexcept {
        graph_state* s = state_;
        state_ = o.state_;
        o.state_ = s;
        return *this;
    }
    ~graph() {
        if (state_) detail::release(state_);
    }

    /// The graph nodes are added to in this thread: of the innermost graph_scope, else the process's own.
    static graph current();

    std::int64_t size() const;
    node* at(std::int64_t number) const;
    /// The node of this name; not_found_error lists similar ones.
    node* find(const std::string& name) const;
    /// The output called "name" or "name:1".
    any_tensor tensor(const std::string& name) const;

    /// Nodes in a named collection, in the order they were added.
    std::vector<any_tensor> collection(const std::string& name) const;
    void add_to_collection(const std::string& name, const any_tensor& t);
    /// The names of all collections, sorted.
    std::vector<std::string> collections() const;

    /// The seed that random ops of this graph mix with their own; 0: none was set.
    void set_seed(std::uint64_t seed);
    std::uint64_t seed() const;

    /// nullptr where the graph was moved from: its functions are failed_precondition_errors then.
    graph_state* state() const noexcept { return state_; }
    friend bool operator==(const graph& a, const graph& b) noexcept { return a.state_ == b.state_; }

private:
    graph_state& live() const {
        if (!state_) detail::moved_from("graph");
        return *state_;
    }
    graph_state* state_;
};

/// Names of the collections that variables enter.
inline constexpr const char* global_variables = "variables";
inline constexpr const char* trainable_variables = "trainable_variables";
/// And the one of those in parts, each as the tensor that its parts are joined to (ops/shape/partition.hpp).
inline constexpr const char* partitioned_variables = "partitioned_variables";
/// And the one of updates that training steps make beside those of variables, of what the model has computed on the way (moving averages),
/// each before a parameter of its layer.
inline constexpr const char* forward_updates = "forward_updates";
/// And the one of queues that have threads which fill them (queue_runner).
inline constexpr const char* queue_runners = "queue_runners";

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/graph/graph.ipp>
#endif
