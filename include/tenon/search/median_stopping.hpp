#pragma once

#include <cstdint>
#include <vector>

#include <tenon/core/config.hpp>

/// Which trials of a search are worth going on with.

namespace tenon {

/// What a trial has told of itself at a step.
struct reported_score {
    std::int64_t step = 0;
    double score = 0;
    friend bool operator==(const reported_score&, const reported_score&) = default;
};
using score_history = std::vector<reported_score>; ///< in the order of steps

namespace detail {
/// The first of the best scores of a history that are numbers; nullptr: there is none.
const reported_score* best_of(const score_history& history, bool smaller_is_better) noexcept;
} // namespace detail

struct median_stopping_options {
    int min_trials = 3;         ///< so many must be completed, with scores up to the step, before one is stopped
    std::int64_t min_steps = 0; ///< a trial goes on at least up to this step
    bool smaller_is_better = false;
};

/// The median stopping rule (Golovin et al., Google Vizier, KDD 2017, 3.2.2): a trial is stopped at step s if its best score up to s is
/// strictly worse than the median of the running averages, up to s, of the scores of all completed trials. Of an even number of those the
/// median is the mean of the two in the middle. Scores that are no numbers do not count; a trial that has only such is stopped once
/// a median is known. Trials that were stopped are not completed. A value, without locks.
class median_stopping {
public:
    explicit median_stopping(const median_stopping_options& o = {});
    /// A trial that came to its end.
    void complete(score_history history);
    /// Whether a trial that has told this so far is to be stopped at its last step.
    bool should_stop(const score_history& so_far) const;
    /// The median at a step; NaN where fewer than min_trials are completed.
    double median_at(std::int64_t step) const;

private:
    median_stopping_options options_;
    std::vector<score_history> completed_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/search/median_stopping.ipp>
#endif
