#pragma once

#include <tenon/runtime/plan/layout.hpp>
#include <tenon/runtime/plan/order.hpp>
#include <tenon/runtime/plan/row_runs.hpp>

/// Order and memory of a program.

namespace tenon::runtime {

struct scheduled {
    std::vector<int> order; ///< items, each after what it needs
    memory_layout memory;
    /// Positions that must end before each position begins, where running several at a time is worth it, or a device
    /// has streams; else empty.
    edges waits_for;
    std::vector<row_run> row_runs; ///< where items run one after another but for these
};

/// Orders the items and prepares their kernels, decides whether items run side by side, and lays out the arena.
scheduled schedule(program& p, const plan_options& o);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/schedule.ipp>
#endif
