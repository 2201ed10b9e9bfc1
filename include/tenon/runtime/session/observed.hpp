#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include <tenon/core/error.hpp>

namespace tenon::detail {

/// Something of the caller's, a trace, that steps write to while it is set. What is taken away is written to no more. A
/// step that runs while nothing is set reads one pointer.
template <class T> class observed {
public:
    /// `setter` is the function that errors speak of.
    explicit observed(const char* setter) : setter_(setter) {}

    bool is_set() const noexcept { return current_.load(std::memory_order_acquire) != nullptr; }

    /// Returns when no step uses the one before. Steps that begin meanwhile use none, so that this ends.
    void set(T* next) {
        for (const use* u = innermost(); u; u = u->outer_)
            if (u->of_ == this)
                throw failed_precondition_error(std::string(setter_) +
                                                ": called from within a step that is recorded, " +
                                                "which it would wait for; call it after the step");
        std::unique_lock lock(guard_);
        // One at a time: each waits for the steps of the one before it.
        ended_.wait(lock, [&] { return !changing_; });
        changing_ = true;
        current_.store(nullptr, std::memory_order_release);
        ended_.wait(lock, [&] { return users_ == 0; });
        current_.store(next, std::memory_order_release);
        changing_ = false;
        ended_.notify_all();
    }

    /// For the length of a step.
    class use {
    public:
        explicit use(observed& of) {
            if (!of.is_set()) return;
            const std::lock_guard lock(of.guard_);
            value_ = of.current_.load(std::memory_order_relaxed);
            if (!value_) return;
            of_ = &of;
            ++of.users_;
            outer_ = innermost();
            innermost() = this;
        }
        ~use() {
            if (!of_) return;
            innermost() = outer_;
            const std::lock_guard lock(of_->guard_);
            if (--of_->users_ == 0) of_->ended_.notify_all();
        }
        use(use&&) = delete;
        T* get() const noexcept { return value_; }

    private:
        friend observed;
        observed* of_ = nullptr; // nullptr: nothing is set
        T* value_ = nullptr;
        const use* outer_ = nullptr;
    };

private:
    // The uses of this thread's steps.
    static const use*& innermost() noexcept {
        static thread_local const use* u = nullptr;
        return u;
    }

    const char* const setter_;
    std::atomic<T*> current_{nullptr}; // written under the guard
    std::mutex guard_;                 // of what follows
    std::condition_variable ended_;
    int users_ = 0;
    bool changing_ = false;
};

} // namespace tenon::detail
