#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tenon/core/half.hpp>
#include <tenon/io/text/text_fault.hpp>

/// The number that a text begins with, for parsers: what stands behind it is theirs to look at. Included where kernels and
/// parsers are compiled only.

namespace tenon::detail {

/// By std::from_chars, or what there is in its place, for numbers of many digits, infinities and NaNs; and out of range.
const char* read_rare(const char* begin, const char* end, float& v, text_fault& f);
const char* read_rare(const char* begin, const char* end, double& v, text_fault& f);

inline constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                           1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// 1e-22 to 1e22.
inline constexpr double scales_of_ten[] = {
    1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8,
    1e-7,  1e-6,  1e-5,  1e-4,  1e-3,  1e-2,  1e-1,  1e0,   1e1,   1e2,   1e3,   1e4,   1e5,   1e6,  1e7,
    1e8,   1e9,   1e10,  1e11,  1e12,  1e13,  1e14,  1e15,  1e16,  1e17,  1e18,  1e19,  1e20,  1e21, 1e22};

inline bool is_decimal_digit(char c) noexcept { return static_cast<unsigned char>(c - '0') < 10; }

/// The digits that the 8 characters at `p` begin with, at once: without a branch that depends on how many they are.
struct few_digits {
    std::uint64_t value;
    unsigned count; ///< 8: there may be more, and the value is not told
};
inline few_digits few_digits_of(std::uint64_t word) noexcept {
    word ^= 0x3030303030303030u;
    const std::uint64_t others = (word | (word + 0x7676767676767676u)) & 0x8080808080808080u;
    const auto count = static_cast<unsigned>(std::countr_zero(others)) / 8;
    word = word << (56 - 8 * (count & 7)) << 8; // zeros before them
    word = word * 10 + (word >> 8);             // pairs; then fours, and all
    const std::uint64_t pairs = 0x000000FF000000FFu;
    return {((word & pairs) * 0x000F424000000064u + ((word >> 16) & pairs) * 0x0000271000000001u) >> 32, count};
}
inline std::uint64_t next_8(const char* p) noexcept {
    std::uint64_t word;
    std::memcpy(&word, p, 8); // the first is the lowest byte
    return word;
}
inline few_digits read_few_digits(const char* p) noexcept { return few_digits_of(next_8(p)); }
/// The same where fewer may be left, 0 to 7 or more, and at least 8 characters stand before `end`.
inline few_digits read_few_digits(const char* p, const char* end) noexcept {
    if (end - p >= 8) return read_few_digits(p);
    return few_digits_of(next_8(end - 8) >> 8 >> (56 - 8 * (end - p))); // zeros behind them, which are no digits
}
inline constexpr bool reads_few_digits = std::endian::native == std::endian::little;

/// A decimal number, taken apart.
struct decimal {
    std::uint64_t digits = 0; ///< 19 at most
    int exponent = 0;         ///< of ten, for them
    bool negative = false, any = false;
    bool all = true; ///< no digit was left out
};
// Where it ends; a.any is false where there is none.
inline const char* read_decimal(const char* p, const char* end, decimal& a) noexcept {
    const char* at = p;
    if (at != end) {
        a.negative = *at == '-';
        at += static_cast<int>(a.negative) | static_cast<int>(*at == '+');
    }
    std::int64_t count = -1, exponent = 0;
    std::uint64_t digits = 0;
    if (reads_few_digits && end - at >= 8) {
        const few_digits whole = read_few_digits(at);
        if (whole.count < 8) {
            if (at[whole.count] != '.') {
                digits = whole.value;
                count = whole.count;
                at += whole.count;
            } else if (const few_digits part = read_few_digits(at + whole.count + 1, end); part.count < 8) {
                constexpr std::uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
                digits = whole.value * powers[part.count] + part.value;
                exponent = -static_cast<std::int64_t>(part.count);
                count = whole.count + part.count;
                at += whole.count + 1 + part.count;
            }
        }
    }
    if (count < 0) { // one by one
        const char* const first = at;
        for (; at != end && is_decimal_digit(*at); ++at) digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
        count = at - first;
        if (at != end && *at == '.') {
            const char* const point = at++;
            for (; at != end && is_decimal_digit(*at); ++at)
                digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
            exponent = point + 1 - at;
            count -= exponent;
        }
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
        if (e != end && is_decimal_digit(*e)) {
            std::int64_t said = 0;
            for (; e != end && is_decimal_digit(*e); ++e)
                if (said < 100000) said = said * 10 + (*e - '0');
            exponent += down ? -said : said;
            at = e;
        }
    }
    a.exponent = static_cast<int>(exponent);
    return at;
}

// A product or a quotient of two doubles that are exact is rounded once, which for a double is the result. For a float, a
// double that is some units off gives the result too, unless it is next to where floats are rounded the other way: then
// from_chars decides.
inline double signed_as(bool negative, double v) noexcept {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) ^ static_cast<std::uint64_t>(negative) << 63);
}
inline const char* read_number(const char* p, const char* end, double& v, text_fault& f) {
    decimal a;
    const char* const behind = read_decimal(p, end, a);
    if (!a.any || !a.all || a.digits > (std::uint64_t{1} << 53) || a.exponent > 22 || a.exponent < -22)
        return read_rare(p, end, v, f);
    const double m = static_cast<double>(a.digits);
    v = signed_as(a.negative, a.exponent < 0 ? m / powers_of_ten[-a.exponent] : m * powers_of_ten[a.exponent]);
    f = text_fault::none;
    return behind;
}
inline const char* read_number(const char* p, const char* end, float& v, text_fault& f) {
    decimal a;
    const char* const behind = read_decimal(p, end, a);
    if (!a.any || !a.all || a.exponent > 18 || a.exponent < -22) // beyond 2^127, or what is denormal
        return read_rare(p, end, v, f);
    // The digits, the power and the product are rounded, each by half a unit at most.
    const double d = static_cast<double>(a.digits) * scales_of_ten[a.exponent + 22];
    constexpr std::uint64_t below_float = (std::uint64_t{1} << 29) - 1, half_way = std::uint64_t{1} << 28;
    if (((std::bit_cast<std::uint64_t>(d) & below_float) - half_way + 4) <= 8) return read_rare(p, end, v, f);
    v = static_cast<float>(signed_as(a.negative, d));
    f = text_fault::none;
    return behind;
}

template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
const char* read_number(const char* p, const char* end, T& v, text_fault& f) {
    const char* at = p;
    const bool negative = at != end && *at == '-';
    if (at != end) at += static_cast<int>(negative) | static_cast<int>(*at == '+');
    const char* const first = at;
    std::uint64_t digits = 0;
    const few_digits few = reads_few_digits && end - at >= 8 ? read_few_digits(at) : few_digits{0, 8};
    if (few.count < 8) {
        digits = few.value;
        at += few.count;
    } else
        for (; at != end && is_decimal_digit(*at); ++at) digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
    if (at == first || (negative && std::is_unsigned_v<T>)) {
        f = text_fault::no_value;
        return p;
    }
    if (at - first > 18) { // it may be too large for 64 bits
        T read{};
        f = std::from_chars(negative ? p : first, end, read).ec == std::errc() ? text_fault::none
                                                                               : text_fault::out_of_range;
        if (f == text_fault::none) v = read;
        return at;
    }
    const std::int64_t said = negative ? -static_cast<std::int64_t>(digits) : static_cast<std::int64_t>(digits);
    f = std::in_range<T>(said) ? text_fault::none : text_fault::out_of_range;
    if (f == text_fault::none) v = static_cast<T>(said);
    return at;
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
