#include "op_table/table.hpp"

#include <cmath>

#include <tenon/ops/image/image_geometry.hpp>
#include <tenon/ops/image/image_mixing.hpp>
#include <tenon/ops/image/image_resize.hpp>
#include <tenon/ops/image/image_transform.hpp>

// Ops on images: [batch, height, width, channels], or a single one without the batch.

namespace op_table {
namespace {

// Places at which images of 4 x 5 are cut to 2 x 3.
operand pixels(const std::string& sizes) { return x(sizes, element_type::int32).given({2, 0, 1, 2}).without_slope(); }
operand parts(const std::string& sizes) {
    return x(sizes, element_type::float32).given({0.7, 0.1, 0.5, 0.99}).without_slope();
}
const std::int64_t first_rows[] = {2, 1}, first_columns[] = {0, 2}; // what both are

const crop_images_op::attributes cut{2, 3};

plain cropped(const setting& at, const plain& image) {
    return tabulate({at["b"], 2, 3, at["c"]}, [&](const index& i) {
        return image(i[0], i[1] + first_rows[i[0]], i[2] + first_columns[i[0]], i[3]);
    });
}

const add_entries geometry{
    {.op = "per_image",
     .samples = {{.operands = {x("b=2 3 2 c=2")},
                  .attributes = per_image_op::attributes{index_list(2)},
                  .expected = [](const setting& at, const arguments&) -> arguments {
                      return {tabulate({at["b"], 2}, [](const index&) { return 0.0; })};
                  }},
                 {.about = "of a single image",
                  .operands = {x("3 2 c=2")},
                  .attributes = per_image_op::attributes{index_list(1, 4)}}},
     .no_gradient = "it does not depend on what the images are"},
    {.op = "flip_images",
     .samples = {{.about = "left and right",
                  .operands = {x("b=3 2 w=3 c=2"), truth("b")},
                  .attributes = flip_images_op::attributes{false},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["b"], 2, at["w"], at["c"]}, [&](const index& i) {
                          return in[0](i[0], i[1], in[1](i[0]) != 0 ? at["w"] - 1 - i[2] : i[2], i[3]);
                      })};
                  }},
                 {.about = "upside down",
                  .operands = {x("b=3 h=3 2 c=3"), truth("b")},
                  .attributes = flip_images_op::attributes{true},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["b"], at["h"], 2, at["c"]}, [&](const index& i) {
                          return in[0](i[0], in[1](i[0]) != 0 ? at["h"] - 1 - i[1] : i[1], i[2], i[3]);
                      })};
                  }},
                 {.about = "of a single image",
                  .operands = {x("2 w=3 c=1"), truth("")},
                  .attributes = flip_images_op::attributes{false}}}},
    {.op = "crop_images",
     .samples = {{.about = "by pixels",
                  .operands = {x("b=2 h=4 w=5 c=2"), pixels("b 2")},
                  .attributes = cut,
                  .expected = [](const setting& at, const arguments& in) -> arguments { return {cropped(at, in[0])}; },
                  .not_empty = "h w"},
                 {.about = "by parts",
                  .operands = {x("b=2 h=4 w=5 c=2"), parts("b 2")},
                  .attributes = cut,
                  .expected = [](const setting& at, const arguments& in) -> arguments { return {cropped(at, in[0])}; },
                  .not_empty = "h w"},
                 {.about = "of a single image", .operands = {x("4 5 c=3"), parts("2")}, .attributes = cut}}},
    {.op = "crop_images_gradient",
     .samples = {{.operands = {x("b=2 2 3 c=2"), x("b h=4 w=5 c").without_slope(), pixels("b 2")},
                  .attributes = cut,
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["b"], at["h"], at["w"], at["c"]}, [&](const index& i) {
                          const std::int64_t y = i[1] - first_rows[i[0]], x = i[2] - first_columns[i[0]];
                          return y >= 0 && y < 2 && x >= 0 && x < 3 ? in[0](i[0], y, x, i[3]) : 0.0;
                      })};
                  },
                  .not_empty = "h w"}}},
    {.op = "fit_images",
     .samples = {{.about = "the middle of rows, one column before and two after",
                  .operands = {x("b=2 h=5 w=2 c=2")},
                  .attributes = fit_images_op::attributes{2, 5, true, true, 1},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      // Of no rows the one before is made of the value, as the one after.
                      return {tabulate({at["b"], 2, 5, at["c"]}, [&](const index& i) {
                          if (at["h"] == 0 || at["w"] == 0) return 1.0;
                          return i[2] >= 1 && i[2] < 3 ? in[0](i[0], i[1] + 1, i[2] - 1, i[3]) : 1.0;
                      })};
                  }},
                 {.about = "of a single image",
                  .operands = {x("3 3 c=1")},
                  .attributes = fit_images_op::attributes{4, 6, false, true, 0}}}},
    {.op = "fit_images_like",
     .samples = {{.operands = {x("b=2 2 5 c=2"), x("b h=5 w=2 c").without_slope()},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["b"], at["h"], at["w"], at["c"]}, [&](const index& i) {
                          return i[1] >= 1 && i[1] < 3 ? in[0](i[0], i[1] - 1, i[2] + 1, i[3]) : 0.0;
                      })};
                  }}}},
};

// The weight of pixel p of n in pixel i of m, from what the ways to resize say.
double weight(interpolation method, std::int64_t p, std::int64_t n, std::int64_t i, std::int64_t m) {
    const double scale = static_cast<double>(n) / static_cast<double>(m);
    const double low = static_cast<double>(i) * scale, middle = low + scale / 2, high = low + scale;
    const auto pixel = static_cast<double>(p);
    if (method == interpolation::nearest) return middle >= pixel && middle < pixel + 1 ? 1 : 0;
    if (method == interpolation::area) return std::fmax(0, std::fmin(high, pixel + 1) - std::fmax(low, pixel)) / scale;
    const double at = std::fmin(std::fmax(middle - 0.5, 0), static_cast<double>(n - 1));
    return std::fmax(0, 1 - std::fabs(at - pixel));
}
plain resized(interpolation method, const plain& image, std::int64_t height, std::int64_t width) {
    const auto& s = image.sizes;
    return tabulate({s[0], height, width, s[3]}, [&](const index& i) {
        double sum = 0;
        for (std::int64_t p = 0; p < s[1]; ++p)
            for (std::int64_t q = 0; q < s[2]; ++q)
                sum += weight(method, p, s[1], i[1], height) * weight(method, q, s[2], i[2], width) *
                       image(i[0], p, q, i[3]);
        return sum;
    });
}
plain spread(interpolation method, const plain& g, std::int64_t height, std::int64_t width) {
    const auto& s = g.sizes;
    return tabulate({s[0], height, width, s[3]}, [&](const index& i) {
        double sum = 0;
        for (std::int64_t p = 0; p < s[1]; ++p)
            for (std::int64_t q = 0; q < s[2]; ++q)
                sum +=
                    weight(method, i[1], height, p, s[1]) * weight(method, i[2], width, q, s[2]) * g(i[0], p, q, i[3]);
        return sum;
    });
}
sample resize_sample(const std::string& about, interpolation method, std::int64_t height, std::int64_t width) {
    return {.about = about,
            .operands = {x("b=2 h=4 w=3 c=2")},
            .attributes = detail::resize_attributes{method, height, width},
            .expected = [=](const setting&, const arguments& in) -> arguments {
                return {resized(method, in[0], height, width)};
            },
            .not_empty = "h w"};
}
sample spread_sample(const std::string& about, interpolation method) {
    return {.about = about,
            .operands = {x("b=2 5 2 c=2"), x("b h=4 w=3 c").without_slope()},
            .attributes = detail::resize_attributes{method, 5, 2},
            .expected = [=](const setting& at, const arguments& in) -> arguments {
                return {spread(method, in[0], at["h"], at["w"])};
            },
            .not_empty = "h w"};
}

const add_entries resizes{
    {.op = "resize_nearest",
     .samples = {{.operands = {x("b=2 h=4 w=3 c=2")},
                  .attributes = resize_nearest_op::attributes{7, 2},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {resized(interpolation::nearest, in[0], 7, 2)};
                  },
                  .not_empty = "h w"},
                 {.about = "of a single image",
                  .operands = {x("4 3 c=3")},
                  .attributes = resize_nearest_op::attributes{2, 5}}}},
    {.op = "resize_images",
     .elements = floating,
     .samples = {resize_sample("bilinear", interpolation::bilinear, 3, 7),
                 resize_sample("by area", interpolation::area, 3, 2),
                 resize_sample("by area, larger", interpolation::area, 5, 7),
                 {.about = "of a single image",
                  .operands = {x("4 3 c=1")},
                  .attributes = detail::resize_attributes{interpolation::bilinear, 2, 5}}}},
    {.op = "resize_images_gradient",
     .elements = floating,
     .samples = {spread_sample("nearest", interpolation::nearest), spread_sample("bilinear", interpolation::bilinear),
                 spread_sample("by area", interpolation::area)}},
};

// A turn and a shift that meets no pixel exactly, and one that leaves the image.
const std::vector<double> matrices = {0.8, -0.5, 0.3, 0.6, 0.75, -0.4, -1.1, 0.2, 1.3, 0.1, 0.7, 0.2};
operand of_matrices(const std::string& sizes) {
    return x(sizes, element_type::float32).given(matrices).without_slope();
}
plain transformed(const setting& at, const arguments& in, interpolation method, double value) {
    const std::int64_t h = at["h"], w = at["w"];
    return tabulate({at["b"], h, w, at["c"]}, [&](const index& i) {
        const double y = static_cast<double>(i[1]) - static_cast<double>(h - 1) / 2;
        const double x = static_cast<double>(i[2]) - static_cast<double>(w - 1) / 2;
        const auto m = [&](int k) { return in[1](i[0], k); };
        const double sx = m(0) * x + m(1) * y + m(2) + static_cast<double>(w - 1) / 2;
        const double sy = m(3) * x + m(4) * y + m(5) + static_cast<double>(h - 1) / 2;
        const auto pixel = [&](double row, double column) {
            if (row < 0 || column < 0 || row >= static_cast<double>(h) || column >= static_cast<double>(w))
                return value;
            return in[0](i[0], static_cast<std::int64_t>(row), static_cast<std::int64_t>(column), i[3]);
        };
        if (method == interpolation::nearest) return pixel(std::floor(sy + 0.5), std::floor(sx + 0.5));
        const double top = std::floor(sy), left = std::floor(sx), v = sy - top, u = sx - left;
        return (1 - v) * ((1 - u) * pixel(top, left) + u * pixel(top, left + 1)) +
               v * ((1 - u) * pixel(top + 1, left) + u * pixel(top + 1, left + 1));
    });
}

const add_entries transforms{
    {.op = "affine_transform",
     .elements = floating,
     .samples = {{.about = "bilinear",
                  .operands = {x("b=2 h=4 w=5 c=2"), of_matrices("b 6")},
                  .attributes = detail::transform_attributes{interpolation::bilinear, 0.5},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {transformed(at, in, interpolation::bilinear, 0.5)};
                  }},
                 {.about = "nearest",
                  .operands = {x("b=2 h=3 w=4 c=3"), of_matrices("b 6")},
                  .attributes = detail::transform_attributes{interpolation::nearest, -1},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {transformed(at, in, interpolation::nearest, -1)};
                  }},
                 {.about = "of a single image",
                  .operands = {x("4 5 c=1"), of_matrices("6")},
                  .attributes = detail::transform_attributes{}}},
     .tolerance = 8},
    {.op = "affine_transform_gradient",
     .elements = floating,
     .samples = {{.operands = {x("b=2 h=4 w=5 c=2"), of_matrices("b 6")},
                  .attributes = detail::transform_attributes{}}}},
    {.op = "fill_boxes",
     .samples = {{.about = "of a size in pixels",
                  .operands = {x("b=2 5 4 c=2"),
                               x("b 2", element_type::float32).given({0.5, 0.5, 0, 0.99}).without_slope()},
                  .attributes = fill_boxes_op::attributes{3, 2, false, 1},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["b"], 5, 4, at["c"]}, [&](const index& i) {
                          const bool hidden =
                              i[0] == 0 ? i[1] >= 1 && i[1] < 4 && i[2] >= 1 && i[2] < 3 : i[1] < 2 && i[2] >= 2;
                          return hidden ? 1.0 : in[0](i[0], i[1], i[2], i[3]);
                      })};
                  }},
                 {.about = "with sizes of their own, of a single image",
                  .operands = {x("5 4 c=2"), x("4", element_type::float32).given({0.5, 0.5, 0.5, 0.5}).without_slope()},
                  .attributes = fill_boxes_op::attributes{0, 0, true, 0}}}},
    {.op = "box_mask",
     .samples = {{.about = "boxes with sizes of their own",
                  .operands = {x("b=2 8 4 c=2"),
                               x("b 4", element_type::float32).given({0.5, 0.25, 0.5, 0.5, 0, 0.99, 0.25, 1})},
                  .attributes = box_mask_op::attributes{},
                  .expected = [](const setting& at, const arguments&) -> arguments {
                      return {tabulate({at["b"], 8, 4, 1}, [](const index& i) {
                          if (i[0] == 0) return i[1] >= 2 && i[1] < 6 && i[2] < 2 ? 1.0 : 0.0;
                          return i[1] < 1 && i[2] >= 1 ? 1.0 : 0.0;
                      })};
                  }},
                 {.about = "inside",
                  .operands = {x("b=2 8 4 c=2"),
                               x("b 4", element_type::float32).given({0.99, 0, 0.5, 0.5, 0.5, 0.99, 2, 0.25})},
                  .attributes = box_mask_op::attributes{0, 0, true},
                  .expected = [](const setting& at, const arguments&) -> arguments {
                      return {tabulate({at["b"], 8, 4, 1}, [](const index& i) {
                          if (i[0] == 0) return i[1] >= 4 && i[2] < 2 ? 1.0 : 0.0;
                          return i[2] == 3 ? 1.0 : 0.0;
                      })};
                  }},
                 {.about = "of a size in pixels, of a single image",
                  .operands = {x("5 4 c=2"), x("2", element_type::float32).given({0.5, 0.5})},
                  .attributes = box_mask_op::attributes{3, 2, false},
                  .expected = [](const setting&, const arguments&) -> arguments {
                      return {tabulate({5, 4, 1}, [](const index& i) {
                          return i[0] >= 1 && i[0] < 4 && i[1] >= 1 && i[1] < 3 ? 1.0 : 0.0;
                      })};
                  }}},
     .no_gradient = "its results are truth values"},
};

} // namespace
} // namespace op_table
