#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/simd/pack.hpp>

#define TENON_SIMD_FILE <simd/simd_pack_ops.inl>
#include <tenon/simd/for_each_isa.hpp>

// What the tests of packs share: every instruction set this machine has, every type, numbers worth trying.

namespace simd_test {

namespace simd = tenon::simd;

template <class F> void on_each_isa(F f) {
    f(simd::baseline::pack_ops{});
#if defined(__x86_64__)
    if (simd::has_isa(simd::isa::avx2)) f(simd::avx2::pack_ops{});
    if (simd::has_isa(simd::isa::avx512)) f(simd::avx512::pack_ops{});
#endif
}

template <class T> struct tag { using type = T; };
template <class F> void on_each_integer(F f) {
    f(tag<std::int8_t>{}), f(tag<std::uint8_t>{}), f(tag<std::int16_t>{}), f(tag<std::uint16_t>{});
    f(tag<std::int32_t>{}), f(tag<std::uint32_t>{}), f(tag<std::int64_t>{}), f(tag<std::uint64_t>{});
}
template <class F> void on_each_number(F f) {
    f(tag<float>{}), f(tag<double>{});
    on_each_integer(f);
}
template <class F> void on_each_isa_and_integer(F f) {
    on_each_isa([f](auto ops) { on_each_integer([&](auto t) { f(ops, t); }); });
}
template <class F> void on_each_isa_and_number(F f) {
    on_each_isa([f](auto ops) { on_each_number([&](auto t) { f(ops, t); }); });
}

/// Numbers worth trying, then random ones: for floating types any bit pattern.
template <class T> std::vector<T> samples(unsigned seed, bool shuffled = true) {
    using limits = std::numeric_limits<T>;
    std::vector<T> r;
    if constexpr (std::is_floating_point_v<T>) {
        for (double x : {0.0,
                         0.25,
                         0.5,
                         0.75,
                         1.0,
                         1.5,
                         2.0,
                         2.5,
                         3.0,
                         3.5,
                         126.5,
                         127.5,
                         128.0,
                         255.0,
                         255.5,
                         256.0,
                         32767.5,
                         65535.0,
                         65536.0,
                         8388607.5,
                         8388608.0,
                         16777215.0,
                         2147483520.0,
                         2147483647.0,
                         2147483648.0,
                         4294967040.0,
                         4294967296.0,
                         4503599627370495.5,
                         9007199254740991.0,
                         9223371487098961920.0,
                         9223372036854775808.0,
                         18446744073709551616.0,
                         1e30})
            r.push_back(static_cast<T>(x)), r.push_back(static_cast<T>(-x));
        for (T x : {limits::min(), limits::max(), limits::denorm_min(), limits::epsilon(), limits::infinity(),
                    limits::quiet_NaN(), std::nextafter(T(0.5), T(0)), std::nextafter(T(1), T(0))})
            r.push_back(x), r.push_back(-x);
    } else {
        for (int x : {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127}) {
            r.push_back(static_cast<T>(x)), r.push_back(static_cast<T>(-x));
            r.push_back(static_cast<T>(limits::max() - static_cast<T>(x)));
            r.push_back(static_cast<T>(limits::min() + static_cast<T>(x)));
        }
    }
    std::mt19937_64 random(seed);
    while (r.size() < 4096) {
        const std::uint64_t bits = random();
        T x;
        std::memcpy(&x, &bits, sizeof(x));
        if constexpr (std::is_floating_point_v<T>)
            if (r.size() % 2 == 0) x = static_cast<T>(static_cast<double>(bits >> 11) * 0x1p-53 * 600 - 300);
        if constexpr (std::is_integral_v<T>)
            if (r.size() % 2 == 0) x = static_cast<T>(x % 50);
        r.push_back(x);
    }
    if (shuffled)
        for (std::size_t i = r.size() - 1; i > 0; --i) std::swap(r[i], r[random() % (i + 1)]);
    return r;
}

template <class T> bool same(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
        return a == b && std::signbit(a) == std::signbit(b);
    } else {
        return a == b;
    }
}

template <class T> std::string text(T x) {
    if constexpr (std::is_floating_point_v<T>) {
        char buffer[64];
        std::snprintf(buffer, sizeof(buffer), "%a", static_cast<double>(x));
        return buffer;
    } else {
        return std::to_string(x);
    }
}

/// The number of elements where r differs from what the scalar function gives; the first is described.
template <class T, class R>
void check_unary(const char* name, simd::isa which, void (*kernel)(const T*, R*, int), R (*reference)(T)) {
    const auto a = samples<T>(1);
    const auto buffer = std::make_unique<R[]>(a.size());
    kernel(a.data(), buffer.get(), static_cast<int>(a.size()));
    int wrong = 0;
    std::string first;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const R expected = reference(a[i]);
        if (same(buffer[i], expected)) continue;
        if (wrong++ == 0) first = text(a[i]) + " gave " + text(buffer[i]) + ", expected " + text(expected);
    }
    INFO(std::string(name), " of ", sizeof(T), "-byte elements, ", std::string(simd::name_of(which)), ": ", first);
    CHECK(wrong == 0);
}
template <class T, class R>
void check_binary(const char* name, simd::isa which, void (*kernel)(const T*, const T*, R*, int),
                  R (*reference)(T, T)) {
    auto a = samples<T>(2);
    auto b = samples<T>(3);
    for (std::size_t i = 0; i < 256; ++i) b[i] = a[i];
    // every pair of the special ones
    const auto special = samples<T>(4, false);
    for (std::size_t i = 0; i < 60; ++i)
        for (std::size_t j = 0; j < 60; ++j) a.push_back(special[i]), b.push_back(special[j]);
    while (a.size() % 16 != 0) a.push_back(T(1)), b.push_back(T(1));
    const auto buffer = std::make_unique<R[]>(a.size());
    kernel(a.data(), b.data(), buffer.get(), static_cast<int>(a.size()));
    int wrong = 0;
    std::string first;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const R expected = reference(a[i], b[i]);
        if (same(buffer[i], expected)) continue;
        if (wrong++ == 0)
            first = text(a[i]) + ", " + text(b[i]) + " gave " + text(buffer[i]) + ", expected " + text(expected);
    }
    INFO(std::string(name), " of ", sizeof(T), "-byte elements, ", std::string(simd::name_of(which)), ": ", first);
    CHECK(wrong == 0);
}

} // namespace simd_test
