#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/io/json/json_value.hpp>

namespace tenon::detail {

TENON_INLINE json_value::json_value() noexcept = default;
TENON_INLINE json_value::json_value(const json_value&) = default;
TENON_INLINE json_value::json_value(json_value&&) noexcept = default;
TENON_INLINE json_value& json_value::operator=(const json_value&) = default;
TENON_INLINE json_value& json_value::operator=(json_value&&) noexcept = default;
TENON_INLINE json_value::~json_value() = default;
TENON_INLINE json_value::json_value(bool v) : held(v) {}
TENON_INLINE json_value::json_value(double v) : held(v) {}
TENON_INLINE json_value::json_value(whole, std::int64_t v) : held(v) {}
TENON_INLINE json_value::json_value(whole, std::uint64_t v) : held(v) {}
TENON_INLINE json_value::json_value(const char* text) : held(std::string(text)) {}
TENON_INLINE json_value::json_value(std::string text) : held(std::move(text)) {}
TENON_INLINE json_value::json_value(list items) : held(std::move(items)) {}
TENON_INLINE json_value::json_value(object members) : held(std::move(members)) {}

TENON_INLINE std::string json_value::described() const {
    if (is_null()) return "null";
    if (const bool* b = get<bool>()) return *b ? "true" : "false";
    if (const auto* i = get<std::int64_t>()) return std::to_string(*i);
    if (const auto* u = get<std::uint64_t>()) return std::to_string(*u);
    if (const auto* d = get<double>()) return "the number " + text_of_number(*d, 6);
    if (const auto* s = get<std::string>())
        return "the text \"" + (s->size() > 40 ? s->substr(0, 40) + "..." : *s) + "\"";
    return get<list>() ? "a list" : "an object";
}

TENON_INLINE bool is_utf8(const std::string& text) noexcept {
    const auto* p = reinterpret_cast<const unsigned char*>(text.data());
    const auto* const end = p + text.size();
    while (p != end) {
        const unsigned lead = *p++;
        if (lead < 0x80) continue;
        const int more = lead >= 0xC2 && lead < 0xE0   ? 1
                         : lead >= 0xE0 && lead < 0xF0 ? 2
                         : lead >= 0xF0 && lead < 0xF5 ? 3
                                                       : 0;
        if (more == 0 || end - p < more) return false;
        // What is longer than need be, half of a pair, or beyond the last character shows in the second byte.
        const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        const unsigned largest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        if (*p < least || *p > largest) return false;
        for (int i = 1; i < more; ++i)
            if ((p[i] & 0xC0U) != 0x80) return false;
        p += more;
    }
    return true;
}

inline void append_json_string(std::string& out, const std::string& text) {
    if (!is_utf8(text)) throw invalid_argument_error("JSON cannot hold a text that is not UTF-8");
    constexpr char digits[] = "0123456789abcdef";
    constexpr std::string_view escaped = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
    out += '"';
    for (const char c : text) {
        const std::size_t at = escaped.find(c);
        if (at != std::string::npos) (out += '\\') += letters[at];
        else if (static_cast<unsigned char>(c) < 0x20)
            ((out += "\\u00") += digits[static_cast<unsigned char>(c) >> 4]) += digits[c & 15];
        else out += c;
    }
    out += '"';
}

// Without an exponent from 1e-4 to 1e15.
inline void append_json_number(std::string& out, double v) {
    if (!std::isfinite(v)) {
        out += "null";
        return;
    }
    char text[40];
    char* const end = std::to_chars(text, text + sizeof text, v, std::chars_format::scientific).ptr;
    std::string digits;
    const char* p = text;
    for (; p != end && *p != 'e'; ++p)
        if (*p == '-') out += '-';
        else if (*p != '.') digits += *p;
    *end = '\0';
    const int point = v == 0 ? 1 : std::atoi(p + 1) + 1; // digits before the point
    const int count = static_cast<int>(digits.size());
    const auto at = static_cast<std::size_t>(point);
    if (point > 0 && point <= 15) {
        if (count <= point) out.append(digits).append(at - digits.size(), '0').append(".0");
        else out.append(digits, 0, at).append(1, '.').append(digits, at);
    } else if (point > -4 && point <= 0) {
        out.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
    } else {
        out += digits[0];
        if (count > 1) out.append(1, '.').append(digits, 1);
        out += p;
    }
}

inline void append_json(std::string& out, const json_value& v, int indent, int level) {
    const auto line = [&](int deep) {
        if (indent >= 0) out.append(1, '\n').append(static_cast<std::size_t>(indent * deep), ' ');
    };
    const auto all = [&](const auto& items, char open, char close, const auto& one) {
        out += open;
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (i > 0) out += ',';
            line(level + 1);
            one(items[i]);
        }
        if (!items.empty()) line(level);
        out += close;
    };
    if (v.is_null()) out += "null";
    else if (const bool* b = v.get<bool>()) out += *b ? "true" : "false";
    else if (const auto* i = v.get<std::int64_t>()) out += std::to_string(*i);
    else if (const auto* u = v.get<std::uint64_t>()) out += std::to_string(*u);
    else if (const auto* d = v.get<double>()) append_json_number(out, *d);
    else if (const auto* s = v.get<std::string>()) append_json_string(out, *s);
    else if (const auto* list = v.get<json_value::list>())
        all(*list, '[', ']', [&](const json_value& item) { append_json(out, item, indent, level + 1); });
    else
        all(*v.get<json_value::object>(), '{', '}', [&](const json_member& m) {
            append_json_string(out, m.name);
            out += indent >= 0 ? ": " : ":";
            append_json(out, m.value, indent, level + 1);
        });
}

TENON_INLINE std::string json_text(const json_value& v, int indent) {
    std::string out;
    append_json(out, v, indent, 0);
    return out;
}

inline constexpr char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

TENON_INLINE std::string to_base64(const void* data, std::size_t bytes) {
    const auto* p = static_cast<const unsigned char*>(data);
    std::string text;
    text.reserve((bytes + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes; i += 3) {
        const std::size_t n = std::min<std::size_t>(3, bytes - i);
        unsigned group = 0;
        for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < n ? p[i + k] : 0U);
        for (std::size_t k = 0; k < 4; ++k) text += k <= n ? base64_digits[group >> (18 - 6 * k) & 63U] : '=';
    }
    return text;
}

TENON_INLINE bool from_base64(const std::string& text, void* data, std::size_t bytes) {
    if (text.size() % 4 != 0 || text.size() / 4 != bytes / 3 + (bytes % 3 != 0)) return false;
    auto* to = static_cast<unsigned char*>(data);
    for (std::size_t i = 0; i < text.size(); i += 4) {
        const std::size_t n = std::min<std::size_t>(3, bytes - i / 4 * 3);
        unsigned group = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            const char c = text[i + k];
            unsigned digit = 0;
            if (k > n) {
                if (c != '=') return false;
            } else if (c >= 'A' && c <= 'Z') digit = static_cast<unsigned>(c - 'A');
            else if (c >= 'a' && c <= 'z') digit = static_cast<unsigned>(c - 'a') + 26;
            else if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0') + 52;
            else if (c == '+') digit = 62;
            else if (c == '/') digit = 63;
            else return false;
            group = group << 6 | digit;
        }
        for (std::size_t k = 0; k < n; ++k)
            to[i / 4 * 3 + k] = static_cast<unsigned char>(group >> (16 - 8 * k) & 255U);
        if (n < 3 && (group & (n == 1 ? 0xffffU : 0xffU)) != 0) return false; // bits beyond the end
    }
    return true;
}

} // namespace tenon::detail
