#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <tenon/simd/pack.hpp>

#define TENON_SIMD_FILE <simd/simd_math_ops.inl>
#include <tenon/simd/for_each_isa.hpp>

/// Every mathematical function of packs, and how far its values are from the exact ones.

namespace math_test {

namespace simd = tenon::simd;

/// The error of `got` in units of the last place of the exact value, as T has them there (denormal numbers
/// included). Infinite where one is NaN, infinite or zero of a sign and the other is not.
template <class T, class Exact> double error_in_ulp(T got, Exact exact) {
    constexpr double wrong = std::numeric_limits<double>::infinity();
    if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : wrong;
    const T rounded = static_cast<T>(exact);
    if (got == rounded && (std::isinf(got) || (exact == 0 && std::signbit(got) == std::signbit(exact)))) return 0;
    if (exact == 0 || std::isinf(exact)) return wrong;
    // Where overflow begins, infinity counts as the number that would follow the largest.
    Exact value = static_cast<Exact>(got);
    if (std::isinf(got)) value = std::copysign(std::ldexp(Exact(1), std::numeric_limits<T>::max_exponent), value);
    int exponent = std::ilogb(exact);
    if (exponent < std::numeric_limits<T>::min_exponent - 1) exponent = std::numeric_limits<T>::min_exponent - 1;
    if (exponent > std::numeric_limits<T>::max_exponent - 1) exponent = std::numeric_limits<T>::max_exponent - 1;
    const Exact ulp = std::ldexp(Exact(1), exponent - std::numeric_limits<T>::digits + 1);
    return static_cast<double>(std::fabs((value - exact) / ulp));
}

template <class T> using unary_kernel = void (*)(const T*, T*, int);
template <class T> using binary_kernel = void (*)(const T*, const T*, T*, int);

#if defined(__x86_64__)
#define TENON_TEST_KERNELS(NAME, T) \
    { simd::baseline::math_ops::NAME<T>, simd::avx2::math_ops::NAME<T>, simd::avx512::math_ops::NAME<T> }
#else
#define TENON_TEST_KERNELS(NAME, T) \
    { simd::baseline::math_ops::NAME<T>, nullptr, nullptr }
#endif

template <class T> std::string description(const char* name, simd::isa which, double error, T at, T got) {
    char text[160];
    std::snprintf(text, sizeof(text), "%s, %s: %.3g ulp at %a, which gave %a", name, simd::name_of(which), error,
                  static_cast<double>(at), static_cast<double>(got));
    return text;
}

/// Any bit pattern, numbers of everyday size, and numbers near those whose exponential overflows.
template <class T> T random_number(std::mt19937_64& random) {
    const std::uint64_t bits = random();
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    T x;
    std::memcpy(&x, &bits, sizeof(x));
    switch (random() % 6) {
    case 0: return static_cast<T>(20 * unit - 10);
    case 1: return static_cast<T>(2 * unit - 1);
    case 2: return static_cast<T>(1500 * unit - 750);
    case 3: return static_cast<T>(static_cast<int>(200 * unit) - 100);
    case 4: return static_cast<T>(std::exp(30 * unit - 15));
    default: return x;
    }
}

} // namespace math_test
