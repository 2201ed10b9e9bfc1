#include <chrono>
#include <deque>

#include <tenon/serve/batch_queue.hpp>

#include "tests.hpp"

// S47: requests are batched when they meet. The queue has neither threads nor a clock: times here are made up.

namespace {

using namespace tenon::detail;
using namespace std::chrono_literals;
using time_point = serving_clock::time_point;

struct numbered : queued_request {
    int number = 0;
};
constexpr time_point start{1h};

std::shared_ptr<numbered> request(int number, std::int64_t rows, serving_clock::duration came = 0s,
                                  std::vector<std::int64_t> sizes = {}) {
    const auto r = std::make_shared<numbered>();
    r->number = number;
    r->rows = rows;
    r->arrived = start + came;
    r->sizes = std::move(sizes);
    return r;
}
std::vector<int> numbers(const std::vector<batch_queue::request>& batch) {
    std::vector<int> all;
    for (const auto& r : batch) all.push_back(std::static_pointer_cast<numbered>(r)->number);
    return all;
}
using ints = std::vector<int>;

} // namespace

TEST_CASE("S47: with no longest wait a free device takes what is there, as much as fits, the first first") {
    batch_queue q({.largest_batch = 8});
    CHECK(q.due(0s) == time_point::max());
    CHECK(q.take(start, 0s).empty());
    for (int i = 0; i < 4; ++i) q.push(request(i, 3));
    CHECK(q.due(0s) <= start);
    CHECK(numbers(q.take(start, 0s)) == ints{0, 1}); // a third has no room, and is not taken apart
    CHECK(numbers(q.take(start, 0s)) == ints{2, 3});
    CHECK(q.empty());
}

TEST_CASE("S47: a batch waits for company until it is full or its first request has waited for as long as one may") {
    batch_queue q({.largest_batch = 8, .longest_wait = 10ms});
    q.push(request(0, 2, 1ms));
    q.push(request(1, 2, 5ms));
    CHECK(q.due(0s) == start + 11ms);
    CHECK(q.take(start + 10ms, 0s).empty());
    CHECK(numbers(q.take(start + 11ms, 0s)) == ints{0, 1});
    q.push(request(2, 5, 12ms));
    q.push(request(3, 2, 12ms));
    CHECK(q.take(start + 13ms, 0s).empty());
    q.push(request(4, 4, 13ms)); // 11 rows: it is full without the last
    CHECK(numbers(q.take(start + 13ms, 0s)) == ints{2, 3});
    CHECK(q.due(0s) == start + 23ms);
}

TEST_CASE("S47: a request that would be late is not kept waiting for others") {
    batch_queue q({.largest_batch = 8, .longest_wait = 10ms});
    const auto r = request(0, 1);
    r->deadline = start + 6ms;
    q.push(request(1, 1));
    q.push(r);
    CHECK(q.due(2ms) == start + 4ms);
    CHECK(q.remove(r.get()));
    CHECK_FALSE(q.remove(r.get()));
    CHECK(q.due(2ms) == start + 10ms);
}

TEST_CASE("S47: what a lost device had goes ahead of what waits, in the order in which it came") {
    batch_queue q({.largest_batch = 4});
    for (int i = 0; i < 6; ++i) q.push(request(i, 2, std::chrono::milliseconds(i)));
    const auto first = q.take(start, 0s), second = q.take(start, 0s);
    q.put_back(second);
    q.put_back(first);
    CHECK(q.size() == 6);
    CHECK(numbers(q.take(start, 0s)) == ints{0, 1});
    CHECK(numbers(q.take(start, 0s)) == ints{2, 3});
    CHECK(numbers(q.take(start, 0s)) == ints{4, 5});
}

TEST_CASE("S47: requests of other sizes are not joined, and none waits behind another's batch") {
    batch_queue q({.largest_batch = 4, .longest_wait = 10ms});
    q.push(request(0, 1, 0ms, {7}));
    q.push(request(1, 2, 1ms, {9}));
    q.push(request(2, 1, 2ms, {7}));
    q.push(request(3, 2, 3ms, {9})); // fills its batch before the first has waited long enough
    CHECK(numbers(q.take(start + 3ms, 0s)) == ints{1, 3});
    CHECK(q.take(start + 3ms, 0s).empty());
    CHECK(numbers(q.take(start + 10ms, 0s)) == ints{0, 2});
}

TEST_CASE("S47: random requests: all are taken once, in their order, in batches that are full or due") {
    std::mt19937_64 random(4);
    for (int round = 0; round < 300; ++round) {
        const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
        const std::int64_t largest = 1 + below(9);
        const serving_clock::duration longest = below(3) * 5ms;
        batch_queue q({.largest_batch = largest, .longest_wait = longest, .capacity = 1000});
        std::deque<std::shared_ptr<numbered>> model;
        time_point now = start;
        int came = 0, left = 0;
        while (left < 60) {
            now += below(4) * 1ms;
            if (came < 60 && random() % 2 == 0) {
                const auto r = request(came++, 1 + below(static_cast<std::uint64_t>(largest)), now - start);
                q.push(r);
                model.push_back(r);
            }
            const auto batch = q.take(now, 0s);
            std::int64_t waiting = 0;
            for (const auto& r : model) waiting += r->rows;
            const bool is_due = !model.empty() && (waiting >= largest || now >= model.front()->arrived + longest);
            REQUIRE(!batch.empty() == is_due);
            std::int64_t rows = 0;
            for (const auto& r : batch) {
                REQUIRE(r == model.front());
                rows += r->rows;
                model.pop_front();
                ++left;
            }
            REQUIRE(rows <= largest);
            if (!batch.empty() && !model.empty()) REQUIRE(rows + model.front()->rows > largest); // no more had room
            REQUIRE(q.size() == model.size());
        }
    }
}

TEST_CASE(
    "S47, P18: at half of what the devices can do, 99 of 100 are answered within the longest wait and two steps") {
    // Time is made up: a step takes 1 ms, whatever it has; requests of one row come at random.
    constexpr serving_clock::duration step = 1ms;
    for (const int devices : {1, 2, 4})
        for (const serving_clock::duration longest : {serving_clock::duration(0), serving_clock::duration(2ms)}) {
            constexpr std::int64_t largest = 32;
            batch_queue q({.largest_batch = largest, .longest_wait = longest, .capacity = 100000});
            std::mt19937_64 random(9);
            std::exponential_distribution<double> gap(0.5 * static_cast<double>(largest * devices) / 1e6); // ns
            std::vector<time_point> free_at(static_cast<std::size_t>(devices), start);
            std::vector<serving_clock::duration> took;
            time_point next = start;
            while (took.size() < 50000) {
                // What comes first: a request, or a device that is free and has a batch.
                auto device = std::min_element(free_at.begin(), free_at.end());
                const time_point due = q.due(step);
                const time_point begins = due == time_point::max() ? due : std::max(*device, due);
                if (begins > next) {
                    q.push(request(0, 1, next - start));
                    next += std::chrono::nanoseconds(1 + static_cast<std::int64_t>(gap(random)));
                    continue;
                }
                const time_point now = std::max(begins, start);
                const auto batch = q.take(now, step);
                REQUIRE_FALSE(batch.empty());
                time_point last = now;
                for (const auto& r : batch) last = std::max(last, r->arrived);
                *device = last + step;
                for (const auto& r : batch) took.push_back(*device - r->arrived);
            }
            std::sort(took.begin(), took.end());
            CAPTURE(devices);
            CHECK(took[took.size() * 99 / 100] <= longest + 2 * step);
        }
}
