#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <tenon/core/half.hpp>
#include <tenon/io/text_fault.hpp>

/// The number that a text begins with, for parsers: what stands behind it is theirs to look at. Included where kernels and
/// parsers are compiled only.

namespace tenon::detail {

/// By std::from_chars, or what there is in its place, for numbers of many digits, infinities and NaNs; and out of range.
const char* read_rare(const char* begin, const char* end, float& v, text_fault& f);
const char* read_rare(const char* begin, const char* end, double& v, text_fault& f);

inline constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                           1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline bool is_digit(char c) noexcept { return static_cast<unsigned char>(c - '0') < 10; }

/// A decimal number, taken apart.
struct decimal {
    std::uint64_t digits = 0; ///< the first 19 that count
    int exponent = 0;         ///< of ten, for them
    bool negative = false, any = false;
    bool all = true; ///< no digit was left out
};
// Where it ends; a.any is false where there is none.
inline const char* read_decimal(const char* p, const char* end, decimal& a) noexcept {
    const char* at = p;
    if (at != end && (*at == '-' || *at == '+')) a.negative = *at++ == '-';
    const char* const first = at;
    std::uint64_t digits = 0;
    for (; at != end && is_digit(*at); ++at) digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
    std::int64_t count = at - first, exponent = 0;
    if (at != end && *at == '.') {
        const char* const point = at++;
        for (; at != end && is_digit(*at); ++at) digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
        exponent = point + 1 - at;
        count -= exponent;
    }
    if (count == 0) return p;
    a.any = true;
    if (count > 19) { // some of them may be zeros before the first that counts
        a.all = false;
        return at;
    }
    a.digits = digits;
    if (at != end && (*at | 0x20) == 'e') {
        const char* e = at + 1;
        const bool down = e != end && *e == '-';
        if (e != end && (*e == '-' || *e == '+')) ++e;
        if (e != end && is_digit(*e)) {
            std::int64_t said = 0;
            for (; e != end && is_digit(*e); ++e)
                if (said < 100000) said = said * 10 + (*e - '0');
            exponent += down ? -said : said;
            at = e;
        }
    }
    a.exponent = static_cast<int>(exponent);
    return at;
}

// A product or a quotient of two doubles that are exact is rounded once, which for a double is the result. Of a float it is
// the result, rounded twice, unless the double is next to where floats are rounded the other way: then from_chars decides.
inline const char* read_number(const char* p, const char* end, double& v, text_fault& f) {
    decimal a;
    const char* const behind = read_decimal(p, end, a);
    if (!a.any || !a.all || a.digits > (std::uint64_t{1} << 53) || a.exponent > 22 || a.exponent < -22)
        return read_rare(p, end, v, f);
    const double m = static_cast<double>(a.digits);
    const double d = a.exponent < 0 ? m / powers_of_ten[-a.exponent] : m * powers_of_ten[a.exponent];
    v = a.negative ? -d : d;
    f = text_fault::none;
    return behind;
}
inline const char* read_number(const char* p, const char* end, float& v, text_fault& f) {
    decimal a;
    const char* const behind = read_decimal(p, end, a);
    if (!a.any || !a.all || a.exponent > 18 || a.exponent < -22)
        return read_rare(p, end, v, f);             // below 2^127, not denormal
    const double m = static_cast<double>(a.digits); // may be rounded already, by half a unit, as the next line may
    const double d = a.exponent < 0 ? m / powers_of_ten[-a.exponent] : m * powers_of_ten[a.exponent];
    constexpr std::uint64_t below_float = (std::uint64_t{1} << 29) - 1, half_way = std::uint64_t{1} << 28;
    if (((std::bit_cast<std::uint64_t>(d) & below_float) - half_way + 4) <= 8) return read_rare(p, end, v, f);
    v = static_cast<float>(a.negative ? -d : d);
    f = text_fault::none;
    return behind;
}

template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
const char* read_number(const char* p, const char* end, T& v, text_fault& f) {
    // from_chars knows no plus
    const char* const from = p != end && *p == '+' && end - p > 1 && is_digit(p[1]) ? p + 1 : p;
    T read{};
    const std::from_chars_result r = std::from_chars(from, end, read);
    if (r.ec == std::errc()) v = read;
    f = r.ec == std::errc()                      ? text_fault::none
        : r.ec == std::errc::result_out_of_range ? text_fault::out_of_range
                                                 : text_fault::no_value;
    return r.ec == std::errc::invalid_argument ? p : r.ptr;
}

template <class T>
    requires(std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
const char* read_number(const char* p, const char* end, T& v, text_fault& f) {
    float wide = 0;
    const char* const behind = read_number(p, end, wide, f);
    if (f != text_fault::none) return behind;
    const T narrow(wide);
    const auto is_infinite = [](float x) { return x - x != 0 && x == x; };
    if (is_infinite(static_cast<float>(narrow)) && !is_infinite(wide)) f = text_fault::out_of_range;
    else v = narrow;
    return behind;
}

template <class T>
    requires std::is_same_v<T, bool>
const char* read_number(const char* p, const char* end, T& v, text_fault& f) {
    const auto begins_with = [&](std::string_view word) {
        if (static_cast<std::size_t>(end - p) < word.size()) return false;
        for (std::size_t i = 0; i < word.size(); ++i)
            if ((p[i] | 0x20) != word[i]) return false;
        return true;
    };
    const char* const from = p;
    if (p != end && (*p == '0' || *p == '1')) v = *p++ == '1';
    else if (begins_with("true")) v = true, p += 4;
    else if (begins_with("false")) v = false, p += 5;
    f = p == from ? text_fault::no_value : text_fault::none;
    return p;
}

} // namespace tenon::detail
