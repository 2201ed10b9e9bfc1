#include "op_table/table.hpp"

#include <tenon/ops/shape/partition.hpp>

// Rows of variables in parts: sizes of the results are no function of those of the operands, as samples say them.

namespace op_table {
namespace {

const std::string partition_tests = "ops/shape/partition.cpp";

const add_entries partition{
    {.op = "route_indices", .no_gradient = "indices", .cpu_only = true, .apart = partition_tests},
    {.op = "route_rows", .elements = all_elements, .cpu_only = true, .apart = partition_tests},
    {.op = "join_rows", .elements = all_elements, .cpu_only = true, .apart = partition_tests},
};

} // namespace
} // namespace op_table
