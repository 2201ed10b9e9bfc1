#include <tenon/concurrency/submit_scope.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include <tenon/concurrency/deferred_flush.hpp>
#include <tenon/concurrency/thread_pool.hpp>

// What a thread does with the tasks that it would give to a pool, and with what it has for others.

using namespace tenon;

TEST_CASE("submit_scope: is offered what its thread submits to its pool, and what it leaves is the pool's") {
    thread_pool pool(1), other(1);
    std::vector<int> ran;
    work_item kept;
    {
        const auto take_one = [&](work_item& t) {
            if (kept) return false;
            kept = std::move(t);
            return true;
        };
        const submit_scope taken(pool, take_one);
        other.submit([&] { ran.push_back(0); }); // another pool's
        pool.submit([&] { ran.push_back(1); });
        pool.submit([&] { ran.push_back(2); });
        std::thread([&] { pool.submit([&] { ran.push_back(3); }); }).join(); // another thread's
    }
    CHECK(ran == std::vector{0, 2, 3});
    pool.submit([&] { ran.push_back(4); });
    kept();
    CHECK(ran == std::vector{0, 2, 3, 4, 1});
}

TEST_CASE("submit_scope: of two for one pool the inner one is asked, and the outer one again when that has ended") {
    thread_pool pool(1);
    std::vector<int> asked;
    const auto by = [&](int who) {
        return [&, who](work_item&) {
            asked.push_back(who);
            return false;
        };
    };
    const auto by_outer = by(1), by_inner = by(2);
    const submit_scope outer(pool, by_outer);
    {
        const submit_scope inner(pool, by_inner);
        pool.submit([] {});
    }
    pool.submit([] {});
    CHECK(asked == std::vector{2, 1});
}

TEST_CASE(
    "deferred_flush: what is kept is given before kernels run, of which some may run within others, and at the end") {
    int given = 0;
    const auto give = [&] { ++given; };
    {
        const deferred_flush keeping(give);
        CHECK(keeping.may_defer());
        {
            const deferred_flush::running kernels;
            CHECK(given == 1);
            CHECK_FALSE(keeping.may_defer());
            { const deferred_flush::running nested; }
            CHECK(given == 1);
            CHECK_FALSE(keeping.may_defer());
            std::thread([] { const deferred_flush::running elsewhere; }).join();
        }
        CHECK(keeping.may_defer());
        CHECK(given == 1);
    }
    CHECK(given == 2);
    { const deferred_flush::running kernels; }
    CHECK(given == 2);
}
