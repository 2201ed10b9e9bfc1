#pragma once

#include <cstdint>
#include <string>

#include <tenon/core/hash.hpp>

namespace tenon::net {

/// FNV-1a, and never 0: what processes that are told the same text take for its number.
inline std::uint64_t hash_of_text(const std::string& text) noexcept { return tenon::detail::fnv1a(text) | 1; }

} // namespace tenon::net
