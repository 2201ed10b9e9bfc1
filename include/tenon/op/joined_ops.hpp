#pragma once

#include <tenon/op/op_definition.hpp>

/// What the planner makes of an op and sums beside it (runtime/plan/rewrite): ops of plans alone, which no graph has.

namespace tenon {

struct joined_ops {
    /// Where input 0 is a sum: the op that adds, in the same pass, its first input after the other's to input 0, and to that before,
    /// where there is one more, a vector along its last axis. The sum is its last output. nullptr: there is none.
    const op_definition* of_sum = nullptr;
    /// Where others are added to output 0: the op that adds its last input, in the same pass.
    const op_definition* plus = nullptr;
    /// For which elements CPUs have these.
    element_types on_cpus = all_elements;
};

void register_joined_ops(const op_definition& of, const joined_ops& joined);
/// None, where none are registered.
joined_ops find_joined_ops(const op_definition& of);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/op/joined_ops.ipp>
#endif
