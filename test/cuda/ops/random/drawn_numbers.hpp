#pragma once

#include <cstdint>
#include <limits>
#include <random>

#include "../gpu_run.hpp"

/// Numbers to compute with.

namespace tenon::test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Each use draws others: drawn_seed().
struct drawn_numbers {
    std::mt19937_64 engine{drawn_seed()};
    double operator()(double least, double most) { return std::uniform_real_distribution<double>(least, most)(engine); }
    /// A whole one, perhaps `most`.
    double whole(int least, int most) { return std::uniform_int_distribution<int>(least, most)(engine); }
    std::int64_t below(std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(0, n - 1)(engine); }
};

} // namespace tenon::test
