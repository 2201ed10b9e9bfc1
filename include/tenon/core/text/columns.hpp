#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include <tenon/core/config.hpp>

/// Texts as parts of a line that people read.

namespace tenon::detail {

/// Columns that UTF-8 text takes, where each code point takes one.
inline std::size_t columns_of(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

inline std::string without_controls(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    return text;
}

} // namespace tenon::detail
