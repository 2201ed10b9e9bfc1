#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include <net/transport/transport.hpp>
#include <tenon/concurrency/thread_pool.hpp>

/// Whose work a server's threads do next.

namespace tenon::net {

/// Does what sessions have to be done. Clients take turns, whatever each of them has submitted, and so do the sessions of each. As many
/// tasks are under way as the pool has threads, its caller included, and of one session no more; but a task that has taken a `slice` does
/// not count among those any more: another one begins beside it. So what is short waits for others' slices, and never for the end of what
/// is long. Of one client more and more slices pass before another one begins, since whatever computes is slowed by it: twice as many are
/// under way soon, and hardly more than ten times as many ever. Has threads of its own, as many as are wanted at a time, up to
/// `most_threads`. Thread-safe.
class fair_scheduler {
public:
    static constexpr auto slice = std::chrono::milliseconds(10);
    static constexpr std::size_t most_threads = 256;
    /// In place of a session: what is the server's own. What ends a session's steps is such, for it would wait for them.
    static constexpr std::uint64_t of_server = 0;

    /// Both outlive it. A transport that has no threads has all done by the pool.
    fair_scheduler(transport& t, thread_pool& pool);
    /// Returns when all that was submitted has been done.
    ~fair_scheduler();
    fair_scheduler(fair_scheduler&&) = delete;

    /// Has it done for this session, in no order. What is not known to be long is done by the thread that calls, aside
    /// (transport::defer), where that can: to wake another one takes longer than a small step.
    void submit(std::uint64_t session, bool is_long, work_item task);
    /// Takes over what a thread gives to the pool for this session: as of a submit_scope. Kernels' own is left to the pool.
    bool take(std::uint64_t session, work_item& task);
    /// Whose the session is, until it is forgotten: "NAME (HOST:PORT)", of which all ports are one client. One of which nobody says it
    /// is its own.
    void enter(std::uint64_t session, const std::string& whose);
    void forget(std::uint64_t session) noexcept;

    /// What it holds, for tests.
    struct counts {
        std::size_t waiting = 0, running = 0, threads = 0, clients = 0;
    };
    counts count() const;

private:
    struct session_queue { // of a session
        std::uint64_t client = 0;
        std::deque<work_item> tasks;
        std::size_t running = 0;
        bool is_in_order = false;
    };
    struct client {
        std::deque<std::uint64_t> order; // sessions that have a task which may begin
        std::size_t running = 0;
        time_point began{};                        // the last one
        bool is_in_order = false, is_held = false; // it has one; it has, which may not begin yet
    };
    struct running { // in a list by beginning; on the stack of who runs it
        time_point since;
        running *before = nullptr, *after = nullptr;
    };
    struct next {
        std::uint64_t session = 0, client = 0;
        work_item task;
    };
    using lock = std::unique_lock<std::mutex>;

    // All below: locked.
    std::size_t free_slots() const noexcept;
    time_point next_slot() const noexcept;
    void put_in_order(std::uint64_t session, session_queue& l);
    void put_in_order(std::uint64_t number, client& c);
    time_point may_begin(const client& c) const;
    time_point first_held() const;
    void let_held_begin();
    bool find_next(next& n);
    void begin(client& c);
    void end(std::uint64_t number);
    void leave(std::uint64_t session, std::uint64_t number);
    void enter(running& r) noexcept;
    void leave(running& r) noexcept;
    void call_threads();
    bool start_thread();
    void work(lock& held);

    std::uint64_t client_of(std::uint64_t session) const;

    void run(std::uint64_t session, work_item& task);
    void defer(std::uint64_t session, std::uint64_t number, work_item& task);

    transport& transport_;
    thread_pool& pool_;
    const std::size_t width_;
    mutable std::mutex guard_; // of what follows
    std::condition_variable work_came_, slice_ended_, thread_left_;
    std::unordered_map<std::uint64_t, session_queue> queues_;
    std::unordered_map<std::uint64_t, std::uint64_t> entered_; // by session, the client
    std::unordered_map<std::uint64_t, client> clients_;
    std::deque<std::uint64_t> order_; // clients that have a task which may begin
    std::size_t held_ = 0;            // clients that are
    running *first_ = nullptr, *last_ = nullptr;
    std::size_t idle_ = 0;
    std::size_t called_ = 0, starting_ = 0; // of those, and new ones, that are on their way
    time_point watched_until_{};
    bool is_watching_ = false; // one of the threads waits for a slice to end, or for what is held
    bool is_ending_ = false;
    std::size_t threads_ = 0;
    std::list<std::thread> all_, ended_;
};

/// What must be done one after another, in the order in which it came: a session's own changes. Thread-safe.
class strand : public std::enable_shared_from_this<strand> {
public:
    /// Does it here and now, where nothing is before it and it is not long; else in its turn, by `on`.
    void post(fair_scheduler& on, std::uint64_t session, bool is_long, work_item task);

private:
    void drain();
    std::mutex guard_; // of what follows
    std::deque<work_item> waiting_;
    bool is_busy_ = false;
};

} // namespace tenon::net
