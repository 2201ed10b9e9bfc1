#pragma once

#include <atomic>
#include <vector>

#include <tenon/core/config.hpp>

/// Stopping threads that wait for bytes, or run steps, for others: of a pipe that gives nothing, a read would return only when its writer ends.

namespace tenon::detail {

/// What is stopped together. One is below the one that its thread had when it was made, and is stopped with it.
class stop_source {
public:
    stop_source();
    stop_source(stop_source&&) = delete;
    ~stop_source();

    /// Reads that wait, and steps that run, on threads which have it, or one below it, throw cancelled_error, now and from now on. Any thread.
    void stop() noexcept;
    bool is_stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
    /// A descriptor that can be read once it is stopped; stays as long as it.
    int descriptor();
    /// The calling thread's; nullptr: it has none, and its reads wait as long as they must.
    static stop_source* of_thread() noexcept;

private:
    friend class stop_scope;
    void stop_below() noexcept;

    // Under the one lock of all of them, but stopped_, which is set under it.
    stop_source* above_;
    std::vector<stop_source*> below_;
    int descriptor_ = -1;
    std::atomic<bool> stopped_{false};
};

/// The calling thread's one while it lives.
class stop_scope {
public:
    explicit stop_scope(stop_source& s) noexcept;
    stop_scope(stop_scope&&) = delete;
    ~stop_scope();

private:
    stop_source* const before_;
};

/// Waits until `descriptor` has bytes to read, or its end. cancelled_error, naming `path`, where the thread's stop_source is stopped first.
void wait_to_read(int descriptor, const char* path);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/concurrency/stop_source.ipp>
#endif
