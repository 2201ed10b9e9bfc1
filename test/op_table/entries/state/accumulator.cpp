#include "op_table/table.hpp"

#include <tenon/ops/state/accumulator.hpp>

// Accumulators: what they give is what other steps have given them, so no op of theirs has samples.

namespace op_table {
namespace {

entry of_accumulator(const char* op) {
    return {.op = op,
            .no_gradient = "none flows through an accumulator",
            .cpu_only = true,
            .apart = "ops/state/accumulator.cpp"};
}

const add_entries accumulators{of_accumulator("accumulator"),          of_accumulator("accumulator_apply"),
                               of_accumulator("accumulator_take"),     of_accumulator("accumulator_state"),
                               of_accumulator("accumulator_set_step"), of_accumulator("accumulator_deposit"),
                               of_accumulator("accumulator_average")};

} // namespace
} // namespace op_table
