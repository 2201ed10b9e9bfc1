#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/half.hpp>
#include <tenon/core/sizes/extents.hpp>

/// What kernels share that order the elements of rows.

namespace tenon::detail {

// An order of all values: NaNs first, and as equals. 16-bit floats are compared as floats.
template <class T> bool is_above(const T& a, const T& b) {
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
        return is_above(static_cast<float>(a), static_cast<float>(b));
    else if constexpr (std::is_floating_point_v<T>) return a > b || (std::isnan(a) && !std::isnan(b));
    else return a > b;
}

// x seen as rows along its last axis.
struct last_axis_rows {
    explicit last_axis_rows(const extents& x) : length(x[x.rank() - 1].size) {
        for (int d = 0; d + 1 < x.rank(); ++d) rows *= x[d].size;
    }
    // f(row) for each, on several threads where a row's nanoseconds are worth it.
    template <class F> void each(thread_pool* pool, double row_cost, F&& f) const {
        parallel_for(pool, rows, 1 + static_cast<std::int64_t>(20000 / (row_cost + 1)),
                     [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t row = begin; row < end; ++row) f(row);
                     });
    }
    std::int64_t rows = 1, length;
};

} // namespace tenon::detail
