#include <net/server/membership.hpp>

#include "tests.hpp"

// Who takes part in a run, by a clock that the test sets: nothing waits here for time to pass.

using namespace tenon::net;
using namespace std::chrono_literals;

namespace {

struct set_clock final : tenon::time_source {
    time_point at{};
    time_point now() const noexcept override { return at; }
};

struct run {
    set_clock clock;
    std::vector<std::string> lines;
    membership all{clock, {"/job:worker/task:0", "/job:worker/task:1"}, [this](const std::string& line) {
                       lines.push_back(line);
                   }};
    int status(const membership_limits& limits = {60s, 20s}) { return all.wait_until_over(limits); }
};

const std::string w0 = "/job:worker/task:0", w1 = "/job:worker/task:1";

} // namespace

TEST_CASE("a run is over when all have ended, with the status of the first that failed") {
    run r;
    r.all.came(w0, 7);
    r.all.came(w1, 8);
    r.all.left(w1, 8, 3);
    r.clock.at += 1s;
    r.all.left(w0, 7, 5);
    r.all.lost(w0, 7, "its connection was closed"); // which is nothing new
    CHECK(r.status() == 3);
    CHECK(r.lines == std::vector<std::string>{w0 + " has come", w1 + " has come", w1 + " has ended with status 3",
                                              w0 + " has ended with status 5"});
}

TEST_CASE("who is lost is missed when its time to come again is over") {
    run r;
    r.all.came(w0, 7);
    r.all.came(w1, 8);
    r.all.left(w0, 7, 0);
    r.all.lost(w1, 8, "the lease ended");
    r.clock.at += 20s;
    CHECK(r.status() == 137);
    CHECK(contains(r.lines.back(), w1 + " is lost: its process was killed, or cannot be reached: the lease ended"));
}

TEST_CASE("who is lost, or failed, and comes again counts by how it ends then") {
    run r;
    r.all.came(w0, 7);
    r.all.came(w1, 8);
    r.all.lost(w1, 8, "why");
    r.all.left(w0, 7, 4);
    r.all.came(w1, 9);
    r.all.lost(w1, 8, "late"); // of its life before
    r.all.came(w0, 10);
    r.all.left(w1, 9, 0);
    r.all.left(w0, 10, 0);
    r.clock.at += 1h;
    CHECK(r.status() == 0);
}

TEST_CASE("who never comes is counted as lost; where nobody does, that is an error with their names") {
    run r;
    r.clock.at += 60s;
    CHECK_ERROR(tenon::deadline_exceeded_error, "nobody has come within 60 s of those that train: " + w0 + ", " + w1,
                r.status());
    r.all.came(w0, 7);
    r.all.left(w0, 7, 0);
    CHECK(r.status() == 137);
    CHECK(r.lines.back() == "the run is over, and these never came: " + w1);
}

TEST_CASE("who is asked to stop waits for those that are there, until the time that they are given is over") {
    run r;
    r.all.came(w0, 7);
    r.all.ask_to_stop(10s);
    std::thread ends([&] { r.all.left(w0, 7, 143); });
    CHECK(r.status() == 143); // and not for worker 1, who never came
    ends.join();
    r.all.came(w1, 8);
    r.clock.at += 10s;
    CHECK(r.status() == 143); // worker 1 does not end
}

TEST_CASE("who is asked to stop while nobody has come ends well") {
    run r;
    r.all.ask_to_stop(10s);
    CHECK(r.status() == 0);
}

TEST_CASE("who is to stay does so until it is asked to stop") {
    run r;
    r.all.came(w0, 7);
    r.all.left(w0, 7, 0);
    r.all.came(w1, 8);
    r.all.left(w1, 8, 0);
    std::thread asks([&] { r.all.ask_to_stop(0s); });
    CHECK(r.status({60s, 20s, true}) == 0);
    asks.join();
}
