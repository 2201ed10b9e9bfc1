#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <tenon/concurrency/deadlines.hpp>

namespace tn = tenon;

namespace {

using clock_type = tn::deadlines::clock;

struct notes {
    std::mutex guard; // of what follows
    std::condition_variable changed;
    std::vector<int> order;
    void add(int n) {
        const std::lock_guard lock(guard);
        order.push_back(n);
        changed.notify_all();
    }
    void wait_for(std::size_t count) {
        std::unique_lock lock(guard);
        changed.wait(lock, [&] { return order.size() == count; });
    }
};
struct noted final : tn::deadlines::entry {
    noted(notes& to, int n) : all(to), number(n) {}
    void due() noexcept override { all.add(number); }
    notes& all;
    int number;
};

} // namespace

TEST_CASE("who is late is told, the earliest first, and who was removed is not") {
    notes all;
    tn::deadlines limits;
    std::list<noted> entries;
    const auto now = clock_type::now();
    for (int i = 0; i < 20; ++i) limits.add(entries.emplace_back(all, i), now + std::chrono::milliseconds(40 - 2 * i));
    noted never(all, 100), removed(all, 101);
    limits.add(never, clock_type::time_point::max());
    limits.add(removed, now + std::chrono::hours(1));
    limits.remove(removed);
    all.wait_for(20);
    for (std::size_t i = 0; i + 1 < 20; ++i) CHECK(all.order[i] > all.order[i + 1]);
    limits.remove(never);
    for (noted& e : entries) limits.remove(e); // nothing happens
}

TEST_CASE("who comes with an earlier time than all others is told before them") {
    notes all;
    tn::deadlines limits;
    noted late(all, 1), early(all, 0);
    limits.add(late, clock_type::now() + std::chrono::hours(1));
    limits.add(early, clock_type::now());
    all.wait_for(1);
    CHECK(all.order == std::vector{0});
    limits.remove(late);
}

TEST_CASE("who removes what is being told waits for that, and what is told may remove itself and end") {
    struct slow final : tn::deadlines::entry {
        void due() noexcept override {
            begun = true;
            while (!go_on) std::this_thread::yield();
            ended = true;
        }
        std::atomic<bool> begun{false}, go_on{false}, ended{false};
    };
    tn::deadlines limits;
    slow s;
    limits.add(s, clock_type::now());
    while (!s.begun) std::this_thread::yield();
    std::thread other([&] {
        limits.remove(s);
        CHECK(s.ended.load());
    });
    s.go_on = true;
    other.join();

    struct own final : tn::deadlines::entry {
        own(tn::deadlines& l, notes& n) : limits(l), all(n) {}
        void due() noexcept override {
            notes& to = all;
            limits.remove(*this);
            delete this;
            to.add(7);
        }
        tn::deadlines& limits;
        notes& all;
    };
    notes all;
    limits.add(*new own(limits, all), clock_type::now());
    all.wait_for(1);
}

TEST_CASE("what it tells may be the last that holds it") {
    struct holder final : tn::deadlines::entry {
        void due() noexcept override {
            limits.reset();
            ended = true;
        }
        std::unique_ptr<tn::deadlines> limits = std::make_unique<tn::deadlines>();
        std::atomic<bool> ended{false};
    };
    holder h;
    h.limits->add(h, clock_type::now());
    while (!h.ended) std::this_thread::yield();
}
