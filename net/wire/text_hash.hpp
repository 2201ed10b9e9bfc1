#pragma once

#include <cstdint>
#include <string>

namespace tenon::net {

/// FNV-1a, and never 0: what processes that are told the same text take for its number.
inline std::uint64_t hash_of_text(const std::string& text) noexcept {
    std::uint64_t h = 14695981039346656037u;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h | 1;
}

} // namespace tenon::net
