#pragma once

#include <cstdint>
#include <vector>

#include <tenon/core/config.hpp>

namespace tenon::detail {

struct time_span {
    std::int64_t begin = 0, end = 0; ///< end is not in it
};

/// For each span a row, from 0, so that no two of a row overlap, and there are as few rows as spans at any one time. A span goes
/// into the first row whose last one has ended when it begins. Takes n log n.
std::vector<int> packed_rows(const std::vector<time_span>& spans);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/runtime/trace/packed_rows.ipp>
#endif
