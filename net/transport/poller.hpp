#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <net/transport/transport.hpp>

/// Waits for sockets that are ready, on I/O threads and on callers' threads at once.

namespace tenon::net {

/// What a socket is ready for. Each is told when it begins, not while it lasts.
namespace readiness {
inline constexpr std::uint32_t read = 1, write = 2;
inline constexpr std::uint32_t over = 4; ///< the other side has ended, or the socket has failed
} // namespace readiness

/// Who is told that a socket is ready, by any thread that works, by several at once.
class watched {
public:
    virtual ~watched() = default;
    virtual void ready(std::uint32_t what) = 0;
    /// What was kept back is to be sent.
    virtual void send_kept() = 0;
};

/// An epoll instance. The kernel wakes the thread that began to wait last, so a caller who waits for an answer is woken by its
/// socket while the I/O threads sleep on; what comes while he is busy wakes one of them. One caller waits for sockets at a time (the
/// leader), others wait until they are woken, or until the leader leaves.
///
/// An I/O thread may be given work that is not for I/O threads (defer): it does that when it has told everybody whom it woke up
/// to tell, and is no I/O thread meanwhile. The others wait for the same sockets all the time, so nobody need be woken for that; one
/// of them at least is always left.
class poller {
public:
    /// So many threads will call work().
    explicit poller(int io_threads);
    poller(poller&&) = delete;
    ~poller();

    /// The socket and who is told, under this number, until it is removed; both stay valid as long.
    void add(int socket, std::uint64_t id, std::shared_ptr<watched> who);
    void remove(int socket, std::uint64_t id) noexcept;
    /// Tells once more what the socket is ready for.
    void tell_again(int socket, std::uint64_t id) noexcept;

    /// An I/O thread's work, until stop().
    void work();
    void stop() noexcept;

    /// As in transport.
    bool work_until(function_ref<bool()> done, time_point limit);
    void wake() noexcept;

    /// As in transport.
    bool defer(work_item& work);
    /// Whether this thread has such work to do.
    bool has_deferred() const noexcept;
    /// Has who.send_kept() called by this thread when it has done what it does aside, and before it runs kernels there: so that what
    /// goes to one place goes together, and that it is a reader again when answers come. False where it does nothing aside, or
    /// runs kernels.
    bool keep_back(const std::shared_ptr<watched>& who);

private:
    struct io_thread;
    static io_thread*& this_thread() noexcept;
    void run_deferred(io_thread& mine);
    bool lead(function_ref<bool()> done, time_point limit);
    void handle(std::uint64_t id, std::uint32_t what);
    void interrupt() noexcept;
    void wake_leader() noexcept;

    int epoll_ = -1, event_ = -1;
    std::atomic<bool> stopped_{false};

    std::mutex table_guard_; // of table_
    std::unordered_map<std::uint64_t, std::shared_ptr<watched>> table_;

    std::atomic<std::uint64_t> wakes_{0};
    std::atomic<std::uint32_t> leader_turn_{0}; // odd while the leader waits
    std::mutex callers_guard_;                  // of has_leader_
    std::condition_variable callers_changed_;
    bool has_leader_ = false;
    std::atomic<int> followers_{0};

    std::mutex deferred_guard_; // of what follows
    int readers_;               // I/O threads that are not aside
};

} // namespace tenon::net
