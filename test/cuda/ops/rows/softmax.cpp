// Softmax and the losses of classifiers on a GPU against their formulas in float64.

#include <doctest/doctest.h>

#include <algorithm>

#include <tenon/ops/gradients.hpp>
#include <tenon/ops/rows/softmax.hpp>

#include "../random/drawn_numbers.hpp"

using namespace tenon;
using test::array_of;
using test::difference;
using test::drawn_numbers;
using test::infinity;
using test::not_a_number;
using test::number_at;
using test::run_on_gpu;
using test::same_bits;
using test::spacing;

namespace {

// A tensor as lines along an axis: calls f with the positions of each line's elements.
template <class F> void for_lines(const extents& sizes, int axis, const F& f) {
    std::int64_t inner = 1, outer = 1;
    for (int i = 0; i < axis; ++i) outer *= sizes[i].size;
    for (int i = axis + 1; i < sizes.rank(); ++i) inner *= sizes[i].size;
    std::vector<std::size_t> line(static_cast<std::size_t>(sizes[axis].size));
    for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t j = 0; j < inner; ++j) {
            for (std::size_t k = 0; k < line.size(); ++k)
                line[k] = static_cast<std::size_t>((o * sizes[axis].size + static_cast<std::int64_t>(k)) * inner + j);
            f(line);
        }
}

std::vector<double> in_double(const any_array& a) {
    std::vector<double> v;
    for (std::int64_t i = 0; i < a.elements(); ++i) v.push_back(number_at(a, i));
    return v;
}

std::vector<double> softmax_of(const any_array& a, int axis, bool logarithm) {
    const std::vector<double> x = in_double(a);
    std::vector<double> y(x.size());
    for_lines(a.extents(), axis, [&](const auto& line) {
        double m = -infinity;
        long double s = 0;
        for (const auto k : line) m = std::max(m, x[k]);
        for (const auto k : line) s += std::exp(static_cast<long double>(x[k] - m));
        for (const auto k : line)
            y[k] = static_cast<double>(logarithm ? x[k] - m - std::log(s)
                                                 : std::exp(static_cast<long double>(x[k] - m)) / s);
    });
    return y;
}

// Rounded in the type that is computed in some times, and then to its own.
double rounding(element_type e, double scale, double value) {
    const double computed = e == element_type::float64 ? 0x1p-52 : 0x1p-23;
    return 8 * computed * scale + 0.51 * spacing(e) * std::fabs(value) + (e == element_type::float16 ? 0x1p-25 : 1e-37);
}

struct lines_case {
    extents sizes;
    int axis;
};
// Rows and columns that fit into registers, of one thread and many, and that do not; at addresses that are no multiples of 16.
const std::vector<lines_case>& cases() {
    static const std::vector<lines_case> all{{extents(1), 0},         {extents(3, 1), 1},     {extents(5, 10), 1},
                                             {extents(4, 64), 1},     {extents(7, 333), 1},   {extents(3, 1000), 1},
                                             {extents(2, 4097), 1},   {extents(2, 20001), 1}, {extents(1000, 3), 1},
                                             {extents(10, 5), 0},     {extents(300, 70), 0},  {extents(5000, 2), 0},
                                             {extents(3, 40, 33), 1}, {extents(3, 1, 5), 1},  {extents(2, 600, 40), 1},
                                             {extents(0, 4), 1},      {extents(4, 0), 1}};
    return all;
}

} // namespace

TEST_CASE_TEMPLATE("GPU: softmax and log_softmax along any axis", T, float, double, half, bfloat16) {
    drawn_numbers draw;
    for (const lines_case& c : cases()) {
        CAPTURE(to_string(c.sizes));
        CAPTURE(c.axis);
        const any_array x = array_of<T>(c.sizes, [&](std::int64_t i) { return i % 53 == 7 ? -infinity : draw(-8, 8); });
        for (const bool logarithm : {false, true}) {
            const auto run = [&] {
                return std::move(run_on_gpu({&x}, [&](const auto& in) {
                    return std::vector{logarithm ? untyped::log_softmax(in[0], c.axis)
                                                 : untyped::softmax(in[0], c.axis)};
                })[0]);
            };
            const any_array y = run();
            const std::vector<double> wanted = softmax_of(x, c.axis, logarithm);
            REQUIRE(difference(y, wanted, [&](std::int64_t i) {
                        const double w = wanted[static_cast<std::size_t>(i)];
                        return rounding(y.element(), logarithm ? 20 : 3 * w, w);
                    }) == "");
            CHECK(same_bits(y, run()));
        }
    }
}

TEST_CASE("GPU: a line that holds NaN or infinity, or nothing but -infinity, has NaN as its softmax") {
    for (const lines_case& c :
         {lines_case{extents(4, 100), 1}, {extents(4, 20000), 1}, {extents(100, 4), 0}, {extents(9000, 4), 0}}) {
        CAPTURE(to_string(c.sizes));
        const std::int64_t n = c.sizes[c.axis].size;
        const any_array x = array_of<float>(c.sizes, [&](std::int64_t i) {
            const std::int64_t line = c.axis == 1 ? i / n : i % 4, k = c.axis == 1 ? i % n : i / 4;
            if (line == 0) return -infinity;
            if (line == 1) return k == n / 2 ? not_a_number : 0.5;
            if (line == 2) return k == n - 1 ? infinity : 0.5;
            return k == 3 ? 1e30 : -1e30;
        });
        for (const bool logarithm : {false, true}) {
            const any_array y = std::move(run_on_gpu({&x}, [&](const auto& in) {
                return std::vector{logarithm ? untyped::log_softmax(in[0], c.axis) : untyped::softmax(in[0], c.axis)};
            })[0]);
            std::vector<double> wanted;
            for (std::int64_t i = 0; i < y.elements(); ++i) {
                const std::int64_t line = c.axis == 1 ? i / n : i % 4, k = c.axis == 1 ? i % n : i / 4;
                wanted.push_back(line < 3 ? not_a_number : k == 3 ? (logarithm ? 0 : 1) : logarithm ? -2e30 : 0);
            }
            CHECK(difference(y, wanted, [&](std::int64_t i) {
                      return 1e-6 * std::fabs(wanted[static_cast<std::size_t>(i)]);
                  }) == "");
        }
    }
}

TEST_CASE_TEMPLATE("GPU: gradients of softmax and log_softmax along any axis, through the graph", T, float, double,
                   half, bfloat16) {
    drawn_numbers draw;
    for (const lines_case& c : cases()) {
        CAPTURE(to_string(c.sizes));
        CAPTURE(c.axis);
        const any_array x = array_of<T>(c.sizes, [&](std::int64_t) { return draw(-3, 3); });
        const any_array d = array_of<T>(c.sizes, [&](std::int64_t) { return draw(-1, 1); });
        for (const bool logarithm : {false, true}) {
            const auto out = run_on_gpu({&x, &d}, [&](const auto& in) {
                const any_tensor y = logarithm ? untyped::log_softmax(in[0], c.axis) : untyped::softmax(in[0], c.axis);
                return std::vector{y, detail::add_gradients({y}, {in[0]}, {in[1]})[0]};
            });
            // From the y that the GPU found, which is rounded to its type.
            const std::vector<double> y = in_double(out[0]), dy = in_double(d);
            std::vector<double> wanted(y.size()), scale(y.size());
            for_lines(c.sizes, c.axis, [&](const auto& line) {
                long double sum = 0, magnitude = 0;
                for (const auto k : line) {
                    sum += logarithm ? dy[k] : dy[k] * y[k];
                    magnitude += std::fabs(logarithm ? dy[k] : dy[k] * y[k]);
                }
                for (const auto k : line) {
                    wanted[k] = static_cast<double>(logarithm ? dy[k] - std::exp(y[k]) * sum : y[k] * (dy[k] - sum));
                    scale[k] = (1 + static_cast<double>(magnitude)) * (logarithm ? 1 + std::exp(y[k]) : y[k]);
                }
            });
            REQUIRE(difference(out[1], wanted, [&](std::int64_t i) {
                        const auto k = static_cast<std::size_t>(i);
                        return rounding(x.element(), scale[k], wanted[k]);
                    }) == "");
        }
    }
}

TEST_CASE_TEMPLATE("GPU: sparse_softmax_cross_entropy: loss and gradient", T, float, double, half, bfloat16) {
    drawn_numbers draw;
    const extents shapes[] = {extents(1, 1),    extents(5, 10),   extents(300, 7), extents(3, 2, 1000),
                              extents(2, 9001), extents(2, 9008), extents(0, 4),   extents(6)};
    for (const extents& shape : shapes)
        for (const bool wide : {false, true}) {
            CAPTURE(to_string(shape));
            const std::int64_t classes = shape[shape.rank() - 1].size;
            const any_array x = array_of<T>(shape, [&](std::int64_t) { return draw(-5, 5); });
            extents rows = shape;
            rows.erase(rows.rank() - 1);
            const auto label = [&](std::int64_t) { return static_cast<double>(draw.below(classes)); };
            const any_array labels = wide ? array_of<std::int64_t>(rows, label) : array_of<std::int32_t>(rows, label);
            const auto out = run_on_gpu({&x, &labels}, [](const auto& in) {
                const any_tensor loss = untyped::sparse_softmax_cross_entropy(in[0], in[1]);
                return std::vector{loss, any_tensor({loss.node(), 1})};
            });
            const auto alone = run_on_gpu({&x, &labels}, [](const auto& in) {
                return std::vector{untyped::sparse_softmax_cross_entropy(in[0], in[1])};
            });
            CHECK(same_bits(alone[0], out[0]));
            const std::vector<double> values = in_double(x);
            std::vector<double> loss, gradient = softmax_of(x, shape.rank() - 1, false);
            const std::vector<double> logs = softmax_of(x, shape.rank() - 1, true);
            for (std::int64_t r = 0; r < labels.elements(); ++r) {
                const auto at = static_cast<std::size_t>(r * classes + static_cast<std::int64_t>(number_at(labels, r)));
                loss.push_back(-logs[at]);
                gradient[at] -= 1;
            }
            CHECK(difference(out[0], loss, [&](std::int64_t i) {
                      return rounding(x.element(), 15, loss[static_cast<std::size_t>(i)]);
                  }) == "");
            CHECK(difference(out[1], gradient, [&](std::int64_t i) {
                      return rounding(x.element(), 1, gradient[static_cast<std::size_t>(i)]);
                  }) == "");
        }
}

TEST_CASE("GPU: a label that is no class fails the step with the CPU's words, which name the first") {
    // Few labels are looked at while losses are computed, many before that.
    for (const std::int64_t rows : {4, 3000, 9000}) {
        CAPTURE(rows);
        const any_array x =
            array_of<float>(extents(rows, 3), [](std::int64_t i) { return static_cast<double>(i % 3); });
        const std::int64_t first = rows / 3;
        const any_array labels = array_of<std::int32_t>(extents(rows), [&](std::int64_t i) {
            return i == first ? 3.0 : i > first && i % 2 == 0 ? -1.0 : static_cast<double>(i % 3);
        });
        try {
            (void)run_on_gpu({&x, &labels}, [](const auto& in) {
                return std::vector{untyped::sparse_softmax_cross_entropy(in[0], in[1])};
            });
            FAIL("it was taken");
        } catch (const invalid_argument_error& e) {
            CHECK(std::string(e.what()).find("label 3 of row " + std::to_string(first) +
                                             " is not one of the 3 classes; labels run from 0 to 2") !=
                  std::string::npos);
        }
    }
}

TEST_CASE_TEMPLATE("GPU: softmax_cross_entropy: loss and gradient; a weight of 0 counts nothing", T, float, double,
                   half, bfloat16) {
    drawn_numbers draw;
    for (const extents& shape : {extents(1, 1), extents(5, 10), extents(300, 7), extents(3, 2, 1000), extents(2, 9001),
                                 extents(3, 0), extents(6)}) {
        CAPTURE(to_string(shape));
        const any_array x = array_of<T>(shape, [&](std::int64_t i) { return i % 9 == 4 ? -infinity : draw(-5, 5); });
        const any_array p = array_of<T>(shape, [&](std::int64_t i) { return i % 9 == 4 ? 0 : draw(0, 1); });
        const auto out = run_on_gpu({&x, &p}, [](const auto& in) {
            const any_tensor loss = untyped::softmax_cross_entropy(in[0], in[1]);
            return std::vector{loss, any_tensor({loss.node(), 1})};
        });
        const std::vector<double> w = in_double(p), y = softmax_of(x, shape.rank() - 1, false),
                                  logs = softmax_of(x, shape.rank() - 1, true);
        std::vector<double> loss, totals, gradient(y.size());
        for_lines(shape, shape.rank() - 1, [&](const auto& line) {
            long double sum = 0, total = 0;
            for (const auto k : line) {
                sum -= w[k] == 0 ? 0 : w[k] * logs[k];
                total += w[k];
            }
            for (const auto k : line) gradient[k] = static_cast<double>(y[k] * total - w[k]);
            loss.push_back(static_cast<double>(sum));
            totals.push_back(static_cast<double>(total));
        });
        CHECK(difference(out[0], loss, [&](std::int64_t i) {
                  const auto k = static_cast<std::size_t>(i);
                  return rounding(x.element(), 2 * loss[k] + totals[k], loss[k]);
              }) == "");
        CHECK(difference(out[1], gradient, [&](std::int64_t i) {
                  const auto k = static_cast<std::size_t>(i);
                  return rounding(x.element(),
                                  y[k] * totals[k / static_cast<std::size_t>(shape[shape.rank() - 1].size)] + w[k],
                                  gradient[k]);
              }) == "");
    }
}
