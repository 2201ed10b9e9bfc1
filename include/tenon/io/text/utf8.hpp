#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// Writes a character's UTF-8, at most 4 bytes, and gives where it ends.
inline char* put_utf8(std::uint32_t code, char* out) {
    const auto add = [&](std::uint32_t bits) { *out++ = static_cast<char>(bits); };
    if (code < 0x80) add(code);
    else {
        if (code < 0x800) add(0xC0 | code >> 6);
        else {
            if (code < 0x10000) add(0xE0 | code >> 12);
            else {
                add(0xF0 | code >> 18);
                add(0x80 | (code >> 12 & 0x3F));
            }
            add(0x80 | (code >> 6 & 0x3F));
        }
        add(0x80 | (code & 0x3F));
    }
    return out;
}

} // namespace tenon::detail
