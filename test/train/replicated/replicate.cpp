#include "tests.hpp"
#include "several_devices.hpp"

// In-graph replication (SEMANTICS 40).

using namespace several_devices;

namespace {

using stale_steps = std::vector<tn::tensor<std::int64_t, tn::shape<>>>;

using rows_in = tn::tensor<double, tn::shape<tn::dyn, 3>>; // of each replica as many as it has
using rows_out = tn::tensor<double, tn::shape<tn::dyn, 2>>;
std::vector<tn::any_array> variables_of(tn::session& s) {
    return s.run_untyped({}, s.bound_graph().collection(tn::global_variables));
}
void check_equal(const std::vector<tn::any_array>& a, const std::vector<tn::any_array>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t v = 0; v < a.size(); ++v) {
        REQUIRE(a[v].type() == b[v].type());
        if (a[v].element() != tn::element_type::float64) continue;
        for (std::int64_t i = 0; i < a[v].elements(); ++i)
            CHECK(std::abs(a[v].data<double>()[i] - b[v].data<double>()[i]) <= 1e-12);
    }
}

using some_optimizer = std::function<std::unique_ptr<tn::optimizer>()>;
constexpr int steps = 5;

// Of rows[i] rows each, one after another; weights where they differ.
std::vector<tn::any_array> trained_by_replicas(const std::vector<int>& rows, const some_optimizer& how,
                                               const std::vector<tn::device_name>& on,
                                               const std::function<tn::session(const tn::graph&)>& open,
                                               const tn::replicate_options& r) {
    const own_graph g;
    std::vector<rows_in> xs;
    std::vector<rows_out> ys;
    std::vector<double> weights;
    const auto gradients = tn::replicate(
        on,
        [&](int i) {
            xs.push_back(tn::placeholder<double, tn::shape<tn::dyn, 3>>("x"));
            ys.push_back(tn::placeholder<double, tn::shape<tn::dyn, 2>>("y"));
            weights.push_back(rows[static_cast<std::size_t>(i)]);
            return how()->compute_gradients(model_loss(xs.back(), ys.back()));
        },
        r);
    const tn::operation train = how()->apply_gradients(tn::average_gradients(gradients, weights));
    CHECK(g.collection(tn::trainable_variables).size() == 4);
    tn::session sess = open(g);
    sess.run(tn::initialize_variables());
    for (int s = 0; s < steps; ++s) {
        std::vector<tn::fed_value> fed;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const int seed = s * 10 + static_cast<int>(i);
            fed.push_back(tn::feed(xs[i], numbers<tn::shape<tn::dyn, 3>>(tn::extents(rows[i], 3), seed)));
            fed.push_back(tn::feed(ys[i], numbers<tn::shape<tn::dyn, 2>>(tn::extents(rows[i], 2), 100 + seed)));
        }
        sess.run_untyped(std::move(fed), {}, {train});
    }
    return variables_of(sess);
}
std::vector<tn::any_array> trained_alone(const std::vector<int>& rows, const some_optimizer& how) {
    const own_graph g;
    const auto x = tn::placeholder<double, tn::shape<tn::dyn, 3>>("x");
    const auto y = tn::placeholder<double, tn::shape<tn::dyn, 2>>("y");
    const tn::operation train = how()->minimize(model_loss(x, y));
    initialized_session sess(g);
    for (int s = 0; s < steps; ++s) {
        std::vector<tn::any_tensor> xs, ys;
        const own_graph joining;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const int seed = s * 10 + static_cast<int>(i);
            xs.push_back(tn::constant(numbers<tn::shape<tn::dyn, 3>>(tn::extents(rows[i], 3), seed)));
            ys.push_back(tn::constant(numbers<tn::shape<tn::dyn, 2>>(tn::extents(rows[i], 2), 100 + seed)));
        }
        const auto joined =
            tn::session(joining).run_untyped({}, {tn::untyped::concat(xs, 0), tn::untyped::concat(ys, 0)});
        sess.run(tn::feed(tn::any_tensor(x), joined[0].share()), tn::feed(tn::any_tensor(y), joined[1].share()), train);
    }
    return variables_of(sess);
}

} // namespace

TEST_CASE(
    "SEMANTICS 40: averaged gradients of replicas train as one device does on the joined batch, in float64 to 1e-12") {
    const some_optimizer all[] = {
        [] { return std::make_unique<tn::gradient_descent>(0.2); },
        [] { return std::make_unique<tn::momentum>(0.1, 0.9, tn::momentum_options{.nesterov = true}); },
        [] { return std::make_unique<tn::adam>(0.05); }};
    for (const auto& how : all)
        for (const std::vector<int>& rows :
             {std::vector<int>{4, 4, 4}, std::vector<int>{5, 1, 3}, std::vector<int>{2}}) {
            const int n = static_cast<int>(rows.size());
            const auto alone = trained_alone(rows, how);
            check_equal(trained_by_replicas(rows, how, devices(n),
                                            [&](const tn::graph& g) { return tn::session(g, with_cpus(n)); }, {}),
                        alone);
            check_equal(trained_by_replicas(rows, how, devices(n, "gpu"),
                                            [&](const tn::graph& g) { return tn::session(g, with_gpus(n)); },
                                            {.variables = "/cpu:0"}),
                        alone);
        }
}

TEST_CASE("SEMANTICS 40: so do replicas on workers whose variables a setter deals out to parameter servers") {
    const some_optimizer how = [] { return std::make_unique<tn::adam>(0.05); };
    const std::vector<int> rows = {3, 5};
    const auto on_tasks = [](const tn::graph& g) {
        std::vector<tn::task> tasks;
        for (const char* job : {"worker", "ps"})
            for (int i = 0; i < 2; ++i) {
                tn::task_options o{.job = job, .index = i};
                tasks.emplace_back(o);
            }
        tn::session sess(tasks, g);
        std::vector<std::string> where;
        for (const tn::any_tensor& v : g.collection(tn::trainable_variables))
            where.push_back(to_string(sess.explain_placement(v).nodes.front().device));
        const std::string ps = "/job:ps/replica:0/task:";
        CHECK(where == std::vector<std::string>{ps + "0/device:CPU:0", ps + "1/device:CPU:0", ps + "0/device:CPU:0",
                                                ps + "1/device:CPU:0"});
        return sess;
    };
    check_equal(trained_by_replicas(rows, how, {"/job:worker/task:0", "/job:worker/task:1"}, on_tasks,
                                    {.place_variables = tn::replica_device_setter(2)}),
                trained_alone(rows, how));
}

TEST_CASE("SEMANTICS 40: sparse gradients stay sparse, and train as one device does") {
    const auto alone_or_not = [](bool replicas, bool one_is_dense) {
        const own_graph g;
        const auto ids = [](int i) {
            return i == 0 ? tn::constant<std::int32_t, tn::shape<3>>({4, 1, 4})
                          : tn::constant<std::int32_t, tn::shape<3>>({0, 4, 7});
        };
        const auto table = [] {
            return tn::variable("table", tn::constant(numbers<tn::shape<9, 2>>(tn::extents(9, 2), 5)));
        };
        const auto loss = [&](const auto& t, const auto& indices) {
            return tn::mean(tn::square(tn::gather(t, indices) - 1.0));
        };
        const auto how = tn::adagrad(0.1);
        std::vector<tn::gradient_and_variable> gradients;
        if (replicas) {
            gradients = tn::average_gradients(tn::replicate(devices(2), [&](int i) {
                const auto t = table();
                const auto l = loss(t, ids(i));
                if (one_is_dense && i == 1) return how.compute_gradients(l + 0.0 * tn::sum(t));
                return how.compute_gradients(l);
            }));
        } else {
            const auto t = table();
            gradients = how.compute_gradients(loss(t, tn::concat<0>(ids(0), ids(1))));
        }
        REQUIRE(gradients.size() == 1);
        CHECK(tn::sparse_rows(gradients[0].gradient).has_value() == !one_is_dense);
        const tn::operation train = how.apply_gradients(gradients);
        initialized_session sess(g, with_cpus(2));
        for (int i = 0; i < steps; ++i) sess.run(train);
        return variables_of(sess);
    };
    check_equal(alone_or_not(true, false), alone_or_not(false, false));
    check_equal(alone_or_not(true, true), alone_or_not(false, false));
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 40: rows of a replica count by its weight") {
    const auto table = tn::variable<double, tn::shape<4, 1>>("table", tn::ones());
    const auto of_row = [&](int row) {
        return tn::optimizer::compute_gradients(tn::sum(tn::gather(table, tn::constant({row}))));
    };
    const auto mean = tn::average_gradients({of_row(1), of_row(2)}, {3, 1});
    REQUIRE(tn::sparse_rows(mean[0].gradient));
    initialized_session sess(g);
    const auto dense = sess.run_untyped({}, {tn::untyped::identity(mean[0].gradient)});
    CHECK(dense[0] == tn::array<double>{{0}, {0.75}, {0.25}, {0}});
}

TEST_CASE("replicas share variables, slots and steps of optimisers by their names; nodes are on their devices, "
          "variables where it is said") {
    const own_graph g;
    const auto outside = tn::nn::dense<2>();
    std::vector<rows_in> xs;
    const auto trains =
        tn::replicate(devices(3, "gpu"),
                      [&](int i) {
                          xs.push_back(tn::placeholder<double, tn::shape<tn::dyn, 3>>("x"));
                          const auto inside = tn::nn::sequential(tn::nn::dense<4>(tn::nn::tanh), tn::nn::dense<1>());
                          const tn::tensor<double, tn::shape<>> loss =
                              tn::mean(inside(xs.back())) + tn::mean(outside(xs.back()));
                          CHECK(loss.name().starts_with(i == 0 ? "" : "replica_" + std::to_string(i) + "/"));
                          return tn::adam(0.01).minimize(loss);
                      },
                      {.variables = "/cpu:0"});
    std::vector<std::string> names;
    for (const tn::any_tensor& v : g.collection(tn::trainable_variables)) names.push_back(v.name());
    CHECK(names == std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias",
                                            "dense_2/kernel", "dense_2/bias"});
    CHECK(g.collection(tn::global_variables).size() ==
          6 + 12 + 1 + g.collection("global_step").size()); // with slots and adam_step
    tn::session sess(g, with_gpus(3));
    const tn::array<double, tn::shape<tn::dyn, 3>> x(4);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto placed = sess.explain_placement(tn::feed(xs[i], x), trains[i]);
        int here = 0;
        for (const auto& n : placed.nodes) {
            if (n.op == "variable") CHECK(to_string(n.device).ends_with("/device:CPU:0"));
            if (n.op == "matmul") {
                ++here;
                CHECK(to_string(n.device).ends_with("/device:GPU:" + std::to_string(i)));
            }
        }
        CHECK(here > 3);
    }
    // Initialised twice by the same, random as they are, they begin alike everywhere.
    sess.run(tn::initialize_variables());
    for (std::size_t i = 0; i < 3; ++i) sess.run(tn::feed(xs[i], x), trains[i]);
    const auto step = sess.run_untyped({}, {g.tensor("adam_step")});
    CHECK(step[0].data<std::int64_t>()[0] == 3);
}

TEST_CASE("SEMANTICS 40: asynchronous in-graph: a thread a replica loses no update, each the steps it was asked for") {
    const own_graph g;
    const auto w = [] { return tn::variable("w", std::int64_t{0}); };
    const auto adds = tn::replicate(devices(3), [&](int i) {
        CHECK(w().name() == "w");
        return tn::tensor<std::int64_t, tn::shape<>>(w().assign_add(std::int64_t{i + 1}));
    });
    initialized_session sess(g, with_cpus(3));
    const auto done = tn::run_replicas(3, 40, [&](int i) { sess.run(adds[static_cast<std::size_t>(i)].operation()); });
    for (const auto& d : done) {
        CHECK(d.steps == 40);
        CHECK(d.staleness == 0);
    }
    CHECK(sess.run(adds[0])() == 40 * (1 + 2 + 3) + 1);
}

TEST_CASE("SEMANTICS 40 and 42: n equal replicas, each with a thread, show a staleness of n - 1; alone there is none") {
    constexpr int each = 20;
    for (const int n : {1, 2, 4}) {
        const own_graph g;
        // They are equal by turns: who has read w is let go on when all others have read it since their last step.
        std::vector<tn::fifo_queue<float>> has_read, gate;
        const auto stale = tn::replicate(devices(n), [&](int) {
            const auto w = tn::variable("w", 1.0f);
            has_read.emplace_back(1);
            gate.emplace_back(1);
            const tn::control_dependencies said(has_read.back().enqueue(w));
            const auto go_on = gate.back().dequeue();
            return tn::staleness(tn::gradient_descent(0.01f).minimize(tn::square(w) * go_on));
        });
        static_assert(std::is_same_v<decltype(stale), const stale_steps>);
        std::vector<tn::operation> open;
        std::vector<tn::tensor<float, tn::shape<>>> wait;
        for (int i = 0; i < n; ++i) {
            open.push_back(gate[static_cast<std::size_t>(i)].enqueue(1.0f));
            wait.push_back(has_read[static_cast<std::size_t>(i)].dequeue());
        }
        const tn::any_tensor count = g.collection("trained_steps").front();
        initialized_session sess(g, with_cpus(n));
        const auto trained = [&] { return sess.run_untyped({}, {count})[0].data<std::int64_t>()[0]; };
        std::thread turns([&] {
            for (const auto& w : wait) (void)sess.run(w);
            for (int turn = 0; turn < n * each; ++turn) {
                const auto i = static_cast<std::size_t>(turn % n);
                sess.run(open[i]);
                while (trained() <= turn) std::this_thread::yield();
                if (turn / n + 1 < each) (void)sess.run(wait[i]);
            }
        });
        const auto done = tn::run_replicas(sess, stale, each);
        turns.join();
        REQUIRE(static_cast<int>(done.size()) == n);
        for (int i = 0; i < n; ++i) {
            CHECK(done[static_cast<std::size_t>(i)].steps == each);
            // Only those before it have trained when it does for the first time. Steps are counted beside the first read of w, which
            // another one may follow at once: then it is one less.
            const double most = ((each - 1) * (n - 1) + i) / double{each},
                         is = done[static_cast<std::size_t>(i)].staleness;
            CHECK(is <= most + 1e-12);
            CHECK(is >= 0.7 * most);
        }
        CHECK(trained() == each * n);
    }
}

TEST_CASE(
    "what one replica throws ends all, and is thrown; an end of data ends all in peace; so does a coordinator's stop") {
    std::atomic<int> ran{0};
    const auto until = [&](int last, auto throws) {
        ran = 0;
        return [&ran, last, throws](int i) {
            if (i == 1 && ++ran == last) throws();
            return i;
        };
    };
    CHECK_THROWS_WITH_AS(
        (void)tn::run_replicas(3, 1'000'000'000, until(5, [] { throw tn::internal_error("no luck"); })), "no luck",
        tn::internal_error);
    const auto done = tn::run_replicas(2, 1'000'000'000, until(7, [] { throw tn::end_of_data_error("all was read"); }));
    CHECK(done[1].steps == 6);
    CHECK(done[1].staleness == 1);
    tn::coordinator threads;
    const auto stopped = tn::run_replicas(2, 1'000'000'000, until(3, [&] { threads.request_stop(); }), &threads);
    CHECK(stopped[1].steps == 3);
    threads.join();
    threads.clear_stop();
    const auto failed =
        tn::run_replicas(2, 1'000'000'000, until(3, [] { throw tn::internal_error("no luck"); }), &threads);
    CHECK(failed[1].steps == 2);
    CHECK_THROWS_WITH_AS(threads.join(), "no luck", tn::internal_error);
}

TEST_CASE_FIXTURE(in_graph, "what makes no replicas is said by name") {
    using tn::invalid_argument_error;
    const auto nothing = [](int) {};
    CHECK_ERROR(invalid_argument_error, "no devices", tn::replicate({}, nothing));
    CHECK_ERROR(invalid_argument_error, "device 1 is empty", tn::replicate({"/cpu:0", tn::device_name()}, nothing));
    CHECK_ERROR(invalid_argument_error, "give one of them",
                tn::replicate(devices(1), nothing, {.variables = "/cpu:0", .place_variables = [](const tn::placed_op&) {
                                                        return tn::device_name();
                                                    }}));
    CHECK_ERROR(invalid_argument_error, "replica 1 makes a variable \"v1\" (float[]), which replica 0 does not make",
                tn::replicate(devices(2), [](int i) { (void)tn::variable("v" + std::to_string(i), 1.0f); }));
    CHECK_ERROR(invalid_argument_error, "replica 1 makes a variable \"v\" (double[]), replica 0 one of float[]",
                tn::replicate(devices(2), [](int i) {
                    if (i == 0) (void)tn::variable("v", 1.0f);
                    else (void)tn::variable("v", 1.0);
                }));

    const auto a = tn::variable("a", 1.0f), b = tn::variable("b", 1.0f);
    const auto of_a = tn::optimizer::compute_gradients(tn::square(a)),
               of_b = tn::optimizer::compute_gradients(tn::square(b));
    CHECK_ERROR(invalid_argument_error, "no gradients", tn::average_gradients({}));
    CHECK_ERROR(invalid_argument_error, "\"a\", replica 1 of 1, which it is none of",
                tn::average_gradients({of_a, of_b}));
    for (const std::vector<double>& weights : {std::vector<double>{1}, {1, -1}, {0, 0}, {1, std::nan("")}})
        CHECK_ERROR(invalid_argument_error, "the weights must be", tn::average_gradients({of_a, of_a}, weights));
    CHECK_ERROR(invalid_argument_error, "0 replicas", tn::run_replicas(0, 1, nothing));
    CHECK_ERROR(invalid_argument_error, "-1 steps", tn::run_replicas(1, -1, nothing));
}
