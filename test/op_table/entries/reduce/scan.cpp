#include "op_table/table.hpp"

#include <algorithm>
#include <cmath>

#include <tenon/ops/reduce/scan.hpp>

// Running operations along an axis; cumsum is in movement.cpp.

namespace op_table {
namespace {

// `join` of the elements up to each, along the rows of a matrix.
auto running(std::function<double(double, double)> join) {
    return [join](const setting&, const arguments& in) -> arguments {
        return {tabulate(in[0].sizes, [&](const index& i) {
            double r = in[0](i[0], 0);
            for (std::int64_t j = 1; j <= i[1]; ++j) r = join(r, in[0](i[0], j));
            return r;
        })};
    };
}
const detail::scan_attributes along_rows{1, false, false};

const add_entries scans{
    {.op = "cumprod",
     .elements = numeric,
     .samples = {{.operands = {x("n=2 m=4")}, .attributes = along_rows, .expected = running([](double a, double b) {
                                                                            return a * b;
                                                                        })}}},
    {.op = "cummax",
     .elements = numeric,
     .samples = {{.operands = {x("n=2 m=4")}, .attributes = along_rows, .expected = running([](double a, double b) {
                                                                            return std::max(a, b);
                                                                        })}}},
    {.op = "cummin",
     .elements = numeric,
     .samples = {{.operands = {x("n=2 m=4")}, .attributes = along_rows, .expected = running([](double a, double b) {
                                                                            return std::min(a, b);
                                                                        })}}},
    {.op = "cumlogsumexp",
     .elements = floating,
     .samples = {{.operands = {x("n=2 m=4")}, .attributes = along_rows, .expected = running([](double a, double b) {
                                                                            return std::log(std::exp(a) + std::exp(b));
                                                                        })}}},
    {.op = "recurrence",
     .elements = floating,
     .samples = {{.operands = {x("n=2 m=4"), x("n m")},
                  .attributes = recurrence_op::attributes{1, false, false, false},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return {tabulate(in[0].sizes, [&](const index& i) {
                          double y = 0;
                          for (std::int64_t j = 0; j <= i[1]; ++j) y = in[0](i[0], j) + in[1](i[0], j) * y;
                          return y;
                      })};
                  }}}},
};

} // namespace
} // namespace op_table
