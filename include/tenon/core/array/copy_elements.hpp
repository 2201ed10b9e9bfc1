#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include <tenon/core/element_type.hpp>

namespace tenon::detail {

/// Copies n elements, numbers or texts, from place `from_at` of one array's memory to place `to_at` of another's.
inline void copy_elements(element_type e, void* to, std::int64_t to_at, const void* from, std::int64_t from_at,
                          std::int64_t n) {
    if (n == 0) return;
    if (e == element_type::string) {
        std::copy_n(static_cast<const std::string*>(from) + from_at, n, static_cast<std::string*>(to) + to_at);
        return;
    }
    const std::size_t bytes = size_of(e);
    std::memcpy(static_cast<std::byte*>(to) + static_cast<std::size_t>(to_at) * bytes,
                static_cast<const std::byte*>(from) + static_cast<std::size_t>(from_at) * bytes,
                static_cast<std::size_t>(n) * bytes);
}

} // namespace tenon::detail
