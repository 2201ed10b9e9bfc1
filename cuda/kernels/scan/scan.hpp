#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>

/// Running operations along the middle axis of [outer, n, inner]: tenon/ops/reduce/scan.hpp.
///
/// Rows (inner = 1) are taken by blocks, 8 elements a thread, which find their beginnings from each other; columns by a thread each. Lines that are
/// few and long are cut into parts: a first pass finds what each comes to, a second begins each with what those before it come to. Numbers
/// are kept as on the CPU: floats in double, half and bfloat16 in float, integers wrapping around. The order depends on the sizes alone.

namespace tenon::cuda {

enum class scan { sum, product, largest, least, log_sum_exp, recurrence, recurrence_later };

struct scan_plan {
    scan how = scan::sum;
    element_type element = element_type::float32;
    bool exclusive = false, reversed = false;
    std::int64_t outer = 1, n = 0, inner = 1;
    std::int64_t parts = 1, part = 0; ///< part: elements in each but the last
    int together = 1;                 ///< of rows: threads that share one
    std::size_t scratch_bytes = 0;

    constexpr bool is_rows() const { return inner == 1; }
    constexpr std::int64_t lines() const { return outer * inner; }
};

scan_plan plan_scan(scan how, element_type element, std::int64_t outer, std::int64_t n, std::int64_t inner,
                    bool exclusive, bool reversed);

/// x, w (of recurrences, else null) and y on the device, y perhaps where x is, and but for recurrence_later where w is; scratch:
/// plan.scratch_bytes there.
void run_scan(const scan_plan& plan, const void* x, const void* w, void* y, std::byte* scratch, void* stream);

/// The same of some each: they are compiled in files of their own.
void scan_by_adding(const scan_plan& plan, const void* x, void* y, std::byte* scratch, void* stream);
void scan_by_choosing(const scan_plan& plan, const void* x, void* y, std::byte* scratch, void* stream);
void scan_by_recurring(const scan_plan& plan, const void* x, const void* w, void* y, std::byte* scratch, void* stream);

} // namespace tenon::cuda
