#include "tests.hpp"

// Scaled losses, and float masters of 16-bit variables.

namespace {

std::vector<std::unique_ptr<tn::optimizer>> optimizers() {
    std::vector<std::unique_ptr<tn::optimizer>> all;
    all.push_back(std::make_unique<tn::gradient_descent>(0.1f));
    all.push_back(std::make_unique<tn::momentum>(0.1f));
    all.push_back(std::make_unique<tn::adagrad>(0.1f));
    all.push_back(std::make_unique<tn::rmsprop>(0.01f, tn::rmsprop_options{.momentum = 0.5}));
    all.push_back(std::make_unique<tn::adam>(0.01f));
    return all;
}

using vector = tn::shape<5>;

tn::array<float, vector> values_of(int step) {
    tn::array<float, vector> x;
    for (int i = 0; i < 5; ++i) x(i) = std::sin(static_cast<float>(7 * step + i));
    return x;
}

// All variables of the graph but the scale's, bit for bit.
std::vector<std::vector<float>> state_of(tn::session& s, const tn::graph& g) {
    std::vector<std::vector<float>> all;
    for (const tn::any_tensor& v : g.collection(tn::global_variables)) {
        if (v.name().starts_with("loss_scale") || v.element() != tn::element_type::float32) continue;
        const tn::any_array value = std::move(s.run_untyped({}, {v})[0]);
        all.emplace_back(value.data<float>(), value.data<float>() + value.elements());
    }
    return all;
}

} // namespace

TEST_CASE("a scale that is a power of 2 changes no bit of any optimiser's steps, dense or sparse, whole or in parts") {
    for (std::size_t k = 0; k < optimizers().size(); ++k) {
        CAPTURE(k);
        const auto trained = [&](bool scaled) {
            const own_graph g;
            const auto w = tn::variable<float, vector>("w", tn::ones());
            const auto table = tn::variable<float, tn::shape<20, 5>>("table", tn::ones());
            const auto x = tn::placeholder<float, vector>("x");
            const auto rows = tn::gather(table, tn::constant<std::int32_t>({3, 7, 3}));
            const auto loss = tn::sum(tn::square(w * x) + tn::sum<0>(tn::square(rows) * x));
            tn::minimize_options o;
            if (scaled) o.scale = tn::loss_scale({.initial = 1024, .good_steps = 3});
            const auto step = optimizers()[k]->minimize(loss, o);
            initialized_session s(g);
            for (int i = 0; i < 8; ++i) s.run(tn::feed(x, values_of(i)), step);
            if (scaled)
                CHECK(s.run_untyped({}, {o.scale->value()})[0].data<float>()[0] == 1024 * 4); // after 3 and 6 steps
            CHECK(tn::sparse_rows(tn::optimizer::compute_gradients(loss, {table})[0].gradient).has_value());
            return state_of(s, g);
        };
        CHECK(trained(true) == trained(false));
    }
}

TEST_CASE("a step with a gradient that is not finite changes no variable, slot or count, and halves the scale") {
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()})
        for (std::size_t k = 0; k < optimizers().size(); ++k) {
            const own_graph g;
            const auto w = tn::variable<float, vector>("w", tn::ones()),
                       other = tn::variable<float, vector>("other", tn::ones());
            const auto x = tn::placeholder<float, vector>("x");
            const tn::loss_scale scale({.initial = 8, .good_steps = 2, .least = 2});
            const auto step = optimizers()[k]->minimize(tn::sum(w * x + tn::square(other)), {.scale = scale});
            initialized_session s(g);
            const auto now = [&] { return s.run_untyped({}, {scale.value()})[0].data<float>()[0]; };
            s.run(tn::feed(x, values_of(1)), step);
            const auto before = state_of(s, g);
            auto wrong = values_of(2);
            wrong(3) = bad;
            for (const float expected : {4.0f, 2.0f, 2.0f}) {
                s.run(tn::feed(x, wrong), step);
                CHECK(state_of(s, g) == before);
                CHECK(now() == expected);
            }
            CHECK(s.run_untyped({}, {tn::global_step()})[0].data<std::int64_t>()[0] == 1);
            s.run(tn::feed(x, values_of(3)), step);
            CHECK(state_of(s, g) != before);
            CHECK(now() == 2); // one good step after bad ones
            s.run(tn::feed(x, values_of(3)), step);
            CHECK(now() == 4);
        }
}

TEST_CASE("gradients of half that are lost without a scale are there with one") {
    const auto moved = [](bool scaled) {
        const own_graph g;
        const auto w = tn::variable<float, vector>("w", tn::zeros());
        const auto h = tn::cast<tn::half>(w);
        const auto loss = tn::sum(tn::cast<float>(h * tn::half(1e-3f)) * 1e-5f); // half has no 1e-8
        tn::minimize_options o;
        if (scaled) o.scale = tn::loss_scale();
        const auto step = tn::gradient_descent(1e6f).minimize(loss, o);
        initialized_session s(g);
        s.run(step);
        return s.run(w)(2);
    };
    CHECK(moved(false) == 0);
    CHECK(moved(true) == doctest::Approx(-1e-2).epsilon(0.01));
}

TEST_CASE("in parts: clipped gradients of a scaled loss; a bad one is seen though clipping hides it") {
    const own_graph g;
    const auto w = tn::variable<float, vector>("w", tn::ones());
    const auto x = tn::placeholder<float, vector>("x");
    const auto opt = tn::gradient_descent(1.0f);
    const tn::loss_scale scale({.initial = 64});
    const auto raw = scale.unscaled(opt.compute_gradients(scale.scaled(tn::sum(w * x))));
    const auto step = opt.apply_gradients(tn::clip_by_value(raw, -0.5, 0.5), {.scale = scale});
    initialized_session s(g);
    s.run(tn::feed(x, {0.25f, 3, -7, 0, 0.5f}), step);
    const float want[] = {0.75f, 0.5f, 1.5f, 1, 0.5f};
    for (int i = 0; i < 5; ++i) CHECK(s.run(w)(i) == want[i]);
    s.run(tn::feed(x, {std::numeric_limits<float>::infinity(), 3, -7, 0, 0.5f}), step);
    for (int i = 0; i < 5; ++i) CHECK(s.run(w)(i) == want[i]);
}

TEST_CASE_FIXTURE(in_graph, "one scale serves two losses: a step needs and looks at its own gradients alone") {
    const auto a = tn::variable<float, vector>("a", tn::ones()), b = tn::variable<float, vector>("b", tn::ones());
    const auto x = tn::placeholder<float, vector>("x"), y = tn::placeholder<float, vector>("y");
    const tn::loss_scale scale({.initial = 8});
    const auto opt = tn::gradient_descent(1.0f);
    const auto first = opt.minimize(tn::sum(a * x), {.variables = {a}, .scale = scale});
    const auto raw = scale.unscaled(opt.compute_gradients(scale.scaled(tn::sum(b * y)), {b}));
    const auto second = opt.apply_gradients(tn::clip_by_global_norm(raw, 1e9), {.scale = scale});
    initialized_session s(g);
    s.run(tn::feed(x, values_of(1)), first);
    s.run(tn::feed(y, values_of(2)), second);
    const float infinite = std::numeric_limits<float>::infinity();
    s.run(tn::feed(x, {infinite, 1, 1, 1, 1}), tn::feed(y, values_of(2)), first); // halves the scale
    s.run(tn::feed(x, {infinite, 1, 1, 1, 1}), tn::feed(y, values_of(2)), second);
    for (int i = 0; i < 5; ++i) {
        CHECK(s.run(a)(i) == 1 - values_of(1)(i));
        CHECK(s.run(b)(i) == 1 - values_of(2)(i) - values_of(2)(i));
    }
    CHECK(s.run_untyped({}, {scale.value()})[0].data<float>()[0] == 4);
}

TEST_CASE_TEMPLATE("a 16-bit variable with a float master moves by steps that are smaller than its last bit", T,
                   tn::half, tn::bfloat16) {
    for (std::size_t k = 0; k < optimizers().size(); ++k) {
        CAPTURE(k);
        const own_graph g;
        const auto w = tn::variable<T, vector>("w", tn::constant_value(1));
        const auto twin = tn::variable<float, vector>("twin", tn::ones());
        const auto lost = tn::variable<T, vector>("lost", tn::constant_value(1));
        const auto loss = [](const auto& v) { return tn::sum(tn::cast<float>(v)) * 1e-4f; };
        const auto one = optimizers()[0]->minimize(loss(w), {.variables = {w}, .float_masters = true});
        const auto other = optimizers()[0]->minimize(loss(twin), {.variables = {twin}});
        const auto third = optimizers()[0]->minimize(loss(lost), {.variables = {lost}});
        initialized_session s(g);
        for (int i = 0; i < 1000; ++i) s.run(one, other, third);
        const float unit = std::is_same_v<T, tn::half> ? 1.0f / 1024 : 1.0f / 128;
        CHECK(std::abs(static_cast<float>(s.run(w)(1)) - s.run(twin)(1)) <= unit / 2);
        CHECK(s.run(twin)(1) < 1 - unit / 2 - 0.003f);
        CHECK(static_cast<float>(s.run(lost)(1)) == 1);
    }
}

TEST_CASE_FIXTURE(in_graph, "what is assigned to a variable with a float master counts, and steps go on from there") {
    const auto w = tn::variable<tn::bfloat16, vector>("w", tn::constant_value(1));
    const auto step = tn::gradient_descent(1e-3f).minimize(tn::sum(tn::cast<float>(w)), {.float_masters = true});
    const auto load = w.assign(tn::cast<tn::bfloat16>(tn::constant<float>({3, -2, 0.5f, 0, 7})));
    initialized_session s(g);
    for (int i = 0; i < 3; ++i) s.run(step);
    s.run(load);
    for (int i = 0; i < 20; ++i) s.run(step);
    const float from[] = {3, -2, 0.5f, 0, 7};
    const tn::any_array master = std::move(s.run_untyped({}, {g.tensor("w/master")})[0]);
    for (int i = 0; i < 5; ++i) {
        CHECK(master.data<float>()[i] == doctest::Approx(from[i] - 0.02f).epsilon(1e-5));
        CHECK(static_cast<float>(s.run(w)(i)) == static_cast<float>(tn::bfloat16(master.data<float>()[i])));
    }
}

TEST_CASE("what makes no sense of a scale is said") {
    const auto words = [](const tn::loss_scale_options& o) {
        return message_of<tn::invalid_argument_error>([&] { (void)tn::loss_scale(o); });
    };
    CHECK(contains(words({.initial = 0}), "initial scale is 0"));
    CHECK(contains(words({.factor = 1}), "factor is 1"));
    CHECK(contains(words({.good_steps = 0}), "good steps is 0"));
    CHECK(contains(words({.least = -1}), "least scale is -1"));
    CHECK(contains(words({.most = 0.5}), "greatest scale is 0.5"));
    CHECK(
        contains(words({.initial = 1e39, .most = 1e300}), "greatest scale is 1e+300; give a number from")); // no float
    CHECK(contains(words({.least = 1e-60}), "least scale is 1e-60"));
    const own_graph g;
    const auto w = tn::variable<float, vector>("w", tn::ones());
    const auto gradients = tn::optimizer::compute_gradients(tn::sum(w));
    const tn::loss_scale unused;
    CHECK_ERROR(tn::invalid_argument_error, "no loss was scaled", unused.unscaled(gradients));
    CHECK_ERROR(tn::invalid_argument_error, "no loss was scaled",
                tn::gradient_descent(1).apply_gradients(gradients, {.scale = unused}));
    CHECK_ERROR(tn::invalid_argument_error, "no tensor of any graph", unused.scaled(tn::any_tensor()));
}
