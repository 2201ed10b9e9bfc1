#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#include <tenon/concurrency/deferred_flush.hpp>
#include <tenon/concurrency/denormals.hpp>
#include <tenon/concurrency/fork_count.hpp>
#include <tenon/concurrency/spin_lock.hpp>
#include <tenon/concurrency/submit_scope.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>

namespace tenon {
namespace detail {

/// What this thread is doing for a pool.
struct pool_thread {
    int index = 0;        ///< its share of a loop is tried first; 0 for threads from outside
    bool in_body = false; ///< inside a parallel_for's body: nested loops run serially
    bool running_tasks = false;
    const function_ref<bool()>* stop = nullptr; ///< of the innermost stop_scope
    submit_scope* takes = nullptr;              ///< the innermost
    deferred_flush* keeps = nullptr;            ///< the innermost
};

inline pool_thread& this_pool_thread() noexcept {
    static thread_local pool_thread value;
    return value;
}

TENON_INLINE int usable_cores() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

} // namespace detail

/// One parallel_for under way; lives on its caller's stack. Pieces are dealt to the threads in contiguous
/// shares, so that a thread meets the same part of memory loop after loop; who is done with his own share
/// goes on with the next one's.
struct thread_pool::loop {
    static constexpr int max_shares = 64;
    struct alignas(64) share {
        std::atomic<std::int64_t> next;
        std::int64_t end;
    };

    function_ref<void(std::int64_t, std::int64_t)> body;
    std::int64_t n;
    std::int64_t grain;
    std::int64_t blocks; // of `grain` indices; what is over belongs to the last one
    std::int64_t pieces;
    int shares;
    const function_ref<bool()>* stop = detail::this_pool_thread().stop;
    const unsigned denormals = denormal_mode(); // the caller's: every thread computes the same

    // Under the pool's lock.
    loop* previous = nullptr;
    loop* following = nullptr;
    bool linked = false;
    std::int64_t joined = 1;

    std::atomic<int> active{0}; // threads other than the caller that may still touch this object
    std::atomic<bool> failed{false};
    std::exception_ptr failure{};
    share share_of[max_shares];

    loop(function_ref<void(std::int64_t, std::int64_t)> b, std::int64_t count, std::int64_t g, int threads) :
        body(b),
        n(count),
        grain(g),
        blocks(count / g),
        pieces(std::min<std::int64_t>(blocks, std::int64_t{4} * threads)),
        shares(std::min(threads, max_shares)) {
        for (int s = 0; s < shares; ++s) {
            share_of[s].next.store(pieces * s / shares, std::memory_order_relaxed);
            share_of[s].end = pieces * (s + 1) / shares;
        }
    }

    std::int64_t begin_of(std::int64_t piece) const noexcept {
        if (piece == pieces) return n;
        return (piece * (blocks / pieces) + std::min(piece, blocks % pieces)) * grain;
    }

    /// Takes pieces until none is left.
    void take_part(int index) noexcept {
        auto& thread = detail::this_pool_thread();
        const bool outer = std::exchange(thread.in_body, true);
        const denormal_scope mode(denormals);
        for (int s = 0; s < shares; ++s) {
            share& mine = share_of[(index + s) % shares];
            while (mine.next.load(std::memory_order_relaxed) < mine.end) {
                const std::int64_t piece = mine.next.fetch_add(1, std::memory_order_relaxed);
                if (piece >= mine.end) break;
                if (failed.load(std::memory_order_relaxed)) continue;
                try {
                    if (stop && (*stop)()) throw cancelled_error("the loop was stopped");
                    body(begin_of(piece), begin_of(piece + 1));
                } catch (...) {
                    if (!failed.exchange(true, std::memory_order_acq_rel)) failure = std::current_exception();
                }
            }
        }
        thread.in_body = outer;
    }
};

struct thread_pool::state {
    /// A counter to park on. A thread that parks first says so, and one that bumps the counter looks
    /// afterwards whether anybody said so: with nobody parked, no system call is made.
    struct signal {
        std::atomic<std::uint32_t> count{0};
        std::atomic<int> parked{0};

        std::uint32_t seen() const noexcept { return count.load(std::memory_order_seq_cst); }
        void wait(std::uint32_t before) noexcept {
            parked.fetch_add(1, std::memory_order_seq_cst);
            count.wait(before, std::memory_order_seq_cst);
            parked.fetch_sub(1, std::memory_order_relaxed);
        }
        void raise(bool one) noexcept {
            count.fetch_add(1, std::memory_order_seq_cst);
            if (parked.load(std::memory_order_seq_cst) == 0) return;
            if (one) {
                count.notify_one();
            } else {
                count.notify_all();
            }
        }
    };
    alignas(64) signal work_came;   // threads with nothing to do park on it
    alignas(64) signal helper_left; // callers whose loop is still run by others park on it
    std::atomic<bool> stopping{false};
    std::atomic<int> awake{0}; // keep_awake objects
    std::atomic<int> users{1}; // the pool, and threads that run tasks in submit(): a task may end the pool

    alignas(64) detail::spin_lock lock;
    std::atomic<loop*> first{nullptr}; // written under the lock
    std::atomic<std::size_t> queued{0};
    std::vector<work_item> ring = std::vector<work_item>(64); // the queue: tasks [head, head + queued), wrapped
    std::size_t head = 0;

    std::vector<std::thread> threads;
    const int forks = detail::fork_count();

    // In a process that was forked since then there are none.
    bool has_threads() const noexcept { return !threads.empty() && forks == detail::fork_count(); }

    void link(loop& l) noexcept {
        l.previous = nullptr;
        l.following = first.load(std::memory_order_relaxed);
        if (l.following != nullptr) l.following->previous = &l;
        first.store(&l, std::memory_order_relaxed);
        l.linked = true;
    }
    void unlink(loop& l) noexcept {
        if (!l.linked) return;
        l.linked = false;
        if (l.following != nullptr) l.following->previous = l.previous;
        if (l.previous != nullptr) {
            l.previous->following = l.following;
        } else {
            first.store(l.following, std::memory_order_relaxed);
        }
    }

    bool help_a_loop(int index) {
        if (first.load(std::memory_order_relaxed) == nullptr) return false;
        loop* found = nullptr;
        {
            detail::spin_guard guard(lock);
            for (found = first.load(std::memory_order_relaxed); found != nullptr; found = found->following) {
                if (found->joined < found->pieces) break;
            }
            if (found == nullptr) return false;
            ++found->joined;
            found->active.fetch_add(1, std::memory_order_relaxed);
        }
        found->take_part(index);
        {
            detail::spin_guard guard(lock);
            unlink(*found);
        }
        found->active.fetch_sub(1, std::memory_order_release); // from here on the loop may be gone
        helper_left.raise(false);
        return true;
    }

    void push(work_item task) {
        detail::spin_guard guard(lock);
        const std::size_t count = queued.load(std::memory_order_relaxed);
        if (count == ring.size()) {
            std::vector<work_item> larger(2 * count);
            for (std::size_t i = 0; i < count; ++i) larger[i] = std::move(ring[(head + i) % count]);
            ring = std::move(larger);
            head = 0;
        }
        ring[(head + count) % ring.size()] = std::move(task);
        queued.store(count + 1, std::memory_order_release);
    }

    bool run_a_task() {
        if (queued.load(std::memory_order_relaxed) == 0) return false;
        work_item task;
        {
            detail::spin_guard guard(lock);
            const std::size_t count = queued.load(std::memory_order_relaxed);
            if (count == 0) return false;
            task = std::move(ring[head]);
            head = (head + 1) % ring.size();
            queued.store(count - 1, std::memory_order_release);
        }
        task();
        return true;
    }

    /// Asks `ended` for one or two microseconds, and for as long as waking a thread takes where that may pay.
    template <class Ended> bool look_around(const Ended& ended) const noexcept {
        for (int i = 0; i < spins; ++i) {
            if (ended()) return true;
            detail::pause_briefly();
        }
        using clock = std::chrono::steady_clock;
        const clock::time_point until = clock::now() + std::chrono::microseconds(100);
        while (awake.load(std::memory_order_relaxed) > 0 && clock::now() < until) {
            for (int i = 0; i < spins; ++i) {
                if (ended()) return true;
                detail::pause_briefly();
            }
        }
        return false;
    }

    void wait_for_work(std::uint32_t before) noexcept {
        if (!look_around([&] { return work_came.seen() != before; })) work_came.wait(before);
    }

    void work(int index, function_ref<bool()> done) {
        while (!done()) {
            const std::uint32_t before = work_came.seen();
            if (help_a_loop(index) || run_a_task()) continue;
            if (done()) return;
            wait_for_work(before);
        }
    }

    void wait_until_left(const loop& l) noexcept {
        if (look_around([&] { return l.active.load(std::memory_order_acquire) == 0; })) return;
        while (true) {
            const std::uint32_t before = helper_left.seen();
            if (l.active.load(std::memory_order_acquire) == 0) return;
            helper_left.wait(before);
        }
    }

    void let_go() noexcept {
        if (users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

    static constexpr int spins = 100; // one or two microseconds
};

TENON_INLINE thread_pool::thread_pool(int threads) : state_(nullptr) {
    if (threads < 0) {
        throw invalid_argument_error("thread_pool: " + std::to_string(threads) +
                                     " threads asked for; give a positive number, or 0 for all cores");
    }
    size_ = threads == 0 ? detail::usable_cores() : threads;
    auto made = std::make_unique<state>();
    made->threads.reserve(static_cast<std::size_t>(size_ - 1));
    state_ = made.release();
    try {
        for (int i = 1; i < size_; ++i) {
            state_->threads.emplace_back([s = state_, i] {
                detail::this_pool_thread().index = i;
                s->work(i, [s] {
                    return s->stopping.load(std::memory_order_acquire) &&
                           s->queued.load(std::memory_order_acquire) == 0;
                });
            });
        }
    } catch (const std::bad_alloc&) {
        stop();
        throw;
    } catch (const std::system_error& failure) {
        const std::size_t started = state_->threads.size();
        stop();
        throw resource_exhausted_error("thread_pool: the system refused to start thread " +
                                       std::to_string(started + 1) + " of " + std::to_string(size_ - 1) + ": " +
                                       failure.what());
    }
}

TENON_INLINE thread_pool::~thread_pool() { stop(); }

TENON_INLINE void thread_pool::stop() noexcept {
    const bool forks_alike = state_->forks == detail::fork_count();
    state_->stopping.store(true, std::memory_order_release);
    wake();
    for (auto& thread : state_->threads) forks_alike ? thread.join() : thread.detach();
    while (state_->run_a_task()) {
    }
    state_->let_go();
}

TENON_INLINE bool thread_pool::has_this_thread() const noexcept {
    return std::any_of(state_->threads.begin(), state_->threads.end(),
                       [](const std::thread& t) { return t.get_id() == std::this_thread::get_id(); });
}

TENON_INLINE void thread_pool::split(std::int64_t n, std::int64_t grain,
                                     function_ref<void(std::int64_t, std::int64_t)> body) {
    const auto& thread = detail::this_pool_thread();
    if (thread.in_body) {
        body(0, n);
        return;
    }
    loop here(body, n, grain, size_);
    {
        detail::spin_guard guard(state_->lock);
        state_->link(here);
    }
    state_->work_came.raise(here.pieces == 2 || size_ == 2);
    here.take_part(thread.index);
    {
        detail::spin_guard guard(state_->lock);
        state_->unlink(here);
    }
    state_->wait_until_left(here);
    if (here.failure) std::rethrow_exception(here.failure);
}

TENON_INLINE void thread_pool::submit(work_item task) {
    for (const submit_scope* s = detail::this_pool_thread().takes; s; s = s->outer_) {
        if (&s->pool_ != this) continue;
        if (s->take_(task)) return;
        break;
    }
    state_->push(std::move(task));
    if (state_->has_threads()) {
        state_->work_came.raise(true);
        return;
    }
    auto& thread = detail::this_pool_thread();
    if (thread.running_tasks) return; // the loop below, further up the stack, gets to it
    state& mine = *state_;
    mine.users.fetch_add(1, std::memory_order_relaxed);
    thread.running_tasks = true;
    while (mine.run_a_task()) {
    }
    thread.running_tasks = false;
    mine.let_go();
}

TENON_INLINE bool thread_pool::run_one() { return state_->run_a_task(); }

TENON_INLINE void thread_pool::work_until(function_ref<bool()> done) {
    state_->work(detail::this_pool_thread().index, done);
}

TENON_INLINE void thread_pool::wake() noexcept { state_->work_came.raise(false); }

TENON_INLINE thread_pool::keep_awake::keep_awake(thread_pool* pool) noexcept :
    pool_(pool && pool->size_ > 1 ? pool : nullptr) {
    if (!pool_) return;
    pool_->state_->awake.fetch_add(1, std::memory_order_relaxed);
    if (pool_->state_->work_came.parked.load(std::memory_order_relaxed) > 0) pool_->wake();
}
TENON_INLINE thread_pool::keep_awake::~keep_awake() {
    if (pool_) pool_->state_->awake.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE stop_scope::stop_scope(function_ref<bool()> stop) noexcept :
    stop_(stop), outer_(std::exchange(detail::this_pool_thread().stop, &stop_)) {}
TENON_INLINE stop_scope::~stop_scope() { detail::this_pool_thread().stop = outer_; }

TENON_INLINE submit_scope::submit_scope(thread_pool& pool, function_ref<bool(work_item&)> take) noexcept :
    pool_(pool), take_(take), outer_(std::exchange(detail::this_pool_thread().takes, this)) {}
TENON_INLINE submit_scope::~submit_scope() { detail::this_pool_thread().takes = outer_; }

TENON_INLINE deferred_flush::deferred_flush(function_ref<void()> give) noexcept :
    give_(give), outer_(std::exchange(detail::this_pool_thread().keeps, this)) {}
TENON_INLINE deferred_flush::~deferred_flush() {
    give_();
    detail::this_pool_thread().keeps = outer_;
}
TENON_INLINE bool deferred_flush::runs_kernels() noexcept {
    const deferred_flush* const mine = detail::this_pool_thread().keeps;
    return mine && !mine->may_defer();
}
TENON_INLINE deferred_flush::running::running() noexcept : of_(detail::this_pool_thread().keeps) {
    if (of_ && of_->running_++ == 0) of_->give_();
}
TENON_INLINE deferred_flush::running::~running() {
    if (of_) --of_->running_;
}

TENON_INLINE thread_pool& thread_pool::shared() {
    static thread_pool& pool = *[] {
        const char* wanted = std::getenv("TENON_THREADS");
        const int threads = wanted == nullptr ? 0 : std::atoi(wanted);
        return new thread_pool(std::clamp(threads, 0, 1024));
    }();
    return pool;
}

} // namespace tenon
