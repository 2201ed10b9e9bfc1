#pragma once

#include <atomic>
#include <cstddef>
#include <string>

/// How much of a device's memory is taken, and by what.

namespace tenon {

/// Counts bytes up to a limit. Thread-safe.
class memory_account {
public:
    /// limit 0: none.
    explicit memory_account(std::size_t limit = 0) noexcept : limit_(limit) {}
    memory_account(const memory_account&) = delete;
    memory_account& operator=(const memory_account&) = delete;

    /// Who is asked, where the limit is met, to give back what is kept only for further use: false when there is
    /// nothing left of it. Set before others use the account.
    void when_short(bool (*give_back)(void* context), void* context) noexcept {
        give_back_ = give_back;
        context_ = context;
    }
    /// False where the limit would be passed, also after all was given back that could be.
    bool take(std::size_t bytes) {
        std::size_t taken = taken_.load(std::memory_order_relaxed);
        for (;;) {
            if (limit_ != 0 && (taken > limit_ || bytes > limit_ - taken)) {
                if (!give_back_ || !give_back_(context_)) return false;
                taken = taken_.load(std::memory_order_relaxed);
            } else if (taken_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed)) return true;
        }
    }
    void give(std::size_t bytes) noexcept { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

    std::size_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
    std::size_t limit() const noexcept { return limit_; }
    /// Why `bytes` more cannot be taken, where variables hold so many.
    std::string refusal(std::size_t bytes, std::size_t variables) const {
        return std::to_string(bytes) + " bytes are too many: of the " + std::to_string(limit_) +
               " that may be used (session_options::memory_limit), variables hold " + std::to_string(variables) +
               " and steps " + std::to_string(taken() - variables);
    }

private:
    const std::size_t limit_;
    std::atomic<std::size_t> taken_{0};
    bool (*give_back_)(void*) = nullptr;
    void* context_ = nullptr;
};

} // namespace tenon
