#include <future>

#include <net/transport/simulated/simulated.hpp>
#include <net/transport/tcp.hpp>
#include <net/worker/fair_scheduler.hpp>
#include <tenon/concurrency/deferred_flush.hpp>

#include "tests.hpp"

// Whose work a server's threads do next.

using namespace tenon::net;

namespace {

constexpr auto long_enough = std::chrono::seconds(60);

// Tasks that are under way until it is opened.
struct barrier {
    std::atomic<int> inside{0};
    std::promise<void> opened;
    std::shared_future<void> open = opened.get_future().share();
    tn::work_item task() {
        return [this, o = open] {
            ++inside;
            inside.notify_all();
            o.wait();
            --inside;
            inside.notify_all();
        };
    }
    void wait_for(int count) {
        for (int n = inside; n != count; n = inside) inside.wait(n);
    }
    void wait_for_more(int count) {
        for (int n = inside; n < count; n = inside) inside.wait(n);
    }
};

struct done_soon {
    std::promise<std::thread::id> told;
    std::future<std::thread::id> is = told.get_future();
    tn::work_item task() {
        return [this] { told.set_value(std::this_thread::get_id()); };
    }
    bool wait() { return is.wait_for(long_enough) == std::future_status::ready; }
};

} // namespace

TEST_CASE("turns: what is short is done while sessions without end have what is long under way") {
    const auto t = make_tcp_transport();
    for (const int threads : {1, 3}) {
        CAPTURE(threads);
        tn::thread_pool pool(threads);
        fair_scheduler on(*t, pool);
        barrier blocked;
        for (std::uint64_t session = 1; session <= 40; ++session)
            for (int i = 0; i < 10; ++i) on.submit(session, i % 2, blocked.task());
        blocked.wait_for(40 * threads); // of one session as many as the pool has threads
        done_soon other, again;
        on.submit(41, false, other.task());
        CHECK(other.wait());
        on.submit(41, true, again.task());
        CHECK(again.wait());
        CHECK(blocked.inside == 40 * threads);
        CHECK(on.count().waiting == static_cast<std::size_t>(40 * (10 - threads)));
        blocked.opened.set_value();
    }
}

TEST_CASE("turns: a session that has much to do has one turn, then others have theirs") {
    const auto t = make_tcp_transport();
    tn::thread_pool pool(1);
    fair_scheduler on(*t, pool);
    // All of it is submitted while the first of the session is under way, beside which no other of it is.
    std::atomic<int> greedy{0}, before{-1};
    done_soon other, last;
    on.submit(1, true, [&] {
        for (int i = 0; i < 1000; ++i) on.submit(1, false, [&] { ++greedy; });
        on.submit(1, false, last.task());
        on.submit(2, false, [&] {
            before = greedy.load();
            other.told.set_value({});
        });
    });
    CHECK(other.wait());
    CHECK(last.wait());
    CHECK(greedy == 1000);
    CHECK(before < 1000);
}

TEST_CASE("turns: of one client so many tasks are under way, in whatever sessions; another's begins beside them") {
    const auto t = make_tcp_transport();
    tn::thread_pool pool(2);
    fair_scheduler on(*t, pool);
    barrier blocked, others;
    for (std::uint64_t session = 1; session <= 60; ++session)
        on.enter(session, "greedy (host:" + std::to_string(session) + ")");
    on.enter(100, "another (host:7)");
    for (std::uint64_t session = 1; session <= 60; ++session) on.submit(session, session % 2, blocked.task());
    blocked.wait_for_more(4);
    for (int i = 0; i < 2; ++i) on.submit(100, i == 0, others.task());
    others.wait_for(2);
    CHECK(on.count().running < 30);
    blocked.wait_for_more(9); // what waits for what has not begun goes on at last
    CHECK(on.count().clients == 2);
    others.opened.set_value();
    blocked.opened.set_value();
    done_soon last;
    on.submit(60, true, last.task());
    CHECK(last.wait());
    for (std::uint64_t session = 1; session <= 60; ++session) on.forget(session);
}

TEST_CASE("turns: threads that are not wanted any more end, and those that there are end with it") {
    const auto t = make_tcp_transport();
    tn::thread_pool pool(2);
    std::atomic<int> done{0};
    {
        fair_scheduler on(*t, pool);
        for (int round = 0; round < 3; ++round) {
            barrier blocked;
            for (std::uint64_t session = 1; session <= 20; ++session) on.submit(session, true, blocked.task());
            blocked.wait_for(20);
            CHECK(on.count().threads >= 20);
            blocked.opened.set_value();
            blocked.wait_for(0);
        }
        for (int i = 0; i < 100; ++i) on.submit(1, true, [&] { ++done; });
    }
    CHECK(done == 100);
}

TEST_CASE("turns: what a task gives to the pool is its session's, but for what it gives while kernels run") {
    const auto t = make_tcp_transport();
    tn::thread_pool pool(2);
    fair_scheduler on(*t, pool);
    done_soon own, of_kernel;
    on.submit(1, true, [&] {
        pool.submit(own.task());
        const tn::deferred_flush::running kernels;
        pool.submit(of_kernel.task());
    });
    REQUIRE(own.wait());
    REQUIRE(of_kernel.wait());
    std::promise<bool> is_pools;
    pool.submit([&] { is_pools.set_value(pool.has_this_thread()); });
    CHECK(is_pools.get_future().get());
    CHECK(own.is.get() != of_kernel.is.get());
}

TEST_CASE("turns: over a transport without threads all is done at once, by who asks for it") {
    simulated_network network(1);
    transport& t = network.start("host");
    tn::thread_pool pool(1);
    fair_scheduler on(t, pool);
    std::vector<int> done;
    on.submit(1, true, [&] {
        on.submit(1, false, [&] { done.push_back(2); });
        done.push_back(1);
    });
    CHECK(done == std::vector<int>{1, 2});
    CHECK(on.count().threads == 0);
}

TEST_CASE("strand: what is short is done here and now, unless something long is before it; the order is kept") {
    const auto t = make_tcp_transport();
    tn::thread_pool pool(2);
    fair_scheduler on(*t, pool);
    const auto s = std::make_shared<strand>();
    std::vector<int> done;
    s->post(on, 1, false, [&] { done.push_back(0); });
    REQUIRE(done == std::vector<int>{0});
    barrier blocked;
    std::promise<void> ended;
    s->post(on, 1, true, blocked.task());
    for (int i = 1; i <= 20; ++i) s->post(on, 1, i % 3 == 0, [&, i] { done.push_back(i); });
    s->post(on, 1, false, [&] { ended.set_value(); });
    blocked.wait_for(1);
    CHECK(done.size() == 1);
    blocked.opened.set_value();
    REQUIRE(ended.get_future().wait_for(long_enough) == std::future_status::ready);
    std::vector<int> all;
    for (int i = 0; i <= 20; ++i) all.push_back(i);
    CHECK(done == all);
}
