#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/tenon.hpp>

#include "own_graph.hpp"

/// Queues of numbers in steps, and threads that wait for them.

namespace queue_steps {

namespace tn = tenon;

using list = std::vector<std::int64_t>;

/// Seconds: how long a test waits for what must not come, and at most for what must.
inline constexpr double soon = 0.1, late = 20;

template <class S> list numbers_in(const tn::array<std::int64_t, S>& a) { return {a.data(), a.data() + a.size()}; }
inline tn::array<std::int64_t, tn::shape<tn::dyn>> numbers(const list& all) {
    tn::any_array a(tn::element_type::int64, {static_cast<std::int64_t>(all.size())});
    std::copy(all.begin(), all.end(), a.data<std::int64_t>());
    return tn::array<std::int64_t, tn::shape<tn::dyn>>(std::move(a));
}

/// A queue of numbers, and what uses it.
template <class Queue> struct of_numbers {
    template <class... A> explicit of_numbers(A&&... a) : q(std::forward<A>(a)...) {}
    Queue q;
    tn::tensor<std::int64_t, tn::shape<tn::dyn>> some = tn::placeholder<std::int64_t, tn::shape<tn::dyn>>("some");
    tn::operation put = q.enqueue_many(some);
    tn::tensor<std::int64_t, tn::shape<>> next = q.dequeue(), size = q.size();

    void fill(tn::session& s, const list& all) const { s.run_for(late, tn::feed(some, numbers(all)), put); }
    std::int64_t take(tn::session& s) const { return s.run_for(late, next).item(); }
    std::int64_t count(tn::session& s) const { return s.run(size).item(); }
};
using numbers_queue = of_numbers<tn::fifo_queue<std::int64_t>>;

/// A thread that runs a step, and what came of it.
class elsewhere {
public:
    template <class F> explicit elsewhere(F step) {
        thread_ = std::thread([this, step] {
            try {
                step();
            } catch (const tn::error& e) {
                failure_ = std::string(tn::name_of(e.code())) + ": " + e.what();
            }
            ended_ = true;
        });
    }
    ~elsewhere() {
        if (thread_.joinable()) thread_.join();
    }
    /// Whether it still runs after a while.
    bool waits() const {
        std::this_thread::sleep_for(std::chrono::duration<double>(soon));
        return !ended_;
    }
    /// What its step failed with; empty where it was done.
    std::string end() {
        thread_.join();
        return failure_;
    }

private:
    std::string failure_;
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

} // namespace queue_steps
