#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <tenon/ops/formulas.hpp>
#include <tenon/ops/gather.hpp>
#include <tenon/ops/reduction.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/train/optimizers.hpp>

// SEMANTICS 20, 39: a step that runs several optimisers' operations. Gradients are those of the values before the step; each
// operation changes what those made before it left.

namespace tn = tenon;

namespace {

const tn::session_options kinds[] = {{}, {.fuse = false}, {.fold_constants = false, .fuse = false}, {.cpu_devices = 2}};

// The gradient of sum(c (w - 1)^2).
double slope(double c, double w) { return 2 * c * (w - 1); }

} // namespace

TEST_CASE("SEMANTICS 20, 39: several minimize()s of the same variables in one step all count") {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto w = tn::variable("w", tn::constant({1.5, -2.0}));
    const auto half = tn::variable("half", tn::constant({3.0}));
    const auto loss = sum(square(w - 1.0)) + 3.0 * sum(square(half - 1.0));
    const tn::operation descent = tn::gradient_descent(0.01).minimize(loss);
    const tn::operation moving = tn::momentum(0.02, 0.5).minimize(loss);
    const tn::operation decaying = tn::adam(0.1, {.weight_decay = 0.5}).minimize(loss);
    for (const tn::session_options& o : kinds) {
        tn::session s(o);
        s.run(tn::initialize_variables());
        double x[] = {1.5, -2.0, 3.0}, moment[3] = {}, mean[3] = {}, square[3] = {};
        for (int t = 1; t <= 4; ++t) {
            s.run(decaying, descent, moving);
            for (int i = 0; i < 3; ++i) {
                const double d = slope(i < 2 ? 1 : 3, x[i]);
                x[i] -= 0.01 * d;
                moment[i] = 0.5 * moment[i] + d;
                x[i] -= 0.02 * moment[i];
                mean[i] = 0.9 * mean[i] + 0.1 * d;
                square[i] = 0.999 * square[i] + 0.001 * d * d;
                x[i] -=
                    0.1 * (mean[i] / (1 - std::pow(0.9, t)) / (std::sqrt(square[i] / (1 - std::pow(0.999, t))) + 1e-8) +
                           0.5 * x[i]);
            }
            const auto [a, b] = s.run(w, half);
            CHECK(a(0) == doctest::Approx(x[0]).epsilon(1e-12));
            CHECK(a(1) == doctest::Approx(x[1]).epsilon(1e-12));
            CHECK(b(0) == doctest::Approx(x[2]).epsilon(1e-12));
        }
        CHECK(s.run(tn::global_step()).item() == 12);
    }
}

TEST_CASE("SEMANTICS 20, 39: an operation that minimises w itself computes its gradient of the value before the step") {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto w = tn::variable("w", 8.0);
    const tn::operation a = tn::gradient_descent(0.5).apply_gradients({{w, w}}); // w -= w / 2
    const tn::operation b = tn::gradient_descent(0.25).apply_gradients({{w, w}});
    for (const tn::session_options& o : kinds) {
        tn::session s(o);
        s.run(tn::initialize_variables());
        s.run(a, b);
        CHECK(s.run(w).item() == 2); // 8 - 4 - 2
    }
}

TEST_CASE("SEMANTICS 20, 39: sparse gradients of the same rows in one step all count, and in their slots") {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto table = tn::variable("table", tn::constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}));
    const auto rows = gather(table, tn::constant({2, 0, 2}));
    const auto loss = sum(square(rows)) * 0.5; // of row 2, which is there twice, the gradient is twice the row
    const tn::operation a = tn::gradient_descent(0.1).minimize(loss);
    const tn::operation b = tn::momentum(0.01, 0.5).minimize(loss);
    const tn::operation c = tn::gradient_descent(0.1).apply_gradients({{tn::ones_like(table), table}}); // dense
    for (const tn::session_options& o : kinds) {
        tn::session s(o);
        s.run(tn::initialize_variables());
        double x[3][2] = {{1, 2}, {3, 4}, {5, 6}}, moment[3][2] = {};
        const double times[] = {1, 0, 2};
        for (int t = 0; t < 3; ++t) {
            s.run(a, b, c);
            for (int r = 0; r < 3; ++r)
                for (int k = 0; k < 2; ++k) {
                    const double d = times[r] * x[r][k];
                    if (times[r] > 0) moment[r][k] = 0.5 * moment[r][k] + d;
                    x[r][k] -= 0.1 * d + (times[r] > 0 ? 0.01 * moment[r][k] : 0) + 0.1;
                }
            const auto got = s.run(table);
            for (int r = 0; r < 3; ++r)
                for (int k = 0; k < 2; ++k) CHECK(got(r, k) == doctest::Approx(x[r][k]).epsilon(1e-12));
        }
    }
}
