#pragma once

#include <tenon/graph/graph.hpp>
#include <tenon/graph/scope.hpp>

/// The fixture of tests that make nodes: a graph of the test's own, to which they go.
struct in_graph {
    const tenon::graph g;
    const tenon::graph_scope in{g};
};
