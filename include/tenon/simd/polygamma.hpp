#pragma once

// The text of this file is given to NVRTC too, before the instructions of tapes: it includes nothing there, since NVRTC has no files.
#if !defined(__CUDACC_RTC__)
#include <math.h>
#include <tenon/core/config.hpp>
#endif
#if !defined(__CUDACC__)
#define TENON_CALLED inline
#else
#define TENON_CALLED __host__ __device__ __attribute__((noinline)) inline
#endif

/// The derivatives of digamma, one number at a time, on CPUs and GPUs: plain functions, never inlined into a kernel.

namespace tenon::detail {

/// n! times the sum of 1 / (x + k)^(n + 1) over all k >= 0, for whole n >= 1 and x > 0: x^n times the sum comes first,
/// whose terms are (x / (x + k))^n / (x + k), then n! / x^n. From x + k >= n + 8 on, the terms are summed by Euler and
/// Maclaurin's formula (Abramowitz and Stegun 23.1.30).
TENON_CALLED double polygamma_series(double n, double x) {
    double sum = 0;
    for (double k = 0;; ++k) {
        const double y = x + k;
        double power = 1; // (x / y)^n
        if (n > 16) {
            power = ::exp(-n * ::log1p(k / x)); // of large powers few bits of the logarithm matter
        } else if (k > 0) {
            for (double i = 0; i < n; ++i) power *= x / y;
        }
        if (y >= n + 8) {
            // B_2j / (2j)!
            const double coefficients[] = {1 / 12.0,
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
        half = ::pow(x, -0.5 * n);
        for (double i = 2; i <= n; ++i) factorial *= i;
    } else { // by Stirling's formula, whose (n / e)^n joins x^-n
        half = ::pow(n / (2.718281828459045235 * x), 0.5 * n);
        factorial = ::sqrt(6.283185307179586477 * n) * ::exp((1 - 1 / (30 * n * n)) / (12 * n));
    }
    return half * (factorial * sum) * half;
}

/// The n-th derivative of digamma for whole n >= 1, NaN for other n. Its poles are 0, -1, -2, ...: infinity for odd n;
/// for even n the limit from x's side at 0 and NaN elsewhere.
TENON_CALLED double scalar_polygamma(double n, double x) {
    const double infinity = __builtin_bit_cast(double, 0x7ff0000000000000ULL);
    const double nan = __builtin_bit_cast(double, 0x7ff8000000000000ULL);
    if (!(n >= 1 && n < infinity && n == ::floor(n) && x > -infinity)) return nan;
    const bool odd = 0.5 * n != ::floor(0.5 * n);
    if (x > 0) return odd ? polygamma_series(n, x) : -polygamma_series(n, x);
    const double offset = x - ::rint(x);
    if (offset == 0) return odd ? infinity : x == 0 ? ::copysign(infinity, -x) : nan;
    // The sum over the k of both signs, two series, less the one over k < 0, whose terms are those of 1 - x.
    const double distance = ::fabs(offset);
    const double near = polygamma_series(n, distance);
    if (near == infinity && (odd || distance < 0.5)) return odd ? infinity : ::copysign(infinity, -offset);
    const double far = polygamma_series(n, 1 - distance), beyond = polygamma_series(n, 1 - x);
    if (odd) return near + (far - beyond);
    return (distance < 0.5 ? ::copysign(near - far, -offset) : 0) - beyond;
}

#undef TENON_CALLED

} // namespace tenon::detail
