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
