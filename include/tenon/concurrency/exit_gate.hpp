#pragma once

#include <array>
#include <atomic>
#include <chrono>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// Before a library that gives up in exit() what it has, while other threads go on: whoever calls it is inside meanwhile. An object of
/// static storage.
class exit_gate {
public:
    static constexpr std::chrono::seconds most_wait{5};

    /// Inside of the gate while it lives; may be had by a thread that has one. Who comes when it is closed waits for the end of the
    /// process; where that waits for him, as a static object may, he has an aborted_error after most_wait.
    class use {
    public:
        explicit use(exit_gate& of) : of_(&of), outer_(inside()) {
            if (outer_ == of_) return;
            std::atomic<int>& uses = of_->uses();
            uses.fetch_add(1);
            if (of_->is_closed_.load()) of_->refuse(uses);
            inside() = of_;
        }
        use(use&&) = delete;
        ~use() {
            if (outer_ == of_) return;
            inside() = outer_;
            of_->uses().fetch_sub(1);
        }

    private:
        exit_gate* const of_;
        exit_gate* const outer_;
    };

    /// For exit(), before the library ends: waits for who is inside, at most most_wait. The thread that calls it is inside from now on.
    void close() noexcept;

private:
    struct alignas(64) counter { // of some of the threads
        std::atomic<int> uses{0};
    };
    static exit_gate*& inside() noexcept {
        static thread_local exit_gate* gate = nullptr; // in which this thread is
        return gate;
    }
    std::atomic<int>& uses() noexcept {
        static std::atomic<unsigned> threads{0};
        static thread_local const unsigned number = threads.fetch_add(1);
        return counters_[number % counters_.size()].uses;
    }
    void refuse(std::atomic<int>& uses);

    std::array<counter, 16> counters_;
    std::atomic<bool> is_closed_{false};
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/concurrency/exit_gate.ipp>
#endif
