#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/search/median_stopping.hpp>

namespace tenon {

TENON_INLINE const reported_score* detail::best_of(const score_history& history, bool smaller_is_better) noexcept {
    const reported_score* best = nullptr;
    for (const reported_score& r : history)
        if (!std::isnan(r.score) && (!best || (smaller_is_better ? r.score < best->score : r.score > best->score)))
            best = &r;
    return best;
}

TENON_INLINE median_stopping::median_stopping(const median_stopping_options& o) : options_(o) {
    if (o.min_trials < 1)
        throw invalid_argument_error("median_stopping_options::min_trials is " + std::to_string(o.min_trials) +
                                     "; a median is of 1 or more");
    if (o.min_steps < 0)
        throw invalid_argument_error("median_stopping_options::min_steps is " + std::to_string(o.min_steps) +
                                     "; give 0 or more");
}

TENON_INLINE void median_stopping::complete(score_history history) { completed_.push_back(std::move(history)); }

TENON_INLINE double median_stopping::median_at(std::int64_t step) const {
    std::vector<double> averages;
    for (const score_history& h : completed_) {
        double sum = 0;
        int count = 0;
        for (const reported_score& r : h)
            if (r.step <= step && !std::isnan(r.score)) {
                sum += r.score;
                ++count;
            }
        if (count > 0 && !std::isnan(sum)) averages.push_back(sum / count);
    }
    if (averages.size() < static_cast<std::size_t>(options_.min_trials))
        return std::numeric_limits<double>::quiet_NaN();
    std::sort(averages.begin(), averages.end());
    const std::size_t middle = averages.size() / 2;
    return averages.size() % 2 ? averages[middle] : averages[middle - 1] / 2 + averages[middle] / 2;
}

TENON_INLINE bool median_stopping::should_stop(const score_history& so_far) const {
    if (so_far.empty() || so_far.back().step < options_.min_steps) return false;
    const double median = median_at(so_far.back().step);
    if (std::isnan(median)) return false;
    const reported_score* const best = detail::best_of(so_far, options_.smaller_is_better);
    if (!best) return true;
    return options_.smaller_is_better ? best->score > median : best->score < median;
}

} // namespace tenon
