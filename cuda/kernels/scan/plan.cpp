// How scans are cut into parts: arithmetic on the host.

#include <algorithm>

#include <cuda/kernels/grid.hpp>
#include <cuda/kernels/scan/scan.hpp>

namespace tenon::cuda {

scan_plan plan_scan(scan how, element_type element, std::int64_t outer, std::int64_t n, std::int64_t inner,
                    bool exclusive, bool reversed) {
    scan_plan plan;
    plan.how = how;
    plan.element = element;
    plan.outer = outer;
    plan.n = n;
    plan.inner = inner;
    plan.exclusive = exclusive;
    plan.reversed = reversed;
    plan.part = n;
    if (n == 0 || plan.lines() == 0) return plan;
    constexpr std::int64_t each = 8, enough_blocks = 1024, enough_columns = 1 << 16, most_parts = 256;
    std::int64_t parts = 1, grain = 1;
    if (plan.is_rows()) {
        std::int64_t together = 1;
        while (together < block_threads && together * each < n) together *= 2;
        plan.together = static_cast<int>(together);
        grain = block_threads * each * 2;
        parts = std::min(enough_blocks / plan.lines(), n / grain);
    } else {
        grain = 32;
        parts = std::min(enough_columns / plan.lines(), n / grain);
    }
    parts = std::clamp<std::int64_t>(parts, 1, most_parts);
    if (parts > 1) {
        plan.part = (n + parts - 1) / parts;
        plan.part = (plan.part + grain - 1) / grain * grain;
        plan.parts = (n + plan.part - 1) / plan.part;
    }
    constexpr std::size_t state_bytes = 16;
    if (plan.parts > 1) plan.scratch_bytes = static_cast<std::size_t>(plan.lines() * plan.parts) * state_bytes;
    return plan;
}

void run_scan(const scan_plan& plan, const void* x, const void* w, void* y, std::byte* scratch, void* stream) {
    if (plan.n == 0 || plan.lines() == 0) return;
    switch (plan.how) {
    case scan::largest:
    case scan::least: return scan_by_choosing(plan, x, y, scratch, stream);
    case scan::recurrence:
    case scan::recurrence_later: return scan_by_recurring(plan, x, w, y, scratch, stream);
    default: return scan_by_adding(plan, x, y, scratch, stream);
    }
}

} // namespace tenon::cuda
