#pragma once

#include <cmath>

#include <tenon/onnx/onnx_windows.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexed.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ONNX that read images between their pixels, at places that are computed.

namespace tenon::detail::onnx {

inline any_tensor clamped_to(const any_tensor& x, double low, const any_tensor& high) {
    return untyped::minimum(untyped::maximum(x, scalar_like(low, x)), high);
}
// Mirrored at both borders, on and on.
inline any_tensor mirrored(const any_tensor& x, double low, const any_tensor& high) {
    const any_tensor width = untyped::maximum(untyped::subtract(high, scalar_like(low, x)), scalar_like(1e-6, x)),
                     around = untyped::add(width, width);
    const any_tensor t = untyped::mod(untyped::subtract(x, scalar_like(low, x)), around);
    return untyped::add(untyped::minimum(t, untyped::subtract(around, t)), scalar_like(low, x));
}
// Of dimension `axis` of x, less a number.
inline any_tensor size_less(const any_tensor& x, int axis, double less, element_type e) {
    return untyped::subtract(untyped::cast(size_of_axis(x, axis), e), untyped::scalar(less, e));
}

struct image_sampler {
    image_sampler(const call& of, const any_tensor& x) : c(of), images(x) {
        channels = number_of(c, x.extents()[1], "the number of channels");
        // A row of channels for each pixel.
        pixels = untyped::transpose(reshaped(x, {reshape_op::copied(0), channels, reshape_op::deduced}), {0, 2, 1});
    }
    double low() const { return aligned ? 0 : -0.5; }
    any_tensor high(std::size_t d, element_type e) const { return less(d, aligned ? 1 : 0.5, e); }
    any_tensor less(std::size_t d, double n, element_type e) const {
        return size_less(images, static_cast<int>(d) + 2, n, e);
    }

    // [n, p, channels] at whole places, of which there is one for each dimension: [n, p].
    any_tensor pixel(const std::vector<any_tensor>& at) const {
        any_tensor number, inside;
        for (std::size_t d = 0; d < at.size(); ++d) {
            any_tensor i = at[d];
            const any_tensor last = less(d, 1, i.element());
            if (outside == "reflection") i = untyped::round(mirrored(i, low(), high(d, i.element())));
            else if (outside == "zeros") {
                const any_tensor in =
                    untyped::logical_and(untyped::greater_equal(i, scalar_like(0, i)), untyped::less_equal(i, last));
                inside = inside.node() ? untyped::logical_and(inside, in) : in;
            }
            i = untyped::cast(clamped_to(i, 0, last), element_type::int64);
            number = number.node()
                         ? untyped::add(untyped::multiply(number, size_of_axis(images, static_cast<int>(d) + 2)), i)
                         : i;
        }
        const any_tensor values = untyped::gather_nd(pixels, untyped::expand_dims(number, {-1}), 1);
        if (!inside.node()) return values;
        return untyped::select(untyped::expand_dims(inside, {-1}), values, scalar_like(0, values));
    }
    // Between pixels: a sum over those around, of which each dimension has as many as weights.
    any_tensor between(const std::vector<any_tensor>& at) const {
        if (mode == "nearest") {
            std::vector<any_tensor> whole;
            for (const any_tensor& x : at) whole.push_back(untyped::round(x));
            return pixel(whole);
        }
        const int taps = mode == "linear" ? 2 : 4;
        std::vector<std::vector<any_tensor>> weights;
        std::vector<any_tensor> first;
        for (const any_tensor& x : at) {
            const any_tensor floor = untyped::floor(x), t = untyped::subtract(x, floor);
            first.push_back(taps == 2 ? floor : untyped::subtract(floor, scalar_like(1, floor)));
            weights.emplace_back();
            for (int k = 0; k < taps; ++k) weights.back().push_back(weight(t, k, taps));
        }
        any_tensor sum;
        int all = 1;
        for (std::size_t d = 0; d < at.size(); ++d) all *= taps;
        for (int n = 0; n < all; ++n) {
            std::vector<any_tensor> places;
            any_tensor factor;
            int left = n;
            for (std::size_t d = 0; d < at.size(); ++d, left /= taps) {
                const int k = left % taps;
                places.push_back(untyped::add(first[d], scalar_like(k, first[d])));
                const any_tensor& w = weights[d][static_cast<std::size_t>(k)];
                factor = factor.node() ? untyped::multiply(factor, w) : w;
            }
            const any_tensor values = pixel(places);
            const any_tensor part =
                untyped::multiply(values, untyped::cast(untyped::expand_dims(factor, {-1}), values.element()));
            sum = sum.node() ? untyped::add(sum, part) : part;
        }
        return sum;
    }
    // Of the pixel number k around, at t behind the one before: R. Keys, Cubic convolution interpolation, 1981, with a = -0.75.
    static any_tensor weight(const any_tensor& t, int k, int taps) {
        const auto number = [&](double v) { return scalar_like(v, t); };
        if (taps == 2) return k == 0 ? untyped::subtract(number(1), t) : t;
        constexpr double a = -0.75;
        const any_tensor x = untyped::abs(untyped::subtract(t, number(k - 1)));
        const auto polynomial = [&](double cube, double square, double line, double one) {
            return untyped::add(
                untyped::multiply(
                    untyped::add(untyped::multiply(untyped::add(untyped::multiply(x, number(cube)), number(square)), x),
                                 number(line)),
                    x),
                number(one));
        };
        return k == 1 || k == 2 ? polynomial(a + 2, -(a + 3), 0, 1) : polynomial(a, -5 * a, 8 * a, -4 * a);
    }

    const call& c;
    any_tensor images;
    std::string mode = "linear", outside = "zeros"; // zeros, border, reflection
    bool aligned = true;                            // whether borders are the outermost pixels' centres, or their edges
    std::int64_t channels = 0;
    any_tensor pixels;
};

inline any_tensor part_of_last(const any_tensor& x, std::int64_t i) {
    return untyped::squeeze(part_along(x, x.rank() - 1, i, i + 1), {x.rank() - 1});
}
inline void grid_sample(const call& c) {
    any_tensor x = c.x(), grid = c.x(1);
    const int dims = x.rank() - 2;
    if (dims < 1 || dims > 3 || grid.rank() != x.rank())
        c.wrong("its operands have " + std::to_string(x.rank()) + " and " + std::to_string(grid.rank()) +
                " dimensions");
    agree(c, x, 0, grid, 0);
    image_sampler s(c, x);
    s.mode = c.text("mode", "linear");
    if (s.mode == "bilinear") s.mode = "linear";
    if (s.mode == "bicubic") s.mode = "cubic";
    s.outside = c.text("padding_mode", "zeros");
    s.aligned = c.integer("align_corners", 0) != 0;
    if (s.mode != "linear" && s.mode != "cubic" && s.mode != "nearest") c.wrong("its mode is \"" + s.mode + '"');
    if (s.outside != "zeros" && s.outside != "border" && s.outside != "reflection")
        c.wrong("its padding_mode is \"" + s.outside + '"');
    const any_tensor flat = reshaped(grid, {reshape_op::copied(0), reshape_op::deduced, dims});
    std::vector<any_tensor> at;
    for (std::size_t d = 0; d < static_cast<std::size_t>(dims); ++d) {
        const any_tensor n = part_of_last(flat, dims - 1 - static_cast<int>(d)); // -1 and 1 are the borders
        const any_tensor low = scalar_like(s.low(), n), high = s.high(d, n.element()),
                         half = untyped::multiply(untyped::subtract(high, low), scalar_like(0.5, n));
        any_tensor place = untyped::add(untyped::multiply(untyped::add(n, scalar_like(1, n)), half), low);
        if (s.mode == "nearest") place = untyped::round(place);
        if (s.outside == "border") place = clamped_to(place, 0, s.less(d, 1, n.element()));
        if (s.outside == "reflection") { // places inside are as they are
            const any_tensor inside =
                untyped::logical_and(untyped::greater_equal(place, low), untyped::less_equal(place, high));
            place = untyped::select(inside, place, mirrored(place, s.low(), high));
        }
        at.push_back(place);
    }
    // [n, places, channels] as the grid's places are.
    const any_tensor row = untyped::broadcast_to(scalar_like(0, grid), {s.channels}),
                     like = untyped::add(part_along(grid, grid.rank() - 1, 0, 1), row);
    c.give(untyped::moveaxis(untyped::reshape_like(s.between(at), like), -1, 1));
}

inline void affine_grid(const call& c) {
    const any_tensor theta = c.x();
    const std::vector<std::int64_t> said = c.integers(1, "the sizes");
    const auto dims = static_cast<std::int64_t>(said.size()) - 2;
    if (theta.rank() != 3 || dims < 2 || dims > 3) c.wrong("its operands are no transformations and sizes of images");
    std::int64_t count = 1;
    for (std::size_t i = 2; i < said.size(); ++i)
        count = within(c, count * within(c, said[i], 0, max_folded, "a size"), 0, max_computed, "the size of the grid");
    const bool aligned = c.integer("align_corners", 0) != 0;
    std::vector<double> base; // x, y, .., 1 for each pixel
    for (std::int64_t p = 0; p < count; ++p) {
        std::int64_t left = p;
        for (std::size_t i = said.size(); i-- > 2; left /= said[i]) {
            const auto n = static_cast<double>(said[i]), at = static_cast<double>(left % said[i]);
            base.push_back(aligned ? (n > 1 ? 2 * at / (n - 1) - 1 : 0) : (2 * at + 1) / n - 1);
        }
        base.push_back(1);
    }
    std::vector<std::int64_t> sizes{reshape_op::copied(0)};
    sizes.insert(sizes.end(), said.begin() + 2, said.end());
    sizes.push_back(dims);
    const any_tensor pixels = float_constant(base, {count, dims + 1}, theta.element());
    c.give(reshaped(untyped::matmul(pixels, theta, false, true), sizes));
}

inline void region_align(const call& c) { // RoiAlign
    const any_tensor x = c.x(), regions = c.x(1), images = untyped::cast(c.x(2), element_type::int64);
    if (x.rank() != 4 || regions.rank() != 2 || images.rank() != 1)
        c.wrong("its operands are no images, regions and numbers of images");
    const std::int64_t channels = number_of(c, x.extents()[1], "the number of channels"),
                       rows = within(c, c.integer("output_height", 1), 1, 1 << 12, "output_height"),
                       columns = within(c, c.integer("output_width", 1), 1, 1 << 12, "output_width"),
                       samples = within(c, c.integer("sampling_ratio", 0), 0, 64, "sampling_ratio");
    if (samples == 0) c.refuse("sampling_ratio = 0, by which the regions' sizes say how many samples there are");
    const double scale = c.real("spatial_scale", 1);
    const bool half =
        c.text("coordinate_transformation_mode", c.opset() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
    const std::string mode = c.text("mode", "avg");
    if (mode != "avg" && mode != "max") c.wrong("its mode is \"" + mode + '"');
    // Of one dimension: [regions, samples] the pixels before and after, weights of both, 0 outside of the image.
    struct side {
        any_tensor before, after, near, far;
    };
    const auto along = [&](int first, int axis, std::int64_t bins) {
        const any_tensor begin = untyped::subtract(
                             untyped::multiply(part_along(regions, 1, first, first + 1), scalar_like(scale, regions)),
                             scalar_like(half ? 0.5 : 0, regions)),
                         end = untyped::subtract(untyped::multiply(part_along(regions, 1, first + 2, first + 3),
                                                                   scalar_like(scale, regions)),
                                                 scalar_like(half ? 0.5 : 0, regions));
        any_tensor size = untyped::subtract(end, begin);
        if (!half) size = untyped::maximum(size, scalar_like(1, size));
        std::vector<double> parts; // of the region's size
        for (std::int64_t i = 0; i < bins * samples; ++i)
            parts.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(bins * samples));
        const any_tensor at =
            untyped::add(begin, untyped::multiply(size, float_constant(parts, {bins * samples}, regions.element())));
        const any_tensor n = size_less(x, axis, 0, at.element()), last = size_less(x, axis, 1, at.element());
        const any_tensor inside = untyped::cast(
            untyped::logical_and(untyped::greater_equal(at, scalar_like(-1, at)), untyped::less_equal(at, n)),
            at.element());
        const any_tensor place = clamped_to(at, 0, last), before = untyped::floor(place),
                         behind = untyped::subtract(place, before);
        return side{
            untyped::cast(before, element_type::int64),
            untyped::cast(untyped::minimum(untyped::add(before, scalar_like(1, at)), last), element_type::int64),
            untyped::multiply(untyped::subtract(scalar_like(1, at), behind), inside),
            untyped::multiply(behind, inside)};
    };
    const side v = along(1, 2, rows), h = along(0, 3, columns);
    const any_tensor height = size_of_axis(x, 2), width = size_of_axis(x, 3);
    const any_tensor pixels = reshaped(untyped::transpose(x, {0, 2, 3, 1}), {reshape_op::deduced, channels});
    const any_tensor image = untyped::expand_dims(images, {1, 2});
    any_tensor all;
    for (int corner = 0; corner < 4; ++corner) {
        const any_tensor row = untyped::expand_dims(corner < 2 ? v.before : v.after, {2}),
                         column = untyped::expand_dims(corner % 2 == 0 ? h.before : h.after, {1});
        const any_tensor number =
            untyped::add(untyped::multiply(untyped::add(untyped::multiply(image, height), row), width), column);
        const any_tensor weight = untyped::multiply(untyped::expand_dims(corner < 2 ? v.near : v.far, {2}),
                                                    untyped::expand_dims(corner % 2 == 0 ? h.near : h.far, {1}));
        const any_tensor part = untyped::multiply(untyped::gather(pixels, number, 0),
                                                  untyped::cast(untyped::expand_dims(weight, {-1}), x.element()));
        all = !all.node() ? part : mode == "avg" ? untyped::add(all, part) : untyped::maximum(all, part);
    }
    all = reshaped(all, {reshape_op::copied(0), rows, samples, columns, samples, channels});
    c.give(untyped::transpose(mode == "avg" ? untyped::mean(all, {2, 4}) : untyped::max(all, {2, 4}), {0, 3, 1, 2}));
}

// A convolution whose windows take pixels from where offsets say: [n, groups * places * 2, rows, columns].
inline void deformed_convolution(const call& c) {
    const any_tensor x = c.x(), w = c.x(1), offsets = c.x(2);
    if (x.rank() != 4 || w.rank() != 4 || offsets.rank() != 4) c.refuse("windows that are not of two dimensions");
    const auto number = [&](const any_tensor& t, int i) {
        return within(c, number_of(c, t.extents()[i], "a size of its operands"), 1, std::int64_t{1} << 30,
                      "a size of its operands");
    };
    const std::int64_t channels = number(x, 1), outputs = number(w, 0), kh = small(c, number(w, 2), "the window"),
                       kw = small(c, number(w, 3), "the window"), places = kh * kw, rows = number(offsets, 2),
                       columns = number(offsets, 3), groups = within(c, c.integer("group", 1), 1, channels, "group"),
                       offset_groups = within(c, c.integer("offset_group", 1), 1, channels, "offset_group"),
                       count = rows * columns;
    (void)within(c, (checked_size(places) * count).saturated(), 1, max_computed,
                 "the number of pixels that windows take");
    if (channels % groups != 0 || outputs % groups != 0 || channels % offset_groups != 0)
        c.wrong("its channels are not of as many groups");
    const auto sides = window_sides(c, {x.extents()[2], x.extents()[3]}, {kh, kw});
    const element_type e = offsets.element();
    const std::int64_t n = reshape_op::copied(0);
    const any_tensor moves = reshaped(offsets, {n, offset_groups, kh, kw, 2, rows, columns});
    std::vector<double> at[2]; // of each place of each window, before it is moved
    for (std::int64_t i = 0; i < kh * kw; ++i)
        for (std::int64_t o = 0; o < count; ++o) {
            at[0].push_back(
                static_cast<double>(o / columns * sides[0].stride - sides[0].before + i / kw * sides[0].dilation));
            at[1].push_back(
                static_cast<double>(o % columns * sides[1].stride - sides[1].before + i % kw * sides[1].dilation));
        }
    std::vector<any_tensor> parts;
    for (std::int64_t g = 0; g < offset_groups; ++g) {
        const std::int64_t each = channels / offset_groups;
        const any_tensor own = part_along(moves, 1, g, g + 1);
        std::vector<any_tensor> where;
        for (int d = 0; d < 2; ++d)
            where.push_back(untyped::add(reshaped(part_along(own, 4, d, d + 1), {n, places * count}),
                                         float_constant(at[d], {places * count}, e)));
        any_tensor taken =
            image_sampler(c, part_along(x, 1, g * each, (g + 1) * each)).between(where); // [n, places * count, each]
        if (c.has(4)) {
            const any_tensor mask = part_along(reshaped(c.x(4), {n, offset_groups, places * count}), 1, g, g + 1);
            taken = untyped::multiply(taken, reshaped(mask, {n, places * count, 1}));
        }
        parts.push_back(reshaped(untyped::transpose(taken, {0, 2, 1}), {n, each, places, count}));
    }
    const any_tensor taken = parts.size() == 1 ? parts[0] : untyped::concat(parts, 1);
    const std::int64_t inner = channels / groups * places;
    const any_tensor y =
        untyped::matmul(reshaped(w, {groups, outputs / groups, inner}), reshaped(taken, {n, groups, inner, count}));
    const any_tensor image = reshaped(y, {n, outputs, rows, columns});
    c.give(c.has(3) ? untyped::add(image, beside_channels(c.x(3), 4)) : image);
}

TENON_INLINE std::vector<entry> sampling_operators() {
    return {{"AffineGrid", affine_grid},
            {"DeformConv", deformed_convolution},
            {"GridSample", grid_sample},
            {"RoiAlign", region_align}};
}

} // namespace tenon::detail::onnx
