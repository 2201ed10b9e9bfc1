#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <net/wire/values.hpp>
#include <tenon/graph/graph.hpp>

/// Nodes of a graph on their way to a copy of it, which grows as the graph does.

namespace tenon::net {

/// How much of a graph has been sent.
struct graph_mark {
    std::int64_t nodes = 0;
    std::map<std::string, std::size_t> members; ///< of collections
};

/// What a graph has beyond a mark: nodes, members of collections, its seed. `now` becomes the mark of all that is in it.
packed encode_nodes(const graph& g, const graph_mark& sent, graph_mark& now);

struct graph_limits {
    std::int64_t nodes = std::int64_t{1} << 20; ///< of the whole graph
    std::size_t bytes = std::size_t{1} << 38;   ///< of what is appended
};

/// Appends it, all or nothing: the graph stays as it was where anything is wrong. The ops' rules are run, and what they give is
/// compared with the types that are stated.
///
/// Throws aborted_error where the graph has not as many nodes as was sent before: somebody else has extended it;
/// resource_exhausted_error beyond a limit; data_loss_error for bytes that mean nothing; and invalid_argument_error, naming the
/// node, for all else, as graph_from_json does. Takes the arrays out of p.
void append_nodes(const graph& g, packed& p, const graph_limits& limits = {});

namespace detail {
/// What records of graphs and of programs have in common.
void put_name(value_writer& to, const std::string& name, const char* what);
void put_attributes(value_writer& to, const node& n); ///< errors name it
/// Runs the rule and compares what it gives with what is stated; how many outputs there are is compared before.
void judge(node& n, const std::vector<tensor_type>& stated);
} // namespace detail

} // namespace tenon::net
