#include "op_table/table.hpp"

#include <cmath>

#include <tenon/ops/rows/normalization.hpp>
#include <tenon/ops/rows/softmax.hpp>

// What is computed along the last axis: softmax, the cross entropies, layer normalisation.

namespace op_table {
namespace {

double exp_sum(const plain& t, std::int64_t row, std::int64_t classes) {
    double s = 0;
    for (std::int64_t c = 0; c < classes; ++c) s += std::exp(t(row, c));
    return s;
}
plain softmax_of(const setting& at, const plain& t) {
    return tabulate({at["n"], at["k"]}, [&](const index& i) { return std::exp(t.at(i)) / exp_sum(t, i[0], at["k"]); });
}
const operand labels = x("n", element_type::int32).given({2, 0, 1});

const add_entries softmaxes{
    {.op = "softmax",
     .elements = floating,
     .samples =
         {{.operands = {x("n=2 k=4")},
           .attributes = softmax_op::attributes{-1},
           .expected = [](const setting& at, const arguments& in) -> arguments { return {softmax_of(at, in[0])}; }},
          {.about = "of columns", .operands = {x("k=3 n=4")}, .attributes = softmax_op::attributes{0}},
          {.about = "of an axis between", .operands = {x("b=2 k=3 n=4")}, .attributes = softmax_op::attributes{1}}}},
    {.op = "log_softmax",
     .elements = floating,
     .samples = {{.operands = {x("n=2 k=4")},
                  .attributes = softmax_op::attributes{-1},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {each(softmax_of(at, in[0]), [](double v) { return std::log(v); })};
                  }},
                 {.about = "of columns", .operands = {x("k=3 n=4")}, .attributes = softmax_op::attributes{0}}}},
    {.op = "softmax_gradient",
     .elements = floating,
     .samples = {{.operands = {x("n=2 k=4"), x("n k")},
                  .attributes = softmax_gradient_op::attributes{-1, false},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], at["k"]}, [&](const index& i) {
                          double s = 0;
                          for (std::int64_t c = 0; c < at["k"]; ++c) s += in[0](i[0], c) * in[1](i[0], c);
                          return in[0].at(i) * (in[1].at(i) - s);
                      })};
                  }},
                 {.about = "of the logarithm",
                  .operands = {x("n=2 k=4"), x("n k")},
                  .attributes = softmax_gradient_op::attributes{-1, true}}}},
    {.op = "sparse_softmax_cross_entropy",
     .elements = floating,
     .samples = {{.operands = {x("n=3 k=4"), labels},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      const plain p = softmax_of(at, in[0]);
                      const auto label = [&](std::int64_t row) { return static_cast<std::int64_t>(in[1](row)); };
                      return {
                          tabulate({at["n"]}, [&](const index& i) { return -std::log(p(i[0], label(i[0]))); }),
                          tabulate(p.sizes, [&](const index& i) { return p.at(i) - (label(i[0]) == i[1] ? 1 : 0); })};
                  },
                  .not_empty = "k"}}},
    {.op = "softmax_cross_entropy",
     .elements = floating,
     .samples = {{.operands = {x("n=3 k=4"), x("n k").positive()},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      const plain p = softmax_of(at, in[0]);
                      const auto total = [&](std::int64_t row) {
                          double s = 0;
                          for (std::int64_t c = 0; c < at["k"]; ++c) s += in[1](row, c);
                          return s;
                      };
                      return {tabulate({at["n"]},
                                       [&](const index& i) {
                                           double s = 0;
                                           for (std::int64_t c = 0; c < at["k"]; ++c)
                                               s -= in[1](i[0], c) * std::log(p(i[0], c));
                                           return s;
                                       }),
                              tabulate(p.sizes, [&](const index& i) { return p.at(i) * total(i[0]) - in[1].at(i); })};
                  }},
                 {.about = "of two dimensions of rows", .operands = {x("m=2 n=2 k=3"), x("m n k").positive()}}}},
};

double mean_of(const plain& t, std::int64_t row, std::int64_t n) {
    double s = 0;
    for (std::int64_t c = 0; c < n; ++c) s += t(row, c);
    return s / static_cast<double>(n);
}
double factor_of(const plain& t, std::int64_t row, std::int64_t n) {
    double s = 0;
    for (std::int64_t c = 0; c < n; ++c) s += std::pow(t(row, c) - mean_of(t, row, n), 2);
    return 1 / std::sqrt(s / static_cast<double>(n) + 1e-5);
}

const add_entries normalizations{
    {.op = "layer_norm",
     .elements = floating,
     .samples = {{.operands = {x("n=3 k=4"), x("k"), x("k")},
                  .attributes = layer_norm_op::attributes{1e-5},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      const std::int64_t n = at["n"], k = at["k"];
                      return {tabulate({n, k},
                                       [&](const index& i) {
                                           return (in[0].at(i) - mean_of(in[0], i[0], k)) * factor_of(in[0], i[0], k) *
                                                      in[1](i[1]) +
                                                  in[2](i[1]);
                                       }),
                              tabulate({n}, [&](const index& i) { return mean_of(in[0], i[0], k); }),
                              tabulate({n}, [&](const index& i) { return factor_of(in[0], i[0], k); })};
                  }},
                 {.about = "of two dimensions of rows",
                  .operands = {x("m=2 n=2 k=3"), x("k"), x("k")},
                  .attributes = layer_norm_op::attributes{1e-2}}},
     .slopes = 1,
     .tolerance = 20},
    {.op = "layer_norm_gradient",
     .elements = floating,
     .samples = {{.operands = {x("n=3 k=4"), x("k"), x("n k")},
                  .attributes = layer_norm_op::attributes{1e-5},
                  .inputs = [](const std::vector<any_tensor>& in) -> std::vector<any_tensor> {
                      const any_tensor y = untyped::layer_norm(in[0], in[1], in[1], 1e-5);
                      return {in[0], in[1], in[2], any_tensor({y.node(), 1}), any_tensor({y.node(), 2})};
                  }}},
     .tolerance = 20},
};

} // namespace
} // namespace op_table
