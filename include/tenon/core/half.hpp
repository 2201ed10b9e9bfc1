#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tenon/core/config.hpp>

namespace tenon {

namespace detail {

/// The bits of `value` rounded to the nearest number (ties to even) with a sign, `ExponentBits` of exponent
/// and `MantissaBits` of fraction, in the layout of IEEE 754. Too large gives infinity; a NaN stays a NaN and
/// becomes quiet.
template <int ExponentBits, int MantissaBits, class Float> constexpr std::uint16_t narrow_float(Float value) noexcept {
    static_assert(std::numeric_limits<Float>::is_iec559 && (sizeof(Float) == 4 || sizeof(Float) == 8));
    using bits_type = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
    constexpr int from_mantissa = std::numeric_limits<Float>::digits - 1;
    constexpr int from_max_exponent = sizeof(Float) == 4 ? 0xFF : 0x7FF;
    constexpr int rebias = ((1 << (ExponentBits - 1)) - 1) - from_max_exponent / 2;
    constexpr std::uint32_t infinity = ((1U << ExponentBits) - 1U) << MantissaBits;

    const auto bits = std::bit_cast<bits_type>(value);
    const auto sign = static_cast<std::uint32_t>(bits >> (8 * sizeof(Float) - 1)) << 15;
    const auto from_exponent = static_cast<int>((bits >> from_mantissa) & from_max_exponent);
    bits_type significand = bits & ((bits_type{1} << from_mantissa) - 1);
    std::uint32_t magnitude = 0;
    if (from_exponent == from_max_exponent) {
        magnitude = infinity;
        if (significand != 0)
            magnitude |=
                static_cast<std::uint32_t>(significand >> (from_mantissa - MantissaBits)) | (1U << (MantissaBits - 1));
    } else {
        int exponent = (from_exponent == 0 ? 1 : from_exponent) + rebias;
        if (from_exponent != 0) significand |= bits_type{1} << from_mantissa;
        int shift = from_mantissa - MantissaBits;
        if (exponent < 1) { // the result is denormal (or zero): more bits are dropped
            shift += 1 - exponent;
            exponent = 1;
        }
        if (shift <= from_mantissa + 1) {
            const bits_type kept = significand >> shift;
            const bits_type dropped = significand & ((bits_type{1} << shift) - 1);
            const bits_type tie = bits_type{1} << (shift - 1);
            const bool up = dropped > tie || (dropped == tie && (kept & 1) != 0);
            // A normal `kept` has its leading one at MantissaBits, which adds the missing one to the
            // exponent; a carry out of the fraction does the same.
            magnitude = (static_cast<std::uint32_t>(exponent - 1) << MantissaBits) + static_cast<std::uint32_t>(kept) +
                        (up ? 1U : 0U);
            if (magnitude > infinity) magnitude = infinity;
        }
    }
    return static_cast<std::uint16_t>(sign | magnitude);
}

/// The float that equals the 16-bit number `bits`: always exact.
template <int ExponentBits, int MantissaBits> constexpr float widen_float(std::uint16_t bits) noexcept {
    const std::uint32_t sign = (bits & 0x8000U) << 16;
    const std::uint32_t magnitude = bits & 0x7FFFU;
    if constexpr (ExponentBits == 8) {
        return std::bit_cast<float>(sign | (magnitude << 16));
    } else {
        constexpr std::uint32_t max_exponent = (1U << ExponentBits) - 1U;
        constexpr std::uint32_t rebias = 127U - max_exponent / 2U;
        const std::uint32_t exponent = magnitude >> MantissaBits;
        if (exponent == 0) {
            constexpr float denormal_step = std::bit_cast<float>((rebias + 1U - MantissaBits) << 23);
            const float value = static_cast<float>(magnitude) * denormal_step;
            return sign == 0 ? value : -value;
        }
        std::uint32_t wide = (magnitude << (23 - MantissaBits)) + (rebias << 23);
        if (exponent == max_exponent) wide |= 0x7F800000U;
        return std::bit_cast<float>(sign | wide);
    }
}

/// What half and bfloat16 share. Every operation is computed in float and rounded once: with at most 11
/// significant bits, that is the correctly rounded result of + - * / (Figueroa, "When is double rounding
/// innocuous?", 1995).
template <class Self, int ExponentBits, int MantissaBits> struct small_float {
    static_assert(1 + ExponentBits + MantissaBits == 16);
    static constexpr int exponent_bits = ExponentBits;
    static constexpr int mantissa_bits = MantissaBits;

    small_float() = default;
    /// The nearest value, ties to even. An integer beyond 2^53 is first rounded to double.
    template <class Number>
        requires std::is_arithmetic_v<Number>
    constexpr explicit small_float(Number value) noexcept {
        if constexpr (std::is_same_v<Number, float>) bits_ = narrow_float<ExponentBits, MantissaBits>(value);
        else bits_ = narrow_float<ExponentBits, MantissaBits>(static_cast<double>(value));
    }
    static constexpr Self from_bits(std::uint16_t bits) noexcept {
        Self result{};
        result.bits_ = bits;
        return result;
    }
    constexpr std::uint16_t bits() const noexcept { return bits_; }
    /// Exact. Comparisons, and arithmetic with other types, happen in float through this.
    constexpr operator float() const noexcept { return widen_float<ExponentBits, MantissaBits>(bits_); }

    friend constexpr Self operator+(Self a) noexcept { return a; }
    friend constexpr Self operator-(Self a) noexcept {
        return from_bits(static_cast<std::uint16_t>(a.bits() ^ 0x8000U));
    }
    friend constexpr Self operator+(Self a, Self b) noexcept { return Self(float(a) + float(b)); }
    friend constexpr Self operator-(Self a, Self b) noexcept { return Self(float(a) - float(b)); }
    friend constexpr Self operator*(Self a, Self b) noexcept { return Self(float(a) * float(b)); }
    friend constexpr Self operator/(Self a, Self b) noexcept { return Self(float(a) / float(b)); }
    friend constexpr Self& operator+=(Self& a, Self b) noexcept { return a = a + b; }
    friend constexpr Self& operator-=(Self& a, Self b) noexcept { return a = a - b; }
    friend constexpr Self& operator*=(Self& a, Self b) noexcept { return a = a * b; }
    friend constexpr Self& operator/=(Self& a, Self b) noexcept { return a = a / b; }
    friend constexpr bool operator==(Self a, Self b) noexcept { return float(a) == float(b); }
    friend constexpr bool operator!=(Self a, Self b) noexcept { return float(a) != float(b); }
    friend constexpr bool operator<(Self a, Self b) noexcept { return float(a) < float(b); }
    friend constexpr bool operator<=(Self a, Self b) noexcept { return float(a) <= float(b); }
    friend constexpr bool operator>(Self a, Self b) noexcept { return float(a) > float(b); }
    friend constexpr bool operator>=(Self a, Self b) noexcept { return float(a) >= float(b); }

private:
    std::uint16_t bits_;
};

} // namespace detail

/// IEEE 754 binary16: 11 significant bits, up to 65504, down to 2^-24. Two bytes, trivially copyable; left
/// uninitialised by `half x;`, zero by `half x{};`. Construction from any number is explicit, and rounds to
/// nearest even.
struct half : detail::small_float<half, 5, 10> {
    using small_float::small_float;
};

/// The upper half of a binary32: 8 significant bits with float's range. Otherwise as `half`.
struct bfloat16 : detail::small_float<bfloat16, 8, 7> {
    using small_float::small_float;
};

static_assert(sizeof(half) == 2 && std::is_trivially_copyable_v<half>);
static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16>);

namespace detail {

template <class Self> struct small_float_limits {
    static constexpr int exponent_bias = (1 << (Self::exponent_bits - 1)) - 1;
    static constexpr unsigned infinity_bits = ((1U << Self::exponent_bits) - 1U) << Self::mantissa_bits;
    static constexpr Self of(unsigned bits) noexcept { return Self::from_bits(static_cast<std::uint16_t>(bits)); }

    static constexpr bool is_specialized = true;
    static constexpr bool is_signed = true;
    static constexpr bool is_integer = false;
    static constexpr bool is_exact = false;
    static constexpr bool has_infinity = true;
    static constexpr bool has_quiet_NaN = true;
    static constexpr bool has_signaling_NaN = true;
    static constexpr bool is_iec559 = true;
    static constexpr bool is_bounded = true;
    static constexpr bool is_modulo = false;
    static constexpr bool traps = false;
    static constexpr bool tinyness_before = false;
    static constexpr std::float_round_style round_style = std::round_to_nearest;
    static constexpr int radix = 2;
    static constexpr int digits = Self::mantissa_bits + 1;
    static constexpr int digits10 = Self::mantissa_bits * 30103 / 100000;
    static constexpr int max_digits10 = 2 + digits * 30103 / 100000;
    static constexpr int max_exponent = exponent_bias + 1;
    static constexpr int min_exponent = 2 - exponent_bias;
    static constexpr int max_exponent10 = exponent_bias * 30103 / 100000;
    static constexpr int min_exponent10 = -((exponent_bias - 1) * 30103 / 100000);

    static constexpr Self min() noexcept { return of(1U << Self::mantissa_bits); }
    static constexpr Self max() noexcept { return of(infinity_bits - 1U); }
    static constexpr Self lowest() noexcept { return of(0x8000U | (infinity_bits - 1U)); }
    static constexpr Self epsilon() noexcept {
        return of(static_cast<unsigned>(exponent_bias - Self::mantissa_bits) << Self::mantissa_bits);
    }
    static constexpr Self round_error() noexcept { return Self(0.5F); }
    static constexpr Self infinity() noexcept { return of(infinity_bits); }
    static constexpr Self quiet_NaN() noexcept { return of(infinity_bits | (1U << (Self::mantissa_bits - 1))); }
    static constexpr Self signaling_NaN() noexcept { return of(infinity_bits | 1U); }
    static constexpr Self denorm_min() noexcept { return of(1U); }
};

} // namespace detail
} // namespace tenon

template <> struct std::numeric_limits<tenon::half> : tenon::detail::small_float_limits<tenon::half> {};
template <> struct std::numeric_limits<tenon::bfloat16> : tenon::detail::small_float_limits<tenon::bfloat16> {};
