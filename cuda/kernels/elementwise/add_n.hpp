#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>

namespace tenon::cuda {

/// How many inputs one pass of add_n reads.
inline constexpr int most_added_at_once = 256;

/// What add_n needs beside: where half or bfloat16 elements take several passes, their sums in float.
std::size_t add_n_scratch_bytes(element_type e, int inputs, std::int64_t elements);

/// x0 + x1 + ..., element by element, in this order, of arrays of `elements` elements. Half and bfloat16 are added up in float and
/// rounded once; integers wrap around. `to` may be one of the inputs where there are no more than most_added_at_once.
void add_n(element_type e, const void* const* x, int inputs, void* to, std::int64_t elements, std::byte* scratch,
           void* stream);

} // namespace tenon::cuda
