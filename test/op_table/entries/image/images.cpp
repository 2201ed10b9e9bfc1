#include "op_table/table.hpp"

#include <cmath>

#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/linear/pooling.hpp>

// Convolutions and pooling. Images are [batch, height, width, channels].

namespace op_table {
namespace {

detail::conv2d_attributes moving(int stride, const padding& p = valid, int groups = 1) {
    return detail::attributes_of(conv2d_options{stride, p, 1, groups});
}

// The convolution without padding, by its formula.
plain convolved(const plain& image, const plain& w, std::int64_t stride) {
    const auto places = [&](std::size_t axis) { return (image.sizes[axis] - w.sizes[axis - 1]) / stride + 1; };
    return tabulate({image.sizes[0], places(1), places(2), w.sizes[3]}, [&](const index& i) {
        double s = 0;
        for (std::int64_t p = 0; p < w.sizes[0]; ++p)
            for (std::int64_t q = 0; q < w.sizes[1]; ++q)
                for (std::int64_t c = 0; c < w.sizes[2]; ++c)
                    s += image(i[0], i[1] * stride + p, i[2] * stride + q, c) * w(p, q, c, i[3]);
        return s;
    });
}

const add_entries convolutions{
    {.op = "conv2d",
     .elements = floating,
     .samples =
         {{.operands = {x("b=2 h=4 w=3 c=2"), x("2 2 c o=3")},
           .attributes = moving(1),
           .expected = [](const setting&, const arguments& in) -> arguments { return {convolved(in[0], in[1], 1)}; },
           .not_empty = "h w"},
          {.about = "with a stride",
           .operands = {x("b=1 h=5 w=5 c=1"), x("3 2 c o=2")},
           .attributes = moving(2),
           .expected = [](const setting&, const arguments& in) -> arguments { return {convolved(in[0], in[1], 2)}; },
           .not_empty = "h w"},
          {.about = "of two groups, with zeros around",
           .operands = {x("b=1 h=3 w=3 4"), x("3 3 2 2")},
           .attributes = moving(1, same, 2)},
          {.about = "of two groups, with a stride",
           .operands = {x("b=1 4 4 2"), x("3 2 1 2")},
           .attributes = moving(2, pad(1), 2)}}},
    {.op = "conv2d_bias",
     .elements = floating,
     .samples = {{.operands = {x("b=2 h=3 w=3 c=2"), x("2 2 c o=3"), x("o")},
                  .attributes = conv2d_bias_op::attributes{moving(1), true},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      plain y = convolved(in[0], in[1], 1);
                      for (std::size_t i = 0; i < y.values.size(); ++i)
                          y.values[i] = std::fmax(0, y.values[i] + in[2].values[i % in[2].values.size()]);
                      return {y};
                  },
                  .not_empty = "h w"}}},
    {.op = "conv2d_backward_input",
     .elements = floating,
     .samples = {{.operands = {x("b=2 3 2 o=3"), x("2 2 c=2 o"), x("b 4 3 c").without_slope()},
                  .attributes = moving(1)}}},
    {.op = "conv2d_backward_filter",
     .elements = floating,
     .samples = {{.about = "and of the bias",
                  .operands = {x("b=2 4 3 c=2"), x("b 3 2 o=3"), x("2 2 c o").without_slope()},
                  .attributes = conv2d_backward_filter_op::attributes{moving(1), true}}}},
    {.op = "conv2d_transpose",
     .elements = floating,
     .samples = {{.operands = {x("b=2 2 3 c=2"), x("2 2 o=3 c")}, .attributes = moving(2)}}},
};

const detail::pool2d_attributes peaks = detail::attributes_of(pool2d_options{2, 0, valid}, false);
const detail::pool2d_attributes means = detail::attributes_of(pool2d_options{2, 2, same}, true);
const detail::pool2d_attributes overlapping = detail::attributes_of(pool2d_options{3, 1, same}, false);
const detail::pool2d_attributes apart = detail::attributes_of(pool2d_options{{2, 1}, 3, pad(1, 0)}, false);
const detail::pool2d_attributes dilated = detail::attributes_of(pool2d_options{2, 1, pad(1), false, {2, 3}}, false);

// y = max_pool2d(image), which the third operand goes with.
std::vector<any_tensor> with_peaks(const std::vector<any_tensor>& in) {
    return {in[0], untyped::max_pool2d(in[0], {2, 0, valid}), in[1]};
}

const add_entries pools{
    {.op = "max_pool2d",
     .elements = floating,
     .samples =
         {{.operands = {x("b=2 h=4 w=4 c=2")},
           .attributes = peaks,
           .expected = [](const setting& at, const arguments& in) -> arguments {
               return {tabulate({at["b"], at["h"] / 2, at["w"] / 2, at["c"]}, [&](const index& i) {
                   double most = -INFINITY;
                   for (std::int64_t p = 0; p < 4; ++p)
                       most = std::fmax(most, in[0](i[0], 2 * i[1] + p / 2, 2 * i[2] + p % 2, i[3]));
                   return most;
               })};
           },
           .not_empty = "h w"},
          // ops/linear/pooling.cpp has the values of these.
          {.about = "windows that overlap", .operands = {x("b=2 h=4 w=3 c=2")}, .attributes = overlapping},
          {.about = "dilated", .operands = {x("b=2 h=4 w=5 c=2")}, .attributes = dilated, .not_empty = "h w"},
          {.about = "windows apart", .operands = {x("b=2 h=5 w=3 c=2")}, .attributes = apart, .not_empty = "h w"}}},
    {.op = "average_pool2d",
     .elements = floating,
     .samples = {{.operands = {x("b=2 h=3 w=3 c=2")},
                  .attributes = means,
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["b"], (at["h"] + 1) / 2, (at["w"] + 1) / 2, at["c"]}, [&](const index& i) {
                          double s = 0;
                          int inside = 0;
                          for (std::int64_t p = 0; p < 4; ++p) {
                              const std::int64_t row = 2 * i[1] + p / 2, column = 2 * i[2] + p % 2;
                              if (row >= at["h"] || column >= at["w"]) continue;
                              s += in[0](i[0], row, column, i[3]);
                              ++inside;
                          }
                          return s / inside;
                      })};
                  }}}},
    {.op = "pool2d_gradient",
     .elements = floating,
     .samples = {{.about = "of the largest",
                  .operands = {x("b=2 4 4 c=2"), x("b 2 2 c")},
                  .attributes = peaks,
                  .inputs = with_peaks},
                 {.about = "of means",
                  .operands = {x("b=2 3 3 c=2").without_slope(), x("b 2 2 c").without_slope(), x("b 2 2 c")},
                  .attributes = means}}},
    {.op = "max_pool2d_pick",
     .elements = floating,
     .samples = {{.operands = {x("b=2 4 4 c=2"), x("b 4 4 c")}, .attributes = peaks, .inputs = with_peaks}}},
};

} // namespace
} // namespace op_table
