
#include "two.hpp"

using namespace net_test;

TEST_CASE("calls: a connection that is lost between a call and its answer: the answer comes by the next, once (29)") {
    two w;
    w.begin_linked();
    SUBCASE("the call is lost") {
        w.net.set_line("alice", "bob", {50ms, 0us, 1e9});
        const auto a = w.call(echo_service::echo, "x");
        w.net.work_for(10ms);
        w.net.lose_connections("alice", "bob");
        REQUIRE(w.wait(a));
        CHECK(a->said() == "x");
    }
    SUBCASE("the answer is lost") {
        w.net.set_line("bob", "alice", {50ms, 0us, 1e9});
        const auto a = w.call(echo_service::echo, "x");
        w.net.work_until([&] { return w.handler.count("called x") == 1; }, w.in(1s));
        w.net.lose_connections("alice", "bob");
        REQUIRE(w.wait(a));
        CHECK(a->said() == "x");
    }
    SUBCASE("only the service hears of it") {
        const auto a = w.call(echo_service::wait, "x");
        w.net.work_for(10ms);
        w.net.lose_connections("bob", "alice", false);
        w.net.work_for(10ms);
        w.handler.waiting.begin()->second.reply(text("x"));
        REQUIRE(w.wait(a, 5s));
        CHECK(a->said() == "x");
    }
    CHECK(w.handler.count("called x") == 1);
    CHECK(w.handler.count("linked") == 1);
    CHECK(w.caller->count().links == 1);
    CHECK(w.caller->count().connections == 2);
}

TEST_CASE(
    "calls: a host that is cut off for less than the lease loses nothing; for more, all calls fail and name it (28)") {
    for (const bool one_way : {false, true}) {
        two w;
        w.begin_linked();
        w.net.cut("alice", "bob");
        if (!one_way) w.net.cut("bob", "alice");
        const auto a = w.call(echo_service::echo, "x");
        w.net.work_for(3s);
        CHECK(a->ended == 0);
        w.net.mend("alice", "bob");
        w.net.mend("bob", "alice");
        REQUIRE(w.wait(a, 3s));
        CHECK(a->said() == "x");
        CHECK(w.caller->count().links == 1);

        const auto begin = w.net.now();
        w.net.cut("alice", "bob");
        if (!one_way) w.net.cut("bob", "alice");
        const auto b = w.call(echo_service::echo, "y");
        REQUIRE(w.wait(b));
        CHECK(b->at - begin < 6010ms);
        CHECK(b->said().find("unavailable: /job:ps/task:0 (bob:1) ") == 0);
        CHECK(contains(b->said(), "; whether the call took effect is unknown"));
        w.net.work_for(3s);
        CHECK(w.handler.count("lost 1 /job:worker/task:1") == 1);
        CHECK(w.server->count().links == 0);
        w.net.mend("alice", "bob");
        w.net.mend("bob", "alice");
        const auto c = w.call(echo_service::echo, "z");
        REQUIRE(w.wait(c, 1s));
        CHECK(c->said() == "z");
        CHECK(w.handler.count("linked 2") == 1);
        CHECK(w.handler.count("called y") == 0);
    }
}

TEST_CASE("calls: a process that ends is missed within two heartbeats, and calls in flight fail (28)") {
    std::string lost;
    two w;
    w.begin();
    w.callers.lost = [&](std::uint64_t, tn::error_code, const std::string& why) { lost = why; };
    w.dial();
    w.wait(w.call(echo_service::echo, "first"));
    const auto a = w.call(echo_service::wait, "x");
    w.net.work_for(100ms);
    const auto begin = w.net.now();
    w.kill_bob();
    REQUIRE(w.wait(a));
    CHECK(a->at - begin <= 4s);
    CHECK(a->said() ==
          "unavailable: /job:ps/task:0 (bob:1) cannot be reached: connection refused; whether the call took effect is "
          "unknown");
    CHECK(lost == "/job:ps/task:0 (bob:1) cannot be reached: connection refused");
    CHECK(w.caller->state() == peer_state::idle);

    CHECK(w.said(echo_service::wait, "y") ==
          "unavailable: /job:ps/task:0 (bob:1) cannot be reached: connection refused; the call was not sent");
    CHECK(w.caller->count().calls == 0);
    CHECK(w.net.connections() == 0);
}

TEST_CASE("calls: after a restart calls in flight fail with aborted, and the next ones reach the new process (28)") {
    for (const bool silently : {false, true}) {
        two w;
        w.begin_linked();
        const auto a = w.call(echo_service::wait, "x");
        w.net.work_for(100ms);
        w.kill_bob(silently);
        w.net.work_for(500ms);
        const auto waiting = w.call(echo_service::wait, "y");
        w.restart_bob();
        REQUIRE(w.wait(a));
        CHECK(a->said() == "aborted: /job:ps/task:0 (bob:1) was restarted, and sessions from before are gone; whether "
                           "the call took effect is unknown: open a new session");
        REQUIRE(w.wait(waiting));
        CHECK(waiting->said().find(
                  "aborted: /job:ps/task:0 (bob:1) was restarted, and sessions from before are gone; ") == 0);
        CHECK(w.said(echo_service::echo, "z") == "z");
        CHECK(w.caller->incarnation() == 23);
        CHECK(w.said(echo_service::echo, "for the old one", 60s, {}, 22) ==
              "aborted: /job:ps/task:0 (bob:1) was restarted, and sessions from before are gone; the call was not "
              "sent: open a new session");
        CHECK(w.handler.count("called x") == 1);
        CHECK(w.handler.count("called y") == 0);
    }
}

TEST_CASE("calls: a process that stood still past its lease is fenced: nothing of its old link is heard again") {
    two w;
    w.begin_linked();
    w.net.set_line("alice", "bob", {2s, 0us, 1e9}); // on its way while alice stands still
    const auto a = w.call(echo_service::echo, "old", 60s, arrays_of(floats(100000)));
    w.net.work_for(100ms);
    w.net.pause("alice");
    w.net.cut("alice", "bob");
    w.net.work_for(10s);
    CHECK(w.handler.count("lost 1") == 1);
    const auto heard = w.handler.heard.size();
    w.net.mend("alice", "bob");
    w.net.set_line("alice", "bob", {});
    w.net.go_on("alice");
    REQUIRE(w.wait(a, 10s));
    CHECK(a->said().find("unavailable: /job:ps/task:0 (bob:1) ") == 0);
    CHECK(w.handler.heard.size() == heard);
    CHECK(w.said(echo_service::echo, "new") == "new");
    CHECK(w.handler.count("linked 2") == 1);
}

TEST_CASE(
    "calls: what is for the next life of a process, of which others have heard first, waits for a link to it (28)") {
    two w;
    w.begin_linked();
    w.kill_bob();
    w.net.work_for(100ms);
    const auto before = w.call(echo_service::echo, "to the life before", 60s, {}, 22);
    const auto next = w.call(echo_service::echo, "to the next one", 60s, {}, 23);
    w.caller->note(echo_service::echo, text("a note to the next one"), {}, 23);
    w.net.work_for(500ms);
    w.restart_bob(23);
    REQUIRE(w.wait(before));
    CHECK(before->said() ==
          "aborted: /job:ps/task:0 (bob:1) was restarted, and sessions from before are gone; the call "
          "was not sent: open a new session");
    REQUIRE(w.wait(next));
    CHECK(next->said() == "to the next one");
    CHECK(w.handler.count("noted a note to the next one") == 1);
    CHECK(w.handler.count("called to the life before") == 0);
}

TEST_CASE(
    "calls: notes for a life of a process that no link reaches are told as lost: nobody waits for them for ever") {
    std::vector<std::string> lost;
    two w;
    w.begin();
    w.callers.lost = [&](std::uint64_t life, tn::error_code, const std::string& why) {
        lost.push_back(std::to_string(life) + ": " + why);
    };
    w.dial();
    w.net.cut("alice", "bob");
    w.caller->note(echo_service::echo, text("1"), {}, 22);
    w.caller->note(echo_service::echo, text("2"), {}, 22);
    w.caller->note(echo_service::echo, text("of no life"), {}); // of which nobody is told
    w.net.work_for(20s);
    REQUIRE(lost.size() == 1);
    CHECK(lost[0].find("22: /job:ps/task:0 (bob:1) cannot be reached") == 0);
    CHECK(w.caller->count().waiting == 0);
    w.net.mend("alice", "bob");
    CHECK(w.said(echo_service::echo, "again") == "again");
    CHECK(w.handler.count("noted 1") == 0);
}

TEST_CASE("calls: connect waits for a process that is not there yet; its deadline says why it has not come") {
    two w;
    w.dial();
    two::outcome o;
    const auto done = [&](answer a) {
        ++o.ended;
        o.a = std::move(a);
    };
    w.kill_bob();
    w.caller->connect(w.in(20s), done);
    w.net.work_for(15s);
    CHECK(o.ended == 0);
    SUBCASE("it comes") {
        w.restart_bob();
        w.net.work_until([&] { return o.ended > 0; }, w.in(2s));
        CHECK(o.ended == 1);
        CHECK(!o.a.failed);
        CHECK(w.caller->state() == peer_state::ready);
    }
    SUBCASE("it does not") {
        w.net.work_for(5s);
        CHECK(o.ended == 1);
        CHECK(o.said() ==
              "deadline_exceeded: /job:ps/task:0 (bob:1) could not be reached by the deadline: connection refused");
    }
}

TEST_CASE("calls: a restart of the caller ends its old links at once, and an earlier life is refused for good") {
    two w;
    w.begin_linked();
    const auto older = w.caller;
    w.callers.self.incarnation = 12;
    w.dial();
    w.wait(w.call(echo_service::echo, "second"));
    CHECK(w.handler.count("lost 1 /job:worker/task:1") == 1);
    CHECK(w.handler.count("linked 2") == 1);
    CHECK_THROWS_AS(older->ask(echo_service::echo, text("third"), {}, w.in(5s)), tn::error);
    CHECK_ERROR(tn::aborted_error, "another process has taken the place of this /job:worker/task:1",
                older->ask(echo_service::echo, text("third"), {}, w.in(5s)));
    CHECK(w.handler.count("called third") == 0);
}
