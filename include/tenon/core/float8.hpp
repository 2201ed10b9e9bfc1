#pragma once

#include <bit>
#include <cstdint>

#include <tenon/core/config.hpp>

/// Floating numbers of 8 bits, in which products are made (P. Micikevicius et al., FP8 formats for deep learning, arXiv 2209.05433).

namespace tenon {

/// e4m3: 4 bits of exponent and 3 of fraction, without infinity. e5m2: 5 and 2.
enum class float8_format : std::uint8_t { e4m3, e5m2 };

constexpr float largest_of(float8_format f) noexcept { return f == float8_format::e4m3 ? 448.0F : 57344.0F; }

namespace detail {
struct float8_layout {
    int fraction, least_exponent; ///< bits; of normal numbers
};
constexpr float8_layout layout_of(float8_format f) noexcept {
    return f == float8_format::e4m3 ? float8_layout{3, -6} : float8_layout{2, -14};
}
} // namespace detail

/// x to the nearest number of the format, ties to even; what is beyond the largest one becomes that; NaN stays.
constexpr float rounded_to(float8_format f, float x) noexcept {
    const float most = largest_of(f), within = x > most ? most : x < -most ? -most : x;
    const auto [fraction, least] = detail::layout_of(f);
    const std::uint32_t exponent = std::bit_cast<std::uint32_t>(within) >> 23 & 0xFF;
    const std::uint32_t at_least = static_cast<std::uint32_t>(127 + least);
    // 1.5 times a power of 2, so large that the last bit of a float there is worth as much as the format's: a sum with it is rounded to that.
    const std::uint32_t shift =
        (exponent > at_least ? exponent : at_least) + 23U - static_cast<std::uint32_t>(fraction);
    const float beside = std::bit_cast<float>((shift & 0xFF) << 23 | 0x400000U);
    return within + beside - beside;
}

/// The bits of what rounded_to() gives.
constexpr std::uint8_t bits_of(float8_format f, float rounded) noexcept {
    const auto [fraction, least] = detail::layout_of(f);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(rounded), magnitude = bits & 0x7FFFFFFFU;
    const auto sign = static_cast<std::uint8_t>(bits >> 31 << 7);
    if (magnitude > 0x7F800000U) return static_cast<std::uint8_t>(sign | 0x7F);
    const auto lowest = static_cast<std::uint32_t>(127 + least);     // exponent
    if (magnitude >> 23 < lowest) {                                  // a multiple of the smallest number
        const float unit = std::bit_cast<float>((127U + 23U) << 23); // below are whole numbers
        const float count = std::bit_cast<float>(magnitude) *
                            std::bit_cast<float>(static_cast<std::uint32_t>(127 - least + fraction) << 23);
        return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(count + unit) & 0x7F));
    }
    return static_cast<std::uint8_t>(sign | ((magnitude >> (23 - fraction)) - ((lowest - 1) << fraction)));
}

/// What a tensor whose largest magnitude is `most` is multiplied by before it is rounded, so that the format's range is used. Of 0 it is 2^126;
/// of what is not finite it is 0 or NaN, and the products of all elements are NaN.
constexpr float scale_of(float8_format f, float most) noexcept {
    const float scale = largest_of(f) / most;
    return scale > 0x1p126F ? 0x1p126F : scale;
}

/// A sum of products of operands that were scaled, times the reciprocals of both scales: by the smaller one first, since with the other
/// one a result that is a float could pass through what is none.
constexpr float scaled_back(float sum, float back_a, float back_b) noexcept {
    return back_a < back_b ? sum * back_a * back_b : sum * back_b * back_a;
}

} // namespace tenon
