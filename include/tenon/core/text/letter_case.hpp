#pragma once

#include <algorithm>
#include <string_view>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// A letter of A to Z as one of a to z, whatever the locale; others as they are.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool is_same_but_for_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

} // namespace tenon::detail
