#include "tests.hpp"
#include "sync_model.hpp"

// Synchronous replicas on one task, as threads with graphs of their own (SEMANTICS 41). Over tasks and processes they are in
// net/server/sync_replicas.cpp and processes/.

using namespace sync_test;

namespace {

template <class O> void check_joined(const O& how, bool clipped = false) {
    constexpr int replicas = 3, each = 5, steps = 7;
    std::vector<data> batches;
    for (int s = 0; s < steps; ++s) batches.emplace_back(replicas * each, 100u + static_cast<unsigned>(s));

    values alone;
    {
        const own_graph g;
        const model m;
        auto gradients = how.compute_gradients(m.loss);
        const auto train = how.apply_gradients(gradients);
        initialized_session s(g);
        for (const data& d : batches) s.run(tn::feed(m.x, d.x), tn::feed(m.y, d.y), train);
        alone = values_of(s, g.collection(tn::trainable_variables));
    }
    tn::task task;
    std::vector<values> together(replicas);
    each_replica(replicas, [&](int r) {
        const model m;
        const tn::sync_replicas sync(how, {.aggregate = replicas, .total = replicas, .replica = r});
        auto gradients = sync.compute_gradients(m.loss);
        if (clipped) gradients = tn::clip_by_global_norm(std::move(gradients), 1e9);
        const auto train = sync.apply_gradients(gradients);
        tn::monitored_session s(as_replica(task, r, sync));
        for (const data& d : batches) {
            const data mine = d.part(r, each);
            auto counted = s.run(tn::feed(m.x, mine.x), tn::feed(m.y, mine.y), train, sync.counted());
            CHECK(counted.item());
        }
        CHECK(s.session().run(tn::global_step()).item() == steps);
        CHECK(s.session().run(sync.step()).item() == steps);
        together[static_cast<std::size_t>(r)] =
            values_of(s.session(), tn::graph::current().collection(tn::trainable_variables));
        s.close();
    });
    for (const values& v : together) check_close(v, alone);
}

} // namespace

TEST_CASE(
    "S41: three replicas give what one process gives on their batches joined, in double to 1e-12, by every optimiser") {
    SUBCASE("gradient descent") { check_joined(tn::gradient_descent(0.1)); }
    SUBCASE("momentum") { check_joined(tn::momentum(0.1, 0.9)); }
    SUBCASE("Nesterov") { check_joined(tn::momentum(0.1, 0.9, {.nesterov = true})); }
    SUBCASE("Adagrad") { check_joined(tn::adagrad(0.1)); }
    SUBCASE("RMSProp") { check_joined(tn::rmsprop(0.01, {.momentum = 0.5, .centered = true})); }
    SUBCASE("Adam") { check_joined(tn::adam(0.05)); }
    SUBCASE("AdamW, clipped") { check_joined(tn::adam(0.05, {.weight_decay = 0.1}), true); }
}

TEST_CASE("S41: averages of weights follow what each applied step leaves once, whatever the number of replicas") {
    constexpr int replicas = 3, each = 5, steps = 6;
    constexpr double decay = 0.75;
    std::vector<data> batches;
    for (int s = 0; s < steps; ++s) batches.emplace_back(replicas * each, 200u + static_cast<unsigned>(s));
    values averages;
    {
        const own_graph g;
        const model m;
        const auto train = tn::momentum(0.1, 0.9).minimize(m.loss);
        initialized_session s(g);
        averages = values_of(s, {m.w, m.b});
        for (const data& d : batches) {
            s.run(tn::feed(m.x, d.x), tn::feed(m.y, d.y), train);
            const values now = values_of(s, {m.w, m.b});
            for (std::size_t i = 0; i < now.size(); ++i) averages[i] += (1 - decay) * (now[i] - averages[i]);
        }
    }
    tn::task task;
    each_replica(replicas, [&](int r) {
        const model m;
        const tn::moving_average average(decay);
        const tn::sync_replicas sync(tn::momentum(0.1, 0.9),
                                     {.aggregate = replicas, .total = replicas, .replica = r, .average = average});
        const auto train = sync.minimize(m.loss);
        CHECK_ERROR(tn::invalid_argument_error, "sync_replicas_options::average", tn::moving_average(0.5).after(train));
        tn::monitored_session s(as_replica(task, r, sync));
        for (const data& d : batches) {
            const data mine = d.part(r, each);
            s.run(tn::feed(m.x, mine.x), tn::feed(m.y, mine.y), train);
        }
        check_close(values_of(s.session(), {average.of(m.w), average.of(m.b)}), averages);
        s.close();
    });
}

TEST_CASE("S41: sparse gradients, and those of variables in parts, are averaged as their dense ones") {
    constexpr int replicas = 2, steps = 5, each = 6;
    using table_shape = tn::shape<10, 3>;
    const auto indices_of = [](int step, int r) {
        std::mt19937 random(static_cast<unsigned>(step * 10 + r));
        std::vector<std::int32_t> all;
        for (int i = 0; i < each; ++i) all.push_back(static_cast<std::int32_t>(random() % 10));
        return all;
    };
    const auto feed_of = [](const std::vector<std::int32_t>& i) {
        tn::array<std::int32_t, tn::shape<batch>> a(static_cast<std::int64_t>(i.size()));
        std::copy(i.begin(), i.end(), a.data());
        return a;
    };
    struct embedding {
        explicit embedding(bool parts) {
            table = tn::variable<double, table_shape>("table", tn::uniform(-1, 1, 7),
                                                      {.partition = {.parts = parts ? 3 : 1}});
            loss = mean(tn::square(tn::gather(*table, at)) * 0.5 + tn::gather(*table, at));
        }
        tn::tensor<std::int32_t, tn::shape<batch>> at = tn::placeholder<std::int32_t, tn::shape<batch>>("at");
        std::optional<tn::variable_tensor<double, table_shape>> table;
        tn::tensor<double, tn::shape<>> loss;
    };
    for (const bool parts : {false, true}) {
        CAPTURE(parts);
        const auto how = tn::adagrad(0.1);
        values alone;
        {
            const own_graph g;
            const embedding m(parts);
            const auto train = how.minimize(m.loss);
            initialized_session s(g);
            for (int i = 0; i < steps; ++i) {
                auto joined = indices_of(i, 0);
                const auto more = indices_of(i, 1);
                joined.insert(joined.end(), more.begin(), more.end());
                s.run(tn::feed(m.at, feed_of(joined)), train);
            }
            alone = values_of(s, {*m.table});
        }
        tn::task task;
        each_replica(replicas, [&](int r) {
            const embedding m(parts);
            const tn::sync_replicas sync(how, {.aggregate = replicas, .total = replicas, .replica = r});
            const auto train = sync.minimize(m.loss);
            tn::monitored_session s(as_replica(task, r, sync));
            for (int i = 0; i < steps; ++i) s.run(tn::feed(m.at, feed_of(indices_of(i, r))), train);
            check_close(values_of(s.session(), {*m.table}), alone);
            s.close();
        });
    }
}

TEST_CASE("S41: a learning rate that follows the global step is that of the step that is applied, whoever applies it") {
    tn::task task;
    each_replica(3, [&](int r) {
        const auto w = tn::variable("w", 0.0),
                   factor = tn::variable<double, tn::shape<>>("factor", tn::constant_value(10), {.trainable = false});
        const auto rate = tn::pow(factor * 1.0, tn::cast<double>(tn::global_step())); // 1, 10, 100, ..
        const tn::sync_replicas sync(tn::gradient_descent(rate), {.aggregate = 3, .total = 3, .replica = r});
        const auto train = sync.minimize(w + 0.0, {.variables = {w}});
        tn::monitored_session s(as_replica(task, r, sync));
        for (int i = 0; i < 5; ++i) s.run(train);
        CHECK(s.session().run(w).item() == -11111);
        s.close();
    });
}

TEST_CASE("S17, 41: steps that are stopped again and again, wherever they are, leave a training that goes on") {
    tn::task task;
    std::atomic<int> all_stopped{0};
    each_replica(2, [&](int r) {
        const auto v = tn::variable("v", 0.0), w = tn::variable("w", 0.0);
        const auto x = tn::placeholder<double, tn::shape<>>("x");
        const tn::sync_replicas sync(tn::gradient_descent(0.125), {.aggregate = 2, .total = 2, .replica = r});
        const auto train = sync.minimize((v + w) * x);
        tn::monitored_session s(as_replica(task, r, sync));
        std::mt19937 random(static_cast<unsigned>(r));
        int stopped = 0;
        const auto stopped_soon = [&] {
            try {
                s.session().run_for(1e-5 * static_cast<double>(random() % 40 + 1),
                                    tn::feed(x, static_cast<double>(random() % 16)), train);
            } catch (const tn::deadline_exceeded_error&) {
                ++stopped;
            }
        };
        try {
            for (int i = 0; i < 300; ++i) stopped_soon();
            for (int i = 0; i < 3; ++i) s.run(tn::feed(x, 1.0), train);
        } catch (const tn::end_of_data_error&) { // the other one has finished
        }
        const auto still = sync.between_steps(s.session());
        auto [is_v, is_w] = s.session().run(v, w);
        CHECK(is_v.item() == is_w.item());
        all_stopped += stopped;
    });
    CHECK(all_stopped > 0);
}

TEST_CASE(
    "S41: while a training is paused nothing is applied; there is one pause at a time, and any thread may end it") {
    const own_graph g;
    const auto w = tn::variable("w", 0.0);
    tn::session s(g);
    const auto pause = [&] {
        const tn::sync_replicas sync(tn::gradient_descent(1.0), {.aggregate = 1, .total = 1});
        const auto train = sync.minimize(w * 1.0);
        s.run(tn::initialize_variables());
        auto applies = sync.start(s);
        for (int i = 0; i < 3; ++i) s.run(train);
        auto first = sync.between_steps(s);
        CHECK(message_of<tn::deadline_exceeded_error>([&] { (void)sync.between_steps(s, 0); }) ==
              "sync_replicas: this process pauses the training already; let go of that pause first");
        const double before = s.run(w).item();
        CHECK_THROWS_AS(s.run_for(0.05, train), tn::deadline_exceeded_error);
        CHECK(s.run(w).item() == before);
        std::thread([ended = std::move(first)] {}).join();
        return sync.between_steps(s, std::numeric_limits<double>::infinity()); // outlives who made it
    }();
    CHECK(s.run(w).item() <= -3);
}

TEST_CASE("S41: updates of a step are made once, however often they are run") {
    struct once : tn::adam {
        once() : tn::adam(0.1) {}
        using tn::optimizer::apply_once;
    };
    const own_graph g;
    const auto w = tn::variable("w", 1.0);
    const auto table = tn::variable<double, tn::shape<4, 2>>("table", tn::ones());
    const auto loss = tn::square(w) + sum(tn::square(tn::gather(table, tn::constant({1, 3, 1}))));
    const auto step = tn::placeholder<std::int64_t, tn::shape<>>("step");
    const tn::loss_scale scale({.initial = 4, .good_steps = 1});
    const auto gradients = scale.unscaled(tn::optimizer::compute_gradients(scale.scaled(loss)));
    const auto train = once().apply_once(gradients, {.scale = scale}, step);
    initialized_session s(g);
    const std::vector<tn::any_tensor> all = g.collection(tn::trainable_variables);
    values before = values_of(s, all);
    for (std::int64_t i = 0; i < 4; ++i) {
        s.run(tn::feed(step, i), train);
        const values after = values_of(s, all);
        CHECK(after != before);
        s.run(tn::feed(step, i), train);
        if (i > 0) s.run(tn::feed(step, i - 1), train); // who was late
        CHECK(values_of(s, all) == after);
        CHECK(s.run(tn::global_step()).item() == i + 1);
        CHECK(*s.run_untyped({}, {scale.value()})[0].data<float>() == static_cast<float>(8 << i));
        before = after;
    }
}

TEST_CASE(
    "S41: a step of a scaled loss that overflows on one replica is skipped by all, once, and the scale is halved") {
    constexpr int replicas = 2;
    tn::task task;
    each_replica(replicas, [&](int r) {
        const auto w = tn::variable("w", 1.0f);
        const auto x = tn::placeholder<float, tn::shape<>>("x");
        const tn::loss_scale scale({.initial = 8, .good_steps = 2});
        const tn::sync_replicas sync(tn::momentum(0.5, 0.5), {.aggregate = replicas, .total = replicas, .replica = r});
        const auto train = sync.minimize(w * x, {.scale = scale});
        tn::monitored_session s(as_replica(task, r, sync));
        const auto see = [&] {
            std::vector<float> all;
            for (const tn::any_array& a : s.session().run_untyped({}, {w, scale.value()}))
                all.push_back(*a.data<float>());
            return all;
        };
        const auto step = [&](float mine) { (void)s.run(tn::feed(x, mine), train); };
        step(static_cast<float>(1 + 2 * r)); // the mean is 2: m = 2, w = 1 - 0.5 * 2
        CHECK(see() == std::vector<float>{0, 8});
        const float infinite = std::numeric_limits<float>::infinity();
        step(r == 1 ? infinite : 1);
        CHECK(see() == std::vector<float>{0, 4});
        step(r == 0 ? -infinite : infinite);
        CHECK(see() == std::vector<float>{0, 2});
        step(1); // m = 0.5 * 2 + 1
        CHECK(see() == std::vector<float>{-1, 2});
        step(1); // m = 0.5 * 2 + 1; two good ones in a row
        CHECK(see() == std::vector<float>{-2, 4});
        CHECK(s.session().run(tn::global_step()).item() == 3);
        CHECK(s.session().run(sync.step()).item() == 5);
        s.close();
    });
}

TEST_CASE("S41: a backup that is slow stops nobody; its gradients are dropped and counted, and it goes on in the "
          "present step") {
    constexpr int replicas = 3, steps = 6;
    tn::task task;
    std::int64_t slow_counted = 0;
    each_replica(replicas, [&](int r) {
        const auto w = tn::variable("w", 0.0);
        const tn::fifo_queue<std::int32_t> gate(100, {.shared_name = "gate"}), slow_began(10, {.shared_name = "began"});
        // The slow one reads w, says so, and computes until it is let go.
        const auto read = [&]() -> tn::tensor<double, tn::shape<>> {
            if (r < 2) return w;
            const tn::control_dependencies said(slow_began.enqueue(1));
            return tn::cast<double>(gate.dequeue()) * 0.0 + w;
        }();
        const tn::sync_replicas sync(tn::gradient_descent(0.5), {.aggregate = 2, .total = replicas, .replica = r});
        const auto train = sync.minimize(tn::square(read - 1.0) * (r == 2 ? 100.0 : 1.0));
        const auto open = gate.enqueue(1);
        const auto wait = slow_began.dequeue();
        tn::monitored_session s(as_replica(task, r, sync));
        if (r < 2) {
            if (r == 0) s.session().run(wait); // it has read
            for (int i = 0; i < steps; ++i) CHECK(s.run(train, sync.counted()).item());
            if (r == 0) {
                CHECK(s.session().run(w).item() == 1.0); // of 0, one step of the two others
                s.session().run(open);
            }
        } else {
            slow_counted = s.run(train, sync.counted()).item() ? 1 : 0;
            CHECK(s.session().run(sync.step()).item() == steps);
            auto dropped = s.session().run(sync.dropped());
            CHECK((dropped(0) == 0 && dropped(1) == 0 && dropped(2) == 1));
        }
        s.close();
    });
    CHECK(slow_counted == 0);
}

TEST_CASE("S41: with aggregate 0 replicas come and go, and a step waits for those that are there") {
    tn::task task;
    each_replica(3, [&](int r) {
        const auto w = tn::variable("w", 0.0);
        const tn::sync_replicas sync(tn::gradient_descent(0.5), {.total = 3, .replica = r});
        const auto train = sync.minimize(tn::square(w - 1.0));
        tn::monitored_session s(as_replica(task, r, sync));
        for (int i = 0; i < 3; ++i) s.run(train);
        if (r < 2) {
            s.close();
            return;
        }
        for (int i = 0; i < 20; ++i) s.run(train); // whether or not the others have left already
        s.close();
    });
}

TEST_CASE("S41: two losses are minimized apart, each with a step of its own") {
    constexpr int replicas = 2;
    tn::task task;
    each_replica(replicas, [&](int r) {
        const auto a = tn::variable("a", 1.0), b = tn::variable("b", 1.0);
        const tn::sync_replicas sync(tn::gradient_descent(0.25), {.aggregate = 2, .total = replicas, .replica = r});
        const auto first = sync.minimize(tn::square(a), {.variables = {a}});
        const auto second = sync.minimize(tn::square(b), {.variables = {b}});
        tn::monitored_session s(as_replica(task, r, sync));
        for (int i = 0; i < 3; ++i) {
            s.run(first);
            if (i < 2) s.run(second);
        }
        CHECK(s.session().run(a).item() == 0.125);
        CHECK(s.session().run(b).item() == 0.25);
        CHECK(s.session().run(tn::global_step()).item() == 5);
        s.close();
    });
}

TEST_CASE_FIXTURE(in_folder, "S41, 46: synchronous replicas go on from the checkpoint of an asynchronous program") {
    constexpr int steps = 3;
    std::vector<std::string> told;
    // w after `steps` more steps.
    const auto trained = [&](bool synchronous, const std::string& at, bool partial) {
        const own_graph g;
        const auto w = tn::variable("w", 1.0);
        const auto loss = tn::square(w - 3.0);
        const auto how = tn::adam(0.1);
        const tn::sync_replicas sync(how, {.aggregate = 1, .total = 1});
        const auto train = synchronous ? sync.minimize(loss) : how.minimize(loss);
        tn::monitored_session_options o{.checkpoint = folder / at, .partial = partial};
        o.log = [&](const std::string& line) { told.push_back(line); };
        if (synchronous) o.hooks = {sync.hook()};
        tn::monitored_session s(o);
        for (int i = 0; i < steps; ++i) s.run(train);
        const double is = s.session().run(w).item();
        s.close();
        return is;
    };
    (void)trained(false, "all", false);
    const double expected = trained(false, "all", false);
    (void)trained(false, "m", false);
    CHECK_ERROR(tn::not_found_error, "lacks ", trained(true, "m", false));
    told.clear();
    CHECK(trained(true, "m", true) == doctest::Approx(expected).epsilon(1e-12));
    REQUIRE(told.size() >= 2);
    CHECK(told[0] == "session: restored " + folder / "m-3.json");
    CHECK(contains(told[1], "session: initialised what " + folder / "m-3.json" + " does not have: "));
    for (const char* name : {"train_steps", "w/next_step", "adam_step/next_step", "global_step/next_step"})
        CHECK_MESSAGE(contains(told[1], name), told[1]);
    CHECK_FALSE(contains(told[1], "adam_m"));
    told.clear();
    (void)trained(true, "m", false); // what it saved is whole
    CHECK(told[0] == "session: restored " + folder / "m-6.json");
}

TEST_CASE("S17, 41: a replica that waits too long says whose gradients are there, and that nobody applies them") {
    const own_graph g;
    const auto w = tn::variable("w", 1.0);
    const tn::sync_replicas sync(tn::gradient_descent(0.1), {.aggregate = 1, .total = 2, .replica = 1});
    const auto train = sync.minimize(tn::square(w));
    initialized_session s(g);
    CHECK_ERROR(
        tn::deadline_exceeded_error,
        "1 of 1 gradients of step 0 are there, of replica 1, and nobody applies them: give sync_replicas::hook()",
        s.run_for(0.02, train));
    {
        const auto applies = sync.start(s); // who gave up is applied
        s.run_for(20, train);
        CHECK(s.run(sync.present()).item() == 1);
    }
    CHECK(s.run(sync.present()).item() == 0);
    CHECK(s.run(sync.step()).item() >= 1);
}
