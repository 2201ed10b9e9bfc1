#pragma once

#include <cstdint>
#include <vector>

#include <tenon/core/config.hpp>
#include <tenon/core/element_type.hpp>

/// Sums whose bits do not depend on who computes them, nor in what pieces.

namespace tenon {

/// to[i] = from[0][i] f[0] + from[1][i] f[1] + ..., added from left to right, for n elements of a numeric type; without factors,
/// from[0][i] + from[1][i] + ... Products are rounded before they are added. 16-bit floats are computed in float and rounded once;
/// integers wrap around, and have no factors. `to` may be one of `from`, not a part of one.
void ordered_sum(element_type element, const std::vector<const void*>& from, const std::vector<double>& factors,
                 void* to, std::int64_t n);

namespace detail {
/// Rows of `n` elements that lie anywhere in x, by indices of 32 or, where `is_long`, of 64 bits.
template <class T> struct scattered_rows {
    const T* x;
    const void* indices;
    bool is_long;
    std::int64_t n;
};
/// Rows `first`, first + 1, .. of as many as `count`, added in order and, where `onto`, to what is there. The first lines of those which follow
/// the last by `ahead` are fetched into the cache meanwhile; 0: of none.
void add_rows(const scattered_rows<float>& rows, std::int64_t first, std::int64_t count, std::int64_t ahead, bool onto,
              float* to);
void add_rows(const scattered_rows<double>& rows, std::int64_t first, std::int64_t count, std::int64_t ahead, bool onto,
              double* to);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/simd/ordered_sum.ipp>
#endif
