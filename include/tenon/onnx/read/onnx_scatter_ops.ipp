#pragma once

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/reduce/sort.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/indexed.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ONNX that put elements and slices in places of a tensor.

namespace tenon::detail::onnx {

TENON_INLINE any_tensor tuples_from_the_start(const call& c, std::int64_t batch) {
    const any_tensor x = c.x(), given = c.x(1);
    if (!is_integer(given.element()) || given.rank() < 1) c.wrong("its indices are no lists of integers");
    const any_tensor at = given.element() == element_type::int32 ? given : untyped::cast(given, element_type::int64);
    const std::int64_t depth = number_of(c, at.extents()[at.rank() - 1], "the number of indices");
    if (batch < 0 || batch + depth > x.rank())
        c.wrong("it has " + std::to_string(depth) + " indices for " + std::to_string(x.rank()) + " dimensions");
    if (depth == 0) return at;
    std::vector<any_tensor> sizes;
    for (std::int64_t d = 0; d < depth; ++d) sizes.push_back(size_of_axis(x, static_cast<int>(batch + d)));
    const any_tensor all = untyped::cast(untyped::stack(sizes, 0), at.element());
    return untyped::select(untyped::less(at, 0), untyped::add(at, all), at);
}

// Of updates of one place the last stays: with the largest last that is the largest.
inline any_tensor scattered_extremes(const any_tensor& x, const any_tensor& at, const any_tensor& updates, int axis,
                                     bool largest) {
    const any_tensor order = untyped::argsort(updates, axis, {.descending = !largest});
    const any_tensor y = untyped::scatter_along_axis(x, untyped::take_along_axis(at, order, axis),
                                                     untyped::take_along_axis(updates, order, axis), axis);
    return largest ? untyped::maximum(x, y) : untyped::minimum(x, y);
}
// Each update is compared with each place: a product has no order to be had by sorting.
inline any_tensor scattered_products(const any_tensor& x, const any_tensor& at, const any_tensor& updates, int axis) {
    const any_tensor last =
        untyped::expand_dims(untyped::cast(untyped::moveaxis(at, axis, -1), element_type::int64), {-1});
    const any_tensor factors = untyped::expand_dims(untyped::moveaxis(updates, axis, -1), {-1});
    const any_tensor hits = untyped::select(untyped::equal(last, untyped::arange_like(x, element_type::int64, axis)),
                                            factors, scalar_like(1, updates));
    return untyped::multiply(x, untyped::moveaxis(untyped::prod(hits, {-2}), -1, axis));
}
inline any_tensor scattered_along(const call& c, const any_tensor& x, const any_tensor& at, const any_tensor& updates,
                                  int axis, const std::string& how) {
    if (how == "none") return untyped::scatter_along_axis(x, at, updates, axis);
    if (how == "add") return untyped::scatter_add_along_axis(x, at, updates, axis);
    if (how == "max" || how == "min") return scattered_extremes(x, at, updates, axis, how == "max");
    if (how == "mul") return scattered_products(x, at, updates, axis);
    c.wrong("its reduction is \"" + how + '"');
}

inline void scatter_elements(const call& c) {
    any_tensor x = c.x(), updates = c.x(2);
    const int axis = axis_in(c, c.integer("axis", 0), x.rank());
    any_tensor at = from_the_start(c, 1, x, axis);
    if (at.rank() != x.rank() || updates.rank() != x.rank())
        c.wrong("its operands have " + std::to_string(x.rank()) + ", " + std::to_string(at.rank()) + " and " +
                std::to_string(updates.rank()) + " dimensions");
    const std::vector<any_tensor> all = agreed(c, {x, at, updates}, axis), both = agreed(c, {all[1], all[2]});
    x = all[0], at = both[0], updates = both[1];
    // Where there are fewer indices along other dimensions, what they do not reach stays.
    any_tensor part = x;
    std::vector<std::pair<int, any_tensor>> rests;
    for (int d = 0; d < x.rank(); ++d) {
        const extent &own = part.extents()[d], &theirs = at.extents()[d];
        if (d == axis || !own.is_number() || !theirs.is_number() || theirs.size >= own.size) continue;
        rests.emplace_back(d, part_along(part, d, theirs.size, own.size));
        part = part_along(part, d, 0, theirs.size);
    }
    any_tensor y = scattered_along(c, part, at, updates, axis, c.text("reduction", "none"));
    for (auto rest = rests.rbegin(); rest != rests.rend(); ++rest) y = untyped::concat({y, rest->second}, rest->first);
    c.give(y);
}

inline void scatter_slices(const call& c) { // ScatterND
    any_tensor x = c.x(), at = tuples_from_the_start(c, 0), updates = c.x(2);
    const int tuples = at.rank() - 1, behind = x.rank() + tuples - updates.rank();
    for (int d = 0; d < updates.rank() && behind >= 0; ++d) // the sizes of the indices, then those of a slice
        if (d < tuples) agree(c, at, d, updates, d);
        else if (d - tuples + behind < x.rank()) agree(c, x, d - tuples + behind, updates, d);
    const std::string how = c.text("reduction", "none");
    if (how == "none") return c.give(untyped::scatter_nd(x, at, updates));
    if (how == "add") return c.give(untyped::scatter_nd_add(x, at, updates));
    // Rows of a matrix: x as one whose rows are what tuples name, and a row's number for each tuple.
    const int depth = static_cast<int>(number_of(c, at.extents()[at.rank() - 1], "the number of indices"));
    any_tensor row = untyped::scalar(0, element_type::int64);
    checked_size rows = 1, width = 1, count = 1;
    for (int d = 0; d < depth; ++d) {
        const std::int64_t n = number_of(c, x.extents()[d], "a size");
        const any_tensor index = untyped::squeeze(part_along(at, at.rank() - 1, d, d + 1), {at.rank() - 1});
        row = untyped::add(untyped::multiply(row, n), untyped::cast(index, element_type::int64));
        rows *= n;
    }
    for (int d = depth; d < x.rank(); ++d) width *= number_of(c, x.extents()[d], "a size");
    for (int d = 0; d + 1 < at.rank(); ++d) count *= number_of(c, at.extents()[d], "a size of the indices");
    const std::int64_t w = width.saturated(), k = count.saturated();
    const any_tensor places = untyped::broadcast_to(reshaped(row, {k, 1}), {k, w});
    c.give(untyped::reshape_like(
        scattered_along(c, reshaped(x, {rows.saturated(), w}), places, reshaped(updates, {k, w}), 0, how), x));
}

// Rows of a cache, from where each sequence says: [batch, .., time, ..].
inline void tensor_scatter(const call& c) {
    const any_tensor x = c.x(), update = c.x(1);
    if (update.rank() != x.rank())
        c.wrong("its operands have " + std::to_string(x.rank()) + " and " + std::to_string(update.rank()) +
                " dimensions");
    const int axis = axis_in(c, c.integer("axis", -2), x.rank());
    std::vector<std::int64_t> along(static_cast<std::size_t>(x.rank()), 1), batch = along;
    along[static_cast<std::size_t>(axis)] = reshape_op::deduced;
    batch[0] = reshape_op::deduced;
    any_tensor at = reshaped(untyped::arange_like(update, element_type::int64, axis), along);
    if (c.has(2)) at = untyped::add(at, reshaped(untyped::cast(c.x(2), element_type::int64), batch));
    const std::string mode = c.text("mode", "linear");
    if (mode == "circular") at = untyped::mod(at, size_of_axis(x, axis));
    else if (mode != "linear") c.wrong("its mode is \"" + mode + '"');
    c.give(untyped::scatter_along_axis(x, untyped::broadcast_like(at, update), update, axis));
}

TENON_INLINE std::vector<entry> scatter_operators() {
    return {{"Scatter", scatter_elements},
            {"ScatterElements", scatter_elements},
            {"ScatterND", scatter_slices},
            {"TensorScatter", tensor_scatter}};
}

} // namespace tenon::detail::onnx
