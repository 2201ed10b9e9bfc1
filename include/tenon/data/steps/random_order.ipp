#pragma once

#include <random>

#include <tenon/data/steps/random_order.hpp>

namespace tenon::detail {

TENON_INLINE std::uint64_t seed_or_any(std::uint64_t seed) {
    if (seed != 0) return seed;
    std::random_device system;
    return (std::uint64_t{system()} << 32 | system()) | 1;
}

} // namespace tenon::detail
