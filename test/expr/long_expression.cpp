#include <doctest/doctest.h>

#include <cmath>

#include <tenon/tenon.hpp>

#include "own_graph.hpp"

namespace tn = tenon;

namespace {

// ((x y + y) x + y) x + ..: a polynomial by Horner's rule with N coefficients, which are y.
template <int N, class X, class Y> auto horner(const X& x, const Y& y) {
    if constexpr (N == 1) return y + 0.0f;
    else return horner<N - 1>(x, y) * x + y;
}

} // namespace

TEST_CASE("an expression that is longer than a tape is several nodes, with the same value and gradients") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    const auto y = tn::placeholder<float, tn::shape<3>>("y");
    const std::int64_t before = g.size();
    const tn::tensor<float, tn::shape<3>> p = horner<60>(x, y);
    CHECK(g.size() > before + 1);
    const auto [dx, dy] = tn::gradients(sum(p), x, y);

    tn::session sess;
    const tn::array<float> xs{0.5f, -0.25f, 0.75f}, ys{1, 2, 3};
    const auto [values, by_x, by_y] = sess.run(tn::feed(x, {0.5f, -0.25f, 0.75f}), tn::feed(y, {1, 2, 3}), p, dx, dy);
    for (int i = 0; i < 3; ++i) {
        // y (1 + x + .. + x^59), which is y / (1 - x) to float's precision
        const double at = xs(i), c = ys(i);
        CHECK(values(i) == doctest::Approx(c / (1 - at)).epsilon(1e-5));
        CHECK(by_x(i) == doctest::Approx(c / ((1 - at) * (1 - at))).epsilon(1e-5));
        CHECK(by_y(i) == doctest::Approx(1 / (1 - at)).epsilon(1e-5));
    }
}

TEST_CASE_FIXTURE(in_graph, "a short expression is one node") {
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    const auto y = tn::placeholder<float, tn::shape<3>>("y");
    const std::int64_t before = g.size();
    const tn::tensor<float, tn::shape<3>> p = horner<6>(x, y);
    CHECK(g.size() == before + 1);
}

TEST_CASE("an expression whose gradient is longer than a tape has that gradient, whatever the order, with sizes that "
          "are repeated") {
    const own_graph g;
    const auto x = tn::placeholder<double, tn::shape<3, 1>>("x");
    const auto y = tn::placeholder<double, tn::shape<2>>("y");
    const auto value_of = [](const auto& a, const auto& b) {
        return tn::identity(tn::tanh(a * b) * tn::exp(-a) / (1.0 + b * b) + tn::select(a > b, a * a * b, a * b * b));
    };
    // d/dy of each derivative by x, and its sum over what y was repeated to: [3, 2], [2]
    tn::any_tensor by_x = value_of(x, y);
    tn::session sess;
    const tn::array<double, tn::shape<3, 1>> xs{{0.3}, {-0.7}, {1.1}};
    const tn::array<double, tn::shape<2>> ys{0.4, -0.6};
    for (int order = 1; order <= 4; ++order) {
        const tn::any_tensor before = tn::untyped::sum(by_x);
        by_x = tn::gradients(before, {tn::any_tensor(x)})[0];
        const tn::any_tensor by_y = tn::gradients(before, {tn::any_tensor(y)})[0];
        CHECK(by_y.extents() == tn::extents{2});
        const auto at = [&](double move_x, double move_y) {
            auto moved_x = xs.copy();
            auto moved_y = ys.copy();
            moved_x(1, 0) += move_x;
            moved_y(1) += move_y;
            return *sess.run(tn::feed(x, moved_x), tn::feed(y, moved_y), before).data<double>();
        };
        const double h = 1e-5;
        const auto exact_x = sess.run(tn::feed(x, xs), tn::feed(y, ys), by_x);
        const auto exact_y = sess.run(tn::feed(x, xs), tn::feed(y, ys), by_y);
        CHECK(exact_x.data<double>()[1] == doctest::Approx((at(h, 0) - at(-h, 0)) / (2 * h)).epsilon(1e-6));
        CHECK(exact_y.data<double>()[1] == doctest::Approx((at(0, h) - at(0, -h)) / (2 * h)).epsilon(1e-6));
    }
}

TEST_CASE_FIXTURE(in_graph, "such a gradient of half is that of float, rounded") {
    const auto x = tn::placeholder<tn::half, tn::shape<2>>("x");
    const auto third = [](const tn::any_tensor& of) {
        tn::any_tensor t = tn::untyped::tanh(of * of) * tn::untyped::exp(-of) / (1 + of * of);
        for (int i = 0; i < 3; ++i) t = tn::gradients(tn::untyped::sum(t), {of})[0];
        return t;
    };
    const auto wide = tn::placeholder<float, tn::shape<2>>("wide");
    tn::session sess;
    const auto narrow = sess.run(tn::feed(x, {tn::half(0.5f), tn::half(-0.25f)}), third(x));
    const auto exact = sess.run(tn::feed(wide, {0.5f, -0.25f}), third(wide));
    for (int i = 0; i < 2; ++i)
        CHECK(static_cast<double>(static_cast<float>(narrow.data<tn::half>()[i])) ==
              doctest::Approx(static_cast<double>(exact.data<float>()[i])).epsilon(0.02));
}
