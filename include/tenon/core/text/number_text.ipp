#pragma once

#include <charconv>
#include <cstddef>

#include <tenon/core/text/number_text.hpp>

// libc++ had no from_chars of floating numbers before version 20.
#if !defined(__cpp_lib_to_chars)
#include <cstring>
#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace tenon::detail {

template <class T> T read_number(const char* begin, const char* end) {
#if defined(__cpp_lib_to_chars)
    T value{};
    (void)std::from_chars(begin, end, value);
    return value;
#else
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", locale_t{});
    char text[64];
    const auto length = static_cast<std::size_t>(end - begin);
    if (length >= sizeof text) return T{};
    std::memcpy(text, begin, length);
    text[length] = '\0';
    if constexpr (sizeof(T) == sizeof(float)) return strtof_l(text, nullptr, c_locale);
    else return strtod_l(text, nullptr, c_locale);
#endif
}

TENON_INLINE float read_float(const char* begin, const char* end) { return read_number<float>(begin, end); }
TENON_INLINE double read_double(const char* begin, const char* end) { return read_number<double>(begin, end); }

// libc++ has had to_chars of floating numbers since version 14, long before the macro for both.
template <class T> std::string shortest_text(T v) {
    if (v != v) return "nan"; // whatever its sign, which says nothing
    char text[64];
    return std::string(text, std::to_chars(text, text + sizeof text, v).ptr);
}
TENON_INLINE std::string text_of_number(float v) { return shortest_text(v); }
TENON_INLINE std::string text_of_number(double v) { return shortest_text(v); }

TENON_INLINE std::string text_of_number(double v, int digits) {
    if (v != v) return "nan";
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, v, std::chars_format::general, digits).ptr);
}

} // namespace tenon::detail
