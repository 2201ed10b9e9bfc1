#pragma once

#include <atomic>
#include <mutex>
#include <thread>

/// In place of the library's, for this program and those of the library's files that are compiled into it: where it is locked, threads
/// may change.

namespace interleavings {
void change_here() noexcept;
}

namespace tenon::detail {

inline void pause_briefly() noexcept {}

class spin_lock {
public:
    void lock() noexcept {
        interleavings::change_here();
        while (held_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    }
    void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> held_{false};
};

using spin_guard = std::lock_guard<spin_lock>;

} // namespace tenon::detail
