#include "tests.hpp"
#include "several_devices.hpp"
#include "ops/untyped_run.hpp"

// The mirrored strategy (SEMANTICS 44).

using namespace several_devices;

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;

constexpr int model_bytes = 26 * 8; // of model_loss

// A model in a graph of its own.
struct problem {
    own_graph graph;
    tn::tensor<double, tn::shape<batch, 3>> x = tn::placeholder<double, tn::shape<batch, 3>>("x");
    tn::tensor<double, tn::shape<batch, 2>> y = tn::placeholder<double, tn::shape<batch, 2>>("y");
};

struct trained {
    std::vector<double> losses;
    std::vector<tn::any_array> values;
};

// Some steps, each on other rows, and all variables after that.
trained train(
    tn::session& s, const problem& p, const tn::operation& step, const tn::tensor<double, tn::shape<>>& loss, int rows,
    int steps, const std::function<void()>& after_each = [] {}) {
    trained t;
    s.run(tn::initialize_variables());
    for (int i = 0; i < steps; ++i) {
        const auto xs = numbers<tn::shape<tn::dyn, 3>>(tn::extents(rows, 3), 10 + i);
        const auto ys = numbers<tn::shape<tn::dyn, 2>>(tn::extents(rows, 2), 50 + i);
        t.losses.push_back(s.run(tn::feed(p.x, xs), tn::feed(p.y, ys), step, loss).item());
        after_each();
    }
    t.values = s.run_untyped({}, p.graph.collection(tn::global_variables));
    return t;
}

using optimizer_maker = std::function<std::unique_ptr<tn::optimizer>()>;

trained train_on_one_device(const optimizer_maker& how, int rows, int steps) {
    problem p;
    const auto loss = model_loss(p.x, p.y);
    const tn::operation step = how()->minimize(loss);
    tn::session s;
    return train(s, p, step, loss, rows, steps);
}

void check_copies_equal(tn::session& s, const tn::mirrored_strategy& m, const tn::graph& g) {
    for (const tn::any_tensor& v : g.collection(tn::global_variables)) {
        if (v.node()->name == "global_step") continue;
        CAPTURE(v.name());
        const std::vector<tn::any_array> copies = s.run_untyped({}, m.copies(v));
        REQUIRE(static_cast<int>(copies.size()) == m.replicas());
        for (const tn::any_array& c : copies) CHECK(c == copies[0]);
    }
}

void check_close(const trained& a, const trained& b, double tolerance = 1e-12) {
    REQUIRE(a.losses.size() == b.losses.size());
    for (std::size_t i = 0; i < a.losses.size(); ++i)
        CHECK(a.losses[i] == doctest::Approx(b.losses[i]).epsilon(tolerance));
    REQUIRE(a.values.size() == b.values.size());
    for (std::size_t v = 0; v < a.values.size(); ++v) {
        CAPTURE(v);
        REQUIRE(a.values[v].type() == b.values[v].type());
        if (a.values[v].element() != tn::element_type::float64) {
            CHECK(a.values[v] == b.values[v]);
            continue;
        }
        for (std::int64_t i = 0; i < a.values[v].elements(); ++i)
            CHECK(static_cast<const double*>(a.values[v].data())[i] ==
                  doctest::Approx(static_cast<const double*>(b.values[v].data())[i]).epsilon(tolerance));
    }
}

void check_as_one_device(const optimizer_maker& how, const std::vector<tn::device_name>& on,
                         const tn::session_options& o, int rows, int steps = 4) {
    CAPTURE(on.size());
    CAPTURE(rows);
    problem p;
    const tn::mirrored_strategy mirrored(on);
    const auto losses = mirrored.run(model_loss, mirrored.distribute(p.x), mirrored.distribute(p.y));
    const auto [step, loss] = mirrored.minimize(*how(), losses);
    tn::session s(o);
    const trained got = train(s, p, step, loss, rows, steps, [&] { check_copies_equal(s, mirrored, p.graph); });
    check_close(got, train_on_one_device(how, rows, steps));
}

template <class O, class... A> optimizer_maker maker(A... a) {
    return [=] { return std::make_unique<O>(a...); };
}

} // namespace

TEST_CASE("SEMANTICS 44: a mirrored step is one device's step on the joined batch, to rounding; copies are equal") {
    for (const int n : {1, 2, 3, 4})
        for (const int rows : {12, 10}) { // 10 rows: 4 3 3 and 3 3 2 2
            check_as_one_device(maker<tn::gradient_descent>(0.2), devices(n), with_cpus(n), rows);
            check_as_one_device(maker<tn::momentum>(0.1, 0.9), devices(n), with_cpus(n), rows);
            check_as_one_device(maker<tn::adam>(0.05), devices(n), with_cpus(n), rows);
        }
}

TEST_CASE("SEMANTICS 44: every optimiser is mirrored, also on simulated GPUs") {
    const tn::session_options gpus = with_gpus(2);
    for (const int rows : {8, 7}) {
        check_as_one_device(maker<tn::gradient_descent>(0.2), devices(2, "gpu"), gpus, rows);
        check_as_one_device(maker<tn::momentum>(0.1, 0.9, tn::momentum_options{true}), devices(2, "gpu"), gpus, rows);
        check_as_one_device(maker<tn::adagrad>(0.1), devices(2, "gpu"), gpus, rows);
        check_as_one_device(maker<tn::rmsprop>(0.01, tn::rmsprop_options{0.9, 0.5, 1e-3, true}), devices(2, "gpu"),
                            gpus, rows);
        check_as_one_device(maker<tn::adam>(0.05, tn::adam_options{0.9, 0.99, 1e-6, 0.1}), devices(2, "gpu"), gpus,
                            rows);
    }
}

TEST_CASE("SEMANTICS 44: replicas without rows do not count") {
    check_as_one_device(maker<tn::momentum>(0.1, 0.9), devices(4), with_cpus(4), 2);
    check_as_one_device(maker<tn::adam>(0.05), devices(3), with_cpus(3), 1);
}

TEST_CASE("SEMANTICS 44: variables and what optimisers keep lie on their replica's device") {
    problem p;
    const tn::mirrored_strategy mirrored(devices(2, "gpu"));
    const auto losses = mirrored.run(model_loss, mirrored.distribute(p.x), mirrored.distribute(p.y));
    const auto [step, loss] = mirrored.minimize(tn::adam(0.1), losses);
    tn::session s(with_gpus(2));
    const auto why = s.explain_placement(tn::feed(p.x, numbers<tn::shape<tn::dyn, 3>>(tn::extents(8, 3), 1)),
                                         tn::feed(p.y, numbers<tn::shape<tn::dyn, 2>>(tn::extents(8, 2), 1)), step);
    int of_second = 0;
    for (const auto& n : why.nodes) {
        if (n.op != "variable" || n.name == "global_step") continue;
        CAPTURE(n.name);
        const bool second = n.name.find("/replica_1") != std::string::npos;
        CHECK(n.device.type == "GPU");
        CHECK(n.device.index == (second ? 1 : 0));
        of_second += second;
    }
    CHECK(of_second == 4 * 3 + 1); // weights, two slots of each, the count of steps
}

TEST_CASE("SEMANTICS 44: a step sends 2 (n - 1) / n of the model's bytes from each replica") {
    for (const int n : {2, 3, 4}) {
        const own_graph g;
        const int rows = 2 * n;
        const tn::mirrored_strategy mirrored(devices(n));
        // The batches are on their devices already, so nothing else crosses.
        const auto losses = mirrored.run([&] {
            return model_loss(tn::constant(numbers<tn::shape<tn::dyn, 3>>(tn::extents(rows, 3), 1)),
                              tn::constant(numbers<tn::shape<tn::dyn, 2>>(tn::extents(rows, 2), 2)));
        });
        const auto [step, loss] = mirrored.minimize(tn::momentum(0.1), losses);
        tn::session s(with_cpus(n));
        CHECK(s.explain_placement(step).crossing_bytes() == 2 * (n - 1) * model_bytes);
        // The variables are small: they go together, as one tensor.
        CHECK(s.report(step).transfers == 2 * n * (n - 1));
        CHECK(s.explain_placement(step, loss).crossing_bytes() == 2 * (n - 1) * model_bytes + (n - 1) * 8);
    }
}

TEST_CASE("SEMANTICS 44: variables of several element types, large and small, are summed as each alone") {
    constexpr int large = 600 * 1000;
    const auto loss_of = [](const auto& x) {
        const auto a = tn::variable<float, tn::shape<3>>("a", tn::constant_value(0.5));
        const auto b = tn::variable<double, tn::shape<2>>("b", tn::constant_value(0.25));
        const auto c = tn::variable<float, tn::shape<large>>("c", tn::ones());
        const auto d = tn::variable<float, tn::shape<>>("d", tn::ones());
        const auto e = tn::variable<float, tn::shape<2, 2>>("e", tn::ones());
        const auto m = tn::mean(x);
        return m * tn::sum(tn::square(a)) + m * tn::cast<float>(tn::sum(b)) + m * tn::sum(c) + m * d + m * tn::sum(e);
    };
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const tn::mirrored_strategy mirrored(devices(2));
    const auto [step, loss] =
        mirrored.minimize(tn::gradient_descent(0.5), mirrored.run(loss_of, mirrored.distribute(x)));
    initialized_session s(with_cpus(2));
    tn::array<float> xs(tn::extents{3});
    for (int i = 0; i < 3; ++i) xs(i) = static_cast<float>(i); // means of 0.5 and 2, together 1
    s.run(tn::feed(x, xs), step);
    check_copies_equal(s, mirrored, g);
    const std::vector<tn::any_array> values = s.run_untyped({}, g.collection(tn::trainable_variables));
    REQUIRE(values.size() == 5);
    CHECK(static_cast<const float*>(values[0].data())[2] == doctest::Approx(0));
    CHECK(static_cast<const double*>(values[1].data())[1] == doctest::Approx(-0.25));
    CHECK(static_cast<const float*>(values[2].data())[large - 1] == doctest::Approx(0.5));
    CHECK(static_cast<const float*>(values[3].data())[0] == doctest::Approx(0.5));
    CHECK(static_cast<const float*>(values[4].data())[3] == doctest::Approx(0.5));
}

namespace {
// Sums on the first device, and sends the sum to the others.
struct sum_on_first final : tn::all_reduce_method {
    std::vector<tn::any_tensor> add_sums(const std::vector<tn::any_tensor>& tensors,
                                         const std::vector<tn::device_name>& on) const override {
        const tn::device_scope first(on[0]);
        tn::any_tensor sum = tensors[0];
        for (std::size_t i = 1; i < tensors.size(); ++i)
            sum = tn::as<double, tn::shape<tn::dyn>>(sum) + tn::as<double, tn::shape<tn::dyn>>(tensors[i]);
        return std::vector<tn::any_tensor>(tensors.size(), sum);
    }
};
} // namespace

TEST_CASE("SEMANTICS 44: gradients may be summed in another way") {
    problem p;
    const tn::mirrored_strategy mirrored(devices(3), std::make_shared<sum_on_first>());
    const auto losses = mirrored.run(model_loss, mirrored.distribute(p.x), mirrored.distribute(p.y));
    const auto [step, loss] = mirrored.minimize(tn::momentum(0.1), losses);
    tn::session s(with_cpus(3));
    const trained got = train(s, p, step, loss, 10, 3, [&] { check_copies_equal(s, mirrored, p.graph); });
    check_close(got, train_on_one_device(maker<tn::momentum>(0.1), 10, 3));
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 44: of a batch each device gets its own rows") {
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    const auto even = tn::placeholder<float, tn::shape<6, 2>>("even");
    const tn::mirrored_strategy mirrored({"/cpu:0", "/cpu:1", "/cpu:2"});
    const auto parts = mirrored.distribute(x);
    static_assert(std::is_same_v<decltype(parts), const tn::per_replica<tn::tensor<float, tn::shape<tn::dyn, 2>>>>);
    CHECK(parts.shares.size() == 3);
    CHECK(mirrored.distribute(even).shares.empty());
    CHECK(mirrored.distribute(even)[1].extents() == tn::extents(2, 2));
    tn::session s(with_cpus(3));
    tn::array<float, tn::shape<tn::dyn, 2>> rows(tn::any_array(tn::element_type::float32, tn::extents(5, 2)));
    for (std::int64_t i = 0; i < 5; ++i)
        for (std::int64_t k = 0; k < 2; ++k) rows(i, k) = static_cast<float>(10 * i + k);
    const auto fed = [&] { return tn::feed(x, rows); };
    CHECK(s.run(fed(), parts[0]) == tn::array<float, tn::shape<2, 2>>{{0, 1}, {10, 11}});
    CHECK(s.run(fed(), parts[1]) == tn::array<float, tn::shape<2, 2>>{{20, 21}, {30, 31}});
    CHECK(s.run(fed(), parts[2]) == tn::array<float, tn::shape<1, 2>>{{40, 41}});
    CHECK(s.run(fed(), tn::as<double, tn::shape<>>(parts.shares[2])).item() == doctest::Approx(0.2));
    CHECK(s.run(fed(), mirrored.join(mirrored.run([](const auto& p) { return p * 2.0f; }, parts)))(4, 1) == 82);
    // Rows 2 to 4 cross, 8 bytes each.
    const auto doubled = mirrored.run([](const auto& p) { return p * 2.0f; }, parts);
    CHECK(s.explain_placement(fed(), doubled[0], doubled[1], doubled[2]).crossing_bytes() == 3 * 8);
}

TEST_CASE("SEMANTICS 44: copies of random variables begin equal; the first stands for all in collections") {
    const own_graph g;
    const tn::mirrored_strategy mirrored(devices(3));
    const auto values = mirrored.run([] {
        const tn::name_scope layer("layer");
        const auto w = tn::variable<float, tn::shape<7, 5>>("w", tn::glorot_uniform());
        const auto twice = tn::variable("twice", w.initialized_value() * 2.0f);
        tn::variable<float, tn::shape<2>>("state", tn::zeros(), {.trainable = false});
        return w + twice;
    });
    REQUIRE(g.collection(tn::global_variables).size() == 3);
    CHECK(g.collection(tn::trainable_variables).size() == 2);
    const tn::any_tensor w = g.collection(tn::global_variables)[0];
    CHECK(w.name() == "layer/w");
    CHECK(mirrored.copies(w)[2].name() == "layer/w/replica_2");

    initialized_session s(with_cpus(3));
    check_copies_equal(s, mirrored, g);
    const auto begun = s.run(values[0], values[1], values[2]);
    CHECK(std::get<0>(begun) == std::get<1>(begun));
    CHECK(std::get<0>(begun) == std::get<2>(begun));

    // What sets the first alone is passed on by broadcast.
    s.run(tn::untyped::assign(w, tn::untyped::ones_like(w)).operation());
    const std::vector<tn::any_array> before = s.run_untyped({}, mirrored.copies(w));
    CHECK(!(before[0] == before[1]));
    s.run(mirrored.broadcast());
    check_copies_equal(s, mirrored, g);
    CHECK(s.run_untyped({}, {mirrored.copies(w)[1]})[0] == before[0]);
}

TEST_CASE_FIXTURE(in_folder, "SEMANTICS 44: a checkpoint has one copy of each variable, and is loaded into all") {
    const std::string path = folder / "model.safetensors";
    trained whole;
    {
        problem p;
        const tn::mirrored_strategy mirrored(devices(3));
        const auto losses = mirrored.run(model_loss, mirrored.distribute(p.x), mirrored.distribute(p.y));
        const auto [step, loss] = mirrored.minimize(tn::adam(0.1), losses);
        tn::session s(with_cpus(3));
        int done = 0;
        whole = train(s, p, step, loss, 10, 4, [&, saved = &done] {
            if (++*saved == 2) tn::save_variables(s, path);
        });
    }
    const tn::safetensors_file file = tn::read_safetensors(path);
    CHECK(file.tensors().size() == 4 * 3 + 2); // with Adam's slots and count, and the global step
    for (const auto& t : file.tensors()) CHECK_FALSE(contains(t.name, "replica"));

    problem p;
    const tn::mirrored_strategy mirrored(devices(3));
    const auto losses = mirrored.run(model_loss, mirrored.distribute(p.x), mirrored.distribute(p.y));
    const auto [step, loss] = mirrored.minimize(tn::adam(0.1), losses);
    tn::session s(with_cpus(3));
    CHECK(tn::load_variables(s, path).loaded.size() == file.tensors().size());
    check_copies_equal(s, mirrored, p.graph);
    for (int i = 2; i < 4; ++i) {
        const auto xs = numbers<tn::shape<tn::dyn, 3>>(tn::extents(10, 3), 10 + i);
        const auto ys = numbers<tn::shape<tn::dyn, 2>>(tn::extents(10, 2), 50 + i);
        const double l = s.run(tn::feed(p.x, xs), tn::feed(p.y, ys), step, loss).item();
        CHECK(l == whole.losses[static_cast<std::size_t>(i)]);
    }
    check_copies_equal(s, mirrored, p.graph);
    const std::vector<tn::any_array> values = s.run_untyped({}, p.graph.collection(tn::global_variables));
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == whole.values[i]);
    // Loading again adds nothing to the graph.
    const std::int64_t nodes = p.graph.size();
    tn::load_variables(s, path);
    CHECK(p.graph.size() == nodes);
}

TEST_CASE("SEMANTICS 44: layers are mirrored, made inside or outside, and called in several runs") {
    problem p;
    const tn::mirrored_strategy mirrored(devices(2));
    const auto shared = tn::nn::sequential(tn::nn::dense<4>(tn::nn::tanh), tn::nn::dense<4>());
    const auto predicted = [&](const auto& x) { return shared(x); };
    const auto losses = mirrored.run(
        [&](const auto& x, const auto& y) {
            const auto own = tn::nn::sequential(tn::nn::dense<3>(tn::nn::tanh), tn::nn::dense<2>());
            return tn::nn::mean_squared_error(own(shared(x)), y);
        },
        mirrored.distribute(p.x), mirrored.distribute(p.y));
    std::vector<std::string> names;
    for (const tn::any_tensor& v : p.graph.collection(tn::trainable_variables)) names.push_back(v.name());
    CHECK(names == std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias",
                                            "dense_2/kernel", "dense_2/bias", "dense_3/kernel", "dense_3/bias"});
    const auto [step, loss] = mirrored.minimize(tn::gradient_descent(0.1), losses);
    const auto outputs = mirrored.run(predicted, mirrored.distribute(p.x));
    const auto alone = shared(p.x); // outside: the first replica's
    CHECK(p.graph.collection(tn::trainable_variables).size() == 8);
    tn::session s(with_cpus(2));
    const trained t = train(s, p, step, loss, 9, 3, [&] { check_copies_equal(s, mirrored, p.graph); });
    const auto xs = numbers<tn::shape<tn::dyn, 3>>(tn::extents(5, 3), 1);
    const auto [a, b] = s.run(tn::feed(p.x, xs), mirrored.join(outputs), alone);
    REQUIRE(a.untyped().extents() == b.untyped().extents());
    for (std::int64_t i = 0; i < 5; ++i)
        for (std::int64_t k = 0; k < 4; ++k) CHECK(a(i, k) == doctest::Approx(b(i, k)));
    CHECK(t.losses.back() < t.losses.front() * 10);
}

TEST_CASE("SEMANTICS 44: clipping by the global norm sees the averaged gradients") {
    trained expected;
    {
        problem p;
        const auto loss = model_loss(p.x, p.y);
        const auto how = tn::gradient_descent(0.2);
        const tn::operation step =
            how.apply_gradients(tn::clip_by_global_norm(tn::optimizer::compute_gradients(loss), 0.3));
        tn::session s;
        expected = train(s, p, step, loss, 10, 3);
    }
    problem p;
    const tn::mirrored_strategy mirrored(devices(3));
    const auto losses = mirrored.run(model_loss, mirrored.distribute(p.x), mirrored.distribute(p.y));
    const auto clipped =
        mirrored.run([](const auto& g) { return tn::clip_by_global_norm(g, 0.3); }, mirrored.compute_gradients(losses));
    const tn::operation step = mirrored.apply_gradients(tn::gradient_descent(0.2), clipped);
    tn::session s(with_cpus(3));
    check_close(train(s, p, step, mirrored.mean(losses), 10, 3, [&] { check_copies_equal(s, mirrored, p.graph); }),
                expected);
}

TEST_CASE("SEMANTICS 44: the global step counts steps, and schedules follow it") {
    problem p;
    const tn::mirrored_strategy mirrored(devices(2));
    const auto losses = mirrored.run(model_loss, mirrored.distribute(p.x), mirrored.distribute(p.y));
    const auto rate = tn::exponential_decay(0.2, {.steps = 1, .factor = 0.5});
    const auto [step, loss] = mirrored.minimize(tn::gradient_descent(rate), losses);
    tn::session s(with_cpus(2));
    train(s, p, step, loss, 8, 3, [&] { check_copies_equal(s, mirrored, p.graph); });
    CHECK(s.run(tn::global_step()).item() == 3);
    CHECK(s.run(rate).item() == doctest::Approx(0.025));
}

TEST_CASE("SEMANTICS 39, 44: the gradient of a table that rows are gathered from stays sparse") {
    const auto loss_of = [](const auto& ids, const auto& y) {
        const auto table = tn::variable("table", tn::constant(numbers<tn::shape<500, 2>>(tn::extents(500, 2), 5)));
        return tn::nn::mean_squared_error(tn::gather(table, ids), y);
    };
    const auto ids_of = [](int i) {
        tn::array<std::int32_t> ids(tn::extents{7});
        for (std::int32_t k = 0; k < 7; ++k) ids(k) = (k * k * 31 + i) % 499; // some twice
        ids(6) = ids(0);
        return ids;
    };
    const auto run = [&](tn::session& s, const auto& ids, const auto& y, const tn::operation& step, const auto& loss) {
        s.run(tn::initialize_variables());
        double last = 0;
        for (int i = 0; i < 3; ++i) {
            const auto ys = numbers<tn::shape<tn::dyn, 2>>(tn::extents(7, 2), i);
            last = s.run(tn::feed(ids, ids_of(i)), tn::feed(y, ys), step, loss).item();
        }
        return last;
    };
    const auto make = [&](const auto& body) {
        problem p;
        return body(tn::placeholder<std::int32_t, tn::shape<batch>>("ids"), p.y);
    };
    const auto [expected, table] = make([&](const auto& ids, const auto& y) {
        const auto loss = loss_of(ids, y);
        const tn::operation step = tn::adagrad(0.3).minimize(loss);
        tn::session s;
        const double last = run(s, ids, y, step, loss);
        return std::pair(last, std::move(s.run_untyped({}, {tn::graph::current().tensor("table")})[0]));
    });
    make([&, expected = expected, &table = table](const auto& ids, const auto& y) {
        const tn::mirrored_strategy mirrored(devices(3));
        const auto losses = mirrored.run(loss_of, mirrored.distribute(ids), mirrored.distribute(y));
        const auto [step, loss] = mirrored.minimize(tn::adagrad(0.3), losses);
        tn::session s(with_cpus(3));
        CHECK(run(s, ids, y, step, loss) == doctest::Approx(expected).epsilon(1e-12));
        check_copies_equal(s, mirrored, tn::graph::current());
        const std::vector<tn::any_array> fetched = s.run_untyped({}, {tn::graph::current().tensor("table")});
        const tn::any_array& got = fetched[0];
        for (std::int64_t i = 0; i < 1000; ++i)
            CHECK(static_cast<const double*>(got.data())[i] ==
                  doctest::Approx(static_cast<const double*>(table.data())[i]).epsilon(1e-12));
        const auto why = s.explain_placement(tn::feed(ids, ids_of(0)),
                                             tn::feed(y, numbers<tn::shape<tn::dyn, 2>>(tn::extents(7, 2), 1)), step);
        for (const auto& n : why.nodes) CHECK(n.op != "gather_gradient");
        CHECK(why.crossing_bytes() < 1000);
        return 0;
    });
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 44: untyped models are mirrored too") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, tn::extents(tn::extent{}, 2), "x");
    const tn::mirrored_strategy mirrored(devices(2));
    const auto losses = mirrored.run(
        [](const tn::any_tensor& part) {
            const auto w = tn::variable<float, tn::shape<2, 1>>("w", tn::ones());
            return tn::any_tensor(tn::mean(tn::matmul(tn::as<float, tn::shape<tn::dyn, 2>>(part), w)));
        },
        mirrored.distribute(x));
    const auto [step, loss] = mirrored.minimize(tn::gradient_descent(1), losses);
    static_assert(std::is_same_v<decltype(loss), const tn::any_tensor>);
    initialized_session s(with_cpus(2));
    tn::any_array value(tn::element_type::float32, tn::extents(3, 2));
    for (int i = 0; i < 6; ++i) static_cast<float*>(value.data())[i] = static_cast<float>(i);
    const std::vector<tn::any_array> got = s.run_untyped(tn::test::fed(x, value), {loss}, {step});
    CHECK(static_cast<const float*>(got[0].data())[0] == doctest::Approx(5));
    const std::vector<tn::any_array> w = s.run_untyped({}, mirrored.copies(g.tensor("w")));
    for (const tn::any_array& copy : w) {
        CHECK(static_cast<const float*>(copy.data())[0] == doctest::Approx(1 - 2));
        CHECK(static_cast<const float*>(copy.data())[1] == doctest::Approx(1 - 3));
    }
}
