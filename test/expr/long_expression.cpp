#include <doctest/doctest.h>

#include <cmath>

#include <tenon/tenon.hpp>

namespace tn = tenon;

namespace {

// ((x y + y) x + y) x + ..: a polynomial by Horner's rule with N coefficients, which are y.
template <int N, class X, class Y> auto horner(const X& x, const Y& y) {
    if constexpr (N == 1) return y + 0.0f;
    else return horner<N - 1>(x, y) * x + y;
}

} // namespace

TEST_CASE("an expression that is longer than a tape is several nodes, with the same value and gradients") {
    tn::graph g;
    const tn::graph_scope scope(g);
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

TEST_CASE("a short expression is one node") {
    tn::graph g;
    const tn::graph_scope scope(g);
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    const auto y = tn::placeholder<float, tn::shape<3>>("y");
    const std::int64_t before = g.size();
    const tn::tensor<float, tn::shape<3>> p = horner<6>(x, y);
    CHECK(g.size() == before + 1);
}
