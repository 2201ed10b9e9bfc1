#include "op_table/table.hpp"

#include <tenon/ops/shape/selection.hpp>

// Elements that their values choose: sizes of the results are no function of those of the operands, as samples say them.

namespace op_table {
namespace {

const std::string selection_tests = "ops/shape/selection.cpp, ops/shape/selection_steps.cpp";

const add_entries selection{
    {.op = "boolean_mask", .elements = all_elements, .cpu_only = true, .apart = selection_tests},
    {.op = "boolean_mask_gradient", .elements = numeric, .apart = selection_tests + ", cuda/ops/shape/selection.cpp"},
    {.op = "nonzero", .no_gradient = "indices", .cpu_only = true, .apart = selection_tests},
    {.op = "unique",
     .elements = all_elements,
     .no_gradient = "indices, and elements of which others may be equal",
     .cpu_only = true,
     .apart = selection_tests},
};

} // namespace
} // namespace op_table
