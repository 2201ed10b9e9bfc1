#include "message_at_limit.hpp"
#include "ops/queue/queue_steps.hpp"
#include "runtime/every_session.hpp"

// Queues between steps, sessions, devices and threads: SEMANTICS 4, 15, 17, 21, 25 and 26.

using namespace queue_steps;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE("SEMANTICS 21, 33: equal seeds give equal orders, in every session") {
    const auto order = [](std::uint64_t graph_seed, std::uint64_t seed) {
        const own_graph g;
        tn::graph(g).set_seed(graph_seed);
        tn::session s;
        const of_numbers<tn::random_shuffle_queue<std::int64_t>> q(50, 0, tn::shuffle_queue_options{.seed = seed});
        list all(30);
        std::iota(all.begin(), all.end(), 0);
        q.fill(s, all);
        list got;
        for (int i = 0; i < 30; ++i) got.push_back(q.take(s));
        return got;
    };
    CHECK(order(0, 1) == order(0, 1));
    CHECK(order(5, 0) == order(5, 0));
    CHECK(order(0, 1) != order(0, 2));
    CHECK(order(5, 1) != order(6, 1));
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 17: a step that waits too long says what for, and leaves everything usable") {
    const numbers_queue q(2, tn::queue_options{.name = "jobs"});
    const auto two = q.q.dequeue_many<2>();
    const auto output = q.next + std::int64_t{1};
    const auto v = tn::variable("v", std::int64_t{0});
    const auto keep = v.assign(q.next);
    SUBCASE("by the run's limit") {
        initialized_session s;
        const auto says = [](const std::string& words, const auto& run) {
            CHECK(contains(message_at_limit<tn::deadline_exceeded_error>(words, run, soon), words));
        };
        says("queue \"jobs\" to have 1 element; it has 0", [&](double limit) { s.run_for(limit, output); });
        q.fill(s, {1});
        says("queue \"jobs\" to have 2 elements; it has 1", [&](double limit) { s.run_for(limit, two); });
        CHECK(q.count(s) == 1); // what it had taken was put back
        q.fill(s, {2});
        says("queue \"jobs\" to have room for 3 elements; it holds 2 of 2", [&](double limit) {
            s.run_for(limit, tn::feed(q.some, numbers({3, 4, 5})), q.put);
        });
        CHECK(q.take(s) == 1); // and nothing of what it put in stays
        CHECK(q.take(s) == 2);
        CHECK(q.count(s) == 0);
        CHECK_THROWS_AS(s.run_for(soon, keep), tn::deadline_exceeded_error);
        CHECK(s.run(v).item() == 0);
        q.fill(s, {6});
        CHECK(s.run(keep).item() == 6);
        CHECK(s.run(v).item() == 6);
    }
    SUBCASE("by the session's") {
        tn::session s({.operation_timeout = soon});
        CHECK_THROWS_AS(s.run(output), tn::deadline_exceeded_error);
        s.run(q.q.enqueue(41));
        CHECK(s.run(output).item() == 42);
    }
    SUBCASE("of a callable") {
        tn::session s;
        const auto step = s.callable(tn::feeds(), tn::fetches(output));
        CHECK_THROWS_AS(step.run_for(soon), tn::deadline_exceeded_error);
        q.fill(s, {41});
        CHECK(std::get<0>(step()).item() == 42);
    }
}

TEST_CASE_FIXTURE(in_session, "a step that waits keeps nobody from its variables") {
    const numbers_queue q(2);
    const auto v = tn::variable("v", std::int64_t{5});
    const auto add = v.assign_add(q.next);
    s.run(tn::initialize_variables());
    elsewhere waiting([&] { s.run_for(late, add); });
    CHECK(waiting.waits());
    CHECK(s.run_for(late, v).item() == 5);
    CHECK(s.run_for(late, v.assign(10)).item() == 10);
    q.fill(s, {1});
    CHECK(waiting.end() == "");
    CHECK(s.run(v).item() == 11);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 25, 30: a shared name is one queue for all sessions of a task, a name is not") {
    const tn::task shared;
    const numbers_queue q(5, tn::queue_options{.shared_name = "jobs"}), own(5, tn::queue_options{.name = "own"});
    tn::session first(shared, g);
    first.run(tn::feed(q.some, numbers({1, 2})), tn::feed(own.some, numbers({7})), tn::group(q.put, own.put));
    const own_graph other;
    const numbers_queue again(5, tn::queue_options{.shared_name = "jobs", .name = "whatever"});
    const numbers_queue same_name(5, tn::queue_options{.name = "own"});
    tn::session second(shared, other);
    CHECK(again.take(second) == 1);
    CHECK(same_name.count(second) == 0);
    CHECK(q.take(first) == 2);
    {
        tn::session third(shared, g);
        CHECK(own.count(third) == 0);
        CHECK(own.count(first) == 1);
        q.fill(third, {3});
    }
    CHECK(again.take(second) == 3); // it outlives the session
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 25: queues live in containers, and a reset forgets them and tells who waits") {
    tn::task shared;
    const numbers_queue plain(5, tn::queue_options{.shared_name = "jobs"});
    const numbers_queue boxed = [] {
        const tn::container_scope box("box");
        return numbers_queue(5, tn::queue_options{.shared_name = "jobs"});
    }();
    tn::session s(shared, g);
    plain.fill(s, {1});
    CHECK(boxed.count(s) == 0);
    {
        const tn::container_scope box("box");
        const auto larger = tn::fifo_queue<std::int64_t>(6, {.shared_name = "jobs"}).size();
        CHECK_ERROR(tn::invalid_argument_error,
                    "queue \"jobs\" in container \"box\" exists as queue of (int64[]), capacity 5, not as",
                    s.run(larger));
    }
    elsewhere waiting([&] { boxed.take(s); });
    CHECK(waiting.waits());
    shared.reset({"box"});
    const std::string why = waiting.end();
    CHECK_MESSAGE(contains(why, "queue \"jobs\": its container was reset."), why);
    CHECK(plain.count(s) == 1);
    boxed.fill(s, {2}); // another queue
    CHECK(boxed.take(s) == 2);
    shared.reset();
    CHECK(plain.count(s) == 0);
}

TEST_CASE("SEMANTICS 26: a shared queue of other components, of another kind or capacity, is an error naming both") {
    const tn::task shared;
    const own_graph g;
    const numbers_queue q(5, tn::queue_options{.shared_name = "jobs"});
    tn::session first(shared, g);
    q.fill(first, {1});
    const own_graph other;
    const tn::fifo_queue<float> floats(5, {.shared_name = "jobs"});
    const tn::fifo_queue<std::int64_t> larger(6, {.shared_name = "jobs"});
    const tn::priority_queue<> by_priority(5, {.shared_name = "jobs"});
    tn::session second(shared, other);
    CHECK_ERROR(tn::invalid_argument_error,
                "queue \"jobs\" exists as queue of (int64[]), capacity 5, not as queue of (float[]), capacity 5",
                second.run(floats.enqueue(1.0f)));
    CHECK_ERROR(tn::invalid_argument_error,
                "queue \"jobs\" exists as queue of (int64[]), capacity 5, not as queue of (int64[]), capacity 6",
                second.run(larger.dequeue()));
    CHECK_THROWS_AS(second.run(by_priority.size()), tn::invalid_argument_error);
    CHECK(q.take(first) == 1);
}

TEST_CASE_FIXTURE(in_session, "what was enqueued does not change with the variable or the fed array that it was") {
    const tn::fifo_queue<tn::component<float, tn::shape<2>>> q(10);
    const auto v = tn::variable("v", tn::constant({1.0f, 2.0f}));
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    s.run(tn::initialize_variables());
    s.run(q.enqueue(v));
    s.run(v.assign(tn::constant({3.0f, 4.0f})));
    tn::array<float, tn::shape<2>> fed{5, 6};
    s.run(tn::feed(x, fed), q.enqueue(x));
    fed(0) = 7;
    const auto next = q.dequeue();
    CHECK(s.run(next)(0) == 1);
    CHECK(s.run(next)(0) == 5);
}

TEST_CASE_FIXTURE(in_graph, "a step hands elements on: from a queue, through what it computes, to another") {
    const tn::fifo_queue<float> from(10), to(10);
    const auto put = from.enqueue_many(tn::constant({1.0f, 2.0f, 3.0f}));
    const auto pass = to.enqueue(exp(from.dequeue()) + 1.0f);
    const auto result = to.dequeue_many<3>();
    in_every_session([&](tn::session& s) {
        s.run(put);
        for (int i = 0; i < 3; ++i) s.run(pass);
        CHECK(s.run(result)(2) == doctest::Approx(std::exp(3.0) + 1));
    });
}

TEST_CASE_FIXTURE(in_session, "SEMANTICS 15: dequeues of one step in the order that the program says") {
    const numbers_queue q(10);
    const auto second = [&] {
        const tn::control_dependencies after(q.next);
        return q.q.dequeue();
    }();
    const auto size_then = [&] {
        const tn::control_dependencies after(second);
        return q.q.size();
    }();
    q.fill(s, {1, 2, 3});
    const auto [b, left, a] = s.run(second, size_then, q.next);
    CHECK(a.item() == 1);
    CHECK(b.item() == 2);
    CHECK(left.item() == 1);
}

TEST_CASE_FIXTURE(in_session, "a model is trained on what it takes from a queue; no gradient flows into it") {
    const tn::random_shuffle_queue<tn::component<float, tn::shape<2>>, float> q(100, 0, {.seed = 1});
    const auto xs = tn::placeholder<float, tn::shape<batch, 2>>("xs");
    const auto ys = tn::placeholder<float, tn::shape<batch>>("ys");
    const auto put = q.enqueue_many(xs, ys);
    const auto [x, y] = q.dequeue_many<4>();
    const auto w = tn::variable<float, tn::shape<2, 1>>("w", tn::zeros());
    const auto loss = mean(square(tn::reshape<tn::shape<4>>(matmul(x, w)) - y));
    const auto train = tn::gradient_descent(0.1f).minimize(loss);
    s.run(tn::initialize_variables());
    for (int i = 0; i < 200; ++i) {
        s.run(tn::feed(xs, {{1, 0}, {0, 1}, {1, 1}, {-1, 1}}), tn::feed(ys, {2, -3, -1, -5}), put);
        s.run(train);
    }
    const auto learnt = s.run(w);
    CHECK(learnt(0, 0) == doctest::Approx(2).epsilon(1e-3));
    CHECK(learnt(1, 0) == doctest::Approx(-3).epsilon(1e-3));
}

TEST_CASE_FIXTURE(in_session, "many threads put in and take out: each element comes out once") {
    const numbers_queue q(7);
    constexpr int threads = 4, each = 50;
    std::atomic<std::int64_t> sum{0};
    {
        std::vector<std::unique_ptr<elsewhere>> all;
        for (int t = 0; t < threads; ++t) {
            all.push_back(std::make_unique<elsewhere>([&, t] {
                for (int i = 0; i < each; ++i) q.fill(s, {t * each + i});
            }));
            all.push_back(std::make_unique<elsewhere>([&] {
                for (int i = 0; i < each; ++i) sum += q.take(s);
            }));
        }
        for (const auto& one : all) CHECK(one->end() == "");
    }
    CHECK(sum == threads * each * (threads * each - 1) / 2);
    CHECK(q.count(s) == 0);
}

TEST_CASE("a graph that was read has the queues that it had") {
    const tn::task shared;
    std::string text;
    {
        const own_graph g;
        const numbers_queue q(5, tn::queue_options{.shared_name = "jobs", .name = "jobs"});
        tn::session s(shared, g);
        q.fill(s, {1, 2, 3});
        text = tn::to_json(g);
    }
    const tn::graph read = tn::graph_from_json(text);
    const tn::graph_scope in(read);
    const tn::queue<std::int64_t> q(tn::untyped::queue(read.tensor("jobs")));
    tn::session s(shared, read);
    CHECK(numbers_in(s.run(q.dequeue_many<3>())) == list{1, 2, 3});
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 4: a queue on one CPU of several, used by a step on a GPU") {
    const auto q = tn::on("/cpu:1", [] { return tn::fifo_queue<float>(5); });
    const auto put = q.enqueue_many(tn::on("/gpu:0", [] { return exp(tn::constant({0.0f, 1.0f})); }));
    const auto twice = tn::on("/gpu:0", [&] { return q.dequeue_many<2>() * 2.0f; });
    tn::session s({.cpu_devices = 2, .gpus = tn::simulated_gpu(1, 1 << 20)});
    s.run(put);
    CHECK(s.run(twice)(0) == 2);
}
