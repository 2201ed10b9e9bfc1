#include <chrono>

#include <net/server/servers.hpp>

#include "tests.hpp"

// SEMANTICS 17 over tasks: what a late, stopped or failed step took from queues of whichever tasks and did not use is where it was; on
// servers as in one process.

using namespace net_test;

namespace {

using number = std::int64_t;

template <class F> void in_both(F f) {
    SUBCASE("on servers") {
        servers all(2, 1);
        f([&](const tn::graph& g) { return tn::session(all.target("worker", 0), g, {.operation_timeout = 60}); });
    }
    SUBCASE("on tasks of this process") {
        const tn::task one{{.job = "ps", .index = 0}}, two{{.job = "ps", .index = 1}}, worker{{.job = "worker"}};
        f([&](const tn::graph& g) {
            return tn::session(std::vector<tn::task>{worker, one, two}, g, {.operation_timeout = 60});
        });
    }
}

tn::device_scope on_ps(int task) { return tn::device_scope("/job:ps/task:" + std::to_string(task)); }

struct model {
    own_graph graph;
    const tn::device_scope on_first = on_ps(0);
    const tn::fifo_queue<number> first{10, {.shared_name = "first"}};
    const tn::tensor<number, tn::shape<>> x = first.dequeue();
    const decltype(tn::variable("v", number{0})) on_same = tn::variable("v", number{0});
    const tn::device_scope on_second = on_ps(1);
    const tn::fifo_queue<number> second{10, {.shared_name = "second"}};
    const tn::tensor<number, tn::shape<>> y = second.dequeue();
    const decltype(tn::variable("w", number{0})) there = tn::variable("w", number{0});
};

// What is in a queue, in order; it is empty afterwards.
template <class Q, class X> std::vector<number> rest_of(tn::session& s, const Q& q, const X& dequeued) {
    std::vector<number> all;
    for (auto n = s.run(q.size())(); n > 0; --n) all.push_back(s.run(dequeued)());
    return all;
}

} // namespace

TEST_CASE("SEMANTICS 17: of two dequeues on two tasks of which one waits in vain the other's element is first again") {
    in_both([](const auto& open) {
        const model m;
        const auto sum = m.x + m.y;
        tn::session s = open(m.graph);
        for (const number n : {1, 2, 3}) s.run(m.first.enqueue(n));
        const auto step = s.callable(tn::feeds(), tn::fetches(sum));
        const auto why = message_of<tn::deadline_exceeded_error>([&] { (void)step.run_for(0.1); });
        CHECK_MESSAGE(contains(why, "dequeue"), why);
        CHECK_MESSAGE(!contains(why, "applied"), why);
        auto stopped = step.start();
        while (s.run(m.first.size())() != 2) {
        }
        stopped.stop();
        CHECK_THROWS_AS((void)stopped.get(), tn::cancelled_error);
        CHECK(s.run(m.first.size())() == 3);
        s.run(m.second.enqueue(number{10}));
        CHECK(std::get<0>(step())() == 11);
        s.run(m.second.close());
        CHECK_THROWS_AS((void)step(), tn::end_of_data_error);
        CHECK(rest_of(s, m.first, m.x) == std::vector<number>{2, 3});
    });
}

TEST_CASE("SEMANTICS 17: what was to be used on another task is given back where that has not come to it") {
    in_both([](const auto& open) {
        const model m;
        const auto update = m.there.assign_add(m.x + m.y); // on the second, which waits
        tn::session s = open(m.graph);
        s.run(tn::initialize_variables());
        for (const number n : {1, 2}) s.run(m.first.enqueue(n));
        CHECK_THROWS_AS((void)s.run_for(0.1, update), tn::deadline_exceeded_error);
        s.run(m.second.enqueue(number{10}));
        CHECK(s.run(update)() == 11);
        CHECK(rest_of(s, m.first, m.x) == std::vector<number>{2});
    });
}

TEST_CASE("SEMANTICS 17: what has changed something on a task is used, whatever becomes of the step on others") {
    in_both([](const auto& open) {
        const model m;
        const auto applied = m.on_same.assign_add(m.x);
        tn::session s = open(m.graph);
        s.run(tn::initialize_variables());
        for (const number n : {1, 2}) s.run(m.first.enqueue(n));
        const auto why = message_of<tn::deadline_exceeded_error>([&] { (void)s.run_for(0.3, applied, m.y); });
        const number is = s.run(m.on_same)();
        CHECK_MESSAGE(contains(why, "the step was applied on /job:ps/task:0") == (is == 1), why);
        CHECK(rest_of(s, m.first, m.x).size() == (is == 1 ? 1 : 2));
    });
}

TEST_CASE("SEMANTICS 17: a step that ends well keeps what it took, on every task") {
    in_both([](const auto& open) {
        const model m;
        tn::session s = open(m.graph);
        for (const number n : {1, 2, 3, 4}) s.run(m.first.enqueue(n)), s.run(m.second.enqueue(10 * n));
        for (const number n : {1, 2, 3}) {
            const auto [a, b] = s.run(m.x, m.y);
            CHECK(a() == n);
            CHECK(b() == 10 * n);
        }
        CHECK(s.run(m.first.size())() == 1);
        CHECK(rest_of(s, m.second, m.y) == std::vector<number>{40});
    });
}

TEST_CASE("SEMANTICS 17: what a session that is closed in mid-step took is given back") {
    in_both([](const auto& open) {
        const model m;
        tn::session looks = open(m.graph), closes = open(m.graph);
        looks.run(m.first.enqueue(number{1}));
        const auto step = closes.callable(tn::feeds(), tn::fetches(m.x, m.y));
        auto waits = step.start();
        while (looks.run(m.first.size())() != 0) {
        }
        closes.close();
        CHECK_THROWS_AS((void)waits.get(), tn::cancelled_error);
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (looks.run(m.first.size())() != 1) REQUIRE(std::chrono::steady_clock::now() < until);
    });
}

TEST_CASE("SEMANTICS 17: a step that is stopped as it ends has its results, or leaves everything where it was") {
    in_both([](const auto& open) {
        const model m;
        tn::session s = open(m.graph);
        const auto step = s.callable(tn::feeds(), tn::fetches(m.x, m.y));
        number there = 0, taken = 0;
        for (int n = 0; n < 400; ++n) {
            for (; there < 4; ++there) s.run(m.first.enqueue(number{1})), s.run(m.second.enqueue(number{1}));
            auto pending = step.start();
            for (int spins = 0; spins < 200 * (n % 40) && !pending.has_ended(); ++spins) std::this_thread::yield();
            pending.stop();
            try {
                (void)pending.get();
                ++taken;
                --there;
            } catch (const tn::cancelled_error&) {
            }
            REQUIRE(s.run(m.first.size())() == there);
            REQUIRE(s.run(m.second.size())() == there);
        }
        MESSAGE(taken << " of 400 steps that were stopped had ended");
    });
}

TEST_CASE("SEMANTICS 17: a step that fails on one task says on which others it was applied, and where in part") {
    in_both([](const auto& open) {
        const model m;
        const auto once = m.on_same.assign_add(number{1}); // on the first
        const auto fails = m.there.assign_add(once);       // on the second, where it has no value
        const auto twice = m.on_same.assign_add(fails);    // on the first again
        tn::session s = open(m.graph);
        s.run(m.on_same.initializer());
        const auto why_not = [&](const auto& what) {
            return message_of<tn::failed_precondition_error>([&] { (void)s.run(what); });
        };
        const std::string whole = why_not(fails), in_part = why_not(twice);
        CHECK_MESSAGE(contains(whole, "; the step was applied on /job:ps/task:0"), whole);
        CHECK_MESSAGE(contains(in_part, "; the step was applied in part on /job:ps/task:0"), in_part);
        CHECK(s.run(m.on_same)() == 2);
    });
}
