#pragma once

#include <cstddef>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// A hash of what `seed` is the hash of, followed by `value`.
constexpr std::size_t mix(std::size_t seed, std::size_t value) noexcept {
    return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

} // namespace tenon::detail
