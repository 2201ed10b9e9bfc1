#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>

/// How much of a device's memory is taken, and by what.

namespace tenon {

/// Of a device's memory, in bytes.
struct memory_info {
    std::size_t in_use = 0;
    std::size_t peak = 0;  ///< the most that was ever in use
    std::size_t limit = 0; ///< that may be used; 0: all there are
};

/// Counts bytes up to a limit. Thread-safe.
class memory_account {
public:
    /// limit 0: none.
    explicit memory_account(std::size_t limit = 0) noexcept : limit_(limit) {}
    memory_account(memory_account&&) = delete;

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
            } else if (taken_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed)) break;
        }
        std::size_t peak = peak_.load(std::memory_order_relaxed);
        while (peak < taken + bytes && !peak_.compare_exchange_weak(peak, taken + bytes, std::memory_order_relaxed)) {
        }
        return true;
    }
    void give(std::size_t bytes) noexcept { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

    std::size_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
    std::size_t limit() const noexcept { return limit_; }
    memory_info info() const noexcept {
        const std::size_t in_use = taken(), peak = peak_.load(std::memory_order_relaxed);
        return {in_use, peak < in_use ? in_use : peak, limit_}; // the peak follows a moment later
    }
    /// Why `bytes` more cannot be taken, where variables hold so many.
    std::string refusal(std::size_t bytes, std::size_t variables) const;

private:
    const std::size_t limit_;
    std::atomic<std::size_t> taken_{0}, peak_{0};
    bool (*give_back_)(void*) = nullptr;
    void* context_ = nullptr;
};

/// Bytes, and what takes them: "w float[100, 1000], variable".
using memory_holder = std::pair<std::size_t, std::string>;

/// Keeps those that take most, eight at most, the largest first.
void keep_largest(std::vector<memory_holder>& holders);
/// A line for each of those, "\n  400000 bytes: w float[100, 1000], variable": for the end of an error's text.
std::string largest_holders(std::vector<memory_holder> holders);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/memory/memory_account.ipp>
#endif
