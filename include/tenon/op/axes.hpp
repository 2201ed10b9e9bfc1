#pragma once

#include <tenon/core/fault.hpp>
#include <tenon/op/attributes.hpp>

/// Axes as ops name them: negative ones count from the last.

namespace tenon::detail {

/// An axis as a number in 0 .. rank-1, or -1 where it is out of range.
constexpr int axis_of(std::int64_t axis, int rank) noexcept {
    if (axis < -rank || axis >= rank) return -1;
    return static_cast<int>(axis < 0 ? axis + rank : axis);
}

/// Some of a tensor's axes: bit k tells of axis k.
struct axis_set {
    fault what = fault::none;
    unsigned bits = 0;

    constexpr bool has(int axis) const noexcept { return ((bits >> axis) & 1U) != 0; }
};

constexpr axis_set axes_of(const index_list& axes, int rank) noexcept {
    axis_set set;
    for (const std::int64_t a : axes) {
        const int axis = axis_of(a, rank);
        if (axis < 0) return {fault::axis_out_of_range, 0};
        if (set.has(axis)) return {fault::axis_given_twice, 0};
        set.bits |= 1U << axis;
    }
    return set;
}

/// The same, where no axis at all stands for every axis.
constexpr axis_set axes_or_all(const index_list& axes, int rank) noexcept {
    if (axes.count == 0) return {fault::none, (1U << rank) - 1U};
    return axes_of(axes, rank);
}

/// Sizes left when the axes in `set` are reduced to one element each, which is kept as a size 1 or dropped.
constexpr extents reduced_extents(const extents& sizes, const axis_set& set, bool keepdims) noexcept {
    extents result;
    for (int i = 0; i < sizes.rank(); ++i) {
        if (!set.has(i)) result.push_back(sizes[i]);
        else if (keepdims) result.push_back(1);
    }
    return result;
}

} // namespace tenon::detail
