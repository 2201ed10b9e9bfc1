#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

/// The largest elements of rows, and elements by places in rows.

namespace tenon::cuda {

/// Up to so many of a row are sought one after another; of more the row is sorted.
inline constexpr std::int64_t most_sought = 16;

/// values[row, j], places[row, j] = the element that comes in place j of a row of n when the largest comes first, and where it is; of equal
/// ones the first; a NaN before all numbers. Either may be null. 1 <= k <= n.
void find_largest(tenon::element_type e, const void* x, std::int64_t rows, std::int64_t n, std::int64_t k, void* values,
                  std::int32_t* places, void* stream);
/// The same of rows whose order is known: sorted[row * n + j] = row * n + the place of the element.
void take_largest(tenon::element_type e, const void* x, std::int64_t rows, std::int64_t n, std::int64_t k,
                  const std::int64_t* sorted, void* values, std::int32_t* places, void* stream);

/// out[row, j] = x[row, places[row, j]] of rows of n; 0 where the place is none.
void take_places(tenon::element_type e, const void* x, const std::int32_t* places, std::int64_t rows, std::int64_t n,
                 std::int64_t count, void* out, void* stream);
/// out [rows, n] = 0, and in each place the sum of its values, in their order; those whose place is none are left out.
void put_places(tenon::element_type e, const void* values, const std::int32_t* places, std::int64_t rows,
                std::int64_t n, std::int64_t count, void* out, void* stream);

} // namespace tenon::cuda
