#pragma once

#include <algorithm>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/graph/partitioned.hpp>

namespace tenon {

TENON_INLINE std::int64_t partitioned::count(std::int64_t rows, std::int64_t bytes) const {
    const auto refuse = [](const std::string& what) { throw invalid_argument_error("partitioned: " + what); };
    if (parts < 0) refuse("parts is " + std::to_string(parts) + "; give how many there are");
    if (largest < 0) refuse("largest is " + std::to_string(largest) + "; give how many bytes a part may have");
    if (smallest < 0) refuse("smallest is " + std::to_string(smallest) + "; give how many bytes a part must have");
    if (parts == 0 && largest == 0) refuse("give how many parts there are, or how many bytes the largest may have");
    const std::int64_t row = rows > 0 ? std::max<std::int64_t>(1, bytes / rows) : 1;
    std::int64_t n = parts;
    if (largest > 0) {
        const std::int64_t fit = std::max<std::int64_t>(1, largest / row);
        n = rows / fit + (rows % fit != 0);
        if (parts > 0) n = std::min<std::int64_t>(n, parts);
    }
    if (smallest > 0) { // whole rows each
        const std::int64_t least = smallest / row + (smallest % row != 0);
        n = std::min(n, rows / std::max<std::int64_t>(1, least));
    }
    return std::max<std::int64_t>(1, std::min(n, rows));
}

} // namespace tenon
