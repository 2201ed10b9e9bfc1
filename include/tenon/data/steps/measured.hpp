#pragma once

#include <algorithm>
#include <cstdint>

/// Measuring steps of data sets, of which some take less than to look at the clock.

namespace tenon::detail {

/// Measures every call at first, then one of so many.
class call_sampler {
public:
    /// How many calls the one that begins stands for; 0: it is not measured.
    std::int64_t weight() noexcept {
        const std::uint64_t call = calls_++;
        if (call < all_measured) return 1;
        const std::uint64_t each = call < measured_often ? 16 : 64;
        return call % each == 0 ? static_cast<std::int64_t>(each) : 0;
    }

private:
    static constexpr std::uint64_t all_measured = 32, measured_often = 4096; // calls
    std::uint64_t calls_ = 0;
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

/// Times that are averaged before anything is made of them.
constexpr std::uint64_t enough_measured = 8;

} // namespace tenon::detail
