#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "simd_math_support.hpp"

namespace simd = tenon::simd;
using namespace math_test;

namespace {

template <class E> E exact_sigmoid(E x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
template <class E> E exact_softplus(E x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
/// By recurrence to 40, where eight terms of the asymptotic series are exact; negative numbers by reflection.
template <class E> E exact_digamma(E x) {
    if (x == 0) return std::copysign(std::numeric_limits<E>::infinity(), -x);
    if (std::isinf(x)) return x > 0 ? x : std::numeric_limits<E>::quiet_NaN();
    long double y = static_cast<long double>(x);
    long double r = 0;
    if (y < 0) {
        const long double pi = 3.14159265358979323846264338327950288L;
        const long double fraction = y - std::round(y);
        if (fraction == 0) return std::numeric_limits<E>::quiet_NaN();
        r = -pi / std::tan(pi * fraction);
        y = 1 - y;
    }
    for (; y < 40; y += 1) r -= 1 / y;
    const long double z = 1 / (y * y);
    r += std::log(y) - 0.5L / y;
    r -= z * (1.0L / 12 - z * (1.0L / 120 -
                               z * (1.0L / 252 - z * (1.0L / 240 - z * (1.0L / 132 - z * (691.0L / 32760 - z / 12))))));
    return static_cast<E>(r);
}

/// The inverse of erf at x >= 0, z being 1 - x, by Newton's iteration: for erf or, where z is small, for log erfc.
inline long double inverse_erf(long double x, long double z) {
    if (!(z > 0) || x == 0) return z < 0 ? std::numeric_limits<long double>::quiet_NaN() : x / z;
    const long double slope = 2 / std::sqrt(std::acos(-1.0L));
    long double y = x < 0.5L ? x / slope : std::sqrt(-std::log(z));
    for (int i = 0; i < 60; ++i) {
        const long double missing = x < 0.5L ? x - std::erf(y) : std::log(std::erfc(y) / z) * std::erfc(y);
        const long double step = missing / (slope * std::exp(-y * y));
        y += step;
        if (std::fabs(step) < 1e-18L * y) break;
    }
    return y;
}
template <class E> E exact_erfinv(E x) {
    const auto a = static_cast<long double>(std::fabs(x));
    return static_cast<E>(std::copysign(inverse_erf(a, 1 - a), static_cast<long double>(x)));
}
template <class E> E exact_erfcinv(E x) {
    const auto z = x == 0 ? 0 : static_cast<long double>(x);
    return static_cast<E>(z > 1 ? -inverse_erf(z - 1, 2 - z) : inverse_erf(1 - z, z));
}

struct unary_function {
    const char* name;
    unary_kernel<float> in_float[simd::isa_count];
    unary_kernel<double> in_double[simd::isa_count];
    double (*exact)(double);
    long double (*exact_double)(long double);
    double double_bound; // in ulp
};
#define TENON_TEST_FUNCTION(NAME, BOUND)                                                             \
    {                                                                                                \
#NAME, TENON_TEST_KERNELS(NAME, float), TENON_TEST_KERNELS(NAME, double),                    \
            [](double x) { return std::NAME(x); }, [](long double x) { return std::NAME(x); }, BOUND \
    }
#define TENON_TEST_OWN_FUNCTION(NAME, BOUND)                                                              \
    {                                                                                                     \
#NAME, TENON_TEST_KERNELS(NAME, float), TENON_TEST_KERNELS(NAME, double), exact_##NAME < double>, \
            exact_##NAME < long double>, BOUND                                                            \
    }
constexpr double checked_apart = 0;
const unary_function unary_functions[] = {
    TENON_TEST_FUNCTION(exp, 1.5),
    TENON_TEST_FUNCTION(exp2, 1.5),
    TENON_TEST_FUNCTION(expm1, 2),
    TENON_TEST_FUNCTION(log, 1.5),
    TENON_TEST_FUNCTION(log2, 2),
    TENON_TEST_FUNCTION(log10, 2.5),
    TENON_TEST_FUNCTION(log1p, 2),
    TENON_TEST_FUNCTION(sin, 1.5),
    TENON_TEST_FUNCTION(cos, 1.5),
    TENON_TEST_FUNCTION(tan, 2.5),
    TENON_TEST_FUNCTION(asin, 2.5),
    TENON_TEST_FUNCTION(acos, 2),
    TENON_TEST_FUNCTION(atan, 2.5),
    TENON_TEST_FUNCTION(sinh, 3),
    TENON_TEST_FUNCTION(cosh, 2),
    TENON_TEST_FUNCTION(tanh, 3),
    TENON_TEST_FUNCTION(asinh, 3),
    TENON_TEST_FUNCTION(acosh, 3),
    TENON_TEST_FUNCTION(atanh, 3),
    TENON_TEST_FUNCTION(erf, 2),
    TENON_TEST_FUNCTION(erfc, 4),
    TENON_TEST_OWN_FUNCTION(erfinv, 4),
    TENON_TEST_OWN_FUNCTION(erfcinv, 4),
    TENON_TEST_FUNCTION(cbrt, 1.5),
    TENON_TEST_FUNCTION(lgamma, checked_apart),
    TENON_TEST_OWN_FUNCTION(digamma, checked_apart),
    TENON_TEST_OWN_FUNCTION(sigmoid, 2),
    TENON_TEST_OWN_FUNCTION(softplus, 2.5),
};

template <class T> std::vector<T> special_values() {
    using limits = std::numeric_limits<T>;
    std::vector<T> r;
    for (T x : {T(0),
                limits::denorm_min(),
                limits::min(),
                limits::max(),
                limits::infinity(),
                limits::quiet_NaN(),
                T(1),
                T(2),
                T(3),
                T(4),
                T(0.5),
                T(10),
                T(1000),
                std::nextafter(T(1), T(0)),
                std::nextafter(T(1), T(2)),
                T(88.72283),
                T(103.97),
                T(709.78),
                T(745.13),
                T(127),
                T(128),
                T(149),
                T(150),
                T(1024),
                T(1074),
                T(1075),
                T(1.4616321449683622),
                T(3.141592653589793),
                T(1e5),
                T(1e7),
                T(1e22),
                T(3.9)}) {
        r.push_back(x);
        r.push_back(-x);
    }
    return r;
}

template <class T, class Exact>
void check_values(const char* name, const unary_kernel<T> (&kernels)[simd::isa_count], Exact (*exact)(Exact),
                  std::vector<T> x, double bound) {
    while (x.size() % 16 != 0) x.push_back(T(1));
    std::vector<Exact> expected(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) expected[i] = exact(static_cast<Exact>(x[i]));
    std::vector<T> got(x.size());
    for (int k = 0; k < simd::isa_count; ++k) {
        const auto which = static_cast<simd::isa>(k);
        if (!simd::has_isa(which)) continue;
        kernels[k](x.data(), got.data(), static_cast<int>(x.size()));
        double worst = 0;
        std::size_t at = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double error = error_in_ulp(got[i], expected[i]);
            if (error > worst) worst = error, at = i;
        }
        INFO(description(name, which, worst, x[at], got[at]));
        CHECK(worst <= bound);
    }
}

} // namespace

TEST_CASE("float functions are within 2 ulp of the exact value over the whole range, special values as in C") {
    for (const unary_function& f : unary_functions) {
        // 1,048,000 numbers, evenly spread over the bit patterns.
        std::vector<float> x;
        x.reserve(1 << 16);
        for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += 4099) {
            const auto word = static_cast<std::uint32_t>(bits);
            float number;
            std::memcpy(&number, &word, sizeof(number));
            x.push_back(number);
            if (x.size() == 1 << 16) {
                check_values<float, double>(f.name, f.in_float, f.exact, x, 2);
                x.clear();
            }
        }
        check_values<float, double>(f.name, f.in_float, f.exact, x, 2);
        check_values<float, double>(f.name, f.in_float, f.exact, special_values<float>(), 2);
    }
}

TEST_CASE(
    "tanh of float where its polynomials meet: within 2 ulp, odd, at most 1, and the same bits with AVX2 and AVX-512") {
    const unary_kernel<float> tanh_float[] = TENON_TEST_KERNELS(tanh, float);
    std::vector<float> x;
    for (const float meeting : {0.25F, 0.5F, 1.0F, 1.5F, 2.5F, 3.5F, 5.5F, 8.736F}) {
        float above = meeting / 0.91F;
        float below = above;
        for (int i = 0; i < 2048; ++i) {
            for (const float number : {above, below}) x.insert(x.end(), {number, -number});
            above = std::nextafter(above, 100.0F);
            below = std::nextafter(below, 0.0F);
        }
    }
    check_values<float, double>(
        "tanh", tanh_float, [](double number) { return std::tanh(number); }, x, 2);
    std::vector<float> got(x.size());
    std::vector<float> narrower;
    for (int k = 0; k < simd::isa_count; ++k) {
        if (!simd::has_isa(static_cast<simd::isa>(k))) continue;
        tanh_float[k](x.data(), got.data(), static_cast<int>(x.size()));
        for (std::size_t i = 0; i < x.size(); i += 2) {
            if (got[i] != -got[i + 1] || got[i] > 1)
                FAIL_CHECK("tanh of ", x[i], " is ", got[i], ", of ", x[i + 1], " ", got[i + 1]);
        }
        if (static_cast<simd::isa>(k) == simd::isa::avx512) CHECK(got == narrower);
        narrower = got;
    }
}

TEST_CASE("double functions keep to their bounds, special values as in C") {
    if (std::numeric_limits<long double>::digits <= std::numeric_limits<double>::digits) {
        MESSAGE("skipped: long double has no more digits than double here");
        return;
    }
    std::mt19937_64 random(7);
    std::vector<double> x(20000);
    for (double& number : x) number = random_number<double>(random);
    for (const unary_function& f : unary_functions) {
        if (f.double_bound == checked_apart) continue;
        check_values<double, long double>(f.name, f.in_double, f.exact_double, x, f.double_bound);
        check_values<double, long double>(f.name, f.in_double, f.exact_double, special_values<double>(),
                                          f.double_bound);
    }
}

TEST_CASE("double lgamma and digamma are accurate compared to the terms they are summed from") {
    std::mt19937_64 random(8);
    std::vector<double> x(4096);
    for (double& number : x) {
        number = static_cast<double>(random() >> 11) * 0x1p-53 * 60 - 20;
        if (std::fabs(number - std::round(number)) < 0.01) number += 0.1; // at poles the terms are large
    }
    std::vector<double> got(x.size());
    for (const unary_function& f : unary_functions) {
        if (f.double_bound != checked_apart) continue;
        for (int k = 0; k < simd::isa_count; ++k) {
            if (!simd::has_isa(static_cast<simd::isa>(k))) continue;
            f.in_double[k](x.data(), got.data(), static_cast<int>(x.size()));
            double worst = 0;
            for (std::size_t i = 0; i < x.size(); ++i) {
                const long double expected = f.exact_double(static_cast<long double>(x[i]));
                const auto error = static_cast<double>(std::fabs(static_cast<long double>(got[i]) - expected));
                // Near a negative number the terms have about the size of pi / tan(pi x), at most 100 here.
                worst = std::max(worst, error / (100 + std::fabs(static_cast<double>(expected))));
            }
            INFO(std::string(f.name), ", ", std::string(simd::name_of(static_cast<simd::isa>(k))));
            CHECK(worst < 2e-15);
        }
        check_values<double, double>(f.name, f.in_double, f.exact,
                                     {0.0, -0.0, -1.0, -2.0, std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN(), 1e300},
                                     2);
    }
}

namespace {

template <class T, class Exact>
void check_pairs(const char* name, const binary_kernel<T> (&kernels)[simd::isa_count], Exact (*exact)(Exact, Exact),
                 double bound) {
    std::vector<T> x;
    std::vector<T> y;
    for (T a : special_values<T>())
        for (T b : special_values<T>()) x.push_back(a), y.push_back(b);
    std::mt19937_64 random(9);
    while (x.size() < 40000 || x.size() % 16 != 0) {
        x.push_back(random_number<T>(random));
        y.push_back(random_number<T>(random));
    }
    std::vector<T> got(x.size());
    for (int k = 0; k < simd::isa_count; ++k) {
        const auto which = static_cast<simd::isa>(k);
        if (!simd::has_isa(which)) continue;
        kernels[k](x.data(), y.data(), got.data(), static_cast<int>(x.size()));
        double worst = 0;
        std::size_t at = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double error = error_in_ulp(got[i], exact(static_cast<Exact>(x[i]), static_cast<Exact>(y[i])));
            if (error > worst) worst = error, at = i;
        }
        INFO(description(name, which, worst, x[at], got[at]), ", second ", static_cast<double>(y[at]));
        CHECK(worst <= bound);
    }
}

} // namespace

TEST_CASE("pow, atan2 and hypot: every pair of special values as in C, and random pairs") {
    const binary_kernel<float> pow_float[] = TENON_TEST_KERNELS(pow, float);
    const binary_kernel<float> atan2_float[] = TENON_TEST_KERNELS(atan2, float);
    const binary_kernel<float> hypot_float[] = TENON_TEST_KERNELS(hypot, float);
    check_pairs<float, double>(
        "pow", pow_float, [](double x, double y) { return std::pow(x, y); }, 2);
    check_pairs<float, double>(
        "atan2", atan2_float, [](double x, double y) { return std::atan2(x, y); }, 2);
    check_pairs<float, double>(
        "hypot", hypot_float, [](double x, double y) { return std::hypot(x, y); }, 2);
    if (std::numeric_limits<long double>::digits <= std::numeric_limits<double>::digits) return;
    const binary_kernel<double> pow_double[] = TENON_TEST_KERNELS(pow, double);
    const binary_kernel<double> atan2_double[] = TENON_TEST_KERNELS(atan2, double);
    const binary_kernel<double> hypot_double[] = TENON_TEST_KERNELS(hypot, double);
    using wide = long double;
    check_pairs<double, wide>(
        "pow", pow_double, [](wide x, wide y) { return std::pow(x, y); }, 2);
    check_pairs<double, wide>(
        "atan2", atan2_double, [](wide x, wide y) { return std::atan2(x, y); }, 2.5);
    check_pairs<double, wide>(
        "hypot", hypot_double, [](wide x, wide y) { return std::hypot(x, y); }, 2);
}

TEST_CASE("inverse error functions next to -1, 0, 1 and 2") {
    const auto check = [](auto one, const auto& erfinv, const auto& erfcinv, auto exact, double bound) {
        using T = decltype(one);
        std::vector<T> below, near;
        T high = 1, low = 0;
        for (int i = 0; i < 1000; ++i) {
            for (const T x : {high, 1 - std::ldexp(one, -i % 53), std::ldexp(one, -i), low}) {
                below.push_back(x);
                below.push_back(-x);
                near.push_back(x);
                near.push_back(2 - x);
                near.push_back(std::nextafter(T(2) - x, T(1)));
            }
            high = std::nextafter(high, T(0));
            low = std::nextafter(low, T(1));
        }
        check_values("erfinv", erfinv, &exact_erfinv<decltype(exact)>, below, bound);
        check_values("erfcinv", erfcinv, &exact_erfcinv<decltype(exact)>, near, bound);
    };
    const unary_kernel<float> erfinv_float[] = TENON_TEST_KERNELS(erfinv, float);
    const unary_kernel<float> erfcinv_float[] = TENON_TEST_KERNELS(erfcinv, float);
    check(1.0F, erfinv_float, erfcinv_float, double{}, 2);
    if (std::numeric_limits<long double>::digits <= std::numeric_limits<double>::digits) return;
    const unary_kernel<double> erfinv_double[] = TENON_TEST_KERNELS(erfinv, double);
    const unary_kernel<double> erfcinv_double[] = TENON_TEST_KERNELS(erfcinv, double);
    check(1.0, erfinv_double, erfcinv_double, static_cast<long double>(0), 4);
}

TEST_CASE("relu is max(x, 0) and keeps NaN") {
    const unary_kernel<float> relu_float[] = TENON_TEST_KERNELS(relu, float);
    const unary_kernel<double> relu_double[] = TENON_TEST_KERNELS(relu, double);
    check_values<float, double>(
        "relu", relu_float, [](double x) { return x < 0 ? 0 : x; }, special_values<float>(), 0);
    check_values<double, double>(
        "relu", relu_double, [](double x) { return x < 0 ? 0 : x; }, special_values<double>(), 0);
}
