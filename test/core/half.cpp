#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <doctest/doctest.h>

#include <tenon/core/half.hpp>

using tenon::bfloat16;
using tenon::half;

static_assert(std::is_trivial_v<half> && std::is_trivial_v<bfloat16>);
static_assert(!std::is_convertible_v<float, half> && std::is_convertible_v<half, float>);
static_assert(half(1.0F).bits() == 0x3C00 && bfloat16(1).bits() == 0x3F80);
static_assert(half(3) + half(4) == half(7) && half(3) * 0.5F == 1.5F);
static_assert(std::is_same_v<decltype(half(1) / half(3)), half>);
static_assert(half::from_bits(0x0001) == std::numeric_limits<half>::denorm_min());
static_assert(half{} == half(0) && (-half{}).bits() == 0x8000);

namespace {

/// The nearest of the 16-bit numbers by search: independent of how the conversion rounds.
template <class T> std::uint16_t nearest_bits(double x) {
    const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const double magnitude = std::fabs(x);
    unsigned low = 0;
    unsigned high = std::numeric_limits<T>::infinity().bits();
    // As the standard has it, infinity stands where the next number after the largest would be.
    const auto value = [&](unsigned bits) {
        if (bits == std::numeric_limits<T>::infinity().bits())
            return std::ldexp(1.0, std::numeric_limits<T>::max_exponent);
        return static_cast<double>(float(T::from_bits(static_cast<std::uint16_t>(bits))));
    };
    if (magnitude >= value(high)) return static_cast<std::uint16_t>(sign | high);
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        (value(middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - value(low);
    const double above = value(high) - magnitude;
    const bool up = above < below || (above == below && (low & 1U) != 0);
    return static_cast<std::uint16_t>(sign | (up ? high : low));
}

/// By the definition: sign, fraction, power of two.
template <class T> double value_by_definition(unsigned bits) {
    const int fraction = static_cast<int>(bits & ((1U << T::mantissa_bits) - 1U));
    const int exponent = static_cast<int>((bits & 0x7FFFU) >> T::mantissa_bits);
    const int bias = (1 << (T::exponent_bits - 1)) - 1;
    const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
    if (exponent == (1 << T::exponent_bits) - 1)
        return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - T::mantissa_bits);
    return sign * std::ldexp((1 << T::mantissa_bits) + fraction, exponent - bias - T::mantissa_bits);
}

} // namespace

TEST_CASE_TEMPLATE("every bit pattern has the value that IEEE 754 defines, and comes back from it", T, half, bfloat16) {
    int wrong = 0;
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const T x = T::from_bits(static_cast<std::uint16_t>(bits));
        const double expected = value_by_definition<T>(bits);
        const double value = static_cast<double>(float(x));
        if (std::isnan(expected)) {
            wrong += std::isnan(value) && std::isnan(float(T(float(x)))) && std::isnan(float(T(value))) ? 0 : 1;
        } else {
            wrong += value == expected && std::signbit(value) == std::signbit(expected) ? 0 : 1;
            wrong += T(float(x)).bits() == bits && T(value).bits() == bits ? 0 : 1;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("float and double are rounded to nearest, ties to even", T, half, bfloat16) {
    int wrong = 0;
    for (unsigned bits = 0; bits < std::numeric_limits<T>::infinity().bits(); ++bits) {
        const double x = value_by_definition<T>(bits);
        const double next = bits + 1U == std::numeric_limits<T>::infinity().bits()
                                ? std::ldexp(1.0, std::numeric_limits<T>::max_exponent)
                                : value_by_definition<T>(bits + 1U);
        const double tie = (x + next) / 2;
        for (double y : {x, tie, std::nextafter(tie, x), std::nextafter(tie, next), x + (next - x) / 3}) {
            wrong += T(y).bits() == nearest_bits<T>(y) ? 0 : 1;
            wrong += T(-y).bits() == nearest_bits<T>(-y) ? 0 : 1;
            const float z = static_cast<float>(y);
            wrong += T(z).bits() == nearest_bits<T>(static_cast<double>(z)) ? 0 : 1;
        }
    }
    CHECK(wrong == 0);
    // A double is not rounded by way of float: this one is just above a tie that float would make exact.
    CHECK(half(1.0 + 0x1p-11 + 0x1p-40).bits() == 0x3C01);
    CHECK(half(static_cast<float>(1.0 + 0x1p-11 + 0x1p-40)).bits() == 0x3C00);
}

TEST_CASE_TEMPLATE("too large is infinity, too small is zero, NaN stays NaN, signs are kept", T, half, bfloat16) {
    using limits = std::numeric_limits<T>;
    CHECK(T(1e300) == limits::infinity());
    CHECK(T(-1e300).bits() == (limits::infinity().bits() | 0x8000));
    CHECK(T(std::numeric_limits<float>::infinity()) == limits::infinity());
    CHECK(T(1e-300).bits() == 0);
    CHECK(T(-1e-300).bits() == 0x8000);
    CHECK(T(-0.0F).bits() == 0x8000);
    CHECK(std::isnan(float(T(std::numeric_limits<double>::quiet_NaN()))));
    // A signalling NaN whose payload lies below what is kept must not become infinity.
    CHECK(std::isnan(float(T(std::bit_cast<float>(0x7F800001U)))));
    CHECK(T(limits::quiet_NaN()) != T(limits::quiet_NaN()));
}

TEST_CASE_TEMPLATE("arithmetic rounds the exact result once", T, half, bfloat16) {
    int wrong = 0;
    const unsigned step = 97;
    for (unsigned i = 0; i < 65536; i += step)
        for (unsigned j = 0; j < 65536; j += step) {
            const T a = T::from_bits(static_cast<std::uint16_t>(i));
            const T b = T::from_bits(static_cast<std::uint16_t>(j));
            const auto x = static_cast<double>(float(a));
            const auto y = static_cast<double>(float(b));
            // Sums and products of these are exact in double; a quotient is far enough from a tie.
            const auto check = [&](T got, double exact) {
                if (std::isnan(exact)) wrong += std::isnan(float(got)) ? 0 : 1;
                else wrong += got.bits() == T(exact).bits() ? 0 : 1;
            };
            if constexpr (std::is_same_v<T, half>) { // bfloat16's exponents are too far apart for exact sums
                check(a + b, x + y);
                check(a - b, x - y);
            }
            check(a * b, x * y);
            check(a / b, x / y);
            wrong += (a < b) == (x < y) && (a == b) == (x == y) && (a >= b) == (x >= y) ? 0 : 1;
        }
    CHECK(wrong == 0);
    T sum(1);
    sum += T(2);
    sum *= T(3);
    sum -= T(1);
    sum /= T(2);
    CHECK(sum == T(4));
}

TEST_CASE_TEMPLATE("numeric_limits describe the format", T, half, bfloat16) {
    using limits = std::numeric_limits<T>;
    CHECK(limits::is_specialized);
    CHECK(float(T(1) + limits::epsilon()) == 1 + float(limits::epsilon()));
    CHECK(T(1) + limits::epsilon() * T(0.5F) == T(1));
    CHECK(float(limits::epsilon()) == std::ldexp(1.0F, 1 - limits::digits));
    CHECK(float(limits::min()) == std::ldexp(1.0F, limits::min_exponent - 1));
    CHECK(float(limits::denorm_min()) == std::ldexp(1.0F, limits::min_exponent - limits::digits));
    CHECK(float(limits::max()) == std::ldexp(2.0F - float(limits::epsilon()), limits::max_exponent - 1));
    CHECK(limits::lowest() == -limits::max());
    CHECK(limits::digits10 == static_cast<int>(std::floor((limits::digits - 1) * std::log10(2.0))));
    CHECK(limits::max_digits10 == static_cast<int>(std::ceil(1 + limits::digits * std::log10(2.0))));
    CHECK(limits::max_exponent10 == static_cast<int>(std::floor(std::log10(float(limits::max())))));
    CHECK(limits::min_exponent10 == static_cast<int>(std::ceil(std::log10(float(limits::min())))));
}

TEST_CASE("integers convert; halves compare with other numbers through float") {
    CHECK(half(2048) == half(2049)); // 11 bits
    CHECK(half(true) == 1);
    CHECK(half(std::int64_t{-65504}) == std::numeric_limits<half>::lowest());
    CHECK(half(65520) == std::numeric_limits<half>::infinity());
    CHECK(half(0.5F) < 1);
    CHECK(half(0.5F) + 1.0F == 1.5F);
}
