#pragma once

#include <algorithm>
#include <cmath>

#include <tenon/serve/serving_metrics.hpp>

namespace tenon {

namespace detail {
inline constexpr double least_latency = 1e-6, latency_step = 1.05, log_of_step = 0.048790164169432003;
}

TENON_INLINE int latency_histogram::bucket_of(double seconds) noexcept {
    if (!(seconds > detail::least_latency)) return 0;
    const double at = std::log(seconds / detail::least_latency) / detail::log_of_step;
    return static_cast<int>(std::clamp(std::ceil(at), 0.0, static_cast<double>(buckets - 1)));
}

TENON_INLINE void latency_histogram::add(double seconds) noexcept {
    ++counts_[static_cast<std::size_t>(bucket_of(seconds))];
    ++count_;
    sum_ += seconds;
}

TENON_INLINE double latency_histogram::quantile(double q) const noexcept {
    if (count_ == 0) return 0;
    const double wanted = std::clamp(q, 0.0, 1.0) * static_cast<double>(count_);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        sum += counts_[i];
        if (counts_[i] && static_cast<double>(sum) >= wanted)
            return detail::least_latency * std::pow(detail::latency_step, static_cast<double>(i));
    }
    return 0;
}

TENON_INLINE std::uint64_t latency_histogram::up_to(double seconds) const noexcept {
    std::uint64_t sum = 0;
    for (int i = 0; i <= bucket_of(seconds); ++i) sum += counts_[static_cast<std::size_t>(i)];
    return sum;
}

} // namespace tenon
