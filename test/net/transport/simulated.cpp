#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <net/transport/simulated.hpp>
#include <tenon/core/error.hpp>

namespace tn = tenon;
using namespace tenon::net;
using namespace std::chrono_literals;

namespace {

struct user : connection_user {
    void received(message m) override {
        heard += (heard.empty() ? "" : " ") + std::to_string(m.request);
        at.push_back(net->now());
    }
    void closed(const std::string& reason) override { why = reason; }
    explicit user(simulated_network& n) : net(&n) {}
    simulated_network* net;
    std::shared_ptr<connection> to;
    std::string heard, why, failed;
    std::vector<time_point> at;
};

message numbered(std::uint64_t n, std::size_t size = 0) {
    message m;
    m.type = message_type::note;
    m.request = n;
    m.body.resize(size);
    return m;
}

struct pair_of_hosts {
    explicit pair_of_hosts(std::uint64_t seed = 1) : net(seed), a(net.start("a")), b(net.start("b")) {
        listening = b.listen("b:5", [this](std::shared_ptr<connection> c) {
            there->to = std::move(c);
            return there;
        });
    }
    ~pair_of_hosts() { here->to = there->to = nullptr; }
    void dial(duration limit = 5s) {
        a.dial("b:5", limit, [this](std::shared_ptr<connection> c, const std::string& why) {
            here->to = c;
            here->failed = why;
            return c ? here : nullptr;
        });
        net.work_until([&] { return here->to || !here->failed.empty(); }, net.now() + 60s);
    }
    simulated_network net;
    transport &a, &b;
    std::shared_ptr<user> here = std::make_shared<user>(net), there = std::make_shared<user>(net);
    std::unique_ptr<listener> listening;
};

} // namespace

TEST_CASE("simulated network: messages take the time of their line, and keep their order; small ones pass large ones") {
    pair_of_hosts w;
    w.net.set_line("a", "b", {10ms, 0ns, 1e6});
    w.dial();
    const auto begin = w.net.now();
    w.here->to->send(numbered(1));
    w.here->to->send(numbered(2, 1'000'000));
    w.here->to->send(numbered(3, 1'000'000));
    w.here->to->send(numbered(4));
    CHECK(w.here->to->unsent_bytes() > 1'900'000);
    w.net.work_for(5s);
    CHECK(w.there->heard == "1 4 2 3");
    CHECK(w.there->at[0] - begin < 11ms);
    CHECK(w.there->at[3] - begin > 2s);
    CHECK(w.there->at[3] - begin < 2100ms);
    CHECK(w.here->to->unsent_bytes() == 0);
}

TEST_CASE("simulated network: over a cut line nothing is lost; a dial over it times out") {
    pair_of_hosts w;
    w.dial();
    w.net.cut("a", "b");
    w.here->to->send(numbered(1));
    w.there->to->send(numbered(7));
    w.net.work_for(10s);
    CHECK(w.there->heard.empty());
    CHECK(w.here->heard == "7"); // the other direction is whole
    w.here->to->send(numbered(2));
    w.net.mend("a", "b");
    w.net.work_for(1s);
    CHECK(w.there->heard == "1 2");
    w.net.cut("b", "a");
    const auto begin = w.net.now();
    const auto first = w.here->to;
    w.here->to = nullptr;
    w.dial(3s);
    CHECK(w.here->failed == "timed out");
    CHECK(w.net.now() - begin == 3s);
    first->close("enough");
}

TEST_CASE("simulated network: a process that ends is missed by its peers, at once or when they send") {
    for (const bool silently : {false, true}) {
        pair_of_hosts w;
        w.dial();
        bool called = false;
        w.b.call_at(w.net.now() + 1s, [&] { called = true; });
        w.net.kill("b", silently);
        w.net.work_for(2s);
        CHECK(!called);
        CHECK(w.here->why == (silently ? "" : "closed by the other side"));
        w.here->to->send(numbered(1));
        w.net.work_for(1s);
        CHECK(!w.here->why.empty());
        CHECK(w.net.connections() == 0);
        w.here->to = nullptr;
        w.dial();
        CHECK(w.here->failed == "connection refused");
        CHECK(!w.b.work_until([] { return false; }, time_point::max()));
    }
}

TEST_CASE("simulated network: a host that pauses does late what was to be done, in order") {
    pair_of_hosts w;
    w.dial();
    const auto begin = w.net.now();
    w.net.pause("b");
    std::string done;
    w.b.call_at(begin + 1s, [&] { done += "timer "; });
    w.here->to->send(numbered(1));
    const auto cancelled = w.b.call_at(begin + 2s, [&] { done += "cancelled "; });
    w.net.work_for(5s);
    CHECK(done.empty());
    CHECK(w.there->heard.empty());
    CHECK(w.b.cancel(cancelled));
    w.net.go_on("b");
    w.net.work_for(1ms);
    CHECK(done == "timer ");
    CHECK(w.there->heard == "1");
    CHECK(w.there->at[0] - begin == 5s);
    CHECK(w.net.went_on("b") == begin + 5s);
}

TEST_CASE("simulated network: a connection that is lost on one side is missed on the other when it sends") {
    pair_of_hosts w;
    w.dial();
    w.net.lose_connections("b", "a", false);
    w.net.work_for(1s);
    CHECK(w.there->why == "connection reset");
    CHECK(w.here->why.empty());
    w.here->to->send(numbered(1));
    w.net.work_for(1s);
    CHECK(w.here->why == "connection reset");
    CHECK(w.there->heard.empty());
}

TEST_CASE("simulated network: wall clocks jump, and time does not") {
    pair_of_hosts w;
    const auto wall = w.net.wall_clock("a");
    w.net.jump_wall_clock("a", -1h);
    CHECK(w.net.wall_clock("a") - wall == -1h);
    const auto begin = w.a.now();
    w.net.work_for(1s);
    CHECK(w.a.now() - begin == 1s);
}

TEST_CASE("simulated network: the same seed is the same history; another one is another") {
    const auto history = [](std::uint64_t seed) {
        pair_of_hosts w(seed);
        simulated_faults f;
        f.duplicate = 0.2;
        f.reorder = 0.3;
        f.slow = 0.2;
        f.slow_by = 5ms;
        f.pause_every = 50ms;
        f.pause_for = 10ms;
        f.connection_life = 300ms;
        w.net.inject(f);
        w.dial();
        for (std::uint64_t i = 1; i < 50; ++i) {
            if (w.here->to) w.here->to->send(numbered(i, i * 1000));
            w.net.work_for(10ms);
        }
        return w.net.history() + w.there->heard;
    };
    CHECK(history(1) == history(1));
    CHECK(history(1) != history(2));
}

TEST_CASE("simulated network: time stands while other threads work") {
    pair_of_hosts w;
    w.dial();
    std::atomic<bool> works{true};
    w.net.set_busy([&] { return works.load(); });
    const auto begin = w.net.now();
    time_point sent_at{};
    bool late = false;
    w.a.call_at(begin + 1s, [&] { late = true; });
    std::thread other([&] {
        for (std::uint64_t i = 1; i <= 20; ++i) w.here->to->send(numbered(i));
        sent_at = w.net.now();
        works = false;
        w.net.wake();
    });
    w.net.work_until([&] { return late; }, begin + 10s);
    other.join();
    CHECK(late);
    CHECK(sent_at == begin);
    CHECK(w.there->at.size() == 20);
}

TEST_CASE("simulated network: addresses that cannot be had say so") {
    pair_of_hosts w;
    CHECK_THROWS_WITH_AS(w.b.listen("b:5", {}), "listen: b:5 is in use", tn::unavailable_error);
    CHECK_THROWS_AS(w.b.listen("a:5", {}), tn::invalid_argument_error);
    CHECK_THROWS_AS(w.b.listen("b", {}), tn::invalid_argument_error);
    CHECK_THROWS_AS(w.b.listen("b:99999", {}), tn::invalid_argument_error);
    const auto any = w.b.listen("b:0", {});
    CHECK(any->address() != "b:0");
    w.listening.reset();
    CHECK_NOTHROW(w.b.listen("b:5", {}));
}
