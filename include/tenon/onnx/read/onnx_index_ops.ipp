#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/core/text/number_text.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/onnx/onnx_call.hpp>
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

/// Operators of ONNX that take parts of tensors, by bounds and by indices, put elements around them, and resize images.

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
    c.give(untyped::take_along_axis(x, at, axis));
}
inline void gather_nd(const call& c) {
    c.give(untyped::gather_nd(c.x(), tuples_from_the_start(c, c.integer("batch_dims", 0)),
                              static_cast<int>(within(c, c.integer("batch_dims", 0), 0, max_rank, "batch_dims"))));
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
inline void slice(const call& c) {
    const any_tensor x = c.x();
    std::vector<std::int64_t> begins, ends, axes, steps;
    if (c.opset() < 10) {
        begins = c.integers("starts");
        ends = c.integers("ends");
        axes = c.integers("axes");
    } else {
        begins = c.integers(1, "the starts");
        ends = c.integers(2, "the ends");
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
    for (std::size_t i = 0; i < begins.size(); ++i) {
        const int axis = axis_in(c, axes[i], x.rank());
        ranges[static_cast<std::size_t>(axis)] = clamped(c, begins[i], ends[i], steps[i], x.extents()[axis]);
    }
    value v{untyped::slice(x, ranges), {}, {}};
    if (c.in(0).sizes && begins.size() == 1) {
        const auto& from = *c.in(0).sizes;
        const range r = clamped(c, begins[0], ends[0], steps[0], extent(static_cast<std::int64_t>(from.size())));
        if (r.step > 0) {
            v.sizes.emplace();
            for (std::int64_t i = r.begin; i < r.end; i += r.step)
                v.sizes->push_back(from[static_cast<std::size_t>(i)]);
        }
    }
    c.give(std::move(v), 0);
}

inline void pad(const call& c) {
    any_tensor x = c.x();
    const int rank = x.rank();
    const std::vector<std::int64_t> pads = c.has(1) ? c.integers(1, "the paddings") : c.integers("pads");
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
    const double said = c.real(1, "the depth");
    if (!(said >= 0 && said < 1e15)) c.wrong("its depth is " + detail::text_of_number(said));
    const auto depth = static_cast<std::int64_t>(said);
    const any_tensor values = c.x(2);
    const int axis = axis_in(c, c.integer("axis", -1), indices.rank() + 1);
    if (!is_signed_integer(indices.element())) indices = untyped::cast(indices, element_type::int64);
    indices = untyped::select(untyped::less(indices, 0),
                              untyped::add(indices, scalar_like(static_cast<double>(depth), indices)), indices);
    const any_tensor hot = untyped::one_hot(indices, depth, element_type::boolean, axis);
    const auto which = [&](std::int64_t i) { return untyped::squeeze(untyped::slice(values, {{i, i + 1, 1}}), {0}); };
    c.give(untyped::select(hot, which(1), which(0)));
}
inline void compress(const call& c) {
    const any_tensor x = c.x();
    const any_array chosen = c.known(1, "the condition");
    if (chosen.element() != element_type::boolean || chosen.rank() != 1) c.wrong("its condition is no list of bools");
    std::vector<std::int64_t> which;
    for (std::int64_t i = 0; i < chosen.elements(); ++i)
        if (chosen.data<bool>()[i]) which.push_back(i);
    const any_tensor list = integer_constant(which, {static_cast<std::int64_t>(which.size())});
    if (!c.attribute("axis")) return c.give(flat_gather(x, list));
    c.give(untyped::gather(x, list, axis_in(c, c.integer("axis", 0), x.rank())));
}

// Resizing, one dimension after the other: each new element is a sum of `taps` old ones by weights, which sizes alone decide.

struct resized_axis {
    std::vector<std::int64_t> places; // taps times the new size
    std::vector<double> weights;
    std::int64_t size = 0;
    int taps = 1;
};
struct resize_way {
    std::string mode, coordinates, nearest;
    double cubic = -0.75;
    bool exclude_outside = false;
};

inline double nearest_of(double at, const std::string& how) {
    if (how == "floor") return std::floor(at);
    if (how == "ceil") return std::ceil(at);
    if (how == "round_prefer_ceil") return std::floor(at + 0.5);
    return std::ceil(at - 0.5); // round_prefer_floor
}
inline double cubic_weight(double x, double a) {
    x = std::abs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}
inline resized_axis resize_axis(const resize_way& how, std::int64_t from, std::int64_t to, double scale) {
    resized_axis r;
    r.size = to;
    r.taps = how.mode == "nearest" ? 1 : how.mode == "linear" ? 2 : 4;
    for (std::int64_t i = 0; i < to; ++i) {
        const auto out = static_cast<double>(i), n = static_cast<double>(from), m = static_cast<double>(to);
        double at = (out + 0.5) / scale - 0.5; // half_pixel
        if (how.coordinates == "asymmetric") at = out / scale;
        else if (how.coordinates == "align_corners") at = scale * n > 1 ? out * (n - 1) / (scale * n - 1) : 0;
        else if (how.coordinates == "pytorch_half_pixel") at = to > 1 ? at : 0;
        else if (how.coordinates == "half_pixel_symmetric") {
            const double adjusted = m / (scale * n);
            at = n / 2 * (1 - adjusted) + (out + 0.5) / scale - 0.5;
        }
        const auto kept = [&](double place) { return static_cast<std::int64_t>(std::clamp(place, 0.0, n - 1)); };
        if (r.taps == 1) {
            r.places.push_back(kept(nearest_of(at, how.nearest)));
            r.weights.push_back(1);
            continue;
        }
        const double first = std::floor(at) - (r.taps / 2 - 1);
        double weights[4]{}, sum = 0;
        for (int t = 0; t < r.taps; ++t) {
            const double place = first + t;
            weights[t] = r.taps == 2 ? 1 - std::abs(at - place) : cubic_weight(at - place, how.cubic);
            if (how.exclude_outside && (place < 0 || place >= n)) weights[t] = 0;
            sum += weights[t];
        }
        for (int t = 0; t < r.taps; ++t) {
            r.places.push_back(kept(first + t));
            r.weights.push_back(weights[t] / sum);
        }
    }
    return r;
}
inline any_tensor resized(const any_tensor& x, int axis, const resized_axis& r) {
    any_tensor sum;
    for (int t = 0; t < r.taps; ++t) {
        std::vector<std::int64_t> places;
        std::vector<double> weights;
        for (std::size_t i = static_cast<std::size_t>(t); i < r.places.size(); i += static_cast<std::size_t>(r.taps)) {
            places.push_back(r.places[i]);
            weights.push_back(r.weights[i]);
        }
        any_tensor part = untyped::gather(x, integer_constant(places, {r.size}), axis);
        if (r.taps == 1) return part;
        extents beside;
        for (int d = axis; d < x.rank(); ++d) beside.push_back(d == axis ? r.size : 1);
        part = untyped::multiply(part, float_constant(weights, beside, x.element()));
        sum = sum.node() ? untyped::add(sum, part) : part;
    }
    return sum;
}
inline void resize(const call& c) {
    resize_way how{c.text("mode", "nearest"),
                   c.text("coordinate_transformation_mode", c.opset() < 11 ? "asymmetric" : "half_pixel"),
                   c.text("nearest_mode", c.opset() < 11 ? "floor" : "round_prefer_floor"),
                   c.real("cubic_coeff_a", -0.75), c.integer("exclude_outside", 0) != 0};
    if (how.mode == "bilinear") how.mode = "linear"; // of Upsample
    if (how.mode != "nearest" && how.mode != "linear" && how.mode != "cubic") c.refuse("mode \"" + how.mode + '"');
    if (how.coordinates == "tf_crop_and_resize") c.refuse("a part of an image (tf_crop_and_resize)");
    if (c.integer("antialias", 0) != 0) c.refuse("antialias = 1");
    const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch") c.refuse("keep_aspect_ratio_policy \"" + policy + '"');
    const bool last = c.is_last(0);
    any_tensor x = last ? c.last() : c.x();
    const int rank = x.rank();
    const bool former = c.node().op == "Upsample" || c.opset() < 11;
    std::vector<std::int64_t> axes = c.integers("axes");
    if (axes.empty())
        for (int i = 0; i < rank; ++i) axes.push_back(i);
    std::vector<double> scales;
    std::vector<std::int64_t> sizes;
    const int scale_input = former ? 1 : 2;
    if (c.has(3)) sizes = c.integers(3, "the new sizes");
    if (c.has(scale_input) && sizes.empty()) {
        const any_array a = c.known(scale_input, "the scales");
        for (std::int64_t i = 0; a.element() == element_type::float32 && i < a.elements(); ++i)
            scales.push_back(static_cast<double>(a.data<float>()[i]));
    } else if (const attribute_message* a = c.attribute("scales"))
        for (const float f : a->floats) scales.push_back(static_cast<double>(f));
    if ((sizes.empty() ? scales.size() : sizes.size()) != axes.size())
        c.wrong("it says " + std::to_string(sizes.empty() ? scales.size() : sizes.size()) + " sizes for " +
                std::to_string(axes.size()) + " dimensions");
    for (std::size_t i = 0; i < axes.size(); ++i) {
        int axis = axis_in(c, axes[i], rank);
        if (last) axis = axis == 0 ? 0 : axis == 1 ? 3 : axis - 1;
        const extent& e = x.extents()[axis];
        if (sizes.empty() && scales[i] == 1) continue;
        const std::int64_t n = number_of(c, e, "a size that is changed");
        if (n < 1) c.wrong("there is nothing to resize along axis " + std::to_string(axis));
        const double exact = sizes.empty() ? static_cast<double>(n) * scales[i] : static_cast<double>(sizes[i]);
        if (!(exact >= 0 && exact <= static_cast<double>(max_folded)))
            c.wrong("a new size is " + detail::text_of_number(exact));
        const auto to = static_cast<std::int64_t>(exact);
        if (to == n && (sizes.empty() ? scales[i] == 1 : true)) continue;
        x = resized(x, axis, resize_axis(how, n, to, sizes.empty() ? scales[i] : exact / static_cast<double>(n)));
    }
    last ? c.give_last(x) : c.give(x);
}

TENON_INLINE std::vector<entry> index_operators() {
    return {{"Compress", compress},  {"Gather", onnx::gather},  {"GatherElements", gather_elements},
            {"GatherND", gather_nd}, {"OneHot", onnx::one_hot}, {"Pad", onnx::pad},
            {"Resize", resize},      {"Slice", onnx::slice},    {"Upsample", resize}};
}

} // namespace tenon::detail::onnx
