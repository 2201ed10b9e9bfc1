#pragma once

#include <cstddef>
#include <vector>

#include <tenon/op/kernel_roles.hpp>
#include <tenon/runtime/plan/layout.hpp>
#include <tenon/runtime/plan/order.hpp>

/// Order and memory of a program.

namespace tenon::runtime {

/// Operations one after another that are run together: each thread takes its share of the rows through all of them. What one of them reads of
/// another, a share reads of the same share.
struct row_run {
    std::size_t first = 0; ///< position in the order
    int shares = 1;
    std::vector<row_kernel*> kernels; ///< of the operations there

    std::size_t end() const noexcept { return first + kernels.size(); }
};

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
