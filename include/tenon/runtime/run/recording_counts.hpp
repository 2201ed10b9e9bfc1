#pragma once

#include <atomic>
#include <cstdint>

#include <tenon/core/config.hpp>

/// What has become of the stages of a step whose commands to streams can be recorded.

namespace tenon {

/// Since the step was planned, over all runs of its stages. A stage's first run is in none of these, nor are runs that are traced or
/// measured; each later one is either replayed or given again.
struct recording_counts {
    std::uint64_t recorded = 0; ///< times that a stage's commands were taken down
    std::uint64_t replayed = 0; ///< times that they were launched whole, that after being taken down included
    std::uint64_t given_again =
        0; ///< times that they were given one by one as in the first run: a recording has failed, a kernel may not be
           ///< recorded (yet), or variables lie elsewhere each time
    std::uint64_t failed =
        0; ///< recordings that could not be made or launched; standard error has the first one's reason

    recording_counts& operator+=(const recording_counts& o) {
        recorded += o.recorded, replayed += o.replayed, given_again += o.given_again, failed += o.failed;
        return *this;
    }
    bool operator==(const recording_counts&) const = default;
};

namespace runtime {

/// The same while steps of any thread count.
struct recording_counters {
    std::atomic<std::uint64_t> recorded{0}, replayed{0}, given_again{0}, failed{0};

    recording_counts now() const noexcept {
        const auto of = [](const std::atomic<std::uint64_t>& n) { return n.load(std::memory_order_relaxed); };
        return {of(recorded), of(replayed), of(given_again), of(failed)};
    }
    static void count(std::atomic<std::uint64_t>& n) noexcept { n.fetch_add(1, std::memory_order_relaxed); }
};

} // namespace runtime

} // namespace tenon
