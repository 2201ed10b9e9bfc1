#include "op_table/table.hpp"

#include <tenon/ops/collective/exchange.hpp>

// Edges between tasks, which the planner makes.

namespace op_table {
namespace {

entry of_edge(const char* op) {
    return {.op = op,
            .no_gradient = "made of graphs that are differentiated already",
            .cpu_only = true,
            .apart = "runtime/session/tasks.cpp"};
}

const add_entries edges{of_edge("send"),
                        of_edge("receive"),
                        {.op = "convert",
                         .elements = floating,
                         .no_gradient = "made of graphs that are differentiated already",
                         .cpu_only = true,
                         .apart = "net/worker/values.cpp"}};

} // namespace
} // namespace op_table
