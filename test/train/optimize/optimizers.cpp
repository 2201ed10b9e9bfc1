#include "tests.hpp"
#include "steps_by_hand.hpp"

using namespace steps_by_hand;

namespace {

// sum(curvature * (w - target)^2) in a graph of its own.
template <class T> struct problem {
    own_graph graph;
    tn::variable_tensor<T, tn::shape<size>> w = tn::variable("w", tn::constant(as_array<T>(first)));
    tn::tensor<T, tn::shape<>> loss = parabola<T>(w);

    // w after each of some steps of an optimiser; `step` changes w by g, in the t-th step, in double.
    template <class Step> void check(const tn::optimizer& o, int steps, Step step, double tolerance) {
        const tn::operation train = o.minimize(loss);
        initialized_session s;
        steps_by_hand::check_steps<T>(s, train, w, steps, tolerance, step);
        CHECK(s.run(tn::global_step()).item() == steps);
    }
};

// Both element types, each with its tolerance.
template <class Make> void check_both(int steps, Make make) {
    {
        problem<double> p;
        const auto [optimizer, step] = make();
        p.check(optimizer, steps, step, 1e-13);
    }
    {
        problem<float> p;
        const auto [optimizer, step] = make();
        p.check(optimizer, steps, step, 2e-5);
    }
}

template <class Update> auto each(Update update) {
    return [update](int t, values& w, const values& g) mutable {
        for (std::size_t i = 0; i < size; ++i) update(t, i, w[i], g[i]);
    };
}

} // namespace

TEST_CASE("SEMANTICS 39: gradient descent is w -= rate g") {
    check_both(20, [] {
        return std::pair(tn::gradient_descent(0.1f),
                         each([](int, std::size_t, double& w, double g) { w -= static_cast<double>(0.1f) * g; }));
    });
}

TEST_CASE("SEMANTICS 39: momentum follows Polyak, with nesterov Sutskever") {
    for (const bool nesterov : {false, true})
        check_both(20, [&] {
            return std::pair(tn::momentum(0.05, 0.9, {.nesterov = nesterov}),
                             each([=, m = values(size)](int, std::size_t i, double& w, double g) mutable {
                                 m[i] = 0.9 * m[i] + g;
                                 w -= 0.05 * (nesterov ? g + 0.9 * m[i] : m[i]);
                             }));
        });
}

TEST_CASE("SEMANTICS 39: Adagrad follows Duchi et al.") {
    check_both(20, [] {
        return std::pair(tn::adagrad(0.3, {.initial = 0.2, .epsilon = 1e-3}),
                         each([s = values(size, 0.2)](int, std::size_t i, double& w, double g) mutable {
                             s[i] += g * g;
                             w -= 0.3 * g / (std::sqrt(s[i]) + 1e-3);
                         }));
    });
}

TEST_CASE("SEMANTICS 39: RMSProp, plain, with momentum, and centered") {
    for (const double momentum : {0.0, 0.8})
        for (const bool centered : {false, true})
            check_both(15, [&] {
                return std::pair(
                    tn::rmsprop(0.01, {.decay = 0.8, .momentum = momentum, .epsilon = 1e-2, .centered = centered}),
                    each([=, s = values(size), mean = values(size), m = values(size)](int, std::size_t i, double& w,
                                                                                      double g) mutable {
                        s[i] = 0.8 * s[i] + 0.2 * g * g;
                        mean[i] = 0.8 * mean[i] + 0.2 * g;
                        const double square = centered ? s[i] - mean[i] * mean[i] : s[i];
                        m[i] = momentum * m[i] + 0.01 * g / (std::sqrt(square) + 1e-2);
                        w -= m[i];
                    }));
            });
}

TEST_CASE("centered RMSProp keeps variables numbers where gradients hardly vary, and rounding makes their variance "
          "negative") {
    const own_graph g;
    constexpr int n = 1024;
    const auto w = tn::variable<float, tn::shape<n>>("w", tn::zeros());
    const auto x = tn::placeholder<float, tn::shape<n>>("x");
    const auto train = tn::rmsprop(1e-3, {.decay = 0.5, .centered = true}).minimize(tn::sum(w * x));
    initialized_session s(g);
    tn::array<float, tn::shape<n>> gradients;
    for (int i = 0; i < n; ++i) gradients(i) = std::exp(3 * std::sin(static_cast<float>(i)));
    for (int i = 0; i < 50; ++i) s.run(tn::feed(x, gradients), train);
    const auto found = s.run(w);
    CHECK(std::all_of(found.begin(), found.end(), [](float v) { return std::isfinite(v) && v < 0; }));
}

TEST_CASE("SEMANTICS 39: Adam follows Kingma and Ba, its decay of weights Loshchilov and Hutter") {
    for (const double decay : {0.0, 0.1})
        check_both(30, [&] {
            return std::pair(
                tn::adam(0.05, {.beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-6, .weight_decay = decay}),
                each([=, m = values(size), v = values(size)](int t, std::size_t i, double& w, double g) mutable {
                    m[i] = 0.8 * m[i] + 0.2 * g;
                    v[i] = 0.99 * v[i] + 0.01 * g * g;
                    const double mean = m[i] / (1 - std::pow(0.8, t)), square = v[i] / (1 - std::pow(0.99, t));
                    w -= 0.05 * (mean / (std::sqrt(square) + 1e-6) + decay * w);
                }));
        });
}

TEST_CASE("Adam counts its own steps: another optimiser of the graph does not disturb it") {
    problem<double> p;
    const tn::operation other = tn::gradient_descent(0.0).minimize(p.loss);
    const tn::operation train = tn::adam(0.1).minimize(p.loss);
    initialized_session s;
    for (int i = 0; i < 5; ++i) s.run(other);
    s.run(train);
    // The first step of Adam has the length of the rate, whatever the gradient.
    const auto w = s.run(p.w);
    const values g = gradient_at(first);
    for (std::size_t i = 0; i < size; ++i)
        CHECK(w[static_cast<std::int64_t>(i)] == doctest::Approx(first[i] - (g[i] > 0 ? 0.1 : -0.1)).epsilon(1e-6));
    CHECK(s.run(tn::global_step()).item() == 6);
}

TEST_CASE("half and bfloat16 variables train with float slots") {
    const auto check = [](auto zero) {
        using T = decltype(zero);
        problem<T> p;
        const tn::operation train = tn::momentum(0.05).minimize(p.loss);
        initialized_session s;
        const double before = static_cast<double>(static_cast<float>(s.run(p.loss).item()));
        for (int i = 0; i < 60; ++i) s.run(train);
        CHECK(static_cast<double>(static_cast<float>(s.run(p.loss).item())) < 0.02 * before);
        CHECK(p.graph.tensor("w/momentum").element() == tn::element_type::float32);
    };
    check(tn::half{});
    check(tn::bfloat16{});
}

TEST_CASE("a learning rate can be a tensor: fed, or a schedule of the global step") {
    problem<double> p;
    auto rate = tn::placeholder<float, tn::shape<>>("rate");
    const tn::operation train = tn::gradient_descent(rate).minimize(p.loss);
    const tn::operation halved =
        tn::gradient_descent(tn::exponential_decay(0.1, {.steps = 1, .factor = 0.5})).minimize(p.loss);
    initialized_session s;
    values w = first;
    for (const double r : {0.25, 0.5}) {
        s.run(tn::feed(rate, r), train);
        const values g = gradient_at(w);
        for (std::size_t i = 0; i < size; ++i) w[i] -= r * g[i];
    }
    s.run(halved); // two steps were made: 0.1 / 4
    const values g = gradient_at(w);
    const auto got = s.run(p.w);
    for (std::size_t i = 0; i < size; ++i)
        CHECK(got[static_cast<std::int64_t>(i)] == doctest::Approx(w[i] - 0.025 * g[i]).epsilon(1e-12));
}

TEST_CASE_FIXTURE(in_graph, "an update is one node, and writes into its variables") {
    constexpr int many = 1 << 16;
    auto w = tn::variable<float, tn::shape<many>>("w", tn::uniform(-1, 1));
    auto x = tn::placeholder<float, tn::shape<many>>("x");
    auto loss = tn::sum(w * x);
    const tn::operation train = tn::adam(0.01).minimize(loss, {.advance_global_step = false});
    initialized_session s;
    const tn::array<float, tn::shape<many>> fed;
    const tn::step_report report = s.report(tn::feed(x, fed), train);
    int passes = 0;
    for (const std::string& step : report.order) passes += step.find("(fused)") != std::string::npos;
    CHECK(passes <= 3); // the gradient and the update; the scalars; the count of steps
    CHECK(report.arena_bytes < many * sizeof(float) / 2);
}

TEST_CASE_FIXTURE(in_graph, "minimize changes the trainable variables that the loss depends on, and no others") {
    auto a = tn::variable<float, tn::shape<2>>("a", tn::ones());
    auto b = tn::variable<float, tn::shape<2>>("b", tn::ones(), {.trainable = false});
    auto c = tn::variable<float, tn::shape<2>>("c", tn::ones());
    auto loss = tn::sum(a * b);
    const auto pairs = tn::optimizer::compute_gradients(loss);
    REQUIRE(pairs.size() == 1);
    CHECK(pairs[0].variable.name() == "a");
    const tn::operation train = tn::adam(0.5, {.weight_decay = 0.1}).minimize(loss);
    initialized_session s;
    s.run(train);
    CHECK(s.run(a)[0] < 1);
    CHECK(s.run(b)[0] == 1);
    CHECK(s.run(c)[0] == 1);
    // Given variables are taken, trainable or not.
    const tn::operation train_b = tn::gradient_descent(0.5).minimize(loss, {.variables = {b}});
    s.run(train_b);
    CHECK(s.run(b)[0] < 1);
}

TEST_CASE_FIXTURE(in_graph, "a step reads what variables held before it") {
    auto a = tn::variable<double, tn::shape<>>("a", tn::constant_value(3));
    auto b = tn::variable<double, tn::shape<>>("b", tn::constant_value(5));
    auto loss = a * b;
    const tn::operation train = tn::gradient_descent(0.1).minimize(loss);
    initialized_session s;
    auto [l] = s.callable(tn::feeds(), tn::fetches(train, tn::identity(loss)))();
    CHECK(l.item() == 15);
    CHECK(s.run(a).item() == doctest::Approx(3 - 0.1 * 5));
    CHECK(s.run(b).item() == doctest::Approx(5 - 0.1 * 3));
}

TEST_CASE_FIXTURE(in_graph, "mistakes are named") {
    auto w = tn::variable<float, tn::shape<2>>("w", tn::ones());
    auto unused = tn::variable<float, tn::shape<2>>("unused", tn::ones());
    auto x = tn::placeholder<float, tn::shape<3>>("x");
    const auto o = tn::gradient_descent(0.1);
    CHECK_ERROR(tn::invalid_argument_error, "depends on none of the graph's 2 trainable variables",
                o.minimize(tn::sum(x)));
    CHECK_ERROR(tn::invalid_argument_error, "does not depend on unused",
                o.minimize(tn::sum(w), {.variables = {w, unused}}));
    CHECK_ERROR(tn::invalid_argument_error, "gradient does not have the shape of its input: [3] x [2]",
                o.apply_gradients({{x, w}}));
    CHECK_ERROR(tn::invalid_argument_error, "x is no variable but a placeholder", o.apply_gradients({{x, x}}));
    CHECK_THROWS_AS(o.apply_gradients({}), tn::invalid_argument_error);
    CHECK_ERROR(tn::invalid_argument_error, "must be a scalar", o.minimize(tn::any_tensor(w)));
    const auto refused = [](const char* words, auto make) { CHECK_ERROR(tn::invalid_argument_error, words, make()); };
    const double nan = std::nan(""), inf = HUGE_VAL;
    refused("gradient_descent: the learning rate is nan", [&] { return tn::gradient_descent(nan); });
    refused("adam: the learning rate is inf", [&] { return tn::adam(inf); });
    refused("momentum: the factor is 1", [] { return tn::momentum(0.1, 1.0); });
    refused("adagrad: the initial sum is -1", [] { return tn::adagrad(0.1, {.initial = -1}); });
    refused("adagrad: the epsilon is nan", [&] { return tn::adagrad(0.1, {.epsilon = nan}); });
    refused("rmsprop: the decay is -0.5", [] { return tn::rmsprop(0.1, {.decay = -0.5}); });
    refused("rmsprop: the momentum is 2", [] { return tn::rmsprop(0.1, {.momentum = 2}); });
    refused("adam: the beta1 is 1; give a number from 0, less than 1", [] { return tn::adam(0.1, {.beta1 = 1}); });
    refused("adam: the beta2 is nan", [&] { return tn::adam(0.1, {.beta2 = nan}); });
    refused("adam: the weight_decay is inf", [&] { return tn::adam(0.1, {.weight_decay = inf}); });
    CHECK_THROWS_AS(tn::clip_by_global_norm({{w, w}}, 0), tn::invalid_argument_error);
}

namespace {

// The gradients 3, 4 and 12, of two variables, after `clip`.
template <class Clip> values clipped(Clip clip) {
    own_graph g;
    auto a = tn::variable<float, tn::shape<2>>("a", tn::ones());
    auto b = tn::variable<double, tn::shape<1>>("b", tn::ones());
    const std::vector<tn::gradient_and_variable> pairs =
        clip(std::vector<tn::gradient_and_variable>{{tn::constant({3.0f, 4.0f}), a}, {tn::constant({-12.0}), b}});
    tn::session s;
    const std::vector<tn::any_array> r = s.run_untyped({}, {pairs[0].gradient, pairs[1].gradient});
    return {static_cast<double>(r[0].data<float>()[0]), static_cast<double>(r[0].data<float>()[1]),
            r[1].data<double>()[0]};
}

void check_close(const values& got, const values& expected) {
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-6));
}

} // namespace

TEST_CASE("SEMANTICS 39: gradients are clipped by value, by norm, and by the norm of all together") {
    using list = std::vector<tn::gradient_and_variable>;
    check_close(clipped([](list p) { return tn::clip_by_value(p, -5, 3.5); }), {3, 3.5, -5});
    check_close(clipped([](list p) { return tn::clip_by_norm(p, 6); }), {3, 4, -6});
    check_close(clipped([](list p) { return tn::clip_by_global_norm(p, 6.5); }), {1.5, 2, -6});
    check_close(clipped([](list p) { return tn::clip_by_global_norm(p, 13.5); }), {3, 4, -12});
}

TEST_CASE_FIXTURE(in_graph, "the global norm is that of all gradients") {
    auto a = tn::variable<float, tn::shape<2>>("a", tn::ones());
    auto b = tn::variable<double, tn::shape<1>>("b", tn::ones());
    auto norm = tn::global_norm({{tn::constant({3.0f, 4.0f}), a}, {tn::constant({-12.0}), b}});
    tn::session s;
    CHECK(s.run(norm).item() == doctest::Approx(13));
}

TEST_CASE("the norm of any number of gradients, and clipping by it") {
    for (const int count : {24, 25, 300, 2000}) { // a tape reads 24 tensors
        const own_graph g;
        std::vector<tn::gradient_and_variable> pairs;
        double squares = 0;
        for (int i = 0; i < count; ++i) {
            const float x = static_cast<float>(i % 7) - 2.5f;
            pairs.push_back(
                {tn::constant({x, 1.0f}), tn::variable<float, tn::shape<2>>("v" + std::to_string(i), tn::zeros())});
            squares += static_cast<double>(x) * x + 1;
        }
        const auto norm = tn::global_norm(pairs);
        const auto clipped = tn::clip_by_global_norm(pairs, 2.0);
        const auto train = tn::gradient_descent(1.0).apply_gradients(clipped);
        tn::session s;
        CHECK(s.run(norm).item() == doctest::Approx(std::sqrt(squares)));
        s.run(tn::initialize_variables());
        s.run(train);
        const std::vector<tn::any_array> v = s.run_untyped({}, {pairs[0].variable, pairs.back().variable});
        const double factor = 2 / std::sqrt(squares);
        CHECK(v[0].data<float>()[0] == doctest::Approx(2.5 * factor));
        CHECK(v[1].data<float>()[1] == doctest::Approx(-factor));
    }
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 39: schedules follow the global step") {
    auto step = tn::global_step();
    auto plain = tn::exponential_decay(0.5, {.steps = 10, .factor = 0.1});
    auto stairs = tn::exponential_decay(0.5, {.steps = 10, .factor = 0.1, .staircase = true});
    auto cosine = tn::cosine_decay(0.8, {.steps = 20, .last = 0.2});
    auto pieces = tn::piecewise_constant({5, 12}, {1.0, 0.1, 0.01});
    auto warm = tn::linear_warmup(plain, 4);
    auto warm_number = tn::linear_warmup(2.0, 4);
    initialized_session s;
    for (int t = 0; t < 30; ++t) {
        CAPTURE(t);
        const auto [p, st, c, pc, w, wn] = s.run(plain, stairs, cosine, pieces, warm, warm_number);
        const double decayed = 0.5 * std::pow(0.1, t / 10.0);
        CHECK(p.item() == doctest::Approx(decayed).epsilon(1e-13));
        CHECK(st.item() == doctest::Approx(0.5 * std::pow(0.1, t / 10)).epsilon(1e-13));
        CHECK(c.item() ==
              doctest::Approx(0.2 + 0.3 * (1 + std::cos(std::acos(-1.0) * std::min(t, 20) / 20))).epsilon(1e-13));
        CHECK(pc.item() == (t < 5 ? 1.0 : t < 12 ? 0.1 : 0.01));
        CHECK(w.item() == doctest::Approx(decayed * std::min(1.0, (t + 1) / 4.0)).epsilon(1e-13));
        CHECK(wn.item() == doctest::Approx(2 * std::min(1.0, (t + 1) / 4.0)).epsilon(1e-13));
        s.run(step.assign_add(std::int64_t{1}));
    }
    CHECK_THROWS_WITH_AS(tn::piecewise_constant({5, 5}, {1, 2, 3}),
                         "piecewise_constant: the boundaries must increase, and 5 follows 5",
                         tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::piecewise_constant({5}, {1}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::cosine_decay(1, {.steps = 0}), tn::invalid_argument_error);
}

TEST_CASE("the global step is made once, and advances by each optimiser unless told not to") {
    problem<float> p;
    CHECK(tn::global_step().node() == tn::global_step().node());
    const tn::operation counted = tn::gradient_descent(0.1).minimize(p.loss);
    const tn::operation uncounted = tn::gradient_descent(0.1).minimize(p.loss, {.advance_global_step = false});
    initialized_session s;
    s.run(counted);
    s.run(uncounted);
    s.run(counted);
    CHECK(s.run(tn::global_step()).item() == 2);
}
