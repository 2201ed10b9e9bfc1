#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// A dimension of two views of memory, one copied to the other: its size, and the steps from one index to the next, in elements. In the
/// source a step may be 0 (it repeats), in both it may be negative.
struct copied_dimension {
    std::int64_t size, from_step, to_step;
};

} // namespace tenon::detail
