#include "tests.hpp"
#include "message_at_limit.hpp"
#include "runtime/gates.hpp"
#include "runtime/support.hpp"

using namespace probe;

namespace {
using scalar = tn::shape<>;
}

TEST_CASE("a step that was started runs by itself; its results are waited for") {
    for (const int threads : {1, 3}) {
        CAPTURE(threads);
        const own_graph g;
        auto x = tn::placeholder<float, scalar>("x");
        auto plain = x * 2.0f;
        auto waited = gated("a", plain + 0.0f) + 1.0f;
        tn::session sess(g, {.intra_op_threads = threads, .use_per_session_threads = true});
        auto at_once = sess.callable(tn::feeds(x), tn::fetches(plain));
        auto waits = sess.callable(tn::feeds(x), tn::fetches(waited, plain));
        CHECK(std::get<0>(at_once.start(4.0f).get())() == 8.0f);
        auto first = waits.start(1.0f), second = waits.start(2.0f);
        gates::get().wait_for("a", 2);
        CHECK_FALSE(first.has_ended());
        CHECK_FALSE(second.wait_for(0.001));
        gates::get().open("a");
        auto [w, p] = second.get();
        CHECK(w() == 5.0f);
        CHECK(p() == 4.0f);
        CHECK(std::get<0>(first.get())() == 3.0f);
        CHECK(first.has_ended());
        CHECK_THROWS_AS((void)first.get(), tn::failed_precondition_error);
    }
}

TEST_CASE_FIXTURE(in_graph, "a started step is stopped alone, wherever it waits") {
    auto x = tn::placeholder<float, scalar>("x");
    auto y = gated("b", gated("a", x + 0.0f) + 1.0f);
    tn::session sess(g);
    auto step = sess.callable(tn::feeds(x), tn::fetches(y));
    auto one = step.start(1.0f), two = step.start(2.0f);
    gates::get().wait_for("a", 2);
    one.stop();
    const auto text = message_of<tn::cancelled_error>([&] { (void)one.get(); });
    CHECK_MESSAGE(contains(text, "the step was stopped"), text);
    gates::get().wait_for("a", 1);
    gates::get().open("a");
    gates::get().wait_for("b", 1);
    two.stop();
    CHECK_THROWS_AS((void)two.get(), tn::cancelled_error);
    CHECK(gates::get().waiting() == 0);
    two.stop(); // of what has ended, nothing happens
    gates::get().leave_open("a");
    const probe::open_gate open("b");
    CHECK(std::get<0>(step(3.0f))() == 4.0f);
    gates::get().leave_open("a", false);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 17: a started step keeps its time limit where somebody waits for it") {
    auto x = tn::placeholder<float, scalar>("x");
    tn::session sess(g);
    auto step = sess.callable(tn::feeds(x), tn::fetches(gated("a", x + 0.0f)));
    const std::string words = "it was waiting for gate \"a\"";
    const auto text = message_at_limit<tn::deadline_exceeded_error>(
        words, [&](double limit) { (void)step.start_for(limit, 1.0f).get(); });
    CHECK_MESSAGE(contains(text, words), text);
    CHECK(gates::get().waiting() == 0);
}

TEST_CASE("SEMANTICS 19: started steps end with their session, which may have threads of its own") {
    for (const bool own : {false, true}) {
        CAPTURE(own);
        const own_graph g;
        auto x = tn::placeholder<float, scalar>("x");
        std::vector<tn::pending_step<tn::tensor<float, scalar>>> all;
        {
            tn::session sess(g, {.intra_op_threads = 2, .use_per_session_threads = own});
            auto y = gated("a", x + 0.0f);
            auto step = sess.callable(tn::feeds(x), tn::fetches(y));
            for (int i = 0; i < 10; ++i) all.push_back(step.start(1.0f));
            gates::get().wait_for("a", 10);
        }
        for (auto& p : all) CHECK_THROWS_AS((void)p.get(), tn::cancelled_error);
        CHECK(gates::get().waiting() == 0);
    }
}

TEST_CASE_FIXTURE(in_graph, "a started step goes on where nobody keeps it") {
    auto x = tn::placeholder<float, scalar>("x");
    auto v = tn::variable("v", 0.0f);
    initialized_session sess(g);
    {
        auto update = sess.callable(tn::feeds(x), tn::fetches(v.assign(gated("a", x + 0.0f)).operation()));
        (void)update.start(5.0f);
        gates::get().wait_for("a");
    }
    gates::get().open("a");
    while (sess.run(v)() != 5.0f) std::this_thread::yield();
}

TEST_CASE("steps are started while their session is closed: each ends, with a result or an error") {
    for (int round = 0; round < 200; ++round) {
        const own_graph g;
        auto x = tn::placeholder<float, scalar>("x");
        tn::session sess(g, {.intra_op_threads = 3});
        auto step = sess.callable(tn::feeds(x), tn::fetches(gated("closed", x + 0.0f)));
        std::vector<tn::pending_step<tn::tensor<float, scalar>>> all;
        std::thread closer([&] { sess.close(); });
        try {
            for (int i = 0; i < 20; ++i) all.push_back(step.start(1.0f));
        } catch (const tn::failed_precondition_error&) { // it is closed
        }
        closer.join();
        for (auto& p : all) CHECK_THROWS_AS((void)p.get(), tn::error);
        CHECK(gates::get().waiting() == 0);
    }
}

TEST_CASE("S17: a started step ends at its limit, whoever waits for it, or nobody") {
    for (const int threads : {1, 2}) {
        CAPTURE(threads);
        const own_graph g;
        const tn::fifo_queue<std::int64_t> q(3), other(3);
        const auto put = q.enqueue(std::int64_t{5});
        tn::session sess(g, {.intra_op_threads = threads, .use_per_session_threads = true});
        const auto take = sess.callable(tn::feeds(), tn::fetches(q.dequeue()));
        const auto polled = take.start_for(0.02);
        CHECK(polled.wait_for(30)); // sooner than that
        const auto text = message_of<tn::deadline_exceeded_error>([&] { (void)polled.get(); });
        CHECK_MESSAGE(contains(text, "waiting for queue"), text);
        { const auto dropped = take.start_for(0.02); }
        // Who comes after it is served once it has gone.
        const auto after = sess.callable(tn::feeds(), tn::fetches(q.dequeue())).start();
        const auto later = take.start_for(0.04);
        CHECK(later.wait_for(30));
        sess.run(put);
        CHECK(std::get<0>(after.get()).item() == 5);
        CHECK(sess.run(q.size()).item() == 0);
    }
}

TEST_CASE_FIXTURE(in_graph, "S17: a limit that is over before the step has begun ends it, run or started") {
    const tn::fifo_queue<std::int64_t> never(1);
    tn::session sess(g);
    const auto step = sess.callable(tn::feeds(), tn::fetches(never.dequeue()));
    for (int i = 1; i <= 3000; ++i) {
        CHECK_THROWS_AS((void)step.run_for(i * 1e-8), tn::deadline_exceeded_error);
        CHECK_THROWS_AS((void)step.start_for(i * 1e-8).get(), tn::deadline_exceeded_error);
    }
}

TEST_CASE_FIXTURE(in_graph, "S17: a started step that waits for a variable ends at its limit") {
    const auto v = tn::variable("v", 1.0f);
    const auto held = gated("held", v.assign_add(1.0f) + 0.0f);
    tn::session sess(g, {.intra_op_threads = 2, .use_per_session_threads = true, .operation_timeout = 30});
    sess.run(v.initializer());
    const auto step = sess.callable(tn::feeds(), tn::fetches(held));
    const std::string words = "\"v\" has been updated";
    const auto text = message_at_limit<tn::deadline_exceeded_error>(words, [&](double limit) {
        const auto late = step.start_for(limit);
        CHECK(late.wait_for(300));
        (void)late.get();
    });
    CHECK_MESSAGE(contains(text, words), text);
    CHECK(sess.run(v).item() == 2);
}

TEST_CASE("a session may end while steps that were started have limits") {
    for (int i = 0; i < 50; ++i) {
        const own_graph g;
        const tn::fifo_queue<std::int64_t> q(3);
        tn::session sess(g, {.intra_op_threads = 2, .use_per_session_threads = true});
        const auto take = sess.callable(tn::feeds(), tn::fetches(q.dequeue()));
        const auto soon = take.start_for(1e-4 * i), late = take.start_for(3600);
    }
}
