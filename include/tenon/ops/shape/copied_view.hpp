#pragma once

#include <tenon/core/sizes/copied_dimension.hpp>
#include <tenon/dense/strided_copy.hpp>
#include <tenon/op/op_definition.hpp>

/// What ops copy from where to where, on every device.

namespace tenon::detail {

/// Dimensions of a copy into a dense tensor, outermost first.
struct copied_view {
    copied_dimension dims[2 * max_rank]{};
    int rank = 0;
    void add(std::int64_t size, std::int64_t from_step, std::int64_t to_step) {
        dims[rank++] = {size, from_step, to_step};
    }
};

/// A part of a tensor, to `out`, which has its sizes.
inline copied_view part_view(const regular_part& part, const extents& out) {
    const row_major_steps to(out);
    copied_view v;
    for (int i = 0; i < out.rank(); ++i) v.add(out[i].size, part.strides[i], to[i]);
    return v;
}
/// x, aligned at the last dimension, is repeated to the sizes of `out`.
inline copied_view repeated_view(const extents& x, const extents& out) {
    const row_major_steps from(x), to(out);
    copied_view v;
    for (int i = 0; i < out.rank(); ++i) {
        const int axis = i - (out.rank() - x.rank());
        v.add(out[i].size, axis < 0 || x[axis].size == 1 ? 0 : from[axis], to[i]);
    }
    return v;
}
/// counts[i] times x along dimension i.
inline copied_view tiled_view(const extents& x, const index_list& counts, const extents& out) {
    const row_major_steps from(x), to(out);
    copied_view v;
    for (int i = 0; i < x.rank(); ++i) {
        v.add(counts[i], 0, to[i] * x[i].size);
        v.add(x[i].size, from[i], to[i]);
    }
    return v;
}

} // namespace tenon::detail
