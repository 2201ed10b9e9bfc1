#pragma once

#include <algorithm>
#include <cstdint>

#include <tenon/core/config.hpp>

/// Measuring steps of data sets, of which some take less than to look at the clock.

namespace tenon::detail {

/// Measures every call at first, then one of so many.
class call_sampler {
public:
    /// How many calls the one that begins stands for; 0: it is not measured.
    std::int64_t weight() noexcept {
        if (--left_ > 0) return 0;
        const int stood_for = each_;
        if (++measured_ >= all_measured) each_ = measured_ < measured_often ? 16 : 64;
        left_ = each_;
        return stood_for;
    }

private:
    static constexpr std::uint64_t all_measured = 32, measured_often = 288; // that were measured
    std::uint64_t measured_ = 0;
    int each_ = 1, left_ = 1; // one of how many, and until the next one
};

/// An average of times in which what is older counts less, and one that is much longer than the others, as where something else had
/// the core, little.
struct average {
    double value = 0;
    std::uint64_t count = 0;
    void add(double x) {
        if (++count > 4) x = std::min(x, 8 * value + 100);
        value += (x - value) * std::max(0.1, 1.0 / static_cast<double>(count));
    }
};

/// Which of two ways gives elements faster, found by going both in turns: of the time from one element to the next, whoever spends
/// it. What is found again holds for longer.
class faster_way {
public:
    /// Whether the second one is to be gone.
    bool second() const noexcept { return second_; }
    /// An element was given. True where look() wants to know when.
    bool gave() noexcept { return --left_ <= 0; }
    void look(std::int64_t now) noexcept {
        if (begun_ == 0) { // both are as they are when they have been gone for a while
            begun_ = now;
            left_ = elements_;
            return;
        }
        const double takes = static_cast<double>(now - begun_) / elements_;
        double& best = best_[second_]; // what else has had the core makes a round longer, and none shorter
        best = best == 0 ? takes : std::min(best, takes);
        elements_ = static_cast<int>(std::clamp(round / takes, 16.0, 4096.0));
        begun_ = 0;
        ++gone_;
        const bool is_clear = gone_ == 2 && std::max(best_[0], best_[1]) > 1.25 * std::min(best_[0], best_[1]);
        if (gone_ < 4 && !is_clear) {
            second_ = !second_;
            left_ = elements_ / 4;
            return;
        }
        second_ = best_[1] < best_[0];
        holds_ = second_ == found_ ? std::min(2 * holds_, 1024) : 64;
        found_ = second_;
        left_ = holds_ * elements_;
        gone_ = 0;
        best_[0] = best_[1] = 0;
    }

private:
    static constexpr double round = 100e3; // nanoseconds
    int elements_ = 16, left_ = 4;         // of a round; until the next look
    int gone_ = 0, holds_ = 32;            // rounds
    std::int64_t begun_ = 0;
    double best_[2] = {};
    bool second_ = false, found_ = false; // now; to be faster, when it was last found
};

/// Times that are averaged before anything is made of them.
constexpr std::uint64_t enough_measured = 8;

} // namespace tenon::detail
