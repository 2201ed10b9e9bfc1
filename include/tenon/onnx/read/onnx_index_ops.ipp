#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/core/text/number_text.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/continued.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexed.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/shape/selection.hpp>

/// Operators of ONNX that take parts of tensors, by bounds and by indices, and put elements around them.

namespace tenon::detail::onnx {

inline void gather(const call& c) {
    const any_tensor x = c.x();
    const int axis = axis_in(c, c.integer("axis", 0), x.rank());
    value v{untyped::gather(x, from_the_start(c, 1, x, axis), axis), {}, {}};
    if (c.in(0).sizes) {
        const auto& from = *c.in(0).sizes;
        const std::vector<std::int64_t> which = c.integers(1, "which sizes are taken");
        v.sizes.emplace();
        for (std::int64_t i : which) {
            i = i < 0 ? i + static_cast<std::int64_t>(from.size()) : i;
            if (i < 0 || i >= static_cast<std::int64_t>(from.size())) c.wrong("an index is outside of the sizes");
            v.sizes->push_back(from[static_cast<std::size_t>(i)]);
        }
    }
    c.give(std::move(v), 0);
}

// Elements of x by their numbers in its memory.
inline any_tensor flat_gather(const any_tensor& x, const any_tensor& numbers) {
    return untyped::gather(reshaped(x, {reshape_op::deduced}), numbers, 0);
}
inline void gather_elements(const call& c) {
    any_tensor x = c.x(), at = c.x(1);
    const int axis = axis_in(c, c.integer("axis", 0), x.rank());
    if (at.rank() != x.rank())
        c.wrong("its operands have " + std::to_string(x.rank()) + " and " + std::to_string(at.rank()) + " dimensions");
    at = from_the_start(c, 1, x, axis);
    for (int d = 0; d < x.rank(); ++d) { // of other dimensions there may be fewer indices
        const extent &own = x.extents()[d], &theirs = at.extents()[d];
        if (d != axis && own.is_number() && theirs.is_number() && theirs.size < own.size)
            x = part_along(x, d, 0, theirs.size);
    }
    const std::vector<any_tensor> both = agreed(c, {x, at}, axis);
    c.give(untyped::take_along_axis(both[0], both[1], axis));
}
inline void gather_nd(const call& c) {
    const int batch = static_cast<int>(within(c, c.integer("batch_dims", 0), 0, max_rank, "batch_dims"));
    any_tensor x = c.x(), at = tuples_from_the_start(c, batch);
    for (int d = 0; d < batch && d < std::min(x.rank(), at.rank()); ++d) agree(c, x, d, at, d);
    c.give(untyped::gather_nd(x, at, batch));
}

// As ONNX has them: bounds beyond the dimension are its ends.
inline range clamped(const call& c, std::int64_t begin, std::int64_t end, std::int64_t step, const extent& e) {
    if (step == 0) c.wrong("a step is 0");
    constexpr std::int64_t far = std::numeric_limits<std::int32_t>::max();
    if (!e.is_number()) {
        if (step > 0) return {begin == 0 ? unbounded : begin, end >= far ? unbounded : end, step};
        return {begin >= far || begin == -1 ? unbounded : begin, end <= -far ? unbounded : end, step};
    }
    const std::int64_t n = e.size;
    const auto turned = [n](std::int64_t i) { return i < 0 ? i + n : i; };
    if (step > 0) {
        const std::int64_t b = std::clamp<std::int64_t>(turned(begin), 0, n);
        return {b, std::max(std::clamp<std::int64_t>(end < 0 ? turned(end) : end, 0, n), b),
                std::min(step, std::max<std::int64_t>(n, 1))};
    }
    if (n == 0) return {0, 0, 1};
    const std::int64_t b = std::clamp<std::int64_t>(begin < 0 ? turned(std::max(begin, -n - 1)) : begin, -1, n - 1);
    const std::int64_t low = std::clamp<std::int64_t>(end < 0 ? turned(std::max(end, -n - 1)) : end, -1, n - 1);
    if (b < 0 || low >= b) return {0, 0, 1};
    return {b, low < 0 ? unbounded : low, std::max(step, -n)};
}
// Part of an axis whose bounds are sizes that are known in the step: so many elements from a place on.
inline any_tensor sliced_in_step(const call& c, const any_tensor& x, int axis, std::size_t i, extent begin,
                                 extent end) {
    const extent& own = x.extents()[axis];
    constexpr std::int64_t far = std::numeric_limits<std::int32_t>::max();
    const auto from_end = [](const extent& e) {
        const auto s = sum_of(e);
        return s && is_below_0(*s);
    };
    const auto whole = own.is_dynamic() ? std::nullopt : sum_of(own);
    const bool behind = from_end(begin);
    const auto counted = [&](extent& e) {
        if (!whole) return false;
        const auto s = plus(*whole, *sum_of(e));
        if (s) e = size_of(c, *s);
        return s.has_value();
    };
    if (end.is_number() && end.size >= far) {
        if (!whole) return {};
        end = own;
    } else if (from_end(end) && !counted(end)) return {};
    if (behind && !counted(begin)) return {};
    const auto n = distance(begin, end);
    if (!n) return {};
    any_tensor start;
    if (begin.is_number()) start = untyped::scalar(begin.size, element_type::int64);
    else {
        start = int64_at(c.x(1), static_cast<std::int64_t>(i));
        if (behind) start = untyped::add(start, size_of_axis(x, axis));
    }
    const any_tensor places = counted_to(c, *n, element_type::int64, begin == extent(0) ? any_tensor() : start);
    return places.node() ? untyped::gather(x, places, axis) : any_tensor();
}
// Part of an axis whose bounds are numbers of the step: how much that is a step finds out where it gets there.
inline any_tensor sliced_by_values(const call& c, const any_tensor& x, int axis, std::size_t i, std::int64_t step) {
    if (step < 1) c.refuse("a step below 1 between bounds that are computed in the step");
    const any_tensor n = size_of_axis(x, axis), at = untyped::arange_like(x, element_type::int64, axis);
    const auto list = [&](int input) {
        if (c.opset() >= 10) return c.x(input);
        const std::vector<std::int64_t> said = c.integers(input == 1 ? "starts" : "ends");
        return integer_constant(said, {static_cast<std::int64_t>(said.size())});
    };
    const auto bound = [&](int input) {
        const any_tensor v = int64_at(list(input), static_cast<std::int64_t>(i));
        return untyped::maximum(untyped::select(untyped::less(v, 0), untyped::add(v, n), v), 0);
    };
    const any_tensor begin = bound(1);
    any_tensor chosen = untyped::logical_and(untyped::greater_equal(at, begin), untyped::less(at, bound(2)));
    if (step > 1)
        chosen = untyped::logical_and(chosen, untyped::equal(untyped::mod(untyped::subtract(at, begin), step), 0));
    return untyped::gather(x, untyped::squeeze(untyped::nonzero(chosen), {1}), axis);
}
inline void slice(const call& c) {
    const any_tensor x = c.x();
    std::vector<extent> begins, ends; // of which some may be sizes that are known in the step only
    std::vector<std::int64_t> axes, steps;
    const auto bounds = [&](int i, const char* what) {
        if (c.in(i).sizes) return *c.in(i).sizes;
        std::vector<extent> list;
        const any_tensor t = c.x(i);
        if (!c.known(i) && t.rank() == 1 && t.extents().is_static() && is_integer(t.element())) {
            list.assign(static_cast<std::size_t>(within(c, t.extents().elements(), 0, max_rank, what)), computed_size);
            return list;
        }
        for (const std::int64_t n : c.integers(i, what)) list.push_back(size_entry(n));
        return list;
    };
    if (c.opset() < 10) {
        for (const std::int64_t n : c.integers("starts")) begins.push_back(size_entry(n));
        for (const std::int64_t n : c.integers("ends")) ends.push_back(size_entry(n));
        axes = c.integers("axes");
    } else {
        begins = bounds(1, "the starts");
        ends = bounds(2, "the ends");
        if (c.has(3)) axes = c.integers(3, "the axes");
        if (c.has(4)) steps = c.integers(4, "the steps");
    }
    if (axes.empty())
        for (std::size_t i = 0; i < begins.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    if (steps.empty()) steps.assign(begins.size(), 1);
    if (ends.size() != begins.size() || axes.size() != begins.size() || steps.size() != begins.size())
        c.wrong("it has " + std::to_string(begins.size()) + " starts, " + std::to_string(ends.size()) + " ends, " +
                std::to_string(axes.size()) + " axes and " + std::to_string(steps.size()) + " steps");
    std::vector<range> ranges(static_cast<std::size_t>(x.rank()));
    constexpr std::int64_t far = std::numeric_limits<std::int32_t>::max();
    for (std::size_t i = 0; i < ends.size(); ++i)
        if (ends[i].is_named() && ends[i] == x.extents()[axis_in(c, axes[i], x.rank())]) ends[i] = size_entry(far);
    for (std::size_t i = 0; i < ends.size(); ++i) // whether there are as many is found in the step
        if (const int axis = axis_in(c, axes[i], x.rank());
            ends[i].is_number() && ends[i].size > 0 && ends[i].size < far && steps[i] > 0 && c.is_found(x, axis))
            ends[i] = computed_size;
    const auto is_open = [&](std::size_t i) { return begins[i].is_named() || ends[i].is_named(); };
    for (std::size_t i = 0; i < begins.size(); ++i) {
        const int axis = axis_in(c, axes[i], x.rank());
        if (!is_open(i))
            ranges[static_cast<std::size_t>(axis)] =
                clamped(c, begins[i].size, ends[i].size, steps[i], x.extents()[axis]);
    }
    value v{untyped::slice(x, ranges), {}, {}};
    for (std::size_t i = 0; i < begins.size(); ++i) {
        if (!is_open(i)) continue;
        const int axis = axis_in(c, axes[i], x.rank());
        any_tensor part = steps[i] == 1 ? sliced_in_step(c, v.first, axis, i, begins[i], ends[i]) : any_tensor();
        if (!part.node()) part = sliced_by_values(c, v.first, axis, i, steps[i]);
        v.first = part;
    }
    bool any_open = false;
    for (std::size_t i = 0; i < begins.size(); ++i) any_open = any_open || is_open(i);
    if (!any_open) v.sizes = moved_sizes(c, [&](const any_tensor& t) { return untyped::slice(t, ranges); });
    c.give(std::move(v), 0);
}

// Paddings that are sizes, or computed of such: elements are taken from where they are, or stand in for what is around them.
inline void pad_in_step(const call& c) {
    const std::vector<extent> pads =
        c.in(1).sizes ? *c.in(1).sizes
                      : std::vector<extent>(static_cast<std::size_t>(c.x(1).extents().elements()), computed_size);
    const std::string mode = c.text("mode", "constant");
    if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") c.refuse("mode \"" + mode + '"');
    std::vector<std::int64_t> axes;
    if (c.has(3)) axes = c.integers(3, "the axes");
    else
        for (int i = 0; i < c.x().rank(); ++i) axes.push_back(i);
    if (pads.size() != 2 * axes.size())
        c.wrong("it has " + std::to_string(pads.size()) + " paddings for " + std::to_string(axes.size()) + " axes");
    for (std::int64_t& a : axes) c.name_size(0, static_cast<int>(a = axis_in(c, a, c.x().rank())));
    any_tensor y = c.x();
    const any_tensor outside = c.has(2) ? reshaped(c.x(2), {}) : scalar_like(0, y);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const extent &before = pads[i], &after = pads[i + axes.size()];
        if (before == extent(0) && after == extent(0)) continue;
        const int axis = static_cast<int>(axes[i]);
        const extent own = y.extents()[axis];
        const auto b = sum_of(before), a = sum_of(after), n = own.is_dynamic() ? std::nullopt : sum_of(own);
        const auto around = a && b ? plus(*a, *b) : std::nullopt, all = around && n ? plus(*n, *around) : std::nullopt;
        const auto padding = [&](std::size_t k) { return int64_at(c.x(1), static_cast<std::int64_t>(k)); };
        const any_tensor first = padding(i), size = size_of_axis(y, axis);
        any_tensor counted = all ? counted_to(c, *all, element_type::int64, {}) : any_tensor();
        if (!counted.node())
            if (const auto like =
                    c.with_size(c.size_in_step(untyped::add(untyped::add(first, size), padding(i + axes.size())))))
                counted = untyped::arange_like(like->first, element_type::int64);
        if (!counted.node()) (void)c.known(1, "the paddings"); // which complains
        const any_tensor at = untyped::subtract(counted, first), last = untyped::subtract(size, 1),
                         below = untyped::subtract(last, untyped::abs(at)); // the last, of places that are mirrored
        const any_tensor kept = mode == "reflect" ? untyped::subtract(last, untyped::abs(below))
                                : mode == "wrap"  ? untyped::mod(at, size)
                                                  : untyped::minimum(untyped::maximum(at, 0), last);
        y = untyped::gather(y, kept, axis);
        if (mode != "constant") continue;
        std::vector<std::int64_t> beside{reshape_op::copied(0)};
        beside.resize(static_cast<std::size_t>(y.rank() - axis), 1);
        y = untyped::select(reshaped(untyped::equal(at, kept), beside), y, outside);
    }
    c.give(y);
}
inline void pad(const call& c) {
    if (c.has(1) && c.x(1).extents().is_static() && c.x(1).extents().elements() <= most_sizes && !c.known(1))
        return pad_in_step(c);
    any_tensor x = c.x();
    const int rank = x.rank();
    const std::vector<std::int64_t> pads = c.has(1)              ? c.integers(1, "the paddings")
                                           : c.attribute("pads") ? c.integers("pads")
                                                                 : c.integers("paddings"); // of set 1
    std::vector<std::int64_t> axes;
    if (c.has(3)) axes = c.integers(3, "the axes");
    else
        for (int i = 0; i < rank; ++i) axes.push_back(i);
    if (pads.size() != 2 * axes.size())
        c.wrong("it has " + std::to_string(pads.size()) + " paddings for " + std::to_string(axes.size()) + " axes");
    std::vector<margin> around(static_cast<std::size_t>(rank));
    std::vector<range> kept(static_cast<std::size_t>(rank));
    bool cut = false;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto axis = static_cast<std::size_t>(axis_in(c, axes[i], rank));
        const std::int64_t before = within(c, pads[i], -(std::int64_t{1} << 40), std::int64_t{1} << 40, "a padding"),
                           after = within(c, pads[i + axes.size()], -(std::int64_t{1} << 40), std::int64_t{1} << 40,
                                          "a padding");
        around[axis] = {std::max<std::int64_t>(before, 0), std::max<std::int64_t>(after, 0)};
        if (before < 0) kept[axis].begin = -before;
        if (after < 0) kept[axis].end = after;
        cut = cut || before < 0 || after < 0;
    }
    const std::string mode = c.text("mode", "constant");
    if (mode == "constant") {
        if (cut) x = untyped::slice(x, kept);
        number v = 0;
        if (c.has(2)) {
            const any_array a = c.known(2, "the value");
            if (a.elements() != 1) c.wrong("its value has " + std::to_string(a.elements()) + " elements");
            v = with_element(a.element(), [&]<class T>(const T&) -> number {
                if constexpr (std::is_same_v<T, std::string>) return 0;
                else if constexpr (std::is_same_v<T, bool>) return static_cast<int>(a.data<T>()[0]);
                else return a.data<T>()[0];
            });
        } else if (c.attribute("value")) v = c.real("value", 0);
        return c.give(untyped::pad(x, around, v));
    }
    if (mode != "reflect" && mode != "edge" && mode != "wrap") c.refuse("mode \"" + mode + '"');
    if (cut) c.refuse("paddings below 0 in mode \"" + mode + '"');
    c.give(untyped::pad(x, around,
                        mode == "reflect" ? pad_mode::reflect
                        : mode == "edge"  ? pad_mode::edge
                                          : pad_mode::wrap));
}

inline void one_hot(const call& c) {
    any_tensor indices = c.x();
    if (is_floating(indices.element())) indices = untyped::cast(indices, element_type::int64);
    const int axis = axis_in(c, c.integer("axis", -1), indices.rank() + 1);
    const any_tensor values = c.x(2);
    const auto which = [&](std::int64_t i) { return untyped::squeeze(untyped::slice(values, {{i, i + 1, 1}}), {0}); };
    if (!c.known(1)) { // as many as the step says
        const auto said = c.sizes_in_step(1);
        const auto like = said && said->size() == 1 ? c.with_size(said->at(0)) : std::nullopt;
        if (!like) (void)c.known(1, "the depth"); // which complains
        const any_tensor at = untyped::expand_dims(untyped::cast(indices, element_type::int64), {axis}),
                         depth = size_of_axis(like->first, like->second);
        std::vector<std::int64_t> along{reshape_op::copied(0)};
        along.resize(static_cast<std::size_t>(indices.rank() - axis + 1), 1);
        const any_tensor places = reshaped(untyped::arange_like(like->first, element_type::int64, like->second), along);
        const any_tensor from_start = untyped::select(untyped::less(at, 0), untyped::add(at, depth), at);
        return c.give(untyped::select(untyped::equal(from_start, places), which(1), which(0)));
    }
    const double said = c.real(1, "the depth");
    if (!(said >= 0 && said < 1e15)) c.wrong("its depth is " + detail::text_of_number(said));
    const auto depth = static_cast<std::int64_t>(said);
    if (!is_signed_integer(indices.element())) indices = untyped::cast(indices, element_type::int64);
    indices = untyped::select(untyped::less(indices, 0),
                              untyped::add(indices, scalar_like(static_cast<double>(depth), indices)), indices);
    const any_tensor hot = untyped::one_hot(indices, depth, element_type::boolean, axis);
    c.give(untyped::select(hot, which(1), which(0)));
}
inline void compress(const call& c) {
    const any_tensor x = c.x();
    if (c.x(1).element() != element_type::boolean || c.x(1).rank() != 1) c.wrong("its condition is no list of bools");
    any_tensor list;
    if (const std::optional<any_array> chosen = c.known(1)) {
        std::vector<std::int64_t> which;
        for (std::int64_t i = 0; i < chosen->elements(); ++i)
            if (chosen->data<bool>()[i]) which.push_back(i);
        list = integer_constant(which, {static_cast<std::int64_t>(which.size())});
    } else list = untyped::squeeze(untyped::nonzero(c.x(1)), {1});
    if (!c.attribute("axis")) return c.give(flat_gather(x, list));
    c.give(untyped::gather(x, list, axis_in(c, c.integer("axis", 0), x.rank())));
}

// Parts of as many as the step says, or equal ones of what it knows.
inline void split_in_step(const call& c, int axis, std::int64_t parts) {
    c.name_size(0, axis);
    const any_tensor x = c.x(), n = size_of_axis(x, axis);
    const auto said = c.has(1) ? c.sizes_in_step(1) : std::nullopt;
    if (c.has(1) && (!said || static_cast<std::int64_t>(said->size()) != parts))
        (void)c.known(1, "the sizes of the parts");
    const auto whole = x.extents()[axis].is_dynamic() ? std::nullopt : sum_of(x.extents()[axis]),
               each = whole ? part_of(c, *whole, parts, true) : std::nullopt,
               all = each ? times(*each, *sum_of(size_entry(parts))) : std::nullopt;
    const any_tensor most = untyped::divide(untyped::add(n, parts - 1), parts);
    any_tensor begin = untyped::scalar(0, element_type::int64);
    for (std::int64_t i = 0; i < parts; ++i) {
        const any_tensor size = c.has(1) ? int64_at(c.x(1), i) : untyped::minimum(untyped::subtract(n, begin), most);
        const auto like = c.with_size(c.has(1)                         ? said->at(static_cast<std::size_t>(i))
                                      : all && whole && *all == *whole ? size_of(c, *each)
                                                                       : c.size_in_step(size));
        if (!like) c.refuse("the sizes of its parts are known in the step only");
        c.give(untyped::gather(
                   x, untyped::add(untyped::arange_like(like->first, element_type::int64, like->second), begin), axis),
               static_cast<int>(i));
        begin = untyped::add(begin, size);
    }
}
inline void split(const call& c) {
    const any_tensor x = c.x();
    const int axis = axis_in(c, c.integer("axis", 0), x.rank());
    const auto parts = static_cast<std::int64_t>(c.node().outputs.size());
    if (c.has(1) ? !c.known(1) : !x.extents()[axis].is_number() && c.integers("split").empty())
        return split_in_step(c, axis, parts);
    std::vector<std::int64_t> sizes = c.has(1) ? c.integers(1, "the sizes of the parts") : c.integers("split");
    if (sizes.empty()) {
        const std::int64_t n = number_of(c, x.extents()[axis], "the size that is split");
        if (c.integer("num_outputs", parts) != parts) c.wrong("it has " + std::to_string(parts) + " outputs");
        const std::int64_t each = (n + parts - 1) / parts;
        for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<std::int64_t>(n - i * each, 0, each));
    }
    if (static_cast<std::int64_t>(sizes.size()) != parts)
        c.wrong("it says " + std::to_string(sizes.size()) + " sizes for " + std::to_string(parts) + " outputs");
    std::int64_t at = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] < 0 || at > std::numeric_limits<std::int64_t>::max() - sizes[i])
            c.wrong("a part's size is not possible");
        std::vector<range> ranges(static_cast<std::size_t>(axis) + 1);
        ranges.back() = {at, at + sizes[i], 1};
        c.give(untyped::slice(x, ranges), static_cast<int>(i));
        at += sizes[i];
    }
}

TENON_INLINE std::vector<entry> index_operators() {
    return {{"Compress", compress},  {"Gather", onnx::gather},  {"GatherElements", gather_elements},
            {"GatherND", gather_nd}, {"OneHot", onnx::one_hot}, {"Pad", onnx::pad},
            {"Slice", onnx::slice},  {"Split", onnx::split}};
}

} // namespace tenon::detail::onnx
