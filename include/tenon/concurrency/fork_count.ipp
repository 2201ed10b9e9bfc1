#pragma once

#include <atomic>

#include <pthread.h>

#include <tenon/concurrency/fork_count.hpp>

namespace tenon::detail {

inline std::atomic<int>& forks() noexcept {
    static std::atomic<int> n{0};
    return n;
}

TENON_INLINE int fork_count() noexcept {
    static const int known =
        ::pthread_atfork(nullptr, nullptr, [] { forks().fetch_add(1, std::memory_order_relaxed); });
    (void)known;
    return forks().load(std::memory_order_relaxed);
}

} // namespace tenon::detail
