// Queues and steps that wait (PERFORMANCE P12). Tuples of an int32 and 4 floats.
// P12: from one thread to another, beside std::deque under a mutex with condition variables, and within one thread's steps.
// Besides: what a waiting step takes, how long stopping one takes while others wait, and whether steps leave memory behind.

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <malloc.h>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <tenon/ops/queue/queue.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/resources/queue.hpp>
#include <tenon/runtime/session/session.hpp>

#include "ratio.hpp"

namespace tn = tenon;

namespace {

constexpr std::int64_t capacity = 64;
using four = tn::array<float, tn::shape<4>>;
using one = tn::array<std::int32_t, tn::shape<>>;

struct graph_of_queue {
    tn::graph g;
    tn::graph_scope scope{g};
    tn::fifo_queue<std::int32_t, tn::component<float, tn::shape<4>>> q{capacity};
    tn::tensor<std::int32_t, tn::shape<>> number = tn::placeholder<std::int32_t, tn::shape<>>("number");
    tn::tensor<float, tn::shape<4>> values = tn::placeholder<float, tn::shape<4>>("values");
    tn::operation in = q.enqueue(number, values);
    std::tuple<tn::tensor<std::int32_t, tn::shape<>>, tn::tensor<float, tn::shape<4>>> out = q.dequeue();
    tn::session s{g};
    decltype(s.callable(tn::feeds(number, values), tn::fetches(in))) put =
        s.callable(tn::feeds(number, values), tn::fetches(in));
    decltype(s.callable(tn::feeds(), tn::fetches(std::get<0>(out), std::get<1>(out)))) take =
        s.callable(tn::feeds(), tn::fetches(std::get<0>(out), std::get<1>(out)));
};

// What a careful user would write: the tuple is an object.
class deque_queue {
public:
    struct tuple {
        std::int32_t number;
        std::array<float, 4> values;
    };
    void put(const tuple& t) {
        {
            std::unique_lock lock(guard_);
            room_.wait(lock, [&] { return items_.size() < static_cast<std::size_t>(capacity); });
            items_.push_back(t);
        }
        there_.notify_one();
    }
    tuple take() {
        tuple t;
        {
            std::unique_lock lock(guard_);
            there_.wait(lock, [&] { return !items_.empty(); });
            t = items_.front();
            items_.pop_front();
        }
        room_.notify_one();
        return t;
    }

private:
    std::mutex guard_;
    std::condition_variable room_, there_;
    std::deque<tuple> items_;
};

const four& numbers() {
    static const four v{1.0f, 2.0f, 3.0f, 4.0f};
    return v;
}

void steps_of_one_thread(benchmark::State& state) {
    graph_of_queue q;
    const one n(7);
    for (auto _ : state) {
        q.put(n, numbers());
        benchmark::DoNotOptimize(q.take());
    }
}
void deque_of_one_thread(benchmark::State& state) {
    deque_queue q;
    for (auto _ : state) {
        q.put({7, {1, 2, 3, 4}});
        benchmark::DoNotOptimize(q.take());
    }
}

constexpr int handed_on = 20000; // tuples an iteration

template <class Put, class Take> void between_two_threads(benchmark::State& state, Put put, Take take) {
    for (auto _ : state) {
        std::thread producer([&] {
            for (int i = 0; i < handed_on; ++i) put(i);
        });
        for (int i = 0; i < handed_on; ++i) take();
        producer.join();
    }
}
void steps_of_two_threads(benchmark::State& state) {
    graph_of_queue q;
    const one n(7);
    between_two_threads(
        state, [&](int) { q.put(n, numbers()); }, [&] { benchmark::DoNotOptimize(q.take()); });
}
void deque_of_two_threads(benchmark::State& state) {
    deque_queue q;
    between_two_threads(
        state,
        [&](int i) {
            q.put({i, {1, 2, 3, 4}});
        },
        [&] { benchmark::DoNotOptimize(q.take()); });
}

// Of this process, in bytes and threads.
double resident() {
    malloc_trim(0);
    std::ifstream statm("/proc/self/statm");
    long pages = 0, here = 0;
    statm >> pages >> here;
    return static_cast<double>(here) * static_cast<double>(sysconf(_SC_PAGESIZE));
}
int threads() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "Threads:") {
            int n = 0;
            status >> n;
            return n;
        }
    return 0;
}
double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void waiting_steps() {
    graph_of_queue q;
    q.put(one(1), numbers());
    (void)q.take();
    const double before = resident();
    const int threads_before = threads();
    constexpr int steps = 100000;
    std::vector<decltype(q.take.start())> waiting;
    waiting.reserve(steps);
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) waiting.push_back(q.take.start());
    const double started = seconds_since(begin);
    const double each = (resident() - before) / steps;
    const int more = threads() - threads_before;
    begin = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) q.put(one(i), numbers());
    for (auto& w : waiting) (void)w.get();
    std::printf("%d steps that wait at once: %.0f bytes each (at most 4096), %d more threads (0); "
                "%.2f us to start one, %.2f us to end it\n",
                steps, each, more, started / steps * 1e6, seconds_since(begin) / steps * 1e6);
}

void stopping() {
    graph_of_queue q;
    std::vector<decltype(q.take.start())> waiting;
    for (int i = 0; i < 1000; ++i) waiting.push_back(q.take.start());
    std::vector<double> times;
    for (std::size_t i = 0; i < 999; i += 3) {
        const auto begin = std::chrono::steady_clock::now();
        waiting[i].stop();
        try {
            (void)waiting[i].get();
        } catch (const tn::cancelled_error&) {
        }
        times.push_back(seconds_since(begin));
    }
    std::sort(times.begin(), times.end());
    const auto begin = std::chrono::steady_clock::now();
    q.s.close();
    std::printf("stopping one of 1,000 that wait: %.1f us, at most %.1f us (1000); closing the session: %.0f us\n",
                times[times.size() / 2] * 1e6, times.back() * 1e6, seconds_since(begin) * 1e6);
}

void a_million_steps() {
    graph_of_queue q;
    const auto run = [&](int steps) {
        for (int i = 0; i < steps; ++i) {
            q.put(one(i), numbers());
            (void)q.take();
        }
        return resident();
    };
    const double thousand = run(1000), million = run(1000000);
    std::printf("memory after a million steps, beside a thousand: %+.0f KiB of %.0f\n", (million - thousand) / 1024,
                thousand / 1024);
}

} // namespace

int main(int argc, char** argv) {
    waiting_steps();
    stopping();
    a_million_steps();
    benchmark::RegisterBenchmark("steps_of_one_thread", steps_of_one_thread);
    benchmark::RegisterBenchmark("deque_of_one_thread", deque_of_one_thread);
    benchmark::RegisterBenchmark("steps_of_two_threads", steps_of_two_threads)->UseRealTime();
    benchmark::RegisterBenchmark("deque_of_two_threads", deque_of_two_threads)->UseRealTime();
    return ratio::run(
        argc, argv,
        {{"P12 tuple through a queue, one thread / deque", "steps_of_one_thread", "deque_of_one_thread"},
         {"P12 tuple between two threads / deque", "steps_of_two_threads", "deque_of_two_threads", 0.8, handed_on}});
}
