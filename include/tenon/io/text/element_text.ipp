#pragma once

#include <charconv>
#include <cstdio>

#include <tenon/core/with_element.hpp>
#include <tenon/io/text/element_text.hpp>
#include <tenon/io/text/read_number.hpp>

// libc++ had no from_chars of floating numbers before version 20.
#if !defined(__cpp_lib_to_chars)
#include <cstdlib>
#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace tenon {

TENON_INLINE std::string to_string(const record_place& p) {
    std::string text;
    if (!p.file.empty()) text = std::string(p.file) + (p.line > 0 ? ":" + std::to_string(p.line) : "") + ": ";
    else if (p.line > 0) text = "line " + std::to_string(p.line) + ": ";
    else if (p.index >= 0 && p.records && p.records->rank() > 0) {
        std::string place;
        std::int64_t rest = p.index;
        for (int d = p.records->rank() - 1; d >= 0; --d) {
            const std::int64_t size = (*p.records)[d].size;
            place = std::to_string(rest % size) + (place.empty() ? "" : ", ") + place;
            rest /= size;
        }
        text = std::string(p.unit) + " [" + place + "]: ";
    }
    return text;
}

namespace detail {

template <class T> const char* read_by_library(const char* begin, const char* end, T& v, text_fault& f) {
    const bool plus = begin != end && *begin == '+';
    const char* const from = plus ? begin + 1 : begin;
    if (plus &&
        (from == end || (!is_decimal_digit(*from) && *from != '.' && (*from | 0x20) != 'i' && (*from | 0x20) != 'n'))) {
        f = text_fault::no_value;
        return begin;
    }
#if defined(__cpp_lib_to_chars)
    T read{};
    const std::from_chars_result r = std::from_chars(from, end, read);
    const bool far = r.ec == std::errc::result_out_of_range;
    const char* const behind = r.ptr;
    if (r.ec == std::errc::invalid_argument) {
        f = text_fault::no_value;
        return begin;
    }
#else
    const char* stop = from;
    while (stop != end && (is_decimal_digit(*stop) || *stop == '.' || *stop == '-' || *stop == '+' ||
                           (*stop | 0x20) == 'e' || ((*stop | 0x20) >= 'a' && (*stop | 0x20) <= 'z')))
        ++stop;
    const std::string text(from, stop);
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", locale_t{});
    char* after = nullptr;
    const bool hex = text.find_first_of("xX") != std::string::npos;
    T read{};
    if constexpr (sizeof(T) == sizeof(float)) read = strtof_l(text.c_str(), &after, c_locale);
    else read = strtod_l(text.c_str(), &after, c_locale);
    if (after == text.c_str() || hex) {
        f = text_fault::no_value;
        return begin;
    }
    const char* const behind = from + (after - text.c_str());
    const bool far = read - read != 0 && read == read && (*from | 0x20) != 'i' &&
                     !((*from == '-') && from + 1 != end && (from[1] | 0x20) == 'i');
#endif
    f = text_fault::none;
    if (!far) {
        v = read;
        return behind;
    }
    // Too large, or nearer to 0 than what there is: the place of the first digit that is not 0 says which.
    std::int64_t place = 0, said = 0;
    bool point = false, found = false, down = false;
    const char* at = from;
    const bool negative = at != behind && *at == '-';
    if (negative) ++at;
    for (; at != behind && (is_decimal_digit(*at) || *at == '.'); ++at) {
        if (*at == '.') point = true;
        else {
            found = found || *at != '0';
            if (found && !point) ++place;
            if (!found && point) --place;
        }
    }
    if (at != behind && ++at != behind) { // behind an e
        down = *at == '-';
        if (*at == '-' || *at == '+') ++at;
        for (; at != behind && is_decimal_digit(*at); ++at)
            if (said < (std::int64_t{1} << 40)) said = said * 10 + (*at - '0');
    }
    if (found && place + (down ? -said : said) > 0) f = text_fault::out_of_range;
    else v = negative ? -T(0) : T(0);
    return behind;
}
TENON_INLINE const char* read_rare(const char* begin, const char* end, float& v, text_fault& f) {
    return read_by_library(begin, end, v, f);
}
TENON_INLINE const char* read_rare(const char* begin, const char* end, double& v, text_fault& f) {
    return read_by_library(begin, end, v, f);
}

TENON_INLINE text_fault element_of_text(std::string_view text, element_type e, void* to) {
    const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
    if (e != element_type::string) {
        while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
        while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    }
    return with_element(e, [&]<class T>(const T&) {
        if constexpr (std::is_same_v<T, std::string>) {
            static_cast<std::string*>(to)->assign(text);
            return text_fault::none;
        } else {
            T v{};
            text_fault f = text_fault::no_value;
            const char *const begin = text.data(), *const end = begin + text.size();
            if (read_number(begin, end, v, f) != end) return text_fault::no_value;
            if (f == text_fault::none) *static_cast<T*>(to) = v;
            return f;
        }
    });
}

TENON_INLINE std::string words(text_fault f, element_type e) {
    return std::string(f == text_fault::out_of_range ? "is out of the range of " : "is no ") + name_of(e);
}

TENON_INLINE std::string shown_text(std::string_view text) {
    constexpr std::size_t most = 40;
    std::string shown = "\"";
    // not in the middle of a character of several bytes
    std::size_t n = text.size() < most ? text.size() : most;
    while (n < text.size() && n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
    for (const char c : text.substr(0, n)) {
        const auto u = static_cast<unsigned char>(c);
        if (u >= 32 && u != 127) shown += c;
        else {
            char escape[5];
            std::snprintf(escape, sizeof escape, "\\x%02x", u);
            shown += escape;
        }
    }
    shown += '"';
    if (n < text.size()) shown += "... (" + std::to_string(text.size()) + " bytes)";
    return shown;
}

TENON_INLINE std::string text_of_number(std::int64_t v) { return std::to_string(v); }
TENON_INLINE std::string text_of_number(std::uint64_t v) { return std::to_string(v); }

} // namespace detail
} // namespace tenon
