#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tenon::net {

/// A thread that does what it is given, one after another: what would hold up a thread that works for many.
class work_queue {
public:
    work_queue();
    /// Waits for what is being done; what was not begun is not done any more.
    ~work_queue();
    work_queue(work_queue&&) = delete;

    /// `what` does not throw. Thread-safe.
    void post(std::function<void()> what);

private:
    void work();

    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::deque<std::function<void()>> posted_;
    bool ends_ = false;
    std::thread thread_;
};

} // namespace tenon::net
