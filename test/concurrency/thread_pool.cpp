#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/concurrency/stop_scope.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>

#include "each_thread.hpp"

using tenon::thread_pool;
using tenon::work_item;

namespace {

using piece = std::pair<std::int64_t, std::int64_t>;

std::vector<piece> pieces_of(thread_pool& pool, std::int64_t n, std::int64_t grain) {
    std::mutex mutex;
    std::vector<piece> pieces;
    pool.parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
        const std::lock_guard guard(mutex);
        pieces.emplace_back(begin, end);
    });
    std::sort(pieces.begin(), pieces.end());
    return pieces;
}

} // namespace

TEST_CASE("parallel_for covers the range once, in pieces of at least the grain that begin at its multiples") {
    for (const int threads : {1, 2, 3, 7}) {
        thread_pool pool(threads);
        for (const std::int64_t n : {0, 1, 2, 3, 7, 8, 9, 100, 1023}) {
            for (const std::int64_t grain : {0, 1, 2, 5, 16, 5000}) {
                CAPTURE(threads);
                CAPTURE(n);
                CAPTURE(grain);
                const auto pieces = pieces_of(pool, n, grain);
                const std::int64_t least = std::max<std::int64_t>(grain, 1);
                std::int64_t covered = 0;
                for (const auto& [begin, end] : pieces) {
                    CHECK(begin == covered);
                    CHECK(begin % least == 0);
                    CHECK(end - begin >= std::min(least, n));
                    covered = end;
                }
                CHECK(covered == n);
                if (threads == 1 || n < 2 * least) CHECK(pieces.size() <= 1);
                CHECK(pieces == pieces_of(pool, n, grain));
            }
        }
    }
}

TEST_CASE("parallel_for gives every thread work when there is enough, and no more threads than the pool's") {
    thread_pool pool(4);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    // Each piece waits until four have begun: this ends only if four threads take part.
    pool.parallel_for(4, 1, [&](std::int64_t, std::int64_t) {
        const int now = ++inside;
        int seen = most.load();
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        while (most.load() < 4) std::this_thread::yield();
        --inside;
    });
    CHECK(most.load() == 4);
}

TEST_CASE("parallel_for nested in a body runs on that thread") {
    thread_pool pool(3);
    std::vector<std::int64_t> sums(20, 0);
    std::atomic<int> moved{0};
    pool.parallel_for(20, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const auto here = std::this_thread::get_id();
            pool.parallel_for(100, 1, [&](std::int64_t from, std::int64_t to) {
                if (std::this_thread::get_id() != here) ++moved;
                for (std::int64_t j = from; j < to; ++j) sums[static_cast<std::size_t>(i)] += i * j;
            });
        }
    });
    CHECK(moved.load() == 0);
    for (std::int64_t i = 0; i < 20; ++i) CHECK(sums[static_cast<std::size_t>(i)] == i * 4950);
}

TEST_CASE("parallel_for called by many threads at once keeps their loops apart") {
    thread_pool pool(3);
    std::vector<std::int64_t> wrong(4, 0);
    on_threads(wrong.size(), [&](std::size_t c) {
        std::vector<std::int64_t> values(257);
        for (int round = 0; round < 300; ++round) {
            pool.parallel_for(257, 3, [&](std::int64_t begin, std::int64_t end) {
                for (auto i = begin; i < end; ++i) values[static_cast<std::size_t>(i)] = i + round;
            });
            const auto sum = std::accumulate(values.begin(), values.end(), std::int64_t{0});
            if (sum != 257 * 128 + 257 * round) ++wrong[c];
        }
    });
    CHECK(wrong == std::vector<std::int64_t>(4, 0));
}

TEST_CASE("parallel_for throws a body's exception on the caller once no piece runs any more") {
    for (const int threads : {1, 2, 4}) {
        thread_pool pool(threads);
        std::atomic<int> running{0};
        for (int round = 0; round < 50; ++round) {
            CHECK_THROWS_WITH_AS(pool.parallel_for(64, 1,
                                                   [&](std::int64_t begin, std::int64_t end) {
                                                       ++running;
                                                       const bool bad = begin <= 33 && 33 < end;
                                                       --running;
                                                       if (bad) throw std::runtime_error("piece 33");
                                                   }),
                                 "piece 33", std::runtime_error);
            CHECK(running.load() == 0);
        }
        // The pool is as good as before.
        CHECK(pieces_of(pool, 10, 100).size() == 1);
    }
}

TEST_CASE("submitted tasks all run, also those that tasks submit, before the pool is gone") {
    for (const int threads : {1, 2, 4}) {
        std::atomic<int> ran{0};
        {
            thread_pool pool(threads);
            for (int i = 0; i < 500; ++i) {
                pool.submit([&] {
                    ++ran;
                    pool.submit([&] { ++ran; });
                });
            }
        }
        CHECK(ran.load() == 1000);
    }
}

TEST_CASE("submit without threads runs tasks in order, without growing the stack") {
    thread_pool pool(1);
    std::vector<int> order;
    int left = 100000;
    pool.submit([&] {
        order.push_back(1);
        pool.submit([&] { order.push_back(3); });
        order.push_back(2);
    });
    CHECK(order == std::vector{1, 2, 3});

    struct chain {
        thread_pool& pool;
        int& left;
        void operator()() {
            if (--left > 0) pool.submit(chain{pool, left});
        }
    };
    pool.submit(chain{pool, left});
    CHECK(left == 0);
}

TEST_CASE("a task may run a loop, and a loop's caller may be one of several tasks") {
    std::atomic<std::int64_t> sum{0};
    std::atomic<int> ended{0};
    thread_pool pool(3);
    for (int t = 0; t < 20; ++t) {
        pool.submit([&] {
            pool.parallel_for(1000, 10, [&](std::int64_t begin, std::int64_t end) {
                std::int64_t part = 0;
                for (auto i = begin; i < end; ++i) part += i;
                sum += part;
            });
            ++ended;
            pool.wake();
        });
    }
    pool.work_until([&] { return ended.load() == 20; });
    CHECK(sum.load() == 20 * 499500);
}

TEST_CASE("work_until lends this thread to the pool, and run_one runs what is queued") {
    // The pool's one thread is held until a second task has run: only this thread can run it.
    std::atomic<bool> second{false};
    std::atomic<bool> first{false};
    std::atomic<bool> held{true};
    std::atomic<bool> holding{false};
    int ran = 0;
    thread_pool pool(2);
    pool.submit([&] {
        while (!second.load()) std::this_thread::yield();
        first = true;
        pool.wake();
    });
    pool.submit([&] { second = true; });
    pool.work_until([&] { return first.load() && second.load(); });
    CHECK_FALSE(pool.run_one());

    pool.submit([&] {
        holding = true;
        while (held.load()) std::this_thread::yield();
    });
    while (!holding.load()) std::this_thread::yield();
    pool.submit([&] { ++ran; });
    CHECK(pool.run_one());
    CHECK(ran == 1);
    held = false;
}

TEST_CASE("work_until ends when another thread makes it true and calls wake") {
    thread_pool pool(2);
    for (int round = 0; round < 200; ++round) {
        std::atomic<bool> flag{false};
        std::thread other([&] {
            flag = true;
            pool.wake();
        });
        pool.work_until([&] { return flag.load(); });
        other.join();
    }
    CHECK(pool.size() == 2);
}

TEST_CASE("a pool task owns its callable, whatever its size") {
    auto count = std::make_shared<int>(0);
    struct large {
        std::shared_ptr<int> count;
        double more[20] = {};
        void operator()() { *count += 1 + static_cast<int>(more[0]); }
    };
    {
        work_item small = [count] { ++*count; };
        work_item big = large{count};
        CHECK(count.use_count() == 3);
        work_item moved = std::move(small);
        CHECK_FALSE(static_cast<bool>(small)); // NOLINT: a moved-from task is empty
        moved();
        big();
        moved = std::move(big);
        CHECK(count.use_count() == 2);
        moved();
    }
    CHECK(count.use_count() == 1);
    CHECK(*count == 3);
}

TEST_CASE("a pool takes part in nothing it cannot do") {
    CHECK_THROWS_AS(thread_pool(-1), tenon::invalid_argument_error);
    CHECK(thread_pool(0).size() >= 1);
    CHECK(thread_pool::shared().size() >= 1);
    CHECK(&thread_pool::shared() == &thread_pool::shared());
}

TEST_CASE("a stop_scope is asked before each piece of the loops its thread begins; a loop that is stopped throws") {
    tenon::thread_pool pool(3);
    std::atomic<int> pieces{0};
    const auto loop = [&] { pool.parallel_for(120, 1, [&](std::int64_t, std::int64_t) { ++pieces; }); };
    const auto stop = [&] { return pieces >= 4; };
    {
        const tenon::stop_scope scope(stop);
        CHECK_THROWS_AS(loop(), tenon::cancelled_error);
        CHECK(pieces >= 4);
        CHECK(pieces <= 6); // of 12: the other two threads may have begun one each
        pieces = 0;
        {
            const auto never = [] { return false; };
            const tenon::stop_scope inner(never);
            loop();
            CHECK(pieces == 12);
        }
        CHECK_THROWS_AS(loop(), tenon::cancelled_error);
        CHECK(pieces == 12);
    }
    loop();
    CHECK(pieces == 24);
}
