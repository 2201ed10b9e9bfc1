#include <sstream>

#include <net/transport/simulated/simulated.hpp>

#include "tests.hpp"

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
    message m{.type = message_type::note, .request = n};
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

namespace {

constexpr std::size_t head = 56; // what a message takes beside its body

// Everybody in `froms` dials "to"; the line between any two takes no time.
struct star_of_hosts {
    explicit star_of_hosts(const std::vector<std::string>& froms, std::uint64_t seed = 1) :
        net(seed, {0ns, 0ns, 1e12}), to(net.start("to")) {
        listening = to.listen("to:5", [this](std::shared_ptr<connection> c) {
            there.push_back(std::make_shared<user>(net));
            there.back()->to = std::move(c);
            return there.back();
        });
        for (const std::string& from : froms) {
            here.push_back(std::make_shared<user>(net));
            net.start(from).dial("to:5", 5s, [mine = here.back()](std::shared_ptr<connection> c, const std::string&) {
                mine->to = std::move(c);
                return mine;
            });
            net.work_for(1ms);
        }
        begin = net.now();
    }
    ~star_of_hosts() {
        for (const auto& all : {here, there})
            for (const auto& u : all) u->to = nullptr;
    }
    double seconds(const user& of, std::size_t i) const {
        return std::chrono::duration<double>(of.at.at(i) - begin).count();
    }
    simulated_network net;
    transport& to;
    std::vector<std::shared_ptr<user>> here, there;
    std::unique_ptr<listener> listening;
    time_point begin;
};

} // namespace

TEST_CASE("simulated network: connections share the cards of their hosts, each direction by itself") {
    const std::size_t million = 1'000'000 - head;
    {
        star_of_hosts w({"a", "b"});
        w.net.set_card("to", {1e6, {}});
        for (const auto& u : w.here) u->to->send(numbered(1, million));
        for (const auto& u : w.there) u->to->send(numbered(2, million));
        w.net.work_for(10s);
        for (const auto* side : {&w.there, &w.here}) {
            CHECK(w.seconds(*(*side)[0], 0) == doctest::Approx(1));
            CHECK(w.seconds(*(*side)[1], 0) == doctest::Approx(2));
        }
    }
    {
        star_of_hosts w({"a", "b"}); // two cards that feed one of twice their speed, and a line slower than either
        w.net.set_card("a", {1e6, {}});
        w.net.set_card("b", {1e6, {}});
        w.net.set_card("to", {2e6, {}});
        for (const auto& u : w.here) u->to->send(numbered(1, million));
        w.net.work_for(10s);
        CHECK(w.seconds(*w.there[0], 0) == doctest::Approx(1));
        CHECK(w.seconds(*w.there[1], 0) == doctest::Approx(1));
        w.net.set_line("a", "to", {0ns, 0ns, 1e5});
        w.begin = w.net.now();
        w.here[0]->to->send(numbered(1, million));
        w.net.work_for(20s);
        CHECK(w.seconds(*w.there[0], 1) == doctest::Approx(10));
    }
}

TEST_CASE("simulated network: a card takes its time for each message; small ones wait for small ones alone, and cost "
          "large ones "
          "their time") {
    for (const char* slow : {"a", "to"}) {
        star_of_hosts w({"a"});
        w.net.set_card("a", {});
        w.net.set_card("to", {});
        w.net.set_card(slow, {1e6, 1ms});
        const auto& c = w.here[0]->to;
        c->send(numbered(1, 1'000'000 - head));
        for (std::uint64_t i = 2; i < 102; ++i) c->send(numbered(i, 1000 - head));
        c->send(numbered(102, 1'000'000 - head));
        w.net.work_for(10s);
        const user& heard = *w.there[0];
        REQUIRE(heard.at.size() == 102);
        CHECK(w.seconds(heard, 0) == doctest::Approx(0.002)); // the first small one
        CHECK(w.seconds(heard, 99) == doctest::Approx(0.2));
        CHECK(w.seconds(heard, 101) == doctest::Approx(2.202)); // all of them together
    }
}

TEST_CASE("simulated network: over cards messages keep the order that connections promise, and none is faster than its "
          "card") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        star_of_hosts w({"a", "b", "c"}, seed);
        double rate[3];
        for (std::size_t h = 0; h < 3; ++h) {
            const std::string name(1, static_cast<char>('a' + h));
            rate[h] = 1e6 * static_cast<double>(1 + random() % 20);
            w.net.set_card(name, {rate[h], std::chrono::microseconds(random() % 50)});
            w.net.set_line(name, "to", {1ms, std::chrono::microseconds(1 + random() % 3000), 1e9});
        }
        w.net.set_card("to", {1e7, std::chrono::microseconds(random() % 50)});
        std::vector<std::vector<std::size_t>> sizes(3);
        for (int i = 0; i < 300; ++i) {
            const std::size_t h = random() % 3, size = random() % 2 ? random() % 60'000 : 70'000 + random() % 500'000;
            sizes[h].push_back(size);
            w.here[h]->to->send(numbered(sizes[h].size() - 1, size));
            if (random() % 4 == 0) w.net.work_for(std::chrono::microseconds(random() % 20'000));
        }
        w.net.work_for(200s);
        for (std::size_t h = 0; h < 3; ++h) {
            const user& heard = *w.there[h];
            REQUIRE(heard.at.size() == sizes[h].size());
            std::istringstream in(heard.heard);
            std::vector<bool> here(sizes[h].size());
            std::size_t small = 0, large = 0;
            double small_bytes = 0, large_bytes = 0;
            for (std::size_t i = 0, n = 0; in >> n; ++i) {
                const bool is_small = sizes[h][n] <= small_message;
                std::size_t& before = is_small ? small : large; // those of its kind that came, by number
                CHECK(before <= n);
                before = n + 1;
                if (!is_small)
                    for (std::size_t k = 0; k < n; ++k) CHECK(here[k]);
                here[n] = true;
                double& bytes = is_small ? small_bytes : large_bytes;
                bytes += static_cast<double>(sizes[h][n]);
                CHECK(w.seconds(heard, i) >= bytes / rate[h]);
            }
        }
    }
}

TEST_CASE("simulated network: arrays that are shared arrive as they were sent, and no place for them is asked for") {
    struct asks : user {
        using user::user;
        tn::any_array place_for(const message&, std::size_t, const tn::tensor_type& type, std::size_t) override {
            ++asked;
            return tn::any_array(type.element, type.extents);
        }
        void received(message m) override {
            last = std::move(m.arrays.at(0));
            user::received(std::move(m));
        }
        int asked = 0;
        tn::any_array last;
    };
    for (const bool shared : {false, true}) {
        simulated_network net(1);
        net.share_arrays(shared);
        transport &a = net.start("a"), &b = net.start("b");
        const auto here = std::make_shared<user>(net);
        const auto there = std::make_shared<asks>(net);
        const auto listening = b.listen("b:5", [&](std::shared_ptr<connection>) { return there; });
        a.dial("b:5", 5s, [&](std::shared_ptr<connection> c, const std::string&) {
            here->to = std::move(c);
            return here;
        });
        net.work_for(1s);
        float value[4] = {1, 2, 3, 4};
        message m = numbered(1);
        m.arrays.push_back(tn::any_array::view(value, tn::element_type::float32, tn::extents{4}));
        here->to->send(std::move(m));
        net.work_for(1s);
        CHECK(there->asked == (shared ? 0 : 1));
        REQUIRE(there->last);
        CHECK((there->last.data() == value) == shared);
        CHECK(static_cast<const float*>(there->last.data())[3] == 4);
        here->to = nullptr;
    }
}
