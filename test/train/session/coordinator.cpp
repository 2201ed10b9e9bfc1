#include <latch>
#include <stdexcept>

#include "tests.hpp"

// Threads that end together (SEMANTICS 37).

namespace {

void stay_until_stopped(const tn::coordinator& c) {
    while (!c.wait_for_stop(3600)) {
    }
}

} // namespace

TEST_CASE("SEMANTICS 37: threads run until a stop is asked for, and join waits for them") {
    tn::coordinator c;
    std::atomic<int> ended{0};
    for (int i = 0; i < 4; ++i)
        c.start("worker " + std::to_string(i), [&] {
            while (!c.should_stop()) std::this_thread::yield();
            ++ended;
        });
    CHECK(!c.should_stop());
    CHECK(!c.wait_for_stop(0));
    CHECK(c.running() == std::vector<std::string>{"worker 0", "worker 1", "worker 2", "worker 3"});
    c.request_stop();
    CHECK(c.should_stop());
    CHECK(c.wait_for_stop(0));
    c.join();
    CHECK(ended == 4);
    CHECK(c.running().empty());
    c.join(); // of none
}

TEST_CASE("join waits for threads that end by themselves, without a stop") {
    tn::coordinator c;
    int sum = 0;
    c.start("adder", [&] {
        for (int i = 1; i <= 100; ++i) sum += i;
    });
    c.join(0); // the grace period begins with a stop
    CHECK(sum == 5050);
    CHECK(!c.should_stop());
}

TEST_CASE("SEMANTICS 37: the first exception asks for a stop and wins, and join rethrows it") {
    tn::coordinator c;
    c.start("second", [&] {
        stay_until_stopped(c);
        throw std::runtime_error("because it was stopped");
    });
    c.start("first", [] { throw tn::data_loss_error("file x is cut off"); });
    CHECK(message_of<tn::data_loss_error>([&] { c.join(); }) == "file x is cut off");
    CHECK(c.running().empty());
    CHECK(message_of<tn::data_loss_error>([&] { c.join(); }) == "file x is cut off"); // until it is cleared
    c.clear_stop();
    CHECK(!c.should_stop());
    c.join();
}

TEST_CASE("whatever is thrown is passed on, and what comes after a stop is a consequence of it") {
    tn::coordinator c;
    c.start("thrower", [] { throw 42; });
    int thrown = 0;
    try {
        c.join();
    } catch (int i) {
        thrown = i;
    }
    CHECK(thrown == 42);
    c.clear_stop();
    c.request_stop();
    c.start("late", [] { throw std::runtime_error("too late"); });
    c.join();
    c.clear_stop();
    c.request_stop(std::make_exception_ptr(tn::aborted_error("by the caller")));
    c.request_stop(std::make_exception_ptr(tn::internal_error("later")));
    CHECK(message_of<tn::aborted_error>([&] { c.join(); }) == "by the caller");
}

TEST_CASE("SEMANTICS 37: end_of_data_error is a clean stop") {
    tn::coordinator c;
    c.start("other", [&] { stay_until_stopped(c); });
    c.start("reader", [] { throw tn::end_of_data_error("the end of the files"); });
    c.join();
    CHECK(c.should_stop());
}

TEST_CASE("SEMANTICS 37: an index beyond an array is a mistake, and no clean stop") {
    tn::coordinator c;
    tn::array<float, tn::shape<tn::dyn>> losses(3);
    c.start("training", [&] {
        for (int i = 0; i < 100; ++i) losses(i) = 1;
    });
    const std::string words = message_of<tn::out_of_range_error>([&] { c.join(); });
    CHECK(contains(words, "(3) in float[3]"));
}

TEST_CASE("what the caller's own thread throws asks for a stop, too") {
    tn::coordinator c;
    c.start("worker", [&] { stay_until_stopped(c); });
    CHECK(c.stop_on_exception([] {}));
    CHECK(!c.should_stop());
    CHECK(!c.stop_on_exception([] { throw tn::unavailable_error("a task is gone"); }));
    CHECK(message_of<tn::unavailable_error>([&] { c.join(); }) == "a task is gone");
}

TEST_CASE("SEMANTICS 37: a thread that does not stop within the grace period is named") {
    tn::coordinator c;
    std::latch leave(1);
    c.start("obedient", [&] { stay_until_stopped(c); });
    c.start("deaf", [&] { leave.wait(); });
    c.start("deaf, too", [&] { leave.wait(); });
    c.request_stop();
    while (c.running().size() > 2) std::this_thread::yield();
    const std::string words = message_of<tn::deadline_exceeded_error>([&] { c.join(0); });
    CHECK(contains(words, "these threads still run: \"deaf\", \"deaf, too\";"));
    CHECK_FALSE(contains(words, "obedient"));
    CHECK(contains(message_of<tn::failed_precondition_error>([&] { c.clear_stop(); }), "\"deaf\" still runs"));
    leave.count_down();
    c.join();
    c.clear_stop();
}

TEST_CASE("a thread cannot join itself, and periods are numbers") {
    tn::coordinator c;
    c.start("itself", [&] { c.join(); });
    CHECK(contains(message_of<tn::failed_precondition_error>([&] { c.join(); }),
                   "its own thread \"itself\" called join()"));
    CHECK_THROWS_AS(c.join(-1), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)c.wait_for_stop(std::numeric_limits<double>::quiet_NaN()), tn::invalid_argument_error);
}

TEST_CASE("a coordinator that goes asks its threads to stop, and waits for them") {
    std::atomic<bool> ended{false};
    {
        tn::coordinator c;
        c.start("worker", [&] {
            stay_until_stopped(c);
            ended = true;
        });
    }
    CHECK(ended);
}

TEST_CASE("of many threads that fail at once one wins") {
    for (int round = 0; round < 50; ++round) {
        tn::coordinator c;
        std::latch together(8);
        for (int i = 0; i < 8; ++i)
            c.start(std::to_string(i), [&, i] {
                together.arrive_and_wait();
                throw tn::internal_error("thread " + std::to_string(i));
            });
        CHECK(message_of<tn::internal_error>([&] { c.join(); }).starts_with("thread "));
        CHECK(c.running().empty());
    }
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 40: threads train one variable in one session until one of them meets the end") {
    const auto count = tn::variable<std::int64_t, tn::shape<>>("count", tn::zeros());
    const auto next = count.assign_add(std::int64_t{1});
    initialized_session s(g);
    tn::coordinator c;
    for (int i = 0; i < 3; ++i)
        c.start("trainer " + std::to_string(i), [&] {
            while (!c.should_stop())
                if (s.run(next).item() >= 300) throw tn::end_of_data_error("enough");
        });
    c.join();
    CHECK(s.run(count).item() >= 300);
    CHECK(s.run(count).item() < 303);
}
