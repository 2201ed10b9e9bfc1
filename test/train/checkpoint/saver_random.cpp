#include <tenon/ops/input/epochs.hpp>

#include "tests.hpp"

// How far random ops have come is part of a checkpoint: SEMANTICS 21 and 46.

namespace {

using vector16 = tn::shape<16>;
using floats = tn::array<float, vector16>;
using numbers = std::vector<std::int64_t>;

// A training with dropout and noise, as a program makes it each time that it is started. `there`: where its random ops are.
struct training {
    explicit training(const tn::device_name& there = {}) : scope(graph) {
        graph.set_seed(7);
        const auto v = tn::variable<float, vector16>("w", tn::normal());
        const tn::device_scope in(there);
        const auto noise = tn::random_normal<float, vector16>();
        w.emplace_back(v);
        train = v.assign_sub((tn::dropout(v, 0.5) + noise) * 0.1f).operation();
        initialize = tn::initialize_variables();
    }
    void run(tn::session& s, int steps) const {
        for (int i = 0; i < steps; ++i) s.run(train);
    }
    floats weights(tn::session& s) const { return s.run(w[0]); }

    tn::graph graph;
    tn::graph_scope scope;
    std::vector<tn::variable_tensor<float, vector16>> w;
    tn::operation train, initialize;
};

floats uninterrupted(int steps) {
    const training t;
    tn::session s;
    s.run(t.initialize);
    t.run(s, steps);
    return t.weights(s);
}

tn::task_options task_called(const char* job) { return {.job = job}; }

} // namespace

TEST_CASE("SEMANTICS 21, 46: a training with random numbers that goes on in another session ends the same to the bit") {
    const floats last = uninterrupted(10);
    REQUIRE(!(uninterrupted(9) == last));
    for (const int before : {0, 1, 4}) {
        CAPTURE(before);
        const temporary_folder folder;
        {
            const training t;
            tn::session s;
            s.run(t.initialize);
            t.run(s, before);
            (void)tn::saver(folder / "m").save(s, before);
            t.run(s, 3); // what comes later is not in it
        }
        const training t;
        tn::session s;
        (void)tn::saver(folder / "m").restore(s);
        t.run(s, 10 - before);
        CHECK(t.weights(s) == last);
        // Another session of the process, which restores nothing, begins with the first numbers.
        const training anew;
        tn::session other;
        other.run(anew.initialize);
        anew.run(other, 10);
        CHECK(anew.weights(other) == last);
    }
}

TEST_CASE(
    "SEMANTICS 21, 46: also on tasks that have had other sessions, and have some; and in a session that goes back") {
    const floats last = uninterrupted(10);
    const tn::task ps(task_called("ps")), worker(task_called("worker"));
    const std::vector<tn::task> both{worker, ps};
    const tn::device_name there("/job:worker");
    const temporary_folder folder;
    const training t(there);
    tn::session first(both, t.graph);
    first.run(t.initialize);
    t.run(first, 6);
    tn::saver saver(folder / "m");
    const tn::saved_checkpoint saved = saver.save(first, 6);
    CHECK(saved.manifest.random_runs == first.random_runs());
    CHECK(saved.manifest.random_runs.size() == 3); // of the variable, dropout's and the noise
    t.run(first, 4);
    CHECK(t.weights(first) == last);
    const training again(there);
    tn::session second(both, again.graph);
    again.run(second, 2); // on the same variable
    (void)saver.restore(second);
    again.run(second, 4);
    CHECK(again.weights(second) == last);
    (void)saver.restore(first);
    t.run(first, 4);
    CHECK(t.weights(first) == last);
    CHECK(first.random_runs() == second.random_runs());
}

TEST_CASE("SEMANTICS 21, 46: a monitored session that finds the variables with values goes on with the checkpoint's "
          "numbers") {
    const floats last = uninterrupted(7);
    const temporary_folder folder;
    const tn::task shared;
    for (const int steps : {3, 4}) {
        const training t;
        tn::monitored_session sess({.tasks = {shared}, .checkpoint = folder / "m"});
        for (int i = 0; i < steps; ++i) sess.run(t.train);
        if (steps == 4) CHECK(t.weights(sess.session()) == last);
        sess.close();
    }
    // The same where another gives the values.
    const tn::task other;
    const training t;
    tn::session chief(other);
    std::thread gives([&] { (void)tn::saver(folder / "m").restore(chief, {.checkpoint = folder / "m-3.json"}); });
    {
        const training follows;
        tn::monitored_session sess({.tasks = {other}, .is_chief = false, .checkpoint = folder / "m", .keep = 1});
        gives.join();
        for (const tn::run_count& c : sess.session().random_runs())
            if (c.node.find("initial") == std::string::npos) CHECK(c.runs == 7);
    }
}

TEST_CASE_FIXTURE(in_graph, "random numbers go on from what was set, of the ops that were named") {
    const auto a = tn::random_uniform<float, tn::shape<4>>(0, 1, 1),
               b = tn::random_uniform<float, tn::shape<4>>(0, 1, 2);
    tn::session s, other;
    CHECK(s.random_runs().empty());
    std::vector<tn::array<float, tn::shape<4>>> of_a, of_b;
    for (int i = 0; i < 5; ++i) {
        auto [x, y] = s.run(a, b);
        of_a.push_back(std::move(x));
        of_b.push_back(std::move(y));
    }
    CHECK(s.random_runs() == std::vector<tn::run_count>{{a.node()->name, 5}, {b.node()->name, 5}});
    CHECK(other.run(b) == of_b[0]);
    other.set_random_runs({{a.node()->name, 3}, {"of another graph", 9}});
    CHECK(other.run(a) == of_a[3]);
    CHECK(other.run(b) == of_b[1]);
    CHECK(other.run(a) == of_a[4]);
    s.set_random_runs({{a.node()->name, 0}});
    CHECK(s.run(a) == of_a[0]);
    const auto why = message_of<tn::invalid_argument_error>([&] {
        s.set_random_runs({{a.node()->name, std::uint64_t{1} << 63}});
    });
    CHECK_MESSAGE(contains(why, a.node()->name + " has not run 9223372036854775808 times"), why);
    CHECK(s.run(a) == of_a[1]);
}

// What queues held is not in a checkpoint, so no order is repeated, and none of the epochs is left out.
TEST_CASE_FIXTURE(in_folder, "SEMANTICS 37, 46: a producer goes on with further orders, and has all its epochs") {
    const auto epochs = [&](bool saves, bool restores) {
        const own_graph g;
        const auto order =
            tn::tensor<std::int64_t, tn::shape<8>>::unchecked(tn::add<tn::epoch_order_op>({8, 3, true, 5}, {}));
        (void)tn::variable("w", 0.0f);
        initialized_session s;
        tn::saver saver(folder / "m");
        if (restores) (void)saver.restore(s);
        std::vector<numbers> all;
        for (int i = 0; i < 3; ++i) {
            const auto o = s.run(order);
            all.emplace_back(o.begin(), o.end());
        }
        CHECK_THROWS_AS((void)s.run(order), tn::end_of_data_error);
        if (saves) (void)saver.save(s, 1);
        return all;
    };
    const std::vector<numbers> first = epochs(true, false), second = epochs(false, true);
    std::set<numbers> all(first.begin(), first.end());
    all.insert(second.begin(), second.end());
    CHECK(all.size() == 6);
    CHECK(epochs(false, false) == first);
}
