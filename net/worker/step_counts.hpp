#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <net/wire/values.hpp>

/// How many steps have ended, how, and how long they took.

namespace tenon::net {

/// How a step has ended. `lost`: with a lost_task_error; `late`: its time was over.
enum class step_outcome { ok, cancelled, late, lost, failed };

inline step_outcome outcome_of(const failure& why) noexcept {
    if (why.reason == error_reason::lost_task) return step_outcome::lost;
    if (why.code == error_code::cancelled) return step_outcome::cancelled;
    return why.code == error_code::deadline_exceeded ? step_outcome::late : step_outcome::failed;
}

/// Counted by whoever ends a step, once a step; read by whoever asks. Numbers that are read together may be a step apart.
class step_counts {
public:
    static constexpr const char* outcomes[] = {"ok", "cancelled", "late", "lost", "failed"};
    /// Seconds, each the most of its bucket; what takes longer is in one more.
    static constexpr std::array<double, 13> bounds = {1e-4, 2.5e-4, 1e-3, 2.5e-3, 0.01, 0.025, 0.1,
                                                      0.25, 1,      2.5,  10,     60,   600};

    void add(step_outcome how, std::chrono::steady_clock::duration took) noexcept {
        const double seconds = std::chrono::duration<double>(took).count();
        std::size_t bucket = 0;
        while (bucket < bounds.size() && seconds > bounds[bucket]) ++bucket;
        one_more(ended_[static_cast<std::size_t>(how)], 1);
        one_more(within_[bucket], 1);
        one_more(nanoseconds_,
                 static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()));
    }

    struct totals {
        std::array<std::uint64_t, std::size(outcomes)> ended{};
        std::array<std::uint64_t, bounds.size() + 1> within{};
        double seconds = 0;

        std::uint64_t all() const noexcept {
            std::uint64_t sum = 0;
            for (const std::uint64_t n : ended) sum += n;
            return sum;
        }
    };
    totals total() const noexcept {
        totals t;
        for (std::size_t i = 0; i < ended_.size(); ++i) t.ended[i] = ended_[i].load(std::memory_order_relaxed);
        for (std::size_t i = 0; i < within_.size(); ++i) t.within[i] = within_[i].load(std::memory_order_relaxed);
        t.seconds = static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9;
        return t;
    }

private:
    using counter = std::atomic<std::uint64_t>;
    static void one_more(counter& to, std::uint64_t n) noexcept { to.fetch_add(n, std::memory_order_relaxed); }

    std::array<counter, std::size(outcomes)> ended_{};
    std::array<counter, bounds.size() + 1> within_{};
    counter nanoseconds_{0};
};

/// How stale steps were that tell so (tn::staleness). As step_counts.
class staleness_counts {
public:
    static constexpr std::array<double, 9> bounds = {0, 1, 2, 4, 8, 16, 32, 64, 128};

    void add(std::int64_t updates) noexcept {
        std::size_t bucket = 0;
        while (bucket < bounds.size() && static_cast<double>(updates) > bounds[bucket]) ++bucket;
        within_[bucket].fetch_add(1, std::memory_order_relaxed);
        if (updates > 0) sum_.fetch_add(static_cast<std::uint64_t>(updates), std::memory_order_relaxed);
    }

    struct totals {
        std::array<std::uint64_t, bounds.size() + 1> within{};
        std::uint64_t sum = 0;
    };
    totals total() const noexcept {
        totals t;
        for (std::size_t i = 0; i < within_.size(); ++i) t.within[i] = within_[i].load(std::memory_order_relaxed);
        t.sum = sum_.load(std::memory_order_relaxed);
        return t;
    }

private:
    std::array<std::atomic<std::uint64_t>, bounds.size() + 1> within_{};
    std::atomic<std::uint64_t> sum_{0};
};

} // namespace tenon::net
