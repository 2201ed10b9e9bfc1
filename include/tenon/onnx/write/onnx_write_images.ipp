#pragma once

#include <algorithm>

#include <tenon/onnx/onnx_writer.hpp>
#include <tenon/ops/interpolation.hpp>
#include <tenon/ops/linear/diagonal.hpp>

/// Images in other sizes, and diagonals, as nodes of an ONNX model.

namespace tenon::detail::onnx {

// What nodes of tenon::image say, by the names of their members in ops/image/: the core has none of these.
struct said_by_resize_nearest {
    std::int64_t height = 0, width = 0;
};
struct said_by_resize_images {
    interpolation method = interpolation::bilinear;
    std::int64_t height = 0, width = 0;
};
struct said_by_fit_images {
    std::int64_t height = 0, width = 0;
    number value = 0;
};

// What is made of images, [batch, channels, height, width], is again as n has it: also of a single one.
template <class F> void give_images(writer& w, const node& n, const F& made) {
    if (n.input_type(0).extents.rank() == 4) return w.give(n, w.channels_last(made(w.channels_first(w.input(n, 0)))));
    const std::string one = w.integers({0});
    const std::string x = w.channels_first(w.add("Unsqueeze", {w.input(n, 0), one}));
    w.give(n, w.add("Squeeze", {w.channels_last(made(x)), one}));
}
inline void write_resized(writer& w, const node& n, const said_by_resize_images& a) {
    const extents& from = n.input_type(0).extents;
    const extent h = from[from.rank() - 3], v = from[from.rank() - 2];
    give_images(w, n, [&](const std::string& x) {
        if (a.method == interpolation::area) {
            const bool whole = h.is_number() && v.is_number() && a.height > 0 && a.width > 0 && h.size > 0 &&
                               v.size > 0 && h.size % a.height == 0 && v.size % a.width == 0;
            if (!whole) throw unimplemented_error("means of areas that are not so many whole pixels");
            const std::vector<std::int64_t> window{h.size / a.height, v.size / a.width};
            return w.with("kernel_shape", window).with("strides", window).add("AveragePool", {x});
        }
        const bool by_nearest = a.method == interpolation::nearest;
        // All sizes: ONNX Runtime loses those of `axes` where there are transpositions around.
        const std::string as_it_is = w.with("end", std::int64_t{2}).add("Shape", {x});
        const std::string sizes =
            w.with("axis", std::int64_t{0}).add("Concat", {as_it_is, w.integers({a.height, a.width})});
        w.with("mode", by_nearest ? "nearest" : "linear");
        if (by_nearest) w.with("nearest_mode", "round_prefer_ceil");
        return w.add("Resize", {x, "", "", sizes});
    });
}
inline void write_resize_nearest(writer& w, const node& n) {
    const auto a = decode<said_by_resize_nearest>(n.attributes);
    write_resized(w, n, {interpolation::nearest, a.height, a.width});
}
inline void write_resize_images(writer& w, const node& n) {
    write_resized(w, n, decode<said_by_resize_images>(n.attributes));
}
inline void write_fit_images(writer& w, const node& n) {
    const auto a = decode<said_by_fit_images>(n.attributes);
    const extents& from = n.input_type(0).extents;
    const int row = from.rank() - 3;
    std::vector<std::int64_t> begins, ends, pads(static_cast<std::size_t>(2 * from.rank()));
    for (int i = 0; i < 2; ++i) {
        const std::int64_t to = i == 0 ? a.height : a.width;
        if (!from[row + i].is_number()) throw unimplemented_error("images whose sizes are known in the step only");
        const std::int64_t size = from[row + i].size, common = std::min(size, to), before = (to - common) / 2;
        begins.push_back((size - common) / 2);
        ends.push_back(begins.back() + common);
        pads[static_cast<std::size_t>(row + i)] = before;
        pads[static_cast<std::size_t>(row + i + from.rank())] = to - common - before;
    }
    const std::string b = w.integers(begins), e = w.integers(ends), axes = w.integers({row, row + 1});
    const std::string middle = w.add("Slice", {w.input(n, 0), b, e, axes}), list = w.integers(pads);
    w.give(n, w.add("Pad", {middle, list, w.number(a.value.as_double(), n.outputs[0].element)}));
}

// The elements of matrices side by side, and of those some.
inline void write_diagonal(writer& w, const node& n) {
    const std::int64_t k = decode<diagonal_op::attributes>(n.attributes).k;
    const extents& x = n.input_type(0).extents;
    const int rank = x.rank();
    const extent &rows = x[rank - 2], &columns = x[rank - 1];
    if (!rows.is_number() || !columns.is_number())
        throw unimplemented_error("matrices whose sizes are known in the step only");
    std::vector<std::int64_t> places, sizes(static_cast<std::size_t>(rank - 2));
    for (std::int64_t i = std::max<std::int64_t>(0, -k); i < rows.size && i + k < columns.size; ++i)
        places.push_back(i * columns.size + i + k);
    sizes.push_back(rows.size * columns.size); // 0 before it: as they are
    if (sizes.back() == 0) throw unimplemented_error("diagonals of matrices without elements");
    const std::string list = w.integers(sizes), at = w.integers(places);
    const std::string flat = w.add("Reshape", {w.input(n, 0), list});
    w.give(n, w.with("axis", std::int64_t{rank - 2}).add("Gather", {flat, at}));
}
// Each row of the unit matrix where it is 1, and zeros around the diagonals that are not the main one.
inline void write_diag(writer& w, const node& n) {
    const std::int64_t k = decode<diag_op::attributes>(n.attributes).k;
    const extents& v = n.input_type(0).extents;
    const int rank = v.rank();
    const element_type e = n.outputs[0].element;
    const std::string x = w.input(n, 0), size = size_of_axis(w, x, v[rank - 1], rank - 1);
    const std::string zeros = w.add(
        "Expand", {w.number(0, element_type::float32), w.with("axis", std::int64_t{0}).add("Concat", {size, size})});
    const std::string unit = cast_to(w, w.add("EyeLike", {zeros}), element_type::boolean);
    const std::string zero = w.number(0, e), across = w.integers({rank - 1});
    std::string y = w.add("Where", {unit, w.add("Unsqueeze", {x, across}), zero});
    if (k != 0) {
        std::vector<std::int64_t> pads(static_cast<std::size_t>(2 * rank + 2));
        pads[static_cast<std::size_t>(k > 0 ? rank : rank - 1)] = std::max(k, -k);
        pads[static_cast<std::size_t>(k > 0 ? 2 * rank : 2 * rank + 1)] = std::max(k, -k);
        y = w.add("Pad", {y, w.integers(pads), zero});
    }
    w.give(n, y);
}

TENON_INLINE std::vector<write_entry> written_images() {
    return {{"diag", write_diag},
            {"diagonal", write_diagonal},
            {"fit_images", write_fit_images},
            {"resize_images", write_resize_images},
            {"resize_nearest", write_resize_nearest}};
}

} // namespace tenon::detail::onnx
