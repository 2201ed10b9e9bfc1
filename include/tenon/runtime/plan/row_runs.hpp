#pragma once

#include <cstddef>
#include <vector>

#include <tenon/op/row_kernel.hpp>
#include <tenon/runtime/plan/order.hpp>

/// What threads do side by side without waiting for each other after each kernel.

namespace tenon::runtime {

/// Operations one after another that are run together: each thread takes its share of the rows through all of them. What one of them reads of
/// another, a share reads of the same share.
struct row_run {
    std::size_t first = 0; ///< position in the order
    int shares = 1;
    std::vector<row_kernel*> kernels; ///< of the operations there

    std::size_t end() const noexcept { return first + kernels.size(); }
};

/// Finds such operations in an order of the program's items, brings them together there, and divides their kernels. `waits`: by position, those
/// that must end before it. What is long is left out: its own shares are small beside it, and even out what else the machine does.
std::vector<row_run> find_row_runs(program& p, const plan_options& o, const edges& waits, std::vector<int>& order);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/row_runs.ipp>
#endif
