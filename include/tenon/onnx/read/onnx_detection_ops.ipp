#pragma once

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/flow/scan_slices.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/reduce/scan.hpp>
#include <tenon/ops/reduce/sort.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexed.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/shape/selection.hpp>

/// Operators of ONNX whose values decide how much they give: boxes that do not cover each other, different elements, and the like.

namespace tenon::detail::onnx {

// From the box with the highest score on, each that is left takes those away that it covers. boxes [images, n, 4], scores [images,
// classes, n]; gives a row (image, class, box) for each that is left.
inline void non_max_suppression(const call& c) {
    const any_tensor boxes = c.x(), scores = c.x(1);
    if (boxes.rank() != 3 || scores.rank() != 3) c.wrong("its boxes and scores have 3 dimensions");
    const element_type e = boxes.element();
    const auto one_number = [&](int i, element_type as) {
        return c.has(i) ? untyped::cast(reshaped(c.x(i), {}), as) : untyped::scalar(0, as);
    };
    const any_tensor most = one_number(2, element_type::int64), limit = one_number(3, e);
    const any_tensor order = untyped::argsort(scores, -1, {.descending = true});
    const any_tensor sorted = untyped::take_along_axis(scores, order, -1);
    const any_tensor all = untyped::gather_nd(boxes, untyped::expand_dims(order, {-1}), 1); // [images, classes, n, 4]
    const auto side = [&](std::int64_t i) { return untyped::squeeze(part_along(all, 3, i, i + 1), {3}); };
    any_tensor low[2], high[2];
    for (int d = 0; d < 2; ++d) {
        any_tensor a = side(d), b = side(d + 2);
        if (c.integer("center_point_box", 0) != 0) {
            const any_tensor half = untyped::multiply(b, scalar_like(0.5, b));
            b = untyped::add(a, half);
            a = untyped::subtract(a, half);
        }
        low[d] = untyped::minimum(a, b);
        high[d] = untyped::maximum(a, b);
    }
    const any_tensor area = untyped::multiply(untyped::subtract(high[0], low[0]), untyped::subtract(high[1], low[1]));
    const any_tensor places = untyped::arange_like(scores, element_type::int64, 2);
    const any_tensor left =
        c.has(4) ? untyped::greater(sorted, one_number(4, sorted.element())) : untyped::equal(order, order);
    std::vector<any_tensor> xs;
    for (const any_tensor& t : {low[0], low[1], high[0], high[1], area}) xs.push_back(untyped::moveaxis(t, 2, 0));
    xs.push_back(places);
    const std::vector<any_tensor> made = untyped::scan(
        [&](const std::vector<any_tensor>& carried, const std::vector<any_tensor>& x) {
            const auto beside = [&](std::size_t i) { return untyped::expand_dims(x[i], {2}); };
            any_tensor common = untyped::scalar(1, e);
            for (int d = 0; d < 2; ++d) {
                const any_tensor width =
                    untyped::subtract(untyped::minimum(high[d], beside(static_cast<std::size_t>(2 + d))),
                                      untyped::maximum(low[d], beside(static_cast<std::size_t>(d))));
                common = untyped::multiply(common, untyped::maximum(width, scalar_like(0, width)));
            }
            const any_tensor together = untyped::subtract(untyped::add(area, beside(4)), common);
            const any_tensor covered = untyped::logical_and(untyped::greater(together, scalar_like(0, together)),
                                                            untyped::greater(untyped::divide(common, together), limit));
            const any_tensor own =
                untyped::any(untyped::logical_and(carried[0], untyped::equal(places, x[5])), {2}, true);
            const any_tensor taken =
                untyped::logical_and(untyped::logical_and(own, untyped::greater(places, x[5])), covered);
            return carried_and_given{{untyped::logical_and(carried[0], untyped::logical_not(taken))}, {}};
        },
        {left}, xs);
    const any_tensor rank = untyped::cumsum(untyped::cast(made[0], element_type::int64), 2);
    const any_tensor found = untyped::nonzero(untyped::logical_and(made[0], untyped::less_equal(rank, most)));
    c.give(
        untyped::concat({part_along(found, 1, 0, 2), untyped::expand_dims(untyped::gather_nd(order, found), {1})}, 1));
}

inline void nonzero(const call& c) { c.give(untyped::transpose(untyped::nonzero(c.x()))); }

// Rows in order, of which each that differs from the one before is a new one.
inline void unique(const call& c) {
    const any_tensor given = c.x();
    const bool whole = c.attribute("axis") == nullptr;
    const any_tensor x = whole ? reshaped(given, {reshape_op::deduced}) : given;
    if (x.rank() == 0) c.wrong("its input has no dimensions");
    const bool texts = x.element() == element_type::string; // which are numbered as they come
    if (texts && c.integer("sorted", 1) != 0) c.refuse("texts in order");
    if (texts && x.rank() > 1) c.refuse("rows of texts");
    const any_tensor compared = texts ? untyped::unique(x, element_type::int64)[1] : x;
    const int axis = whole ? 0 : axis_in(c, c.integer("axis", 0), x.rank());
    std::int64_t width = 1;
    for (int d = 0; d < x.rank(); ++d)
        if (d != axis)
            width = within(c, width * number_of(c, x.extents()[d], "a size"), 1, 256,
                           "the number of elements that are compared");
    if (x.extents()[axis] == extent(0)) c.refuse("a tensor without elements");
    const any_tensor rows = reshaped(untyped::moveaxis(compared, axis, 0), {reshape_op::copied(0), width});
    any_tensor order = untyped::arange_like(rows, element_type::int64, 0);
    for (std::int64_t k = width; k-- > 0;) { // by the last column first, each time keeping the order before
        const any_tensor column = untyped::squeeze(part_along(rows, 1, k, k + 1), {1});
        const any_tensor number = is_numeric(column.element()) ? column : untyped::cast(column, element_type::uint8);
        order = untyped::gather(order, untyped::argsort(untyped::gather(number, order, 0), 0), 0);
    }
    const any_tensor sorted = untyped::gather(rows, order, 0);
    const any_tensor differs =
        untyped::any(untyped::not_equal(part_along(sorted, 0, 1, unbounded), part_along(sorted, 0, 0, -1)), {1});
    const any_tensor is_new =
        untyped::concat({untyped::broadcast_to(untyped::scalar(1, element_type::boolean), {1}), differs}, 0);
    const any_tensor group = untyped::subtract(untyped::cumsum(untyped::cast(is_new, element_type::int64), 0), 1);
    any_tensor first = untyped::boolean_mask(order, is_new),
               inverse = untyped::scatter_along_axis(untyped::zeros_like(order), order, group, 0);
    if (c.integer("sorted", 1) == 0) { // as they come
        const any_tensor by_place = untyped::argsort(first, 0);
        first = untyped::gather(first, by_place, 0);
        inverse = untyped::gather(untyped::argsort(by_place, 0), inverse, 0);
    }
    c.give(untyped::gather(x, first, axis), 0);
    c.give(first, 1);
    c.give(inverse, 2);
    if (c.wants(3))
        c.give(untyped::scatter_add_along_axis(untyped::zeros_like(first), inverse, untyped::ones_like(inverse), 0), 3);
}

TENON_INLINE std::vector<entry> detection_operators() {
    return {{"NonMaxSuppression", non_max_suppression}, {"NonZero", onnx::nonzero}, {"Unique", onnx::unique}};
}

} // namespace tenon::detail::onnx
