#include "op_table/table.hpp"

#include <tenon/ops/collective/all_reduce.hpp>

// Sums over devices, whose nodes meet.

namespace op_table {
namespace {

entry of_meeting(const char* op) {
    return {.op = op, .no_gradient = "they sum gradients", .apart = "train/replicated/all_reduce.cpp"};
}

const add_entries meetings{of_meeting("all_reduce"), of_meeting("all_reduced")};

} // namespace
} // namespace op_table
