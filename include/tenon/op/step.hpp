#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include <tenon/concurrency/stop_source.hpp>
#include <tenon/core/config.hpp>

/// One run of a part of a graph, as kernels see it.

namespace tenon {

class thread_pool;
class rendezvous;

/// Where steps have the time from, when that is not the steady clock: time may be simulated. Thread-safe.
class time_source {
public:
    virtual ~time_source() = default;
    virtual std::chrono::steady_clock::time_point now() const noexcept = 0;
};

/// Ends the steps of a session that have begun, all at once: each finds that out itself. Thread-safe.
class steps_end {
public:
    /// `why` lives for ever.
    void stop(const char* why) noexcept {
        why_.store(why, std::memory_order_relaxed);
        count_.fetch_add(1, std::memory_order_release);
    }
    std::uint64_t count() const noexcept { return count_.load(std::memory_order_acquire); }
    const char* why() const noexcept { return why_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_{0};
    std::atomic<const char*> why_{""};
};

/// Made by who runs it, for whom it lives on; kernels and transports read it, on any thread.
class step {
public:
    using clock = std::chrono::steady_clock;

    step() = default;
    step(step&&) = delete;

    thread_pool* pool = nullptr;                           ///< for its kernels; nullptr: serial
    clock::time_point deadline = clock::time_point::max(); ///< when it is stopped
    double limit = 0;                                      ///< what the deadline was made of, for messages: seconds
    const char* limit_source = "";
    const time_source* time = nullptr; ///< nullptr: the steady clock

    bool may_be_stopped = false;  ///< before its deadline
    rendezvous* values = nullptr; ///< where its parts on several tasks meet; nullptr: it has one part

    /// It ends with these, and with what the calling thread does for others, who may stop that (detail::stop_source).
    void ends_with(const steps_end& all) noexcept {
        all_ = &all;
        ended_before_ = all.count();
        thread_ = detail::stop_source::of_thread();
    }

    bool limited() const noexcept { return deadline != clock::time_point::max(); }
    clock::time_point now() const noexcept { return time ? time->now() : clock::now(); }
    /// Its time is over; never once it has committed.
    bool late() const noexcept { return limited() && !committed() && now() >= deadline; }
    /// It ends when another does, of which it is a part, and has its time.
    void take_ends_of(const step& whole) noexcept {
        deadline = whole.deadline;
        limit = whole.limit;
        limit_source = whole.limit_source;
        time = whole.time;
        all_ = whole.all_;
        ended_before_ = whole.ended_before_;
        thread_ = whole.thread_;
    }
    /// True once nobody wants its result any more: a long computation should end then.
    bool stopped() const noexcept {
        const phase now = phase_.load(std::memory_order_relaxed);
        return now == phase::stopped || (now == phase::running && ends_with_others());
    }
    /// Of one that is stopped.
    std::string why_stopped() const {
        std::string text = "the step was stopped";
        if (all_ && all_->count() != ended_before_) text += std::string(": ") + all_->why();
        else if (thread_ && thread_->is_stopped()) text += ": who went through the data set ended";
        return text;
    }
    /// False where it comes too late: what it does on its task it does as a whole.
    bool stop() const noexcept { return advance(phase::stopped) != phase::committed; }
    /// Before its first update, by the thread that makes it: from here on nothing stops it. False where it was stopped before.
    bool commit() const noexcept {
        return advance(ends_with_others() ? phase::stopped : phase::committed) != phase::stopped;
    }
    bool committed() const noexcept { return phase_.load(std::memory_order_relaxed) == phase::committed; }
    /// As it was made, for the next run.
    void renew() noexcept {
        id_.store(0, std::memory_order_relaxed);
        phase_.store(phase::running, std::memory_order_release);
    }
    /// A number that no other step of the process has; not 0.
    std::uint64_t id() const noexcept {
        static std::atomic<std::uint64_t> last{0};
        std::uint64_t mine = id_.load(std::memory_order_relaxed);
        if (mine != 0) return mine;
        const std::uint64_t next = last.fetch_add(1, std::memory_order_relaxed) + 1;
        return id_.compare_exchange_strong(mine, next, std::memory_order_relaxed) ? next : mine;
    }

private:
    enum class phase : std::uint8_t { running, committed, stopped };
    bool ends_with_others() const noexcept {
        return (all_ && all_->count() != ended_before_) || (thread_ && thread_->is_stopped());
    }
    // Out of running, once; the phase that it is in then.
    phase advance(phase to) const noexcept {
        phase was = phase::running;
        return phase_.compare_exchange_strong(was, to, std::memory_order_acq_rel) ? to : was;
    }
    mutable std::atomic<phase> phase_{phase::running}; // runs see it as const
    mutable std::atomic<std::uint64_t> id_{0};         // given to those that are asked for it: most are not
    const steps_end* all_ = nullptr;
    std::uint64_t ended_before_ = 0;
    const detail::stop_source* thread_ = nullptr;
};

} // namespace tenon
