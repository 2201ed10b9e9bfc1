#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <tenon/concurrency/stop_scope.hpp>
#include <tenon/core/config.hpp>
#include <tenon/core/function_ref.hpp>

namespace tenon {

/// A piece of work to be run once by some thread: an owning, move-only `void()` callable. Callables of up
/// to 48 bytes are kept inside, larger ones on the heap. Calling it must not throw.
class work_item {
public:
    work_item() noexcept = default;

    template <class Callable>
        requires(!std::is_same_v<std::remove_cvref_t<Callable>, work_item> &&
                 std::is_invocable_v<std::decay_t<Callable>&>)
    work_item(Callable&& callable) // NOLINT: implicit, so that a lambda can be passed as it is
        :
        operations_(&operations_for<std::decay_t<Callable>>) {
        using held = std::decay_t<Callable>;
        if constexpr (fits_inside<held>) {
            ::new (static_cast<void*>(storage_)) held(std::forward<Callable>(callable));
        } else {
            ::new (static_cast<void*>(storage_)) held*(new held(std::forward<Callable>(callable)));
        }
    }

    work_item(work_item&& other) noexcept : operations_(std::exchange(other.operations_, nullptr)) {
        if (operations_ != nullptr) operations_->move(storage_, other.storage_);
    }
    work_item& operator=(work_item&& other) noexcept {
        if (this != &other) {
            reset();
            operations_ = std::exchange(other.operations_, nullptr);
            if (operations_ != nullptr) operations_->move(storage_, other.storage_);
        }
        return *this;
    }
    ~work_item() { reset(); }

    explicit operator bool() const noexcept { return operations_ != nullptr; }
    void operator()() noexcept { operations_->call(storage_); }

private:
    static constexpr std::size_t inside = 48;

    struct operations {
        void (*call)(void*);
        void (*move)(void* to, void* from); // leaves `from` destroyed
        void (*destroy)(void*);
    };

    template <class Held>
    static constexpr bool fits_inside = sizeof(Held) <= inside &&
                                        alignof(Held) <= 16 && std::is_nothrow_move_constructible_v<Held>;

    template <class Held> static void call_held(void* at) {
        if constexpr (fits_inside<Held>) {
            (*static_cast<Held*>(at))();
        } else {
            (**static_cast<Held**>(at))();
        }
    }
    template <class Held> static void move_held(void* to, void* from) {
        if constexpr (fits_inside<Held>) {
            ::new (to) Held(std::move(*static_cast<Held*>(from)));
            static_cast<Held*>(from)->~Held();
        } else {
            ::new (to) Held*(*static_cast<Held**>(from));
        }
    }
    template <class Held> static void destroy_held(void* at) {
        if constexpr (fits_inside<Held>) {
            static_cast<Held*>(at)->~Held();
        } else {
            delete *static_cast<Held**>(at);
        }
    }
    template <class Held>
    static constexpr operations operations_for{&call_held<Held>, &move_held<Held>, &destroy_held<Held>};

    void reset() noexcept {
        if (operations_ != nullptr) std::exchange(operations_, nullptr)->destroy(storage_);
    }

    const operations* operations_ = nullptr;
    alignas(16) unsigned char storage_[inside];
};

/// The threads that kernels share. One pool serves a whole process: loops of kernels (`parallel_for`) and
/// whole kernels (`submit`) run on the same threads, because two pools on the same cores get in each
/// other's way.
class thread_pool {
public:
    /// `threads` is the parallelism wanted, the caller of `parallel_for` included: the pool starts
    /// `threads - 1` threads. 0 means as many as this process may use cores; 1 starts none.
    explicit thread_pool(int threads);
    /// Runs what was submitted to its end, then joins the threads.
    ~thread_pool();

    thread_pool(thread_pool&&) = delete;

    /// The parallelism, the caller included: at least 1.
    int size() const noexcept { return size_; }

    /// Calls `body(begin, end)` for pieces that cover [0, n) once, on this thread and the pool's, and
    /// returns when all have ended. Every piece begins at a multiple of `grain` and holds at least `grain`
    /// indices (all n, when n < grain); the pieces depend on n, grain and size() only, never on timing.
    /// Runs as one piece on this thread when n < 2 * grain, when size() is 1, or when called from within
    /// another parallel_for's body. Takes no memory.
    ///
    /// If a body throws, pieces that have not begun are skipped, and the first exception is thrown here
    /// once no piece runs any more.
    void parallel_for(std::int64_t n, std::int64_t grain,
                      function_ref<void(std::int64_t begin, std::int64_t end)> body) {
        if (n <= 0) return;
        if (size_ == 1 || n < 2 * (grain < 1 ? 1 : grain)) {
            body(0, n);
        } else {
            split(n, grain < 1 ? 1 : grain, body);
        }
    }

    /// Queues a task; tasks begin in the order they were submitted. Without threads of its own (size 1)
    /// the pool runs it before returning, or, when called from a task, after that task; so it does in a process that was
    /// forked from the one that made it, whose threads are not there. A task may call parallel_for. It must not throw.
    void submit(work_item task);

    /// Runs one queued task on this thread, if there is any; says whether there was.
    bool run_one();

    /// Makes this thread one of the pool's workers until `done()` is true: it runs tasks and helps with
    /// loops, and parks when there are none. `done` is asked again after each piece of work and each
    /// `wake()`; whoever makes it true from outside a task must call wake() afterwards.
    void work_until(function_ref<bool()> done);
    /// Makes the threads in `work_until` ask `done` again.
    void wake() noexcept;

    /// Whether the thread that asks is one of the pool's own: such a one cannot end the pool.
    bool has_this_thread() const noexcept;

    /// While one exists, threads that run out of work look for more for about as long as being woken would take
    /// before they park; those that are parked are woken now. For a sequence of loops with little between them.
    class keep_awake {
    public:
        /// nullptr: does nothing.
        explicit keep_awake(thread_pool* pool) noexcept;
        ~keep_awake();
        keep_awake(keep_awake&&) = delete;

    private:
        thread_pool* pool_;
    };

    /// The process's pool, with as many threads as the process may use cores. The environment variable
    /// TENON_THREADS, read once, overrides the number. Never destroyed, so it can be used until the end.
    static thread_pool& shared();

private:
    struct state;
    struct loop;

    void split(std::int64_t n, std::int64_t grain, function_ref<void(std::int64_t, std::int64_t)> body);
    void stop() noexcept;

    int size_ = 1;
    state* state_;
};

/// The same on a pool, if there is one, and else as one piece on this thread.
inline void parallel_for(thread_pool* pool, std::int64_t n, std::int64_t grain,
                         function_ref<void(std::int64_t begin, std::int64_t end)> body) {
    if (pool) pool->parallel_for(n, grain, body);
    else if (n > 0) body(0, n);
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/concurrency/thread_pool.ipp>
#endif
