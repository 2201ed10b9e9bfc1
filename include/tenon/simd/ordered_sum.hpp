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
/// The same of `count` arrays of floats or doubles, at least one, without factors. The first lines of as many others, `next`, are fetched into
/// the cache meanwhile.
void add_in_order(const float* const* from, const float* const* next, int count, float* to, std::int64_t n);
void add_in_order(const double* const* from, const double* const* next, int count, double* to, std::int64_t n);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/simd/ordered_sum.ipp>
#endif
