#include <sys/wait.h>
#include <unistd.h>

#include "tests.hpp"
#include "thread_sanitized.hpp"

// A process that is forked has none of the threads: what its sessions do is done by the thread that asks.

namespace {

// Whether f is true in a process that is forked for it, within a minute.
template <class F> bool in_fork(F f) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::alarm(60);
        bool good = false;
        try {
            good = f();
        } catch (...) {
        }
        ::_exit(good ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return status == 0;
}

} // namespace

TEST_CASE_FIXTURE(in_graph,
                  "a forked process goes on with its sessions, and makes others" * doctest::skip(is_thread_sanitized)) {
    const auto x = tn::placeholder<float, tn::shape<300, 300>>("x");
    const auto y = sum(tn::matmul(x, x)) + sum(tn::matmul(x, exp(x))) + sum(tn::matmul(tanh(x), x)); // side by side
    const tn::fifo_queue<float> never(1);
    const auto waits = never.dequeue();
    const tn::session_options three{.intra_op_threads = 3, .use_per_session_threads = true};
    tn::session s(g, three);
    tn::array<float, tn::shape<300, 300>> one;
    one.fill(0.01f);
    const auto step = s.callable(tn::feeds(x), tn::fetches(y));
    const auto expected = std::get<0>(step(one))();
    CHECK_THROWS_AS(s.run_for(0.01, waits), tn::deadline_exceeded_error); // there is a thread that waits for limits
    CHECK(in_fork([&] { return std::get<0>(step(one))() == expected; }));
    CHECK(in_fork([&] { return std::get<0>(step.start(one.share()).get())() == expected; }));
    CHECK(in_fork([&] {
        try {
            s.run_for(0.01, waits);
        } catch (const tn::deadline_exceeded_error&) {
            return true;
        }
        return false;
    }));
    CHECK(in_fork([&] {
        tn::session other(g, three), shares(g);
        return other.run(y, tn::feed(x, one))() == expected && shares.run(y, tn::feed(x, one))() == expected;
    }));
    CHECK(in_fork([&] { // from which another one is
        return in_fork([&] { return std::get<0>(step.start(one.share()).get())() == expected; });
    }));
    CHECK(std::get<0>(step.start(one.share()).get())() == expected);
}
