#include "tests.hpp"
#include "../check_gradients.hpp"

using namespace tenon;
using test::check_gradients;
using test::input;

namespace {
inline constexpr struct batch_size : dim<"batch"> {} batch;
inline constexpr struct rest_size : dim<"rest"> {} rest;

using row = tensor<float, shape<2, 3>>;
using rows = tensor<float, shape<batch, 3>>;
constexpr auto gives = [](const auto& x) { return [x] { return x; }; };
static_assert(std::is_same_v<decltype(cond<0>(tensor<bool, shape<>>(), gives(row()), gives(rows()))),
                             tensor<float, shape<dyn, 3>>>);
static_assert(std::is_same_v<decltype(cond<-2, rest>(tensor<bool, shape<>>(), gives(row()), gives(rows()))),
                             tensor<float, shape<rest, 3>>>);
static_assert(
    std::is_same_v<decltype(cond<0>(tensor<bool, shape<>>(), gives(ill_shaped()), gives(rows()))), ill_shaped>);
} // namespace

TEST_CASE_FIXTURE(in_graph, "cond<Axis>: both sides may have other sizes along an axis, and only one runs") {
    const auto x = placeholder<float, shape<batch, 3>>("x");
    const auto all = placeholder<bool, shape<>>("all");
    const auto shown = cond<0, rest>(
        all, [&] { return x * 2.0f; },
        [&] {
            return slice<range{0, 1}>(print(x, "first") + 1.0f);
        });
    static_assert(std::is_same_v<decltype(shown), const tensor<float, shape<rest, 3>>>);
    const auto [wide, narrow] = cond<1>(
        all,
        [&] {
            return std::tuple(concat<1>(x, x), constant({{1, 2}}));
        },
        [&] {
            return std::tuple(slice<range{}, range{0, 0}>(x), constant({{3}}));
        });
    const auto total = sum(shown) + sum(wide); // of sizes that the step says
    session s;
    const array<float, shape<batch, 3>> values{{1, 2, 3}, {4, 5, 6}};
    {
        const auto [a, b, c, t] = s.run(feed(x, values), feed(all, true), shown, wide, narrow, total);
        CHECK(a == array<float>{{2, 4, 6}, {8, 10, 12}});
        CHECK(b == array<float>{{1, 2, 3, 1, 2, 3}, {4, 5, 6, 4, 5, 6}});
        CHECK(c == array<int>{{1, 2}});
        CHECK(t.item() == 84);
    }
    {
        const auto [a, b, c, t] = s.run(feed(x, values), feed(all, false), shown, wide, narrow, total);
        CHECK(a == array<float>{{2, 3, 4}});
        CHECK(b.extents() == extents{2, 0});
        CHECK(c == array<int>{{3}});
        CHECK(t.item() == 9);
    }
}

TEST_CASE("cond<Axis>: gradients flow through the side that ran, of any order") {
    for (const bool all : {true, false}) {
        const auto build = [=](const auto& x, const auto& w) {
            const auto y = cond<0>(
                constant(all), [&] { return matmul(x, w); },
                [&] {
                    return slice<range{1, 2}>(sin(x));
                });
            return sum(y * y);
        };
        CHECK(check_gradients(build, input<shape<batch, 3>>(2, 3), input<shape<3, 3>>()) == "");
        CHECK(check_gradients(
                  [&](const auto& x, const auto& w) {
                      const auto [dx, dw] = gradients(build(x, w), x, w);
                      return sum(dx * dx) + sum(dw * x);
                  },
                  input<shape<3, 3>>(), input<shape<3, 3>>()) == "");
    }
}

TEST_CASE_FIXTURE(in_graph, "cond<Axis>: sizes along other axes agree, or are said") {
    const any_tensor x = untyped::placeholder(element_type::float32, {2, 3}, "x"), c = constant(true);
    const auto fails = [&](const any_tensor& other, int axis) {
        return message_of<invalid_argument_error>([&] {
            (void)untyped::cond(
                c, [&] { return std::vector{x}; }, [&] { return std::vector{other}; }, axis);
        });
    };
    CHECK(fails(untyped::placeholder(element_type::float32, {2, 4}), 0).find("[2, 3]") != std::string::npos);
    CHECK(fails(untyped::placeholder(element_type::int32, {2, 3}), 0).find("int32[2, 3]") != std::string::npos);
    CHECK(fails(untyped::placeholder(element_type::float32, {2}), 0) != "");
    CHECK(fails(x, 2).find("axis") != std::string::npos);
}

TEST_CASE_FIXTURE(in_graph, "cond<Axis> in a loop: what is made of it there may depend on its size") {
    const auto x = placeholder<float, shape<batch, 3>>("x");
    const auto w = placeholder<float, shape<3>>("w");
    // Rows from the second on, or the first alone; with a choice of a choice, and one beside it.
    const auto part = [&](const auto& carry, const auto& step) {
        const auto odd = step % 2 == 1;
        const auto rows = cond<0, rest>(
            odd,
            [&] {
                return slice<range{0, 1}>(x) * carry;
            },
            [&] { return x; });
        const auto columns = cond<1>(
            step > 1, [&] { return concat<1>(rows, rows); },
            [&] {
                return slice<range{}, range{0, 2}>(rows) + 1.0f;
            });
        const auto beside = cond<0>(
            step == 2, [&] { return w; },
            [&] {
                return slice<range{1, 2}>(w);
            });
        return (sum(columns) + sum(zeros<float, shape<rest>>(rows) + 0.5f)) * mean(beside) / 100.0f;
    };
    const auto [i, y] = while_loop([](const auto& n, const auto&) { return n < 4; },
                                   [&](const auto& n, const auto& c) { return std::tuple(n + 1, c + part(c, n)); },
                                   constant(0), constant(1.0f));
    const auto [last, all] = scan(
        [&](const auto& c, const auto& n) {
            const auto next = c + part(c, n);
            return std::pair(next, next);
        },
        constant(1.0f), constant({0, 1, 2, 3}));
    const auto [dx, dw] = gradients(y, x, w);
    const auto [sx, sw] = gradients(last, x, w);
    const array<float, shape<batch, 3>> values{{1, 2, 3}, {4, 5, 6}};
    const array<float> weights{0.5f, -1, 2};
    session s;
    const auto [looped, scanned, by_step, gx, gw, hx, hw] =
        s.run(feed(x, values), feed(w, weights), y, last, all, dx, dw, sx, sw);

    const auto of = [&](const std::vector<double>& v, const std::vector<double>& u) {
        double c = 1;
        for (int n = 0; n < 4; ++n) {
            const int rows = n % 2 == 1 ? 1 : 2;
            double total = 0.5 * rows;
            for (int r = 0; r < rows; ++r)
                for (std::size_t k = 0; k < 3; ++k) {
                    const double e = v[static_cast<std::size_t>(r) * 3 + k] * (rows == 1 ? c : 1);
                    total += n > 1 ? 2 * e : k < 2 ? e + 1 : 0;
                }
            c += total * (n == 2 ? (u[0] + u[1] + u[2]) / 3 : u[1]) / 100;
        }
        return c;
    };
    const std::vector<double> v{1, 2, 3, 4, 5, 6}, u{0.5, -1, 2};
    CHECK(looped.item() == doctest::Approx(of(v, u)));
    CHECK(scanned.item() == doctest::Approx(of(v, u)));
    CHECK(by_step[3] == scanned.item());
    const auto slope = [&](std::vector<double> a, std::vector<double> b, bool first, std::size_t k) {
        std::vector<double>& moved = first ? a : b;
        moved[k] += 1e-5;
        const double above = of(a, b);
        moved[k] -= 2e-5;
        return (above - of(a, b)) / 2e-5;
    };
    for (std::size_t k = 0; k < 6; ++k) {
        CHECK(gx.data()[k] == doctest::Approx(slope(v, u, true, k)).epsilon(1e-3));
        CHECK(hx.data()[k] == doctest::Approx(slope(v, u, true, k)).epsilon(1e-3));
    }
    for (std::size_t k = 0; k < 3; ++k) {
        CHECK(gw.data()[k] == doctest::Approx(slope(v, u, false, k)).epsilon(1e-3));
        CHECK(hw.data()[k] == doctest::Approx(slope(v, u, false, k)).epsilon(1e-3));
    }
}

TEST_CASE_FIXTURE(in_graph, "cond<Axis> in a body: what the body gives has one size") {
    const auto x = placeholder<float, shape<4, 3>>("x");
    const auto chosen = [&](const auto& n) {
        return cond<0>(
            n > 1, [&] { return x; },
            [&] {
                return slice<range{0, 1}>(x);
            });
    };
    const std::string words = message_of<invalid_argument_error>([&] {
        (void)scan([&](const auto& c, const auto& n) { return std::pair(c, chosen(n)); }, constant(0.0f),
                   constant({0, 1}));
    });
    CHECK(words.find("float[4, 3]") != std::string::npos);
    CHECK(words.find("float[1, 3]") != std::string::npos);
    CHECK(words.find("reduce it, or pad it") != std::string::npos);
    const std::string meet = message_of<invalid_argument_error>([&] {
        (void)scan(
            [&](const auto& c, const auto& n) {
                std::vector<any_tensor> all;
                for (int i = 0; i < 9; ++i) all.push_back(chosen(n + i));
                return std::pair(c, as<float, shape<>>(untyped::sum(untyped::concat(all, 0))));
            },
            constant(0.0f), constant({0, 1}));
    });
    CHECK(meet.find("more than 8 of cond<Axis> in a body of control flow meet before they have one size") == 0);
    CHECK(meet.find("let each have one size before") != std::string::npos);
}

TEST_CASE_FIXTURE(in_graph, "cond<Axis> in a body: as many as one likes, each of which has one size before they meet") {
    const auto x = placeholder<double, shape<4, 3>>("x");
    const auto w = placeholder<double, shape<3>>("w");
    constexpr int many = 40;
    // Each adds to what the one before gave, also within what is made of its rows.
    const auto [last, by_step] = scan(
        [&](const auto& c, const auto& n) {
            any_tensor total = c;
            for (int i = 0; i < many; ++i) {
                const auto before = as<double, shape<>>(total);
                const auto rows = cond<0>((n + i) % 3 == 0, [&] { return x; },
                                          [&] {
                                              return slice<range{0, 1}>(x) * before;
                                          });
                const auto scaled = rows / (1.0 + sum(abs(rows))); // a sum within
                total = total + sum(scaled * w) * 0.5;
            }
            const auto next = as<double, shape<>>(total);
            return std::pair(next, next);
        },
        constant(0.25), constant({0, 1}));
    const auto [dx, dw] = gradients(last, x, w);
    const auto of = [&](const std::vector<double>& v, const std::vector<double>& u) {
        double c = 0.25;
        for (int n = 0; n < 2; ++n)
            for (int i = 0; i < many; ++i) {
                const bool all = (n + i) % 3 == 0;
                double size = 1, sum = 0;
                for (std::size_t k = 0; k < (all ? 12 : 3); ++k) {
                    const double e = v[k] * (all ? 1 : c);
                    size += std::fabs(e);
                    sum += e * u[k % 3];
                }
                c += sum / size * 0.5;
            }
        return c;
    };
    std::vector<double> v, u{0.5, -1, 0.75};
    for (int k = 0; k < 12; ++k) v.push_back(std::sin(k + 1.0));
    array<double, shape<4, 3>> values;
    std::copy(v.begin(), v.end(), values.data());
    session s;
    const auto [y, all, gx, gw] = s.run(feed(x, values), feed(w, {0.5, -1.0, 0.75}), last, by_step, dx, dw);
    CHECK(y.item() == doctest::Approx(of(v, u)));
    CHECK(all[1] == y.item());
    const auto slope = [&](std::vector<double> a, std::vector<double> b, bool first, std::size_t k) {
        (first ? a : b)[k] += 1e-6;
        const double above = of(a, b);
        (first ? a : b)[k] -= 2e-6;
        return (above - of(a, b)) / 2e-6;
    };
    for (std::size_t k = 0; k < 12; ++k) CHECK(gx.data()[k] == doctest::Approx(slope(v, u, true, k)).epsilon(1e-5));
    for (std::size_t k = 0; k < 3; ++k) CHECK(gw.data()[k] == doctest::Approx(slope(v, u, false, k)).epsilon(1e-5));
}
