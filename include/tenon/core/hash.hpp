#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// A hash of what `seed` is the hash of, followed by `value`.
constexpr std::size_t mix(std::size_t seed, std::size_t value) noexcept {
    return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

/// FNV-1a of the bytes, or of what `seed` is the hash of, followed by them.
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t seed = 0xcbf29ce484222325u) noexcept {
    for (const char c : bytes) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return seed;
}

} // namespace tenon::detail
