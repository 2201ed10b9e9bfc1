#include "op_table/table.hpp"

#include <algorithm>
#include <cmath>

#include <tenon/ops/reduce/reduction.hpp>

// Many elements combined into one.

namespace op_table {
namespace {

using row = std::vector<double>;
using combine = std::function<double(const row&)>;

// f of the elements of each row of a matrix.
auto of_rows(combine f) {
    return [f](const setting& at, const arguments& in) -> arguments {
        return {tabulate({at["n"]}, [&](const index& i) {
            row r;
            for (std::int64_t j = 0; j < at["k"]; ++j) r.push_back(in[0](i[0], j));
            return f(r);
        })};
    };
}
// f of the elements of each column, of which one row is kept.
auto of_columns(combine f) {
    return [f](const setting& at, const arguments& in) -> arguments {
        return {tabulate({1, at["k"]}, [&](const index& i) {
            row r;
            for (std::int64_t j = 0; j < at["n"]; ++j) r.push_back(in[0](j, i[1]));
            return f(r);
        })};
    };
}

double sum(const row& r) {
    double s = 0;
    for (const double v : r) s += v;
    return s;
}
double deviation(const row& r, int ddof) {
    const double mean = sum(r) / static_cast<double>(r.size());
    double s = 0;
    for (const double v : r) s += (v - mean) * (v - mean);
    return s / std::fmax(0, static_cast<double>(r.size()) - ddof);
}

const reduction_attributes rows{index_list(1), false}, columns{index_list(-2), true};
const operand matrix = x("n=3 k=4");

// The ways that every reduction is tried in; `at_least_one`: an empty group has no result. Those without numbers to compare with
// are for the gradients: ops/reduce/reduction.cpp has the values of any axes.
std::vector<sample> every_way(const combine& f, bool at_least_one = false, const operand& from = matrix) {
    return {{.operands = {from}, .attributes = rows, .expected = of_rows(f), .not_empty = at_least_one ? "k" : ""},
            {.about = "of columns, kept",
             .operands = {from},
             .attributes = columns,
             .expected = of_columns(f),
             .not_empty = at_least_one ? "n" : ""},
            {.about = "of all elements",
             .operands = {from},
             .attributes = reduction_attributes{},
             .not_empty = at_least_one ? "n k" : ""},
            {.about = "of the outer axes",
             .operands = {x("n=2 m=3 k=2")},
             .attributes = reduction_attributes{index_list(0, -1), false},
             .not_empty = at_least_one ? "n k" : ""}};
}

double place_of(const row& r, bool least) {
    return static_cast<double>((least ? std::min_element(r.begin(), r.end()) : std::max_element(r.begin(), r.end())) -
                               r.begin());
}

const add_entries reductions{
    {.op = "sum", .elements = numeric, .samples = every_way(sum)},
    {.op = "mean", .elements = floating, .samples = every_way([](const row& r) {
                                             return sum(r) / static_cast<double>(r.size());
                                         })},
    {.op = "prod", .elements = numeric, .samples = every_way([](const row& r) {
                                            double p = 1;
                                            for (const double v : r) p *= v;
                                            return p;
                                        })},
    {.op = "min",
     .elements = numeric,
     .samples = every_way([](const row& r) { return *std::min_element(r.begin(), r.end()); }, true)},
    {.op = "max",
     .elements = numeric,
     .samples = every_way([](const row& r) { return *std::max_element(r.begin(), r.end()); }, true)},
    {.op = "argmin",
     .elements = numeric,
     .samples = every_way([](const row& r) { return place_of(r, true); }, true),
     .no_gradient = "a position has no slope"},
    {.op = "argmax",
     .elements = numeric,
     .samples = every_way([](const row& r) { return place_of(r, false); }, true),
     .no_gradient = "a position has no slope"},
    {.op = "any",
     .elements = truths,
     .samples = every_way([](const row& r) { return std::count(r.begin(), r.end(), 1.0) > 0 ? 1.0 : 0.0; }),
     .no_gradient = "truth has no slope"},
    {.op = "all",
     .elements = truths,
     .samples = every_way([](const row& r) { return std::count(r.begin(), r.end(), 0.0) > 0 ? 0.0 : 1.0; }),
     .no_gradient = "truth has no slope"},
    {.op = "count_nonzero",
     .samples = every_way([](const row& r) {
         return static_cast<double>(r.size()) - static_cast<double>(std::count(r.begin(), r.end(), 0.0));
     }),
     .no_gradient = "a count has no slope"},
    {.op = "logsumexp", .elements = floating, .samples = every_way([](const row& r) {
                                                  double s = 0;
                                                  for (const double v : r) s += std::exp(v);
                                                  return std::log(s);
                                              })},
    {.op = "variance",
     .elements = floating,
     .samples = {{.operands = {matrix},
                  .attributes = variance_op::attributes{index_list(1), false, 0, false},
                  .expected = of_rows([](const row& r) { return deviation(r, 0); })},
                 {.about = "its root, less one",
                  .operands = {matrix},
                  .attributes = variance_op::attributes{index_list(0), true, 1, true},
                  .expected = of_columns([](const row& r) { return std::sqrt(deviation(r, 1)); })},
                 {.about = "of all elements, less one",
                  .operands = {matrix},
                  .attributes = variance_op::attributes{{}, false, 1, false}}}},
    {.op = "norm",
     .elements = floating,
     .samples = {{.about = "of order 1",
                  .operands = {matrix},
                  .attributes = norm_op::attributes{index_list(1), false, 1},
                  .expected = of_rows([](const row& r) {
                      double s = 0;
                      for (const double v : r) s += std::fabs(v);
                      return s;
                  })},
                 {.about = "of order 2",
                  .operands = {matrix},
                  .attributes = norm_op::attributes{index_list(0), true, 2},
                  .expected = of_columns([](const row& r) {
                      double s = 0;
                      for (const double v : r) s += v * v;
                      return std::sqrt(s);
                  })},
                 {.about = "largest magnitude",
                  .operands = {x("n=3 k=4").between(-2, 1.3)},
                  .attributes = norm_op::attributes{index_list(1), false, largest_magnitude},
                  .expected = of_rows([](const row& r) {
                      double m = 0;
                      for (const double v : r) m = std::fmax(m, std::fabs(v));
                      return m;
                  })},
                 {.about = "of order 1, of all elements",
                  .operands = {x("n=2 m=3 k=2")},
                  .attributes = norm_op::attributes{{}, false, 1}}}},
    {.op = "element_count",
     .elements = all_elements,
     .samples = {{.operands = {x("n=3 k=4")},
                  .attributes = element_count_op::attributes{index_list(1), element_type::float64},
                  .expected = [](const setting& at, const arguments&) -> arguments {
                      return {{{}, {static_cast<double>(at["k"])}}};
                  }}},
     .no_gradient = "a count has no slope"},
    {.op = "sum_like",
     .elements = numeric,
     .samples = {{.operands = {x("n=3 k=4"), x("k").without_slope()},
                  .attributes = sum_like_op::attributes{},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["k"]}, [&](const index& i) {
                          double s = 0;
                          for (std::int64_t j = 0; j < at["n"]; ++j) s += in[0](j, i[0]);
                          return s;
                      })};
                  }}}},
    {.op = "prod_gradient",
     .elements = floating,
     .samples = {{.operands = {x("n=2 1"), x("n k=3")},
                  .attributes = reduction_attributes{index_list(1), true},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["n"], at["k"]}, [&](const index& i) {
                          double p = in[0](i[0], 0);
                          for (std::int64_t j = 0; j < at["k"]; ++j) p *= j == i[1] ? 1 : in[1](i[0], j);
                          return p;
                      })};
                  }}}},
};

} // namespace
} // namespace op_table
