#include "two.hpp"

using namespace net_test;

TEST_CASE("calls: a call is answered, with its body and arrays, in one connection") {
    two w;
    w.begin();
    CHECK(w.caller->state() == peer_state::idle);
    const auto a = w.call(echo_service::echo, "hello", 60s, arrays_of(floats(10), floats(30000, 5))); // a large one
    REQUIRE(w.wait(a));
    CHECK(a->said() == "hello");
    REQUIRE(a->a.arrays.size() == 2);
    CHECK(a->a.arrays[0] == floats(10));
    CHECK(a->a.arrays[1] == floats(30000, 5));
    CHECK(w.caller->state() == peer_state::ready);
    CHECK(w.caller->incarnation() == 22);
    CHECK(w.caller->count().connections == 1);
    CHECK(w.handler.heard.front().substr(0, 31) == "linked 1 /job:worker/task:1 (al");
    CHECK(text(w.caller->ask(echo_service::echo, text("again"), {}, w.in(1s)).body) == "again");
    CHECK(w.caller->count().connections == 1);
}

TEST_CASE("calls: the deadline of a call arrives with it") {
    two w;
    w.begin();
    const auto deadline = w.in(7s);
    w.wait(w.call(echo_service::echo, "x", 7s));
    CHECK(w.handler.deadline >= deadline);
    CHECK(w.handler.deadline <= deadline + 1ms);
}

TEST_CASE("calls: an error comes back as the exception it was, whether thrown or answered") {
    two w;
    w.begin();
    CHECK_THROWS_WITH_AS(w.caller->ask(echo_service::fail, text("such thing"), {}, w.in(1s)), "there is no such thing",
                         tn::not_found_error);
    const auto a = w.call(echo_service::wait, "x");
    w.net.work_until([&] { return !w.handler.waiting.empty(); }, w.in(1s));
    w.handler.waiting.begin()->second.fail(tn::error_code::out_of_range, "the end");
    w.wait(a);
    CHECK(a->said() == "out_of_range: the end");
    for (const tn::error_reason reason : {tn::error_reason::none, tn::error_reason::end_of_data}) {
        w.handler.waiting.clear();
        const auto ends = w.call(echo_service::wait, "x");
        w.net.work_until([&] { return !w.handler.waiting.empty(); }, w.in(1s));
        w.handler.waiting.begin()->second.fail(tn::error_code::out_of_range, "the end", reason);
        w.wait(ends);
        CHECK(ends->a.reason == reason);
        CHECK_FALSE(ends->a.names_peer);
    }
    CHECK(w.said(echo_service::unanswered, "x") == "internal: a call was left without an answer");
}

TEST_CASE("calls: calls and notes arrive in the order in which they were made") {
    two w;
    w.begin();
    std::string expected;
    for (int i = 0; i < 20; ++i) {
        const std::string body = std::to_string(i);
        if (i % 2) w.caller->note(0, text(body), {});
        else if (i % 6 == 0) {
            w.call(echo_service::echo, body, 60s, arrays_of(floats(100000)));
        } else w.call(echo_service::echo, body);
    }
    w.net.work_until([&] { return w.handler.heard.size() == 21; }, w.in(10s));
    REQUIRE(w.handler.heard.size() == 21);
    for (std::size_t i = 0; i < 20; ++i)
        CHECK(w.handler.heard[i + 1] == (i % 2 ? "noted " : "called ") + std::to_string(i));
}

TEST_CASE("calls: a call that is not answered ends at its deadline, and the service is told (17)") {
    two w;
    w.begin();
    const auto begin = w.net.now();
    const auto a = w.call(echo_service::wait, "x", 3s);
    REQUIRE(w.wait(a));
    CHECK(a->at == begin + 3s);
    CHECK(a->said() == "deadline_exceeded: /job:ps/task:0 (bob:1): call 1 was not answered by its deadline");
    w.net.work_for(10ms);
    CHECK(last(w.handler.heard) == "cancelled 1");
    CHECK(w.caller->count().calls == 1); // until the service answers
    w.handler.waiting.clear();
    w.net.work_for(10ms);
    CHECK(w.caller->count().calls == 0);
    CHECK(a->ended == 1);
}

TEST_CASE("calls: a cancel goes ahead of a large call, also of the one that it is for") {
    two w;
    w.begin();
    w.net.set_line("alice", "bob", {100us, 0us, 1e6}); // 4 MB take 4 s
    w.wait(w.call(echo_service::echo, "first"));
    const auto slow = w.call(echo_service::wait, "waits");
    std::vector<tn::any_array> large;
    large.push_back(floats(1000000));
    const auto big = w.call(echo_service::echo, "large", 60s, std::move(large));
    w.net.work_for(10ms);
    const auto begin = w.net.now();
    w.caller->cancel(slow->call);
    CHECK(slow->said() == "cancelled: /job:ps/task:0 (bob:1): call 1 was cancelled");
    w.caller->cancel(big->call);
    w.net.work_until([&] { return w.handler.count("cancelled") == 1; }, w.in(10s));
    CHECK(w.net.now() - begin < 10ms);
    w.handler.waiting.clear();
    w.net.work_for(10s);
    CHECK(w.handler.count("called large") == 0); // its cancel was there before it
    CHECK(w.caller->count().calls == 0);
    CHECK(w.server->count().calls == 0);
}

TEST_CASE("calls: more than the service takes at a time wait their turn; more than may wait is refused, with numbers") {
    two w;
    w.served.limits.calls = 2;
    w.callers.waiting_messages = 3;
    w.begin_linked();
    std::vector<std::shared_ptr<two::outcome>> all;
    for (int i = 0; i < 6; ++i) all.push_back(w.call(echo_service::wait, std::to_string(i)));
    CHECK(
        all[5]->said() ==
        "resource_exhausted: /job:ps/task:0 (bob:1) takes no more: 3 calls and notes of 3 bytes wait to be sent to it, "
        "of at most 3 and 8589934592 bytes");
    w.net.work_for(100ms);
    CHECK(w.server->count().calls == 2);
    CHECK(w.caller->count().waiting == 3);
    w.caller->cancel(all[3]->call); // one that waits
    CHECK(all[3]->ended == 1);
    for (const int next : {0, 1, 2, 4}) {
        w.net.work_until([&] { return w.handler.count("called " + std::to_string(next)) == 1; }, w.in(1s));
        w.handler.waiting.begin()->second.reply(text("done"));
        w.handler.waiting.erase(w.handler.waiting.begin());
        REQUIRE(w.wait(all[static_cast<std::size_t>(next)]));
        CHECK(all[static_cast<std::size_t>(next)]->said() == "done");
    }
    CHECK(w.handler.count("called 3") == 0);
}

TEST_CASE("calls: what is kept for a service that does not acknowledge is bounded") {
    two w;
    w.served.limits.bytes = 100000;
    w.begin_linked();
    w.net.cut("alice", "bob");
    for (int i = 0; i < 20; ++i) {
        w.caller->note(0, text(std::to_string(i)), arrays_of(floats(5000)));
    }
    CHECK(w.caller->count().kept_bytes <= 101000);
    CHECK(w.caller->count().waiting == 16);
    w.net.mend("alice", "bob");
    w.net.work_until([&] { return w.handler.count("noted") == 20; }, w.in(10s));
    CHECK(w.handler.count("noted") == 20);
    w.net.work_for(1s);
    CHECK(w.caller->count().kept_bytes == 0);
}

TEST_CASE("calls: what is larger than the other side takes is refused, where it is made") {
    two w;
    w.served.limits.payload_bytes = 1000;
    w.served.limits.body_bytes = 500;
    w.callers.limits.payload_bytes = 900;
    w.begin();
    CHECK(w.said(echo_service::echo, "x", 60s, arrays_of(floats(251))) ==
          "resource_exhausted: /job:ps/task:0 (bob:1) was not called: the message has 1004 bytes of "
          "arrays, of which it takes 1000");
    CHECK(w.said(echo_service::echo, std::string(600, 'x')).find("resource_exhausted: ") == 0);
    CHECK(w.said(echo_service::echo, "x", 60s, arrays_of(floats(250))) ==
          "resource_exhausted: /job:ps/task:0 has an answer of 1000 bytes of arrays, of which 900 are taken");
}

TEST_CASE("calls: arrays are read to where the handler, or the caller, wants them") {
    two w;
    w.begin();
    w.handler.place = floats(1000, -1);
    std::vector<tn::any_array> arrays;
    arrays.push_back(floats(1000));
    tn::any_array place = floats(1000, -2);
    const void* memory = nullptr;
    int ended = 0;
    w.caller->call(
        echo_service::echo, text("x"), std::move(arrays), w.in(1s),
        [&](answer a) {
            ++ended;
            memory = a.arrays.at(0).data();
        },
        0,
        [&](const bytes& body, std::size_t i, const tn::tensor_type&) {
            return text(body) == "x" && i == 0 ? place.share() : tn::any_array();
        });
    w.net.work_until([&] { return ended > 0; }, w.in(1s));
    CHECK(memory == place.data());
    CHECK(place == floats(1000));
    CHECK(w.handler.place == floats(1000));
    CHECK(w.handler.places_asked == std::vector<std::string>{"x#0"});
}

TEST_CASE("calls: a place that a lost connection was writing to is asked for again when nobody writes there any more") {
    two w;
    w.begin_linked();
    w.net.set_line("alice", "bob", {1ms, 0us, 1e6});
    w.handler.place = floats(100000, -1);
    const auto a = w.call(echo_service::wait, "x", 60s, arrays_of(floats(100000)));
    w.net.work_for(200ms);
    CHECK(w.handler.places_asked.size() == 1);
    w.net.lose_connections("alice", "bob");
    w.net.work_until([&] { return w.handler.count("called x") == 1; }, w.in(5s));
    CHECK(w.handler.places_asked == std::vector<std::string>{"x#0", "x#0"});
    CHECK(w.handler.place == floats(100000));
}

TEST_CASE("calls: of a message that comes twice on one connection only one is read to its place") {
    two w;
    w.begin_linked();
    w.net.set_line("alice", "bob", {1ms, 0us, 1e6});
    w.net.inject(simulated_faults{.duplicate = 1});
    w.handler.place = floats(100000, -1);
    w.call(echo_service::wait, "x", 60s, arrays_of(floats(100000)));
    w.net.work_until([&] { return w.handler.count("called x") == 1; }, w.in(5s));
    CHECK(w.handler.place == floats(100000));
    std::fill_n(w.handler.place.data<float>(), 100000, 5.0f); // it is used for something else
    w.net.work_for(1s);
    CHECK(w.handler.places_asked == std::vector<std::string>{"x#0"});
    CHECK(std::count(w.handler.place.data<float>(), w.handler.place.data<float>() + 100000, 5.0f) == 100000);
}

TEST_CASE("calls: a caller that is closed says goodbye, and its calls are cancelled") {
    two w;
    w.begin();
    const auto a = w.call(echo_service::wait, "x");
    w.net.work_for(10ms);
    w.caller->close();
    CHECK(a->said() == "cancelled: /job:ps/task:0 (bob:1) was called by an end that was closed; whether the call took "
                       "effect is unknown");
    CHECK(w.call(echo_service::echo, "y")->said() ==
          "cancelled: /job:ps/task:0 (bob:1) cannot be called any more: this end was closed");
    CHECK_THROWS_AS(w.caller->note(0, text("y"), {}), tn::cancelled_error);
    w.net.work_for(100ms);
    CHECK(last(w.handler.heard).find("lost 1 /job:worker/task:1 (alice:") == 0);
    CHECK(contains(last(w.handler.heard), "said goodbye"));
    CHECK(w.net.connections() == 0);
    CHECK(w.server->count().links == 0);
    w.handler.waiting.begin()->second.reply(text("too late, which is nothing"));
}

TEST_CASE("stop: calls in flight finish, new ones are refused, goodbye is said, and the port can be used again (22)") {
    two w;
    w.begin();
    const auto a = w.call(echo_service::wait, "x");
    w.net.work_for(10ms);
    std::shared_ptr<two::outcome> late;
    w.net.call_at(w.in(1s), [&] { late = w.call(echo_service::echo, "late"); });
    w.net.call_at(w.in(2s), [&] { w.handler.waiting.begin()->second.reply(text("done")); });
    const auto begin = w.net.now();
    CHECK(w.server->stop(w.in(30s)));
    CHECK(w.net.now() - begin < 3s);
    CHECK(a->said() == "done");
    REQUIRE(late);
    CHECK(late->said() == "unavailable: /job:ps/task:0 is stopping");
    w.net.work_for(10ms);
    CHECK(w.caller->state() == peer_state::idle);
    CHECK(w.net.connections() == 0);
    CHECK(w.server->count().links == 0);
    CHECK(last(w.handler.heard).find("lost 1 /job:worker/task:1") == 0);
    CHECK(w.server->stop(w.in(1s))); // again: nothing
    w.served.self.incarnation = 24;
    w.serve();
    CHECK(w.said(echo_service::echo, "new") == "new");
}

TEST_CASE("stop: what has not finished by the deadline is cut off") {
    two w;
    w.begin();
    const auto a = w.call(echo_service::wait, "x");
    w.net.work_for(10ms);
    const auto begin = w.net.now();
    CHECK(!w.server->stop(w.in(3s)));
    CHECK(w.net.now() - begin < 4s);
    CHECK(w.server->count().links == 0);
    REQUIRE(w.wait(a, 6s));
    CHECK(a->said().find("unavailable: /job:ps/task:0 (bob:1) ") == 0);
    CHECK(w.handler.count("lost 1") == 1);
}

TEST_CASE("stop: a caller that has lost its connection may come back for its answer") {
    two w;
    w.begin();
    const auto a = w.call(echo_service::wait, "x");
    w.net.work_for(10ms);
    w.net.call_at(w.in(1s), [&] {
        w.net.lose_connections("alice", "bob");
        w.handler.waiting.begin()->second.reply(text("done"));
    });
    CHECK(w.server->stop(w.in(30s)));
    CHECK(a->said() == "done");
}
