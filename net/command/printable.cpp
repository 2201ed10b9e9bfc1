#include <net/command/printable.hpp>

#include <cstdint>
#include <cstdio>
#include <string_view>

namespace tenon::command {

namespace {

struct character {
    std::uint32_t code = 0;
    std::size_t bytes = 0; // 0: it is none of UTF-8
};

character first_of(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const std::size_t bytes = lead >= 0xf0 && lead < 0xf8   ? 4
                              : lead >= 0xe0 && lead < 0xf0 ? 3
                              : lead >= 0xc2 && lead < 0xe0 ? 2
                                                            : 0;
    if (bytes == 0 || text.size() < bytes) return {};
    std::uint32_t code = lead & (0x7fU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {};
        code = code << 6 | (byte(i) & 0x3fU);
    }
    const bool is_longer_than_needed = code < (bytes == 2 ? 0x80U : bytes == 3 ? 0x800U : 0x10000U);
    if (is_longer_than_needed || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
    return {code, bytes};
}

// What does something else than stand in its place.
bool is_command(std::uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

} // namespace

std::string printable(const std::string& text, bool lines) {
    std::string shown;
    for (std::string_view rest = text; !rest.empty();) {
        const character c = first_of(rest);
        char escaped[16] = "";
        if (c.bytes == 0) std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(rest[0]));
        else if (c.code == '\\') std::snprintf(escaped, sizeof escaped, "%s", lines ? "\\" : "\\\\");
        else if (c.code == '\n' && !lines) std::snprintf(escaped, sizeof escaped, "\\n");
        else if (c.code == '\t') std::snprintf(escaped, sizeof escaped, "\\t");
        else if (is_command(c.code) && c.code != '\n')
            std::snprintf(escaped, sizeof escaped, c.code < 0x80 ? "\\x%02x" : "\\u%04x",
                          static_cast<unsigned>(c.code));
        if (escaped[0]) shown += escaped;
        else shown += rest.substr(0, c.bytes);
        rest.remove_prefix(c.bytes ? c.bytes : 1);
    }
    return shown;
}

} // namespace tenon::command
