#include "tests.hpp"
#include "../check_gradients.hpp"

using namespace tenon;
using test::check_gradients;
using test::input;

namespace {

// The sum of all gradients of build(x..), which check_gradients differentiates again.
template <class Build> auto slopes(const Build& build) {
    return [build](const auto&... x) {
        const auto g = gradients(build(x...), x...);
        return std::apply([](const auto&... d) { return (sum(d * d) + ...); }, g);
    };
}
template <class Build, class... In> void check_three(const Build& build, const In&... in) {
    CHECK(check_gradients(build, in...) == "");
    CHECK(check_gradients(slopes(build), in...) == "");
    CHECK(check_gradients(slopes(slopes(build)), in...) == "");
}

} // namespace

TEST_CASE("while_loop: second and third gradients, of what it carries and what it uses") {
    check_three(
        [](const auto& x, const auto& w) {
            const auto [n, y, z] = while_loop([](const auto& k, const auto&...) { return k < 4; },
                                              [&](const auto& k, const auto& a, const auto& b) {
                                                  return std::tuple(k + 1, tanh(matmul(a, w)), b + sum(a * a));
                                              },
                                              constant(0), x, constant(0.5));
            return sum(y) * z;
        },
        input<shape<2, 3>>(), input<shape<3, 3>>());
}

TEST_CASE("while_loop: second gradients where carries change places, are one, or matter to nobody") {
    check_three(
        [](const auto& x) {
            const auto [a, b, n, c] =
                while_loop([](const auto&, const auto&, const auto& k, const auto&) { return k < 5; },
                           [&](const auto& p, const auto& q, const auto& k, const auto& r) {
                               const auto both = identity(sin(q * x));
                               return std::tuple(both, both, k + 1, r * p);
                           },
                           x, x * 2.0, constant(0), constant(1.0));
            return a * b;
        },
        input<shape<>>());
}

TEST_CASE("while_loop: second gradients of a loop in a loop, with a branch, in a scan, and of none and many runs") {
    check_three(
        [](const auto& x) {
            const auto inner = [&](const auto& from) {
                return while_loop([](const auto& v) { return v < 1.5; },
                                  [&](const auto& v) {
                                      return cond(
                                          v < 0.5, [&] { return v + 0.3 + x * x; }, [&] { return v * 1.5 + sin(x); });
                                  },
                                  from);
            };
            const auto [n, y] = while_loop(
                [](const auto& k, const auto&) { return k < 3; },
                [&](const auto& k, const auto& v) { return std::tuple(k + 1, inner(v * 0.4) + x); }, constant(0), x);
            const auto [last, all] = scan(
                [&](const auto& h, const auto& s) {
                    const auto next = identity(inner(h * 0.3) * s);
                    return std::pair(next, next);
                },
                y, constant({0.7, 0.9, 1.1}));
            return last + sum(all * all);
        },
        test::given(input<shape<>>(), {0.8}));
    for (const int runs : {0, 1, 2500}) // more than carries are kept
        check_three(
            [=](const auto& x) {
                return std::get<1>(while_loop(
                    [=](const auto& k, const auto&) { return k < runs; },
                    [&](const auto& k, const auto& v) { return std::tuple(k + 1, sin(v * x)); }, constant(0), x * x));
            },
            test::given(input<shape<>>(), {1.3}));
}
