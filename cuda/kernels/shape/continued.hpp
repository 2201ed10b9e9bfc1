#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

namespace tenon::cuda {

/// What is beyond the ends of an axis; in the order of pad_mode.
enum class continued { reflect, edge, wrap };

/// x is [outer, n, inner], what it is padded to [outer, padded, inner], in which x begins at `before`.
struct continued_sizes {
    std::int64_t outer, n, padded, inner, before;
    continued how;
};

/// x with its own elements around it, along the axis.
void continue_axis(const void* x, void* out, std::size_t element_bytes, const continued_sizes& of, void* stream);
/// The reverse: each element of out, of x's sizes, is the sum of all places that it stands at, in their order, computed in float for half
/// and bfloat16.
void sum_continued(tenon::element_type e, const void* g, void* out, const continued_sizes& of, void* stream);

} // namespace tenon::cuda
