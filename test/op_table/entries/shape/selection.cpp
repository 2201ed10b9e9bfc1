#include "op_table/table.hpp"

#include <tenon/ops/shape/selection.hpp>

// Elements that their values choose: sizes of the results are no function of those of the operands, as samples say them.

namespace op_table {
namespace {

const std::string elsewhere = "ops/shape/selection.cpp, ops/shape/selection_steps.cpp";

const add_entries selection{
    {.op = "boolean_mask", .elements = all_elements, .cpu_only = true, .apart = elsewhere},
    {.op = "boolean_mask_gradient", .elements = numeric, .apart = elsewhere + ", cuda/ops/shape/selection.cpp"},
    {.op = "nonzero", .no_gradient = "indices", .cpu_only = true, .apart = elsewhere},
    {.op = "unique",
     .elements = all_elements,
     .no_gradient = "indices, and elements of which others may be equal",
     .cpu_only = true,
     .apart = elsewhere},
};

} // namespace
} // namespace op_table
