#include "op_table/table.hpp"

#include <cmath>

#include <tenon/ops/linear/decomposition.hpp>
#include <tenon/ops/linear/solve.hpp>
#include <tenon/ops/linear/triangular.hpp>

// Batches of matrices; ops/linear/matrices.cpp has more of their values.

namespace op_table {
namespace {

// Two matrices 3 x 3 that are positive definite; any two.
const std::vector<double> definite = {4, 1, 0.5, 1, 5, -1, 0.5, -1, 3, 6, -1, 1, -1, 2, 0.25, 1, 0.25, 3};
const std::vector<double> regular = {2, 1, 0.5, -1, 3, -1, 0.5, 1.5, -2, 3, 0.5, -1, 1, 2, 0.25, -0.5, 1, 4};

// Column k of the solution of a x = b, by Gauss's elimination without exchanges.
std::vector<double> solved(const plain& a, std::int64_t which, std::vector<double> b) {
    const std::int64_t n = a.sizes.back();
    const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(i); };
    std::vector<double> m(a.values.begin() + which * n * n, a.values.begin() + (which + 1) * n * n);
    for (std::int64_t p = 0; p < n; ++p)
        for (std::int64_t i = p + 1; i < n; ++i) {
            const double f = m[at(i * n + p)] / m[at(p * n + p)];
            for (std::int64_t j = p; j < n; ++j) m[at(i * n + j)] -= f * m[at(p * n + j)];
            b[at(i)] -= f * b[at(p)];
        }
    for (std::int64_t i = n; i-- > 0;) {
        for (std::int64_t j = i + 1; j < n; ++j) b[at(i)] -= m[at(i * n + j)] * b[at(j)];
        b[at(i)] /= m[at(i * n + i)];
    }
    return b;
}
double determinant_of(const plain& a, std::int64_t which) {
    const std::int64_t n = a.sizes.back();
    std::vector<double> m(a.values.begin() + which * n * n, a.values.begin() + (which + 1) * n * n);
    double d = 1;
    for (std::int64_t p = 0; p < n; ++p) {
        d *= m[static_cast<std::size_t>(p * n + p)];
        for (std::int64_t i = p + 1; i < n; ++i) {
            const double f = m[static_cast<std::size_t>(i * n + p)] / m[static_cast<std::size_t>(p * n + p)];
            for (std::int64_t j = p; j < n; ++j)
                m[static_cast<std::size_t>(i * n + j)] -= f * m[static_cast<std::size_t>(p * n + j)];
        }
    }
    return d;
}
// in[0] x = in[1], of the matrices that `part` leaves.
arguments solution(plain a, const plain& b, const std::function<bool(std::int64_t, std::int64_t)>& part) {
    const std::int64_t n = a.sizes.back(), m = b.sizes.back();
    for (std::size_t p = 0; n > 0 && p < a.values.size(); ++p) {
        const std::int64_t i = static_cast<std::int64_t>(p) / n % n, j = static_cast<std::int64_t>(p) % n;
        if (!part(i, j)) a.values[p] = 0;
    }
    plain x = b;
    for (std::int64_t which = 0; which < b.sizes[0]; ++which)
        for (std::int64_t k = 0; k < m; ++k) {
            std::vector<double> column;
            for (std::int64_t i = 0; i < n; ++i) column.push_back(b(which, i, k));
            column = solved(a, which, column);
            for (std::int64_t i = 0; i < n; ++i) x.values[x.place({which, i, k})] = column[static_cast<std::size_t>(i)];
        }
    return {x};
}
const auto whole = [](std::int64_t, std::int64_t) { return true; };

const add_entries matrices{
    {.op = "cholesky",
     .elements = float_and_double,
     .samples = {{.operands = {x("b=2 n=3 n").given(definite)},
                  .attributes = no_attributes{},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      plain l = in[0];
                      for (double& v : l.values) v = 0;
                      const std::int64_t n = l.sizes.back();
                      for (std::int64_t b = 0; b < l.sizes[0]; ++b)
                          for (std::int64_t i = 0; i < n; ++i)
                              for (std::int64_t j = 0; j <= i; ++j) {
                                  double s = in[0](b, i, j);
                                  for (std::int64_t k = 0; k < j; ++k) s -= l(b, i, k) * l(b, j, k);
                                  l.values[l.place({b, i, j})] = i == j ? std::sqrt(s) : s / l(b, j, j);
                              }
                      return {l};
                  },
                  .own_sizes = "n"}}},
    {.op = "triangular_solve",
     .elements = float_and_double,
     .samples = {{.operands = {x("b=2 n=3 n").given(definite), x("b n m=2")},
                  .attributes = triangular_options{},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return solution(in[0], in[1], [](std::int64_t i, std::int64_t j) { return j <= i; });
                  },
                  .own_sizes = "n"},
                 {.about = "an upper triangle",
                  .operands = {x("b=2 n=3 n").given(definite), x("b n m=2")},
                  .attributes = triangular_options{false, false},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return solution(in[0], in[1], [](std::int64_t i, std::int64_t j) { return j >= i; });
                  },
                  .own_sizes = "n"},
                 {.about = "transposed, of one matrix for all",
                  .operands = {x("n=3 n").given(definite), x("b=2 n m=2")},
                  .attributes = triangular_options{true, true},
                  .own_sizes = "n"},
                 {.about = "an upper triangle, transposed",
                  .operands = {x("b=2 n=3 n").given(definite), x("b n m=2")},
                  .attributes = triangular_options{false, true},
                  .own_sizes = "n"}}},
    {.op = "solve",
     .elements = float_and_double,
     .samples = {{.operands = {x("b=2 n=3 n").given(regular), x("b n m=2")},
                  .attributes = solve_op::attributes{},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      return solution(in[0], in[1], whole);
                  },
                  .own_sizes = "n"},
                 {.about = "transposed, of one right side",
                  .operands = {x("b=2 n=3 n").given(regular), x("n")},
                  .attributes = solve_op::attributes{true},
                  .own_sizes = "n"}}},
    {.op = "inverse",
     .elements = float_and_double,
     .samples = {{.operands = {x("b=2 n=3 n").given(regular)},
                  .attributes = no_attributes{},
                  .expected = [](const setting&, const arguments& in) -> arguments {
                      plain unit = in[0];
                      const std::int64_t n = unit.sizes.back();
                      for (std::size_t p = 0; n > 0 && p < unit.values.size(); ++p)
                          unit.values[p] = static_cast<std::int64_t>(p) / n % n == static_cast<std::int64_t>(p) % n;
                      return solution(in[0], unit, whole);
                  },
                  .own_sizes = "n"}}},
    {.op = "determinant",
     .elements = float_and_double,
     .samples = {{.operands = {x("b=2 n=3 n").given(regular)},
                  .attributes = no_attributes{},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      return {tabulate({at["b"]}, [&](const index& i) { return determinant_of(in[0], i[0]); })};
                  },
                  .own_sizes = "n"}}},
    {.op = "slogdet",
     .elements = float_and_double,
     .samples = {{.operands = {x("b=2 n=3 n").given(regular)},
                  .attributes = no_attributes{},
                  .expected = [](const setting& at, const arguments& in) -> arguments {
                      const auto sign = [&](const index& i) { return determinant_of(in[0], i[0]) > 0 ? 1.0 : -1.0; };
                      const auto log = [&](const index& i) { return std::log(std::fabs(determinant_of(in[0], i[0]))); };
                      return {tabulate({at["b"]}, sign), tabulate({at["b"]}, log)};
                  },
                  .own_sizes = "n"}},
     .slopes = 2},
    // ops/linear/matrices.cpp has the values of these.
    {.op = "qr",
     .elements = float_and_double,
     .samples = {{.operands = {x("b=2 4 3").given(regular)}, .attributes = no_attributes{}},
                 {.about = "wider than high",
                  .operands = {x("b=2 2 3").given(regular)},
                  .attributes = no_attributes{}}}},
    {.op = "svd",
     .elements = float_and_double,
     .samples =
         {{.operands = {x("b=2 4 3").given(regular)}, .attributes = svd_op::attributes{}},
          {.about = "wider than high", .operands = {x("2 4").given(regular)}, .attributes = svd_op::attributes{}},
          {.about = "singular values alone", .operands = {x("m=2 n=3")}, .attributes = svd_op::attributes{false}}}},
    {.op = "eigh",
     .elements = float_and_double,
     .samples = {{.operands = {x("b=2 n=3 n")}, .attributes = no_attributes{}}}},
};

} // namespace
} // namespace op_table
