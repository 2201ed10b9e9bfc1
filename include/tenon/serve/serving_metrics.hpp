#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/config.hpp>

/// What a model server counts.

namespace tenon {

/// How many took how long: buckets that are 5 % wide, from a microsecond to an hour.
class latency_histogram {
public:
    void add(double seconds) noexcept;
    std::uint64_t count() const noexcept { return count_; }
    double sum() const noexcept { return sum_; } ///< seconds
    /// Seconds that the part q of all did not exceed, to 5 %; 0 where there are none. q: 0 .. 1.
    double quantile(double q) const noexcept;
    /// How many took so many seconds at most, to 5 %.
    std::uint64_t up_to(double seconds) const noexcept;

private:
    static constexpr int buckets = 452;
    static int bucket_of(double seconds) noexcept;
    std::array<std::uint64_t, buckets> counts_{};
    std::uint64_t count_ = 0;
    double sum_ = 0;
};

/// Of one device of a model server.
struct serving_device_metrics {
    std::string device;
    bool lost = false;
    std::string trouble{}; ///< why it was lost, the last time, or stays so
    std::uint64_t batches = 0, rows = 0;
    std::uint64_t losses = 0; ///< how often it was lost
    double busy_seconds = 0;  ///< that its batches took
};

struct serving_metrics {
    std::uint64_t accepted = 0;  ///< requests that were taken into the queue
    std::uint64_t answered = 0;  ///< well
    std::uint64_t failed = 0;    ///< by an error of the step, or because no device was left
    std::uint64_t late = 0;      ///< their time was over: deadline_exceeded_error
    std::uint64_t cancelled = 0; ///< stopped by who asked, or closed
    std::uint64_t refused = 0;   ///< the queue was full
    std::uint64_t invalid = 0;   ///< did not fit the model's inputs
    std::uint64_t rerun = 0;     ///< run again, since a device was lost
    std::uint64_t batches = 0, rows = 0, padded_rows = 0;
    std::size_t waiting = 0, computing = 0; ///< at present
    std::int64_t version = 0;               ///< of the weights
    std::string checkpoint{};               ///< that they came from; empty: from none
    std::string trouble{};                  ///< why the last replacement was refused; empty: it was not
    latency_histogram latency{};            ///< of those that were answered well, from when they came
    std::vector<serving_device_metrics> devices{};

    double mean_batch() const noexcept {
        return batches ? static_cast<double>(rows) / static_cast<double>(batches) : 0;
    }
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/serve/serving_metrics.ipp>
#endif
