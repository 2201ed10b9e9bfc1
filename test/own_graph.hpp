#pragma once

#include <tenon/graph/graph.hpp>
#include <tenon/graph/scope.hpp>

/// A graph of a test's own, in which nodes are made as long as it lives.
struct own_graph : tenon::graph {
    own_graph() : scope{*this} {}

    tenon::graph_scope scope;
};

/// The same as the fixture of a test that makes nodes.
struct in_graph {
    own_graph g;
};
