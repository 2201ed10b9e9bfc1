#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/simd/pack.hpp>

#define TENON_SIMD_FILE <simd/simd_math_ops.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace simd = tenon::simd;

namespace {

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

template <class T> using unary_kernel = void (*)(const T*, T*, int);
template <class T> using binary_kernel = void (*)(const T*, const T*, T*, int);

#if defined(__x86_64__)
#define TENON_TEST_KERNELS(NAME, T) \
    { simd::baseline::math_ops::NAME<T>, simd::avx2::math_ops::NAME<T>, simd::avx512::math_ops::NAME<T> }
#else
#define TENON_TEST_KERNELS(NAME, T) \
    { simd::baseline::math_ops::NAME<T>, nullptr, nullptr }
#endif

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

template <class T> std::string description(const char* name, simd::isa which, double error, T at, T got) {
    char text[160];
    std::snprintf(text, sizeof(text), "%s, %s: %.3g ulp at %a, which gave %a", name, simd::name_of(which), error,
                  static_cast<double>(at), static_cast<double>(got));
    return text;
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

namespace {

/// What polygamma(n, x) is, n >= 1, and the sum of the magnitudes of its terms.
struct exact_polygamma {
    long double value;
    long double magnitude;
};
/// The terms near 0 one by one; those beyond `reach` on either side by their integral with corrections.
exact_polygamma polygamma_by_terms(int n, long double x) {
    const long double reach = 60 + 4 * n;
    const auto rest = [n](long double y) { // the sum of 1 / (y + k)^(n + 1), k >= 0
        const long double z = 1 / (y * y);
        long double r = 1.0L / n + 0.5L / y, c = (n + 1) * z, i = n + 2;
        for (const long double b : {1.0L / 12, -1.0L / 720, 1.0L / 30240, -1.0L / 1209600, 1.0L / 47900160}) {
            r += b * c;
            c *= i * (i + 1) * z;
            i += 2;
        }
        return r * std::pow(y, static_cast<long double>(-n));
    };
    const long double sign = n % 2 == 0 ? -1 : 1; // of terms left of 0, and of the sum
    long double sum = 0, magnitude = 0, y = x;
    if (x < -reach) {
        y = x + std::ceil(-reach - x);
        const long double left = rest(1 - y) - rest(1 - x);
        sum = sign * left;
        magnitude = left;
    }
    for (; y < reach; y += 1) {
        const long double term = std::pow(std::fabs(y), static_cast<long double>(-n - 1));
        sum += y < 0 ? sign * term : term;
        magnitude += term;
    }
    const long double right = rest(y), factorial = std::tgamma(static_cast<long double>(n) + 1);
    return {sign * factorial * (sum + right), factorial * (magnitude + right)};
}

/// polygamma(n, x) for each x, n being a number of its own for each or the same for all.
template <class T> std::vector<T> polygamma_of(simd::isa which, std::vector<T> n, std::vector<T> x) {
    const binary_kernel<T> kernels[] = TENON_TEST_KERNELS(polygamma, T);
    const std::size_t count = x.size();
    if (n.size() == 1) n.resize(count, n[0]);
    while (x.size() % 16 != 0) n.push_back(1), x.push_back(1);
    std::vector<T> got(x.size());
    kernels[static_cast<int>(which)](n.data(), x.data(), got.data(), static_cast<int>(x.size()));
    got.resize(count);
    return got;
}
template <class F> void on_each_isa(F f) {
    for (int k = 0; k < simd::isa_count; ++k)
        if (simd::has_isa(static_cast<simd::isa>(k))) f(static_cast<simd::isa>(k));
}

} // namespace

TEST_CASE("polygamma: float within 2 ulp over the whole range, double within a few of its terms' magnitudes") {
    if (std::numeric_limits<long double>::digits <= std::numeric_limits<double>::digits) return;
    const auto is_pole = [](double x) { return x <= 0 && x == std::floor(x); };
    for (const int n : {1, 2, 3, 4, 16, 17, 60, 170, 200}) {
        std::vector<float> x;
        for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += 3000017) {
            const auto word = static_cast<std::uint32_t>(bits);
            float number;
            std::memcpy(&number, &word, sizeof(number));
            if (std::isfinite(number) && !is_pole(static_cast<double>(number))) x.push_back(number);
        }
        std::vector<double> y;
        std::mt19937_64 random(10);
        while (y.size() < 1000) {
            const double number = random_number<double>(random);
            if (std::isfinite(number) && !is_pole(number) && std::fabs(number) < 1e9) y.push_back(number);
        }
        std::vector<exact_polygamma> of_x, of_y;
        for (const float number : x) of_x.push_back(polygamma_by_terms(n, static_cast<long double>(number)));
        for (const double number : y) of_y.push_back(polygamma_by_terms(n, static_cast<long double>(number)));
        on_each_isa([&](simd::isa which) {
            const auto got = polygamma_of<float>(which, {static_cast<float>(n)}, x);
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double error = error_in_ulp(got[i], of_x[i].value);
                // Between two poles the terms may cancel beyond what the exact sum's numbers hold.
                const auto missed = std::fabs(static_cast<long double>(got[i]) - of_x[i].value);
                if (error <= 2 || missed < 1e-18L * of_x[i].magnitude) continue;
                INFO("order ", n, ": ", description("polygamma", which, error, x[i], got[i]));
                CHECK(error <= 2);
            }
            const auto fine = polygamma_of<double>(which, {static_cast<double>(n)}, y);
            const long double bound = n <= 170 ? 16 : 400;
            for (std::size_t i = 0; i < y.size(); ++i) {
                const exact_polygamma exact = of_y[i];
                if (exact.magnitude > 1e307L && exact.magnitude < 1e309L) continue;
                const bool right =
                    exact.magnitude > 1e307L
                        ? static_cast<long double>(fine[i]) == static_cast<double>(exact.value) || n % 2 == 0
                        : std::fabs(static_cast<long double>(fine[i]) - exact.value) <=
                              bound * 0x1p-52L * exact.magnitude + 0x1p-1074L;
                if (right) continue;
                INFO("order ", n, ": ", description("polygamma", which, 0, y[i], fine[i]));
                CHECK(right);
            }
        });
    }
}

TEST_CASE("polygamma: constants, poles, limits, and digamma for order 0") {
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const double pi = std::acos(-1.0), catalan = 0.915965594177219015, zeta_3 = 1.20205690315959428540;
    const struct {
        double n, x, y;
    } table[] = {
        {1, 1, pi * pi / 6},
        {1, 0.5, pi * pi / 2},
        {1, 0.25, pi * pi + 8 * catalan},
        {1, -0.5, pi * pi / 2 + 4},
        {2, 1, -2 * zeta_3},
        {2, 0.5, -14 * zeta_3},
        {2, -0.5, 16 - 14 * zeta_3},
        {3, 1, pi * pi * pi * pi / 15},
        {3, 0.5, pi * pi * pi * pi},
        // poles: from both sides the same infinity, or two
        {1, 0, infinity},
        {1, -0.0, infinity},
        {1, -3, infinity},
        {1, -1e300, infinity},
        {2, 0, -infinity},
        {2, -0.0, infinity},
        {2, -3, nan},
        {2, -1e300, nan},
        // limits
        {1, infinity, 0},
        {2, infinity, -0.0},
        {200, infinity, -0.0},
        {1, -infinity, nan},
        {2, -infinity, nan},
        {1, 1e300, 1e-300},
        {2, 1e100, -1e-200},
        {1, -1e-100, 1e200},
        {1, 1e-300, infinity},
        {2, -1e-300, infinity},
        {300, -0.5, -infinity},
        {301, -0.5, infinity},
        {1e6, 4e5, -0.0},
        {1e6, 3.6e5, -infinity},
        {1e300, 5, -infinity},
        // no order
        {-1, 2, nan},
        {1.5, 2, nan},
        {infinity, 2, nan},
        {-infinity, 2, nan},
        {nan, 2, nan},
        {nan, nan, nan},
        {1, nan, nan},
        {2, nan, nan},
        {0, nan, nan},
    };
    std::vector<double> n, x;
    for (const auto& row : table) n.push_back(row.n), x.push_back(row.x);
    std::vector<double> numbers;
    std::mt19937_64 random(11);
    for (int i = 0; i < 1024; ++i) numbers.push_back(random_number<double>(random));
    const unary_kernel<double> digamma[] = TENON_TEST_KERNELS(digamma, double);
    on_each_isa([&](simd::isa which) {
        const auto got = polygamma_of<double>(which, n, x);
        for (std::size_t i = 0; i < got.size(); ++i) {
            INFO(std::string(simd::name_of(which)), ": polygamma(", n[i], ", ", x[i], ") is ", got[i]);
            CHECK(error_in_ulp(got[i], static_cast<long double>(table[i].y)) <= 8);
        }
        std::vector<double> slope(numbers.size());
        digamma[static_cast<int>(which)](numbers.data(), slope.data(), static_cast<int>(numbers.size()));
        CHECK(std::memcmp(polygamma_of<double>(which, {0.0}, numbers).data(), slope.data(), slope.size() * 8) == 0);
    });
}

TEST_CASE("relu is max(x, 0) and keeps NaN") {
    const unary_kernel<float> relu_float[] = TENON_TEST_KERNELS(relu, float);
    const unary_kernel<double> relu_double[] = TENON_TEST_KERNELS(relu, double);
    check_values<float, double>(
        "relu", relu_float, [](double x) { return x < 0 ? 0 : x; }, special_values<float>(), 0);
    check_values<double, double>(
        "relu", relu_double, [](double x) { return x < 0 ? 0 : x; }, special_values<double>(), 0);
}
