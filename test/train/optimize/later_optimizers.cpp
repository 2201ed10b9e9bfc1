#include <tenon/train/optimize/doubtful_loss.hpp>

#include "tests.hpp"
#include "steps_by_hand.hpp"

// LAMB, Lion and RAdam, gradients of several runs, averages of weights: against their formulas in double.

namespace later {

using namespace steps_by_hand;

// w after each of some steps, beside `step(t, w, g)` of the t-th.
template <class T, class Step> void check(const tn::optimizer& o, int steps, double tolerance, Step step) {
    const own_graph g;
    const auto w = tn::variable("w", tn::constant(as_array<T>(first)));
    const tn::operation train = o.minimize(parabola<T>(w));
    initialized_session s;
    check_steps<T>(s, train, w, steps, tolerance, step);
}

struct moments {
    values m = values(size), v = values(size);
    void take(const values& g, double beta1, double beta2) {
        for (std::size_t i = 0; i < size; ++i) {
            m[i] = beta1 * m[i] + (1 - beta1) * g[i];
            v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        }
    }
};
inline double norm(const values& x) {
    double s = 0;
    for (const double e : x) s += e * e;
    return std::sqrt(s);
}

} // namespace later

using namespace later;

TEST_CASE("LAMB follows You et al.: steps are as long as the weights are") {
    const auto step = [](double decay) {
        return [=, a = moments()](int t, values& w, const values& g) mutable {
            a.take(g, 0.9, 0.99);
            values u(size);
            for (std::size_t i = 0; i < size; ++i)
                u[i] = a.m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(a.v[i] / (1 - std::pow(0.99, t))) + 1e-6) +
                       decay * w[i];
            const double quotient = norm(w) / norm(u);
            for (std::size_t i = 0; i < size; ++i) w[i] -= 0.02 * quotient * u[i];
        };
    };
    check<double>(tn::lamb(0.02, {.beta2 = 0.99, .weight_decay = 0.1}), 20, 1e-12, step(0.1));
    check<float>(tn::lamb(0.02, {.beta2 = 0.99}), 20, 2e-5, step(0));

    // Weights that are 0 take Adam's step.
    const own_graph g;
    const auto w = tn::variable<double, tn::shape<size>>("w", tn::zeros());
    const auto train = tn::lamb(0.5, {.epsilon = 0}).minimize(parabola<double>(w));
    initialized_session s;
    s.run(train);
    const auto got = s.run(w);
    for (std::size_t i = 0; i < size; ++i)
        CHECK(got[static_cast<std::int64_t>(i)] == doctest::Approx(targets[i] > 0 ? 0.5 : -0.5));
}

TEST_CASE("LAMB takes a sparse gradient as the dense one that it is") {
    const auto trained = [](bool sparse) {
        const own_graph g;
        const auto table = tn::variable<double, tn::shape<6, 2>>("table", tn::ones());
        const auto rows = tn::constant<std::int32_t>({3, 1, 3});
        const auto picked = tn::gather(table, rows);
        const auto loss = tn::sum(tn::square(picked)) + (sparse ? 0.0 : 0.0) * tn::sum(table);
        const auto train = sparse ? tn::lamb(0.1).minimize(tn::sum(tn::square(picked))) : tn::lamb(0.1).minimize(loss);
        initialized_session s;
        for (int i = 0; i < 3; ++i) s.run(train);
        const auto got = s.run(table);
        return values(got.data(), got.data() + 12);
    };
    CHECK(trained(true) == trained(false));
}

TEST_CASE("Lion follows Chen et al.: the sign of a mean, and another mean kept") {
    const auto step = [](double decay) {
        return [=, m = values(size)](int, values& w, const values& g) mutable {
            for (std::size_t i = 0; i < size; ++i) {
                const double c = 0.9 * m[i] + 0.1 * g[i];
                w[i] -= 0.03 * ((c > 0) - (c < 0) + decay * w[i]);
                m[i] = 0.99 * m[i] + 0.01 * g[i];
            }
        };
    };
    check<double>(tn::lion(0.03, {.weight_decay = 0.2}), 20, 1e-12, step(0.2));
    check<float>(tn::lion(0.03), 10, 2e-5, step(0));
}

TEST_CASE("RAdam follows Liu et al.: first without, then with the second moment") {
    const auto step = [](double decay) {
        return [=, a = moments()](int t, values& w, const values& g) mutable {
            a.take(g, 0.9, 0.9);
            const double most = 2 / (1 - 0.9) - 1, power = std::pow(0.9, t), rho = most - 2 * t * power / (1 - power);
            if (t == 5) CHECK(rho < 5);
            if (t == 7) CHECK(rho > 5);
            for (std::size_t i = 0; i < size; ++i) {
                const double mean = a.m[i] / (1 - std::pow(0.9, t));
                double change = mean;
                if (rho > 5)
                    change *= std::sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)) *
                              std::sqrt(1 - power) / (std::sqrt(a.v[i]) + 1e-8);
                w[i] -= 0.05 * (change + decay * w[i]);
            }
        };
    };
    check<double>(tn::radam(0.05, {.beta2 = 0.9, .weight_decay = 0.1}), 20, 1e-12, step(0.1));
    check<float>(tn::radam(0.05, {.beta2 = 0.9}), 20, 5e-5, step(0));
}

TEST_CASE("settings that make no sense are refused by name") {
    CHECK_ERROR(tn::invalid_argument_error, "lamb: the beta1 is 1", tn::lamb(0.1, {.beta1 = 1}));
    CHECK_ERROR(tn::invalid_argument_error, "lion: the weight_decay is -1", tn::lion(0.1, {.weight_decay = -1}));
    CHECK_ERROR(tn::invalid_argument_error, "radam: the beta2 is 2", tn::radam(0.1, {.beta2 = 2}));
    CHECK_ERROR(tn::invalid_argument_error, "gradients of 0 runs", tn::accumulated(tn::lion(0.1), 0));
    CHECK_ERROR(tn::invalid_argument_error, "the decay is 1", tn::moving_average(1));
    CHECK(tn::accumulated(tn::lion(0.1), 3).settings() == "beta1 0.9, beta2 0.99, weight_decay 0, accumulated 3");
}

TEST_CASE("16-bit variables with float masters, scaled losses and rows: the later optimisers as the others") {
    const auto trained = [](const tn::optimizer& o, bool scaled) {
        const own_graph g;
        const auto w = tn::variable<tn::half, tn::shape<size>>("w", tn::constant_value(0.5));
        const auto table = tn::variable<float, tn::shape<20, 5>>("table", tn::ones());
        const auto rows = tn::gather(table, tn::constant<std::int32_t>({3, 7, 3}));
        const auto loss = tn::sum(tn::square(tn::cast<float>(w)) + tn::sum<0>(tn::square(rows)));
        tn::minimize_options with{.float_masters = true};
        if (scaled) with.scale = tn::loss_scale({.initial = 1024, .good_steps = 3});
        const auto train = o.minimize(loss, with);
        initialized_session s;
        for (int i = 0; i < 6; ++i) s.run(train);
        values all;
        for (const tn::any_tensor& v : g.collection(tn::global_variables)) {
            if (v.name().starts_with("loss_scale") || v.element() != tn::element_type::float32) continue;
            const tn::any_array is = std::move(s.run_untyped({}, {v})[0]);
            for (std::int64_t i = 0; i < is.elements(); ++i) all.push_back(static_cast<double>(is.data<float>()[i]));
        }
        const auto rounded = s.run(w);
        for (std::int64_t i = 0; i < size; ++i) CHECK(static_cast<float>(rounded[i]) < 0.5f);
        return all;
    };
    const auto same = [&](const tn::optimizer& o) { CHECK(trained(o, true) == trained(o, false)); };
    same(tn::lamb(0.01));
    same(tn::lion(0.01));
    same(tn::radam(0.01));
    same(tn::accumulated(tn::lamb(0.01), 2));
}

TEST_CASE_FIXTURE(in_graph, "accumulated: the mean gradient of several runs is one step, which counts once") {
    const auto w = tn::variable<double, tn::shape<size>>("w", tn::ones());
    const auto x = tn::placeholder<double, tn::shape<size>>("x");
    const auto loss = tn::sum(tn::square(w - x));
    const auto train = tn::accumulated(tn::momentum(0.1, 0.5), 3).minimize(loss);
    initialized_session s;
    values expected(size, 1.0), m(size), sum(size);
    for (int run = 1; run <= 9; ++run) {
        values fed(size);
        for (std::size_t i = 0; i < size; ++i) {
            fed[i] = std::sin(static_cast<double>(run) + static_cast<double>(i));
            sum[i] += 2 * (expected[i] - fed[i]) / 3;
        }
        s.run(tn::feed(x, as_array<double>(fed)), train);
        if (run % 3 == 0)
            for (std::size_t i = 0; i < size; ++i) {
                m[i] = 0.5 * m[i] + std::exchange(sum[i], 0);
                expected[i] -= 0.1 * m[i];
            }
        const auto got = s.run(w);
        for (std::size_t i = 0; i < size; ++i)
            CHECK(got[static_cast<std::int64_t>(i)] == doctest::Approx(expected[i]).epsilon(1e-12));
        CHECK(s.run(tn::global_step()).item() == run / 3);
    }
}

TEST_CASE_FIXTURE(in_graph, "accumulated: of runs of which one has a gradient that is not finite nothing is left") {
    const auto w = tn::variable<float, tn::shape<>>("w", tn::ones());
    const auto x = tn::placeholder<float, tn::shape<>>("x");
    const tn::loss_scale scale({.initial = 8, .good_steps = 1000});
    const auto train = tn::accumulated(tn::gradient_descent(0.5f), 2).minimize(w * x, {.scale = scale});
    initialized_session s;
    const auto run = [&](float a, float b) {
        s.run(tn::feed(x, a), train);
        s.run(tn::feed(x, b), train);
        return std::pair(s.run(w).item(), s.run_untyped({}, {scale.value()})[0].data<float>()[0]);
    };
    CHECK(run(INFINITY, 1) == std::pair(1.0f, 4.0f));
    CHECK(run(1, INFINITY) == std::pair(1.0f, 2.0f));
    CHECK(run(0.5f, 1) == std::pair(1 - 0.5f * 0.75f, 2.0f));
    CHECK(s.run(tn::global_step()).item() == 1);
}

TEST_CASE("a moving average follows what steps leave, and can take the weights' place") {
    for (const bool warm_up : {false, true}) {
        const own_graph g;
        const auto w = tn::variable("w", tn::constant(as_array<double>(first)));
        const auto small = tn::variable<tn::bfloat16, tn::shape<>>("small", tn::ones());
        const tn::moving_average average(0.9, {.warm_up = warm_up});
        CHECK_THROWS_AS(average.swap_in(), tn::failed_precondition_error);
        const auto train = average.after(
            tn::gradient_descent(0.05).minimize(parabola<double>(w) + tn::cast<double>(tn::square(small))));
        initialized_session s;
        values at = first, mean = first;
        for (int t = 1; t <= 12; ++t) {
            s.run(train);
            const values slope = gradient_at(at);
            const double decay = warm_up ? std::min(0.9, (1.0 + t) / (10 + t)) : 0.9;
            for (std::size_t i = 0; i < size; ++i) {
                at[i] -= 0.05 * slope[i];
                mean[i] = decay * mean[i] + (1 - decay) * at[i];
            }
        }
        const auto check_w = [&](const values& wanted) {
            const auto got = s.run(w);
            for (std::size_t i = 0; i < size; ++i)
                CHECK(got[static_cast<std::int64_t>(i)] == doctest::Approx(wanted[i]).epsilon(1e-12));
        };
        check_w(at);
        const float before = static_cast<float>(s.run(small).item());
        {
            auto swapped = average.swapped(s);
            check_w(mean);
            CHECK(static_cast<float>(s.run(small).item()) > before);
            swapped.restore();
            check_w(at);
        }
        {
            const auto swapped = average.swapped(s);
            check_w(mean);
        }
        check_w(at);
        CHECK(static_cast<float>(s.run(small).item()) == before);
        CHECK(average.of(small).element() == tn::element_type::float32);
        s.run(w.assign(tn::constant(as_array<double>(first))), average.restart());
        {
            const auto swapped = average.swapped(s);
            check_w(at); // what w was before the step
            CHECK(static_cast<float>(s.run(small).item()) == before);
        }
        s.run(average.restart());
        {
            const auto swapped = average.swapped(s);
            check_w(first);
        }
        CHECK_THROWS_AS(average.of(tn::global_step()), tn::invalid_argument_error);
    }
}

TEST_CASE("a moving average follows updates, not runs: behind accumulated gradients, beside a variable that changes in "
          "each run") {
    for (const bool warm_up : {false, true}) {
        const own_graph g;
        const auto w = tn::variable("w", 5.0), v = tn::variable("v", 3.0);
        const auto x = tn::placeholder<double>("x");
        const tn::operation rare =
            tn::accumulated(tn::momentum(0.1, 0.5), 3).minimize(tn::square(w - x), {.variables = {w}});
        const tn::operation often = tn::gradient_descent(0.1).minimize(tn::square(v - x), {.variables = {v}});
        const tn::moving_average average(0.75, {.warm_up = warm_up}), rare_average(0.75, {.warm_up = warm_up});
        const tn::operation train = rare_average.after(average.after(tn::group(rare, often)), {w});
        initialized_session s;
        double at = 5, speed = 0, sum = 0, mean = 5, rare_mean = 5, other = 3, other_mean = 3;
        int updates = 0;
        for (int t = 1; t <= 20; ++t) {
            const double target = std::sin(t);
            s.run(tn::feed(x, target), train);
            // Runs are counted where one of the variables changes.
            const auto decay = [&](int n) { return warm_up ? std::min(0.75, (1.0 + n) / (10 + n)) : 0.75; };
            sum += 2 * (at - target) / 3;
            if (t % 3 == 0) {
                speed = 0.5 * speed + std::exchange(sum, 0);
                at -= 0.1 * speed;
                ++updates;
                mean = decay(t) * mean + (1 - decay(t)) * at;
                rare_mean = decay(updates) * rare_mean + (1 - decay(updates)) * at;
            }
            other -= 0.1 * 2 * (other - target);
            other_mean = decay(t) * other_mean + (1 - decay(t)) * other;
            const auto value = [&](const tn::any_tensor& of) { return *s.run_untyped({}, {of})[0].data<double>(); };
            CHECK(value(w) == doctest::Approx(at).epsilon(1e-12));
            CHECK(value(average.of(w)) == doctest::Approx(mean).epsilon(1e-12));
            CHECK(value(rare_average.of(w)) == doctest::Approx(rare_mean).epsilon(1e-12));
            CHECK(value(average.of(v)) == doctest::Approx(other_mean).epsilon(1e-12));
        }
    }
    // A step that a loss_scale left out is none.
    const own_graph g;
    const auto w = tn::variable("w", 1.0f);
    const auto x = tn::placeholder<float>("x");
    const tn::moving_average average(0.5);
    const tn::operation train =
        average.after(tn::gradient_descent(1).minimize(w * x, {.scale = tn::loss_scale({.initial = 2})}));
    initialized_session s;
    for (const float gradient : {1.0f, INFINITY, 2.0f}) s.run(tn::feed(x, gradient), train);
    CHECK(*s.run_untyped({}, {average.of(w)})[0].data<float>() == 0.5f * (0.5f * (1 + 0)) + 0.5f * -2);
}

TEST_CASE("a loss of predictions [n, 1] beside targets [n] is warned of in words") {
    using tn::detail::doubt_about;
    const own_graph g;
    static constexpr struct rows_size : tn::dim<"rows"> {} rows;
    const auto p = tn::placeholder<float, tn::shape<rows, 1>>("p");
    const auto y = tn::placeholder<float, tn::shape<rows>>("y");
    const auto direct = tn::mean(tn::square(p - y));
    CHECK(contains(doubt_about(direct),
                   "is over [rows, rows]: each element of p, float[rows, 1], is beside each of y, float[rows]; "));
    const auto difference = p - y;
    const auto named = 0.5f * tn::sum(tn::square(difference)) + 1.0f;
    CHECK(!doubt_about(tn::detail::as_tensor(named)).empty());
    CHECK(doubt_about(tn::mean(tn::square(tn::squeeze<1>(p) - y))) == "");
    CHECK(doubt_about(tn::mean<0, 1>(tn::square(p - y))) == ""); // all pairs
    const auto x = tn::placeholder<float, tn::shape<rows, 3>>("x");
    const auto bias = tn::variable<float, tn::shape<3>>("bias", tn::zeros());
    CHECK(doubt_about(tn::mean(tn::square(x + bias - p))) == ""); // a column and a row of other sizes
}
