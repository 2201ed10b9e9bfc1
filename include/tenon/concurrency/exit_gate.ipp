#pragma once

#include <chrono>
#include <thread>

#include <tenon/concurrency/exit_gate.hpp>
#include <tenon/core/error.hpp>

namespace tenon::detail {

TENON_INLINE void exit_gate::close() noexcept {
    inside() = this;
    is_closed_.store(true);
    const auto until = std::chrono::steady_clock::now() + most_wait;
    for (counter& c : counters_)
        while (c.uses.load() > 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

TENON_INLINE void exit_gate::refuse(std::atomic<int>& uses) {
    uses.fetch_sub(1);
    std::this_thread::sleep_for(most_wait);
    throw aborted_error("the process is exiting");
}

} // namespace tenon::detail
