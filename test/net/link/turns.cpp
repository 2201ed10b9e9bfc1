#include "two.hpp"

// What one turn has under way stands before nobody else's calls.

using namespace net_test;

namespace {

// Verbs of these tests: a digit is a turn, 0 is control; above ten they may wait.
constexpr std::uint8_t may_wait = 10;
call_turn by_verb(std::uint8_t verb, const bytes&) {
    return {static_cast<std::uint64_t>(verb % may_wait), verb >= may_wait};
}

// Keeps what it is called.
struct keeping final : service_handler {
    void called(link_number, std::uint8_t, bytes body, std::vector<tn::any_array>, time_point,
                replier&& answer) override {
        heard.push_back(text(body));
        waiting.push_back(std::move(answer));
    }
    void noted(link_number, std::uint8_t, bytes body, std::vector<tn::any_array>) override {
        heard.push_back(text(body));
    }
    std::vector<std::string> heard;
    std::vector<replier> waiting;
};

struct turned {
    explicit turned(std::uint64_t calls = 2) {
        w.callers.turn_of = w.served.turn_of = by_verb;
        w.served.limits.calls = calls;
        server = service::make(*w.bob, w.served, handler);
        server->listen("bob:1");
        w.dial();
    }
    ~turned() { handler.waiting.clear(); }
    /// All that it has heard, when so much has come, or nothing more comes.
    std::string hears(std::size_t count) {
        w.net.work_until([&] { return handler.heard.size() >= count; }, w.in(1s));
        w.net.work_for(100ms);
        std::string all;
        for (const std::string& one : handler.heard) all += (all.empty() ? "" : ", ") + one;
        return all;
    }
    two w;
    keeping handler;
    std::unique_ptr<service> server;
};

} // namespace

TEST_CASE("turns of a link: calls of one wait for its own; others, and control, are called meanwhile") {
    turned t;
    for (const char* n : {"1a", "1b", "1c", "1d"}) t.w.call(1, n);
    const auto late = t.w.call(1, "1e", 2s);
    t.w.call(2, "2a");
    t.w.call(0, "0a");
    t.w.caller->note(1, text("1 note"), {}); // behind its own
    t.w.caller->note(2, text("2 note"), {});
    REQUIRE(t.hears(5) == "0a, 1a, 2a, 1b, 2 note");
    t.handler.waiting[1].reply({}); // 1a
    t.handler.waiting[3].reply({}); // 1b
    CHECK(t.hears(7) == "0a, 1a, 2a, 1b, 2 note, 1c, 1d");
    REQUIRE(t.w.wait(late));
    CHECK(late->said().find("deadline_exceeded: /job:ps/task:0 (bob:1): call 1 was not answered by its deadline: it "
                            "waited to be sent behind others") == 0);
    CHECK(t.hears(8) == "0a, 1a, 2a, 1b, 2 note, 1c, 1d, 1 note");
    CHECK(t.w.caller->count().waiting == 0);
}

TEST_CASE("turns of a link: calls that may wait are no calls under way; all of them may be answered at once") {
    turned t;
    constexpr int many = 6000; // far more than 4 * 2 + 1024 answers, at which one who does not acknowledge is dropped
    std::vector<std::shared_ptr<two::outcome>> all;
    for (int i = 0; i < many; ++i) all.push_back(t.w.call(11, "w"));
    t.w.call(1, "1a");
    t.w.call(2, "2a");
    (void)t.hears(many + 2);
    CHECK(t.handler.heard.size() == many + 2);
    for (replier& r : t.handler.waiting) r.fail(tn::error_code::cancelled, "enough");
    t.w.call(2, "next");
    CHECK(t.hears(many + 3).ends_with(", next"));
    for (const auto& one : all) CHECK(one->said() == "cancelled: enough");
    CHECK(t.w.caller->count().links == 1);
}

TEST_CASE("turns of a link: the calls of one are ended here, those that wait to be sent too; others' are not") {
    turned t;
    std::vector<std::shared_ptr<two::outcome>> own, others;
    for (const char* n : {"1a", "1b", "1c", "1d"}) own.push_back(t.w.call(1, n));
    own.push_back(t.w.call(11, "1w"));
    others.push_back(t.w.call(2, "2a"));
    REQUIRE(t.hears(3) == "1a, 2a, 1b");
    t.w.caller->end_calls(1, false, tn::error_code::cancelled, "no waits");
    CHECK(own[4]->said() == "cancelled: no waits");
    CHECK(own[0]->ended + own[3]->ended == 0);
    t.w.caller->end_calls(1, true, tn::error_code::cancelled, "none");
    for (int i = 0; i < 4; ++i) CHECK(own[static_cast<std::size_t>(i)]->said() == "cancelled: none");
    CHECK(others[0]->ended == 0);
    CHECK(t.w.caller->count().waiting == 0);
    CHECK(t.w.caller->count().calls == 3); // two of them are still to be answered
    for (replier& r : t.handler.waiting) r.reply(text("late"));
    t.w.net.work_for(100ms);
    CHECK(others[0]->said() == "late");
    CHECK(own[0]->ended == 1);
    CHECK(t.w.caller->count().calls == 0);
    CHECK(t.w.call(1, "1e")->ended == 0);
    CHECK(t.hears(4).ends_with(", 1e"));
}

TEST_CASE("turns of a link: when it dies, what may be sent again waits in its turn, and calls end once") {
    turned t;
    const auto first = t.w.call(1, "1a"), second = t.w.call(11, "1w"), third = t.w.call(2, "2a");
    CHECK(t.hears(3) == "1a, 2a, 1w");
    t.w.net.cut("alice", "bob");
    t.w.net.cut("bob", "alice");
    for (const auto& o : {first, second, third}) {
        REQUIRE(t.w.wait(o));
        CHECK(o->ended == 1);
        CHECK(o->a.code == tn::error_code::unavailable);
    }
    CHECK(t.w.caller->count().calls == 0);
    t.w.net.mend("alice", "bob");
    t.w.net.mend("bob", "alice");
    const auto again = t.w.call(1, "again");
    CHECK(t.hears(4).ends_with(", again"));
}

TEST_CASE("a link on which thousands of small messages pass a large one keeps its connection") {
    two w;
    w.served.limits.calls = 10000;
    w.net.set_line("alice", "bob", {.latency = 1ms, .jitter = 0ms, .bytes_per_second = 1e6});
    w.begin_linked();
    w.caller->note(0, text("large"), arrays_of(floats(1 << 20))); // four seconds
    std::vector<std::shared_ptr<two::outcome>> all;
    for (int i = 0; i < 6000; ++i) all.push_back(w.call(echo_service::echo, "s"));
    REQUIRE(w.wait(all.back()));
    CHECK(w.handler.count("noted large") == 1);
    CHECK(w.handler.count("called s") == 6000);
    CHECK(w.caller->count().connections == 1);
}
