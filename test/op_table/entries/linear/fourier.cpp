#include "op_table/table.hpp"

#include <cmath>

#include <tenon/ops/linear/fourier.hpp>

// Fourier transforms, by their sums.

namespace op_table {
namespace {

const double turn = 2 * std::acos(-1.0);

// What a number of n / 2 + 1 counts for in a sum over all n.
double weight(std::int64_t k, std::int64_t n) { return k > 0 && 2 * k < n ? 2 : 1; }

arguments complex_sums(const plain& x, double sign, double scale) {
    const std::int64_t n = x.sizes[1];
    return {tabulate(x.sizes, [&](const index& i) {
        double sum = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            const double a = sign * turn * static_cast<double>(j * i[1] % n) / static_cast<double>(n);
            const double re = x(i[0], j, 0), im = x(i[0], j, 1);
            sum += i[2] == 0 ? re * std::cos(a) - im * std::sin(a) : re * std::sin(a) + im * std::cos(a);
        }
        return sum * scale;
    })};
}
arguments real_sums(const plain& x, bool doubled) {
    const std::int64_t n = x.sizes[1];
    return {tabulate({x.sizes[0], n / 2 + 1, 2}, [&](const index& i) {
        double sum = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            const double a = -turn * static_cast<double>(j * i[1] % n) / static_cast<double>(n);
            sum += x(i[0], j) * (i[2] == 0 ? std::cos(a) : std::sin(a));
        }
        return sum * (doubled ? weight(i[1], n) : 1);
    })};
}
arguments sums_of_half(const plain& z, std::int64_t n, bool halved, double scale) {
    return {tabulate({z.sizes[0], n}, [&](const index& i) {
        double sum = 0;
        for (std::int64_t k = 0; k < z.sizes[1]; ++k) {
            const double a = turn * static_cast<double>(k * i[1] % n) / static_cast<double>(n);
            sum += (halved ? 1 : weight(k, n)) * (z(i[0], k, 0) * std::cos(a) - z(i[0], k, 1) * std::sin(a));
        }
        return sum * scale;
    })};
}

const add_entries transforms{
    {.op = "fft",
     .elements = float_and_double,
     .samples = {{.operands = {x("b=2 n=6 2")},
                  .attributes = fft_op::attributes{},
                  .expected = [](const setting&, const arguments& in) { return complex_sums(in[0], -1, 1); },
                  .not_empty = "n"},
                 {.about = "the inverse, divided",
                  .operands = {x("b=2 n=5 2")},
                  .attributes = fft_op::attributes{true, true},
                  .expected =
                      [](const setting& at, const arguments& in) {
                          return complex_sums(in[0], 1, 1 / static_cast<double>(at["n"]));
                      },
                  .not_empty = "n"}}},
    {.op = "rfft",
     .elements = float_and_double,
     .samples = {{.operands = {x("b=2 n=8")},
                  .attributes = rfft_op::attributes{},
                  .expected = [](const setting&, const arguments& in) { return real_sums(in[0], false); },
                  .not_empty = "n"},
                 {.about = "of an odd number, doubled",
                  .operands = {x("b=2 n=5")},
                  .attributes = rfft_op::attributes{true, false},
                  .expected = [](const setting&, const arguments& in) { return real_sums(in[0], true); },
                  .not_empty = "n"}}},
    {.op = "irfft",
     .elements = float_and_double,
     .samples = {{.operands = {x("b=2 m=5 2")},
                  .attributes = irfft_op::attributes{0, false, true},
                  .expected =
                      [](const setting& at, const arguments& in) {
                          const std::int64_t n = 2 * at["m"] - 2;
                          return sums_of_half(in[0], n, false, 1 / static_cast<double>(n));
                      },
                  .not_empty = "m"},
                 {.about = "of a number that another tensor says, halved",
                  .operands = {x("b=2 4 2"), x("b 7").without_slope()},
                  .attributes = irfft_op::attributes{0, true, false},
                  .expected = [](const setting&, const arguments& in) { return sums_of_half(in[0], 7, true, 1); }},
                 {.about = "of a number that is said",
                  .operands = {x("b=2 4 2")},
                  .attributes = irfft_op::attributes{6, false, false},
                  .expected = [](const setting&, const arguments& in) { return sums_of_half(in[0], 6, false, 1); }}}},
};

} // namespace
} // namespace op_table
