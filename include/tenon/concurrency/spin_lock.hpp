#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// For loops that wait for another thread for less time than sleeping takes.
inline void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/// Held for a few instructions at a time. A std::mutex would put the second of two threads that end a loop
/// together to sleep, and waking one costs a thousand times what the lock protects.
class spin_lock {
public:
    void lock() noexcept {
        for (int tries = 0; held_.exchange(true, std::memory_order_acquire); ++tries) {
            for (int i = 0; i < 200 && held_.load(std::memory_order_relaxed); ++i) pause_briefly();
            if (tries > 4) std::this_thread::yield(); // its holder may have lost the core
        }
    }
    void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> held_{false};
};

using spin_guard = std::lock_guard<spin_lock>;

} // namespace tenon::detail
