#include "tests.hpp"

// SEMANTICS 20, 39: a step that runs several optimisers' operations. Gradients are those of the values before the step; each
// operation changes what those made before it left.

namespace {

const tn::session_options kinds[] = {{}, {.fuse = false}, {.fold_constants = false, .fuse = false}, {.cpu_devices = 2}};

// The gradient of sum(c (w - 1)^2).
double slope(double c, double w) { return 2 * c * (w - 1); }

} // namespace

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20, 39: several minimize()s of the same variables in one step all count") {
    const auto w = tn::variable("w", tn::constant({1.5, -2.0}));
    const auto half = tn::variable("half", tn::constant({3.0}));
    const auto loss = sum(square(w - 1.0)) + 3.0 * sum(square(half - 1.0));
    const tn::operation descent = tn::gradient_descent(0.01).minimize(loss);
    const tn::operation moving = tn::momentum(0.02, 0.5).minimize(loss);
    const tn::operation decaying = tn::adam(0.1, {.weight_decay = 0.5}).minimize(loss);
    for (const tn::session_options& o : kinds) {
        initialized_session s(o);
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
    const own_graph g;
    const auto w = tn::variable("w", 8.0);
    const tn::operation a = tn::gradient_descent(0.5).apply_gradients({{w, w}}); // w -= w / 2
    const tn::operation b = tn::gradient_descent(0.25).apply_gradients({{w, w}});
    for (const tn::session_options& o : kinds) {
        initialized_session s(o);
        s.run(a, b);
        CHECK(s.run(w).item() == 2); // 8 - 4 - 2
    }
}

TEST_CASE("SEMANTICS 20, 39: sparse gradients of the same rows in one step all count, and in their slots") {
    const own_graph g;
    const auto table = tn::variable("table", tn::constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}));
    const auto rows = gather(table, tn::constant({2, 0, 2}));
    const auto loss = sum(square(rows)) * 0.5; // of row 2, which is there twice, the gradient is twice the row
    const tn::operation a = tn::gradient_descent(0.1).minimize(loss);
    const tn::operation b = tn::momentum(0.01, 0.5).minimize(loss);
    const tn::operation c = tn::gradient_descent(0.1).apply_gradients({{tn::ones_like(table), table}}); // dense
    for (const tn::session_options& o : kinds) {
        initialized_session s(o);
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

namespace {

inline constexpr struct some_rows : tn::dim<"some_rows"> {} some_rows;
using gradients_of_step = std::vector<tn::gradient_and_variable>;

// A table after two steps of two optimisers at once, the second of clipped gradients; with what the second keeps.
std::vector<tn::any_array> trained_by_two(int parts, bool chosen_late, int clip, int kind,
                                          const tn::session_options& o) {
    own_graph g;
    const auto table =
        tn::variable<double, tn::shape<6, 4>>("table", tn::uniform(-1, 1, 5), {.partition = {.parts = parts}});
    const auto ids = tn::placeholder<std::int32_t, tn::shape<some_rows>>("ids");
    const auto rows = chosen_late ? std::get<0>(tn::unique<tn::dyn>(ids))
                                  : tn::tensor<std::int32_t, tn::shape<tn::dyn>>::unchecked(ids);
    const auto e = tn::gather(table, rows);
    const tn::operation first = tn::gradient_descent(0.1).minimize(tn::sum(e * e));
    gradients_of_step d = tn::optimizer::compute_gradients(tn::sum(tn::tanh(tn::gather(table, rows))));
    if (clip == 1) d = tn::clip_by_global_norm(std::move(d), 0.2);
    if (clip == 2) d = tn::clip_by_norm(std::move(d), 0.2);
    if (clip == 3) d = tn::clip_by_value(std::move(d), -0.1, 0.2);
    const tn::operation second = kind == 0   ? tn::gradient_descent(0.1).apply_gradients(d)
                                 : kind == 1 ? tn::momentum(0.1).apply_gradients(d)
                                             : tn::adam(0.1).apply_gradients(d);
    initialized_session s(o);
    for (const auto& fed : {tn::array<std::int32_t, tn::shape<some_rows>>{1, 5, 3},
                            tn::array<std::int32_t, tn::shape<some_rows>>{5, 0, 5, 5, 2}})
        s.run(tn::feed(ids, fed), first, second);
    std::vector<tn::any_tensor> kept{table, tn::global_step()};
    if (kind == 1) kept.push_back(g.tensor("table/momentum"));
    if (kind == 2) kept.push_back(g.tensor("table/adam_v"));
    return s.run_untyped({}, kept);
}

} // namespace

TEST_CASE("SEMANTICS 20, 39: two optimisers at once on a table in parts, or on rows chosen late, are as on one piece") {
    for (const tn::session_options& o : kinds)
        for (const bool late : {false, true})
            for (const int clip : {0, 1, 2, 3})
                for (const int kind : {0, 1, 2}) {
                    const auto expected = trained_by_two(1, late, clip, kind, o);
                    for (const int parts : {2, 3}) {
                        INFO(parts, " parts, late ", late, ", clip ", clip, ", optimiser ", kind);
                        const auto got = trained_by_two(parts, late, clip, kind, o);
                        REQUIRE(got.size() == expected.size());
                        for (std::size_t i = 0; i < got.size(); ++i) {
                            REQUIRE(got[i].type() == expected[i].type());
                            if (i == 1) CHECK(got[i] == expected[i]);
                            else
                                for (std::int64_t k = 0; k < got[i].elements(); ++k)
                                    CHECK(got[i].data<double>()[k] ==
                                          doctest::Approx(expected[i].data<double>()[k]).epsilon(1e-12));
                        }
                    }
                }
}
