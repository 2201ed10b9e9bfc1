#include <messages.hpp>
#include <net/link/two.hpp>

// How a call ends whose deadline has come: who is there may say why, who is silent is not waited for.

using namespace net_test;

namespace {

// Calls with a deadline, and a grace for who is there.
struct calls : two {
    std::shared_ptr<outcome> call_with(std::uint8_t verb, duration limit, duration grace) {
        auto o = std::make_shared<outcome>();
        o->call = caller->call(verb, text("x"), {}, {in(limit), grace}, [this, o](answer a) {
            ++o->ended;
            o->a = std::move(a);
            o->at = net.now();
        });
        return o;
    }
};

} // namespace

TEST_CASE("late calls: a silent peer is not waited for beyond the deadline, and for how long it was is said (17)") {
    for (const duration silent_for : {600ms, 300ms, 100ms, 1ms}) {
        calls w;
        w.begin_linked();
        const auto begun = w.net.now();
        const auto a = w.call_with(echo_service::wait, 1s, 10s);
        w.net.work_for(1s - silent_for);
        w.net.pause("bob");
        REQUIRE(w.wait(a));
        CHECK(a->at >= begun + 1s);
        CHECK(a->at <= begun + 1s + 36ms);
        CHECK(a->a.code == tn::error_code::deadline_exceeded);
        CHECK(a->a.unknown);
        CHECK(contains(a->said(), "/job:ps/task:0 (bob:1) has not been heard of for "));
        w.net.go_on("bob");
        w.net.work_for(10ms);
        CHECK(last(w.handler.heard) == "cancelled 2");
    }
}

TEST_CASE("late calls: a peer that is there has its grace, also where it falls silent within it") {
    calls w;
    w.begin_linked();
    const auto begun = w.net.now();
    const auto waits = w.call_with(echo_service::wait, 200ms, 2s), says = w.call_with(echo_service::wait, 200ms, 2s),
               lost = w.call_with(echo_service::wait, 200ms, 4s);
    w.net.work_for(1s);
    CHECK(waits->ended + says->ended + lost->ended == 0);
    CHECK(w.handler.count("cancelled") == 0);
    w.handler.waiting.at({1, says->call}).fail(tn::error_code::deadline_exceeded, "it waited");
    w.net.work_for(10ms);
    CHECK(says->said() == "deadline_exceeded: it waited");
    CHECK(!says->a.unknown);
    REQUIRE(w.wait(waits));
    CHECK(waits->at == begun + 2200ms);
    CHECK(waits->said() ==
          "deadline_exceeded: /job:ps/task:0 (bob:1): call 1 was not answered by its deadline, nor for "
          "2 s");
    w.net.work_for(300ms);
    const auto silent = w.net.now();
    w.net.pause("bob");
    REQUIRE(w.wait(lost));
    CHECK(lost->at <= silent + 61ms);
}

TEST_CASE("late calls: where there is no connection, or the call was not sent, its deadline is the end") {
    calls w;
    w.begin_linked();
    w.net.refuse_dials("bob");
    w.net.lose_connections("alice", "bob");
    w.net.work_for(10ms);
    const auto begun = w.net.now();
    const auto a = w.call_with(echo_service::wait, 200ms, 10s);
    REQUIRE(w.wait(a));
    CHECK(a->at == begun + 200ms);
    CHECK(contains(a->said(), "there is no connection"));
    CHECK(!a->a.unknown);
}

TEST_CASE("late calls: one that is cancelled may still be answered; by who is silent it is not (17)") {
    calls w;
    w.begin_linked();
    const auto a = w.call(echo_service::wait, "a"), b = w.call(echo_service::wait, "b"),
               c = w.call(echo_service::wait, "c");
    w.net.work_for(10ms);
    w.caller->cancel(a->call, 1s);
    w.caller->cancel(b->call, 1s);
    w.net.work_for(10ms);
    CHECK(a->ended + b->ended == 0);
    CHECK(w.handler.count("cancelled") == 2);
    w.handler.waiting.at({1, a->call}).reply(text("done"), {});
    const auto at = w.net.now();
    REQUIRE(w.wait(a));
    CHECK(a->said() == "done");
    REQUIRE(w.wait(b));
    CHECK(w.net.now() - at > 900ms);
    CHECK(b->said() == "cancelled: /job:ps/task:0 (bob:1): call 1 was cancelled, and not answered for 1 s");
    CHECK(b->a.unknown);
    w.net.pause("bob");
    w.net.work_for(50ms);
    const auto asked = w.net.now();
    w.caller->cancel(c->call, 1s);
    REQUIRE(w.wait(c));
    CHECK(c->at <= asked + 36ms);
    CHECK(contains(c->said(), "cancelled: /job:ps/task:0 (bob:1) has not been heard of for "));
}

TEST_CASE("late calls: what comes after its time, because who takes it stood still, is not begun (17)") {
    for (const duration stood : {duration(500ms), duration(5s)}) {
        calls w;
        w.begin_linked();
        w.net.pause("bob");
        const auto late = w.call(echo_service::wait, "late", 400ms), in_time = w.call(echo_service::wait, "in time");
        w.net.work_for(stood);
        w.net.go_on("bob");
        w.net.work_for(10ms);
        CHECK(w.handler.count("called late") == 0);
        CHECK(w.handler.count("called in time") == 1);
        CHECK(late->a.code == tn::error_code::deadline_exceeded);
        CHECK(w.server->count().calls == 1);
    }
}
