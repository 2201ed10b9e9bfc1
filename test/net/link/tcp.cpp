#include <net/transport/tcp.hpp>

#include "two.hpp"
#include "each_thread.hpp"

// Links over real sockets, from several threads.

using namespace net_test;

namespace {

/// Counters that calls add to; answers at once, or from another thread.
struct adding_service : service_handler {
    enum verb : std::uint8_t { add, add_elsewhere, echo };
    ~adding_service() override {
        {
            const std::lock_guard held(mutex);
            ended = true;
        }
        there.notify_all();
        if (elsewhere.joinable()) elsewhere.join();
    }
    void called(link_number, std::uint8_t v, bytes body, std::vector<tn::any_array> arrays, time_point,
                replier&& answer) override {
        if (v == echo) return answer.reply(std::move(body), std::move(arrays));
        byte_reader r(body, "add");
        sum += r.number<std::int64_t>();
        ++calls;
        if (v == add) return answer.reply({});
        const std::lock_guard held(mutex);
        later.push_back(std::move(answer));
        there.notify_one();
    }
    void noted(link_number, std::uint8_t, bytes body, std::vector<tn::any_array>) override {
        byte_reader r(body, "note");
        sum += r.number<std::int64_t>();
    }
    void peer_lost(link_number, const std::string&) override {
        ++lost;
        if (waits) waits->wake();
    }

    std::atomic<std::int64_t> sum{0};
    std::atomic<int> calls{0}, lost{0};
    transport* waits = nullptr; ///< where somebody waits for what is lost; set before
    std::mutex mutex;
    std::condition_variable there;
    std::vector<replier> later;
    bool ended = false;
    std::thread elsewhere{[this] {
        std::unique_lock held(mutex);
        for (;;) {
            there.wait(held, [&] { return ended || !later.empty(); });
            if (ended) return;
            auto some = std::move(later);
            later.clear();
            held.unlock();
            for (auto& a : some) a.reply({});
            held.lock();
        }
    }};
};

bytes amount(std::int64_t n) {
    byte_writer w;
    w.number(n);
    return w.take();
}

struct sockets {
    sockets() {
        handler.waits = there.get();
        so.self = {"ps", 0, there->random_number(), 0, "secret", false};
        server = service::make(*there, so, handler);
        po.address = server->listen("127.0.0.1:0");
        po.job = "ps";
        po.self = {"worker", 0, there->random_number(), 0, "secret", false};
        caller = peer::make(*here, po);
    }
    std::shared_ptr<transport> here = make_tcp_transport(), there = make_tcp_transport();
    service_options so;
    peer_options po;
    adding_service handler;
    std::unique_ptr<service> server;
    std::shared_ptr<peer> caller;
    time_point in(duration d) const { return here->now() + d; }
};

} // namespace

TEST_CASE("links over TCP: calls of several threads, answered here and elsewhere, and notes, each once") {
    sockets w;
    constexpr int threads = 4, each = 300;
    on_threads(threads, [&w](int t) {
        for (int i = 0; i < each; ++i) {
            w.caller->note(0, amount(1000), {});
            w.caller->ask(i % 3 ? adding_service::add : adding_service::add_elsewhere, amount(t + 1), {}, w.in(60s));
        }
    });
    CHECK(w.handler.calls == threads * each);
    CHECK(w.handler.sum == each * (1 + 2 + 3 + 4) + 1000 * threads * each);
    CHECK(w.caller->count().connections == 1);
    CHECK(w.caller->count().calls == 0);
}

TEST_CASE("links over TCP: large arrays there and back") {
    sockets w;
    std::vector<tn::any_array> arrays;
    arrays.push_back(floats(3'000'000));
    arrays.push_back(floats(7));
    answer a = w.caller->ask(adding_service::echo, text("x"), std::move(arrays), w.in(60s));
    REQUIRE(a.arrays.size() == 2);
    CHECK(a.arrays[0] == floats(3'000'000));
    CHECK(a.arrays[1] == floats(7));
}

TEST_CASE("links over TCP: a service that ends while calls are made, and another on its port: no call is lost without "
          "a word") {
    sockets w;
    std::atomic<int> succeeded{0}, failed{0};
    std::atomic<bool> enough{false};
    std::vector<std::thread> all;
    for (int t = 0; t < 2; ++t)
        all.emplace_back([&] {
            while (!enough) {
                try {
                    w.caller->ask(adding_service::add, amount(1), {}, w.in(60s));
                    ++succeeded;
                } catch (const tn::unavailable_error&) {
                    ++failed;
                } catch (const tn::aborted_error&) {
                    ++failed;
                }
            }
        });
    for (int life = 0; life < 5; ++life) {
        const int before = succeeded;
        w.there->work_until([&] { return succeeded > before + 20; }, w.in(30s));
        CHECK(succeeded > before + 20);
        if (life % 2) CHECK(w.server->stop(w.in(10s))); // although they do not cease to call
        w.server.reset();                               // in mid-call, where it was not stopped
        w.so.self.incarnation = w.there->random_number();
        w.server = service::make(*w.there, w.so, w.handler);
        CHECK(w.server->listen(w.po.address) == w.po.address);
    }
    enough = true;
    for (auto& t : all) t.join();
    CHECK(w.handler.sum >= succeeded);
    CHECK(w.handler.sum <= succeeded + failed);
}

TEST_CASE("links over TCP: nobody listens: an error that says so, within two heartbeats") {
    sockets w;
    w.server->stop(w.in(10s));
    const auto begin = w.here->now();
    CHECK_THROWS_AS(w.caller->ask(adding_service::add, amount(1), {}, w.in(60s)), tn::unavailable_error);
    CHECK(w.here->now() - begin < 4s);
}

TEST_CASE("links over TCP: callers that come and go leave nothing behind") {
    sockets w;
    for (int i = 0; i < 50; ++i) {
        const auto p = peer::make(*w.here, w.po);
        p->ask(adding_service::add, amount(1), {}, w.in(60s));
        CHECK(p->count().calls == 0);
    }
    w.there->work_until([&] { return w.handler.lost == 50; }, w.in(30s));
    CHECK(w.handler.lost == 50);
    CHECK(w.server->count().links == 0);
}
