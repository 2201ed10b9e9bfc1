#include "tests.hpp"
#include "pipelines.hpp"

// Variables that the stages of a pipeline make (SEMANTICS 43).

using namespace pipeline_test;

TEST_CASE("S43: variables that a stage's function makes are made once, and shared by its micro-batches") {
    const own_graph g;
    const auto x = tn::placeholder<double, tn::shape<batch, 4>>("x");
    const auto y = tn::placeholder<double, tn::shape<batch, 4>>("y");
    int calls = 0;
    const auto own = [&calls](const auto& v) {
        ++calls;
        const auto w = tn::variable<double, tn::shape<4, 4>>("w", tn::glorot_uniform(3));
        const auto again = tn::variable<double, tn::shape<4, 4>>("w", tn::glorot_uniform(4));
        return tanh(matmul(matmul(v, w), again));
    };
    const auto pipe =
        tn::pipeline({.micro_batches = 3}, tn::stage("/cpu:0", own), tn::stage("/cpu:1", tn::nn::dense<4>()));
    const auto made = pipe.compute_gradients(squared_error, x, y);
    CHECK(calls == 3);
    std::set<std::string> names;
    for (const auto& v : g.collection(tn::trainable_variables)) names.insert(v.name());
    CHECK(names == std::set<std::string>{"w", "w_1", "dense/kernel", "dense/bias"});
    initialized_session s({.cpu_devices = 2});
    // They begin as the first call says.
    std::vector<tn::any_tensor> all = g.collection(tn::trainable_variables);
    const auto values = s.run_untyped({}, all);
    own_graph other;
    const auto w = tn::variable<double, tn::shape<4, 4>>("w", tn::glorot_uniform(3));
    initialized_session alone;
    CHECK(largest_difference(values[0], alone.run_untyped({}, {w})[0]) == 0);
    CHECK(made.gradients.size() == 4);

    const tn::graph_scope back(g);
    int call = 0;
    const auto fickle = [&call](const auto& v) {
        const auto b = tn::variable<double, tn::shape<4>>(call++ == 0 ? "b" : "c", tn::zeros());
        return v + b;
    };
    const auto wrong = tn::pipeline({.micro_batches = 2}, tn::stage("/cpu:0", fickle));
    CHECK_ERROR(tn::invalid_argument_error, "must make the same variables",
                wrong.compute_gradients(squared_error, x, y));
}

TEST_CASE("S43: a stage's function makes its variables once for a pipeline, whether it predicts or trains first, and "
          "trains again") {
    for (const bool predicts_first : {false, true}) {
        CAPTURE(predicts_first);
        const own_graph g;
        const auto x = tn::placeholder<double, tn::shape<batch, 3>>("x");
        const auto y = tn::placeholder<double, tn::shape<batch, 3>>("y");
        const auto captured = tn::nn::dense<3>();
        const auto scaled = [](const auto& h) {
            return h * tn::variable<double, tn::shape<3>>("w", tn::constant_value(2));
        };
        // Layers called alike, of which one is made in each call.
        const auto twice = [captured](const auto& h) { return tn::nn::dense<3>()(captured(h)); };
        const auto pipe = tn::pipeline({.micro_batches = 2}, tn::stage("/cpu:0", scaled), tn::stage("/cpu:1", twice));
        const auto copy = pipe;
        tn::any_tensor predicted;
        if (predicts_first) predicted = pipe(x);
        const auto [train, loss] = copy.minimize(tn::gradient_descent(0.05), squared_error, x, y);
        if (!predicts_first) predicted = pipe(x);
        const auto again = pipe.compute_gradients(squared_error, x, y);
        CHECK(again.gradients.size() == 5);
        std::vector<std::string> names;
        for (const auto& v : g.collection(tn::trainable_variables)) names.push_back(v.name());
        CHECK(names == std::vector<std::string>{"w", "dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"});
        initialized_session s({.cpu_devices = 2});
        const fed_batch fed({x, y}, numbers({6, 3}, 1), numbers({6, 3}, 2));
        const tn::any_tensor of_whole = tn::untyped::mean(tn::untyped::square(predicted - tn::any_tensor(y)));
        for (int i = 0; i < 3; ++i) {
            const auto losses = s.run_untyped(fed.values(), {loss, again.loss, of_whole});
            CHECK(largest_difference(losses[0], losses[1]) < 1e-12);
            CHECK(largest_difference(losses[0], losses[2]) < 1e-12);
            s.run_untyped(fed.values(), {}, {train});
        }
    }
}

TEST_CASE("S43: a stage whose first call fails makes its variables in the next; in another graph it is refused") {
    const tn::graph g;
    int calls = 0;
    const auto own = [&calls](const auto& h) {
        const auto w = tn::variable<double, tn::shape<3>>("w", tn::ones());
        if (calls++ == 0) throw tn::invalid_argument_error("not yet");
        return h * w * tn::variable<double, tn::shape<3>>("v", tn::ones());
    };
    const auto pipe = tn::pipeline({.micro_batches = 2}, tn::stage("/cpu:0", own));
    {
        const tn::graph_scope in(g);
        const auto x = tn::placeholder<double, tn::shape<batch, 3>>("x");
        const auto y = tn::placeholder<double, tn::shape<batch, 3>>("y");
        CHECK_THROWS_WITH_AS((void)pipe(x), "not yet", tn::invalid_argument_error);
        CHECK(pipe.compute_gradients(squared_error, x, y).gradients.size() == 2);
    }
    const own_graph other;
    const auto x = tn::placeholder<double, tn::shape<batch, 3>>("x");
    CHECK_ERROR(tn::invalid_argument_error, "belongs to another graph", pipe(x));
}

TEST_CASE("S43: in mirrored replicas a pipeline's variables have copies, wherever the pipeline is made") {
    for (const bool inside : {false, true}) {
        CAPTURE(inside);
        const own_graph g;
        const auto x = tn::placeholder<double, tn::shape<batch, 3>>("x");
        const auto y = tn::placeholder<double, tn::shape<batch, 3>>("y");
        const auto own = [](const auto& h) {
            return h * tn::variable<double, tn::shape<3>>("w", tn::constant_value(2));
        };
        const auto made = [&] { return tn::pipeline({.micro_batches = 2}, tn::stage(tn::device_name("/cpu:0"), own)); };
        const auto outside = made();
        tn::mirrored_strategy mirrored({"/cpu:0", "/cpu:1"});
        std::vector<tn::any_tensor> split; // gradients
        const auto losses = mirrored.run(
            [&](const auto& a, const auto& b) {
                const auto pipe = inside ? made() : outside;
                const auto gradients = pipe.compute_gradients(squared_error, a, b).gradients;
                REQUIRE(gradients.size() == 1);
                split.push_back(gradients[0].gradient);
                return squared_error(pipe(a), b);
            },
            mirrored.distribute(x), mirrored.distribute(y));
        const tn::operation train = mirrored.minimize(tn::gradient_descent(0.1), losses).train;
        REQUIRE(g.collection(tn::trainable_variables).size() == 1);
        const tn::any_tensor w = g.collection(tn::trainable_variables)[0];
        initialized_session s({.cpu_devices = 2});
        const fed_batch fed({x, y}, numbers({8, 3}, 1), numbers({8, 3}, 2));
        const auto parts = s.run_untyped(fed.values(), split);
        s.run_untyped(fed.values(), {}, {train});
        const auto after = s.run_untyped({}, {w});
        for (int i = 0; i < 3; ++i)
            CHECK(after[0].data<double>()[i] ==
                  doctest::Approx(2 - 0.1 * (parts[0].data<double>()[i] + parts[1].data<double>()[i]) / 2));
    }
}
