#include <tenon/search/median_stopping.hpp>

#include "tests.hpp"

// The median stopping rule (Golovin et al., KDD 2017), held against the rule as the paper words it.

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

// By sums of all that was told, each time, in long double; larger is better.
bool reference(const std::vector<tn::score_history>& completed, const tn::score_history& trial, int min_trials,
               std::int64_t min_steps) {
    const std::int64_t s = trial.back().step;
    if (s < min_steps) return false;
    std::vector<long double> averages;
    for (const tn::score_history& h : completed) {
        std::vector<long double> up_to;
        for (const auto& r : h)
            if (r.step <= s && !std::isnan(r.score)) up_to.push_back(r.score);
        if (up_to.empty()) continue;
        long double sum = 0;
        for (const long double v : up_to) sum += v;
        averages.push_back(sum / static_cast<long double>(up_to.size()));
    }
    if (static_cast<int>(averages.size()) < min_trials) return false;
    // Its rank says what the median is: as many are above as below.
    std::vector<long double> sorted = averages;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    const long double median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
    std::optional<long double> best;
    for (const auto& r : trial)
        if (!std::isnan(r.score) && (!best || r.score > *best)) best = r.score;
    return !best || *best < median;
}

// Quarters, so that sums are exact and equal ones are met.
tn::score_history random_history(std::mt19937& random, std::int64_t longest) {
    tn::score_history h;
    std::int64_t step = 0;
    const auto count = std::uniform_int_distribution<int>(1, 8)(random);
    for (int i = 0; i < count && step < longest; ++i) {
        step += std::uniform_int_distribution<std::int64_t>(0, 3)(random);
        const bool is_none = std::uniform_int_distribution<int>(0, 15)(random) == 0;
        h.push_back({step, is_none ? no_number : std::uniform_int_distribution<int>(-8, 8)(random) / 4.0});
    }
    return h;
}

} // namespace

TEST_CASE("a trial is stopped where its best is worse than the median of the completed ones' running averages") {
    tn::median_stopping rule({.min_trials = 3});
    rule.complete({{1, 0.2}, {2, 0.4}, {3, 0.9}}); // averages up to 2: 0.3
    rule.complete({{1, 0.5}, {2, 0.7}});           // 0.6
    CHECK_FALSE(rule.should_stop({{2, 0.0}}));     // two are too few
    CHECK(std::isnan(rule.median_at(2)));
    rule.complete({{1, 0.1}, {4, 0.9}}); // 0.1 up to 2
    CHECK(rule.median_at(2) == doctest::Approx(0.3));
    CHECK(rule.should_stop({{1, 0.1}, {2, 0.29}}));
    CHECK_FALSE(rule.should_stop({{1, 0.31}, {2, 0.0}})); // its best counts, not its last
    CHECK_FALSE(rule.should_stop({}));
    rule.complete({{3, 0.0}}); // has nothing up to 2
    CHECK(rule.median_at(2) == doctest::Approx(0.3));
    rule.complete({{1, 0.5}}); // of four averages: between 0.3 and 0.5
    CHECK(rule.median_at(2) == doctest::Approx(0.4));
}

TEST_CASE("equal to the median is not worse; no trial is stopped before min_steps; what has no number is worse") {
    tn::median_stopping rule({.min_trials = 1, .min_steps = 5});
    rule.complete({{0, 0.5}});
    CHECK_FALSE(rule.should_stop({{5, 0.5}}));
    CHECK(rule.should_stop({{5, 0.25}}));
    CHECK_FALSE(rule.should_stop({{4, 0.25}}));
    CHECK(rule.should_stop({{5, no_number}}));
    tn::median_stopping losses({.min_trials = 1, .smaller_is_better = true});
    losses.complete({{0, 0.5}});
    CHECK(losses.should_stop({{0, 0.75}}));
    CHECK_FALSE(losses.should_stop({{0, 0.25}}));
}

TEST_CASE("random histories are stopped as the paper says, and mirrored ones where smaller is better") {
    std::mt19937 random(20);
    int stopped = 0, went_on = 0;
    for (int round = 0; round < 400; ++round) {
        const int min_trials = std::uniform_int_distribution<int>(1, 4)(random);
        const auto min_steps = std::uniform_int_distribution<std::int64_t>(0, 6)(random);
        tn::median_stopping rule({.min_trials = min_trials, .min_steps = min_steps});
        tn::median_stopping mirrored({.min_trials = min_trials, .min_steps = min_steps, .smaller_is_better = true});
        std::vector<tn::score_history> completed;
        for (int trial = 0; trial < 12; ++trial) {
            const tn::score_history h = random_history(random, 15);
            tn::score_history so_far, negated;
            bool stops = false;
            for (const auto& r : h) {
                so_far.push_back(r);
                negated.push_back({r.step, -r.score});
                const bool expected = reference(completed, so_far, min_trials, min_steps);
                REQUIRE(rule.should_stop(so_far) == expected);
                REQUIRE(mirrored.should_stop(negated) == expected);
                stops = stops || expected;
                ++(expected ? stopped : went_on);
            }
            if (stops) continue;
            completed.push_back(so_far);
            rule.complete(so_far);
            mirrored.complete(negated);
        }
    }
    CHECK(stopped > 1000);
    CHECK(went_on > 1000);
}

TEST_CASE("options that make no sense are refused") {
    CHECK_ERROR(tn::invalid_argument_error, "min_trials is 0", tn::median_stopping({.min_trials = 0}));
    CHECK_ERROR(tn::invalid_argument_error, "min_steps is -1", tn::median_stopping({.min_steps = -1}));
}
