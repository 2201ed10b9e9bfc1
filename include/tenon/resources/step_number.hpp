#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <tenon/core/error.hpp>

/// Numbers of training steps, which are counted on by one from what somebody gives, and how many replicas take one together.

namespace tenon {

inline constexpr std::int64_t most_replicas = 100'000;
inline constexpr std::int64_t largest_step = std::numeric_limits<std::int64_t>::max() / 2;

/// invalid_argument_error, saying `of` what, unless it is 0 to largest_step.
inline void require_step(const std::string& of, std::int64_t step) {
    if (step < 0 || step > largest_step)
        throw invalid_argument_error(of + ": there is no step " + std::to_string(step) +
                                     "; they are numbered from 0 to " + std::to_string(largest_step));
}

} // namespace tenon
