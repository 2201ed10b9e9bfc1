#pragma once

#include <limits>

/// The derivatives of digamma, one number at a time: plain functions, compiled once and never inlined into a kernel.

namespace tenon::simd::detail {

/// n! times the sum of 1 / (x + k)^(n + 1) over all k >= 0, for whole n >= 1 and x > 0: x^n times the sum comes first,
/// whose terms are (x / (x + k))^n / (x + k), then n! / x^n. From x + k >= n + 8 on, the terms are summed by Euler and
/// Maclaurin's formula (Abramowitz and Stegun 23.1.30).
inline double polygamma_series(double n, double x) {
    double sum = 0;
    for (double k = 0;; ++k) {
        const double y = x + k;
        double power = 1; // (x / y)^n
        if (n > 16) {
            power = __builtin_exp(-n * __builtin_log1p(k / x)); // of large powers few bits of the logarithm matter
        } else if (k > 0) {
            for (double i = 0; i < n; ++i) power *= x / y;
        }
        if (y >= n + 8) {
            // B_2j / (2j)!
            constexpr double coefficients[] = {1 / 12.0,
                                               -1 / 720.0,
                                               1 / 30240.0,
                                               -1 / 1209600.0,
                                               1 / 47900160.0,
                                               -691 / 1307674368000.0,
                                               1 / 74724249600.0,
                                               -3617 / 10670622842880000.0,
                                               43867 / 5109094217170944000.0,
                                               -174611 / 802857662698291200000.0,
                                               77683 / 14101100039391805440000.0,
                                               -236364091 / 1693824136731743669452800000.0};
            double rest = 0, factor = (n + 1) / y / y, i = n + 2;
            for (const double c : coefficients) {
                rest += c * factor;
                factor *= i / y * ((i + 1) / y);
                i += 2;
            }
            sum += power * (rest + 0.5 / y + 1 / n);
            break;
        }
        const double term = power / y;
        sum += term;
        if (term < 0x1p-60 * sum) break;
    }
    // x^-n in two halves, since the whole may be too large or too small where the result is not.
    double half, factorial = 1;
    if (n <= 170) {
        half = __builtin_pow(x, -0.5 * n);
        for (double i = 2; i <= n; ++i) factorial *= i;
    } else { // by Stirling's formula, whose (n / e)^n joins x^-n
        half = __builtin_pow(n / (2.718281828459045235 * x), 0.5 * n);
        factorial = __builtin_sqrt(6.283185307179586477 * n) * __builtin_exp((1 - 1 / (30 * n * n)) / (12 * n));
    }
    return half * (factorial * sum) * half;
}

/// The n-th derivative of digamma for whole n >= 1, NaN for other n. Its poles are 0, -1, -2, ...: infinity for odd n;
/// for even n the limit from x's side at 0 and NaN elsewhere.
inline double scalar_polygamma(double n, double x) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    if (!(n >= 1 && n < infinity && n == __builtin_floor(n) && x > -infinity)) return nan;
    const bool odd = 0.5 * n != __builtin_floor(0.5 * n);
    if (x > 0) return odd ? polygamma_series(n, x) : -polygamma_series(n, x);
    const double offset = x - __builtin_rint(x);
    if (offset == 0) return odd ? infinity : x == 0 ? __builtin_copysign(infinity, -x) : nan;
    // The sum over the k of both signs, two series, less the one over k < 0, whose terms are those of 1 - x.
    const double distance = __builtin_fabs(offset);
    const double near = polygamma_series(n, distance);
    if (near == infinity && (odd || distance < 0.5)) return odd ? infinity : __builtin_copysign(infinity, -offset);
    const double far = polygamma_series(n, 1 - distance), beyond = polygamma_series(n, 1 - x);
    if (odd) return near + (far - beyond);
    return (distance < 0.5 ? __builtin_copysign(near - far, -offset) : 0) - beyond;
}

} // namespace tenon::simd::detail
