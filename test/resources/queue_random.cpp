#include <deque>
#include <list>

#include "resources/queue_attempts.hpp"

// Queues beside a model of their statements, and under many threads (SEMANTICS 31, 32).

using namespace queues;

namespace {

// What a queue of numbers does, in words of its statements: one at a time, element by element.
struct model {
    struct asked {
        int id = 0;
        bool enqueues = false, single = false;
        std::deque<std::int64_t> left = {}; // to be enqueued
        std::size_t least = 0, most = 0;
        bool takes_rest = false;    // once it is closed
        list taken = {}, mine = {}; // mine: what it put in
    };
    static constexpr auto is_closed = "cancelled: queue \"q\" is closed.";
    std::int64_t capacity = 1;
    bool closed = false;
    std::deque<std::int64_t> elements;
    std::list<asked> waiting;
    struct outcome {
        asked of;
        list taken;
        std::string failure;
    };
    std::vector<outcome> ended;

    asked* first(bool enqueues) {
        for (asked& a : waiting)
            if (a.enqueues == enqueues) return &a;
        return nullptr;
    }
    void end(asked* a, list taken, std::string failure = {}) {
        ended.push_back({*a, std::move(taken), std::move(failure)});
        waiting.remove_if([&](const asked& b) { return &b == a; });
    }
    void put_back(const asked& a) { elements.insert(elements.begin(), a.taken.begin(), a.taken.end()); }
    void settle() {
        for (bool again = true; again;) {
            again = false;
            if (asked* a = first(true)) {
                if (a->left.empty()) {
                    end(a, list{});
                    again = true;
                } else if (static_cast<std::int64_t>(elements.size()) < capacity) {
                    elements.push_back(a->left.front());
                    a->mine.push_back(a->left.front());
                    a->left.pop_front();
                    again = true;
                }
            }
            if (again) continue;
            if (asked* a = first(false)) {
                for (; a->taken.size() < a->most && !elements.empty(); again = true) {
                    a->taken.push_back(elements.front());
                    elements.pop_front();
                }
                const bool is_last = closed && !first(true), none = a->taken.empty();
                const bool at_the_end = is_last && none && a->takes_rest && a->most > 0;
                if (a->taken.size() >= a->least && !at_the_end) {
                    end(a, a->taken);
                    again = true;
                } else if (is_last) {
                    if (!a->takes_rest || none) {
                        put_back(*a);
                        end(a, {},
                            "out_of_range: queue \"q\" is closed and has insufficient elements (requested " +
                                std::to_string(std::max<std::size_t>(1, a->least)) + ", current size " +
                                std::to_string(elements.size()) + ")");
                    } else end(a, a->taken);
                    again = true;
                }
            }
        }
    }
    void ask(asked a) {
        if (a.enqueues && closed) ended.push_back({a, {}, is_closed});
        else waiting.push_back(a);
        settle();
        const auto at = std::find_if(waiting.begin(), waiting.end(), [&](const asked& b) { return b.id == a.id; });
        if (at != waiting.end() && !a.enqueues && a.least == 0) end(&*at, list{}); // it waits for nobody
    }
    bool stop(int id) {
        const auto at = std::find_if(waiting.begin(), waiting.end(), [&](const asked& a) { return a.id == id; });
        if (at == waiting.end()) return false;
        if (at->enqueues)
            std::erase_if(elements,
                          [&](std::int64_t n) { return std::count(at->mine.begin(), at->mine.end(), n) > 0; });
        else put_back(*at);
        waiting.erase(at);
        settle();
        return true;
    }
    void close(bool cancel) {
        closed = true;
        while (cancel && first(true)) end(first(true), {}, is_closed);
        settle();
    }
};

} // namespace

TEST_CASE("SEMANTICS 31, 32: any sequence of things asked of a queue ends as a model of the statements says") {
    std::mt19937 random(17);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (int round = 0; round < 400; ++round) {
        model m;
        m.capacity = 1 + below(6);
        tn::queue_resource q("q", of_numbers(m.capacity));
        std::vector<std::unique_ptr<attempt>> all;
        std::int64_t next = 0;
        for (int step = 0; step < 120; ++step) {
            const int what = below(40);
            if (what < 32) {
                model::asked a{.id = static_cast<int>(all.size())};
                attempt& real = *all.emplace_back(std::make_unique<attempt>());
                if (what < 12) {
                    a.enqueues = true;
                    a.left = {next};
                    real.tuple.push_back(number(next++));
                    m.ask(a);
                    q.enqueue(real);
                } else if (what < 17) {
                    a.enqueues = true;
                    list some;
                    for (int i = below(9); i > 0; --i) some.push_back(next++);
                    a.left.assign(some.begin(), some.end());
                    real.tuple.push_back(numbers(some));
                    m.ask(a);
                    q.enqueue_many(real);
                } else {
                    const std::int64_t n = what < 24 ? 1 : below(9), more = what < 30 ? 0 : below(5);
                    a.least = static_cast<std::size_t>(n);
                    a.most = static_cast<std::size_t>(n + more);
                    a.takes_rest = what >= 28;
                    a.single = what < 24;
                    m.ask(a);
                    if (what < 24) q.dequeue(real);
                    else if (what < 28) q.dequeue_many(real, n);
                    else if (what < 30) q.dequeue_up_to(real, n);
                    else q.dequeue_some(real, n, n + more);
                }
            } else if (what < 39 && !all.empty()) {
                const int id = below(static_cast<int>(all.size()));
                CHECK(q.stop(*all[static_cast<std::size_t>(id)]) == m.stop(id));
            } else if (below(3) == 0) {
                const bool cancel = below(2) == 0, again = m.closed;
                m.close(cancel);
                if (again) CHECK_THROWS_AS(q.close(cancel), tn::aborted_error);
                else q.close(cancel);
                CHECK(q.is_closed());
            }
            INFO("round ", round, ", step ", step);
            REQUIRE(q.size() == static_cast<std::int64_t>(m.elements.size()));
            std::size_t done = 0;
            for (const auto& a : all) done += a->done;
            REQUIRE(done == m.ended.size());
            for (const auto& [of, taken, failure] : m.ended) {
                const attempt& a = *all[static_cast<std::size_t>(of.id)];
                REQUIRE(a.done);
                REQUIRE(a.failure == failure);
                if (of.enqueues || !failure.empty()) continue;
                REQUIRE(a.got() == taken);
                REQUIRE(a.tuple[0].extents() ==
                        (of.single ? tn::extents() : tn::extents(static_cast<std::int64_t>(taken.size()))));
            }
        }
        for (const auto& a : all) (void)q.stop(*a); // attempts end before the queue does
    }
}

namespace {

// An attempt that a thread waits for.
struct awaited final : tn::queue_attempt {
    bool wait() { // false: it failed
        std::unique_lock lock(guard);
        changed.wait(lock, [&] { return done; });
        return !failed;
    }
    std::mutex guard;
    std::condition_variable changed;
    bool done = false, failed = false;

private:
    void completed(std::exception_ptr why) noexcept override {
        const std::lock_guard lock(guard);
        done = true;
        failed = why != nullptr;
        changed.notify_all();
    }
};

} // namespace

TEST_CASE("200 threads on one queue, of which any is stopped at any time: every element once, none lost") {
    tn::queue_resource q("q", of_numbers(7));
    constexpr int threads = 100, each = 40;
    std::vector<std::thread> producers, consumers;
    std::mutex guard;
    list sent, received;
    for (int t = 0; t < threads; ++t)
        producers.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            list mine;
            for (int i = 0; i < each; ++i) {
                const std::int64_t n = t * each + i;
                awaited a;
                a.tuple.push_back(number(n));
                q.enqueue(a);
                const bool stopped = random() % 3 == 0 && q.stop(a);
                if (!stopped && a.wait()) mine.push_back(n);
            }
            const std::lock_guard lock(guard);
            sent.insert(sent.end(), mine.begin(), mine.end());
        });
    for (int t = 0; t < threads; ++t)
        consumers.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(1000 + t));
            list mine;
            for (;;) {
                awaited a;
                const int n = 1 + static_cast<int>(random() % 4);
                if (n == 1) q.dequeue(a);
                else if (n == 2) q.dequeue_some(a, 1, 6);
                else q.dequeue_up_to(a, n);
                if (random() % 3 == 0 && q.stop(a)) continue;
                if (!a.wait()) break; // closed, and empty
                const list got = values_of(a.tuple[0]);
                mine.insert(mine.end(), got.begin(), got.end());
            }
            const std::lock_guard lock(guard);
            received.insert(received.end(), mine.begin(), mine.end());
        });
    for (std::thread& t : producers) t.join();
    q.close();
    for (std::thread& t : consumers) t.join();
    std::sort(sent.begin(), sent.end());
    std::sort(received.begin(), received.end());
    CHECK(received == sent);
    CHECK(sent.size() > threads * each / 2);
    CHECK(q.size() == 0);
}
