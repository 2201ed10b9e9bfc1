#pragma once

// The instructions of tapes (tape/instructions.inl) on one element each, as device code. The text of this file is given to NVRTC
// before what is generated for a tape, and the interpreter of tapes includes it, so that both compute the same numbers. It includes
// nothing, since NVRTC has no files; tenon/simd/polygamma.hpp comes before it.
//
// What each gives at the edges is what the CPU's (simd/pack_arithmetic.inl, math_*.inl) gives: integers wrap around, by zero they
// give 0; min and max hand NaN on; rounding is half to even; floating numbers saturate where they become integers, and NaN becomes
// 0. The real functions are CUDA's, which document at most 4 ulp (lgamma: 6); what CUDA lacks, or rounds otherwise, is written here.

namespace tenon::cuda::tapes {

using int8 = signed char;
using int16 = short;
using int32 = int;
using int64 = long long;
using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;

/// Elements as they are stored: computed with as float.
struct float16 {
    uint16 bits;
};
struct bfloat16 {
    uint16 bits;
};
/// bool in memory.
struct boolean {
    uint8 byte;
};

template <class T> struct computed { using type = T; };
template <> struct computed<float16> { using type = float; };
template <> struct computed<bfloat16> { using type = float; };
template <> struct computed<boolean> { using type = bool; };
template <class T> using compute_t = typename computed<T>::type;

template <class T, class U> inline constexpr bool is_same = false;
template <class T> inline constexpr bool is_same<T, T> = true;
template <class T> inline constexpr bool is_floating = is_same<T, float> || is_same<T, double>;
template <class T> inline constexpr bool is_signed = is_floating<T> || T(-1) < T(0);

// What integers are computed in, so that they wrap around without undefined behaviour.
template <unsigned Bytes> struct wrapping_integer { using type = uint32; };
template <> struct wrapping_integer<8> { using type = uint64; };
template <class T> using wrapping_t = typename wrapping_integer<sizeof(T)>::type;

template <class T> struct unsigned_integer { using type = T; };
template <> struct unsigned_integer<int8> { using type = uint8; };
template <> struct unsigned_integer<int16> { using type = uint16; };
template <> struct unsigned_integer<int32> { using type = uint32; };
template <> struct unsigned_integer<int64> { using type = uint64; };
template <class T> using unsigned_t = typename unsigned_integer<T>::type;

/// The largest and the smallest integer of a type.
template <class T> __device__ constexpr T highest() {
    return is_signed<T> ? T(unsigned_t<T>(~unsigned_t<T>(0)) >> 1) : T(~T(0));
}
template <class T> __device__ constexpr T lowest() { return is_signed<T> ? T(-highest<T>() - 1) : T(0); }

// ---- bits of floating numbers ----

__device__ __forceinline__ float float_of(uint32 bits) { return __uint_as_float(bits); }
__device__ __forceinline__ double double_of(uint64 bits) { return __longlong_as_double(static_cast<int64>(bits)); }
__device__ __forceinline__ bool is_negative(double x) { return __double_as_longlong(x) < 0; }
__device__ __forceinline__ double infinity() { return double_of(0x7ff0000000000000ULL); }
__device__ __forceinline__ double nan() { return double_of(0x7ff8000000000000ULL); }

// ---- elements in memory ----

template <class T> __device__ __forceinline__ T widen(T x) { return x; }
__device__ __forceinline__ bool widen(boolean x) { return x.byte != 0; }
__device__ __forceinline__ float widen(bfloat16 x) { return float_of(static_cast<uint32>(x.bits) << 16); }
__device__ __forceinline__ float widen(float16 x) {
#if defined(__CUDA_ARCH__)
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
    return r;
#else
    const uint32 magnitude = (x.bits & 0x7fffU) << 13, sign = (x.bits & 0x8000U) << 16;
    if (magnitude >= 0xf800000U) return float_of(sign | magnitude | 0x7f800000U);
    // Read with half's exponent in float's place the value is 2^-112 of what it should be, denormals included.
    return float_of(sign | __float_as_uint(float_of(magnitude) * 0x1p112F));
#endif
}

/// Rounded to the nearest, ties to even.
template <class T> struct narrowed {
    static __device__ __forceinline__ T from(T x) { return x; }
};
template <> struct narrowed<boolean> {
    static __device__ __forceinline__ boolean from(bool x) { return {static_cast<uint8>(x)}; }
};
template <> struct narrowed<bfloat16> {
    static __device__ __forceinline__ bfloat16 from(float x) {
        const uint32 b = __float_as_uint(x);
        const uint32 rounded = (b + 0x7fffU + ((b >> 16) & 1U)) >> 16, quiet = (b >> 16) | 0x40U;
        return {static_cast<uint16>(x == x ? rounded : quiet)};
    }
};
template <> struct narrowed<float16> {
    static __device__ __forceinline__ float16 from(float x) {
#if defined(__CUDA_ARCH__)
        uint16 r;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
        return {r};
#else
        const uint32 b = __float_as_uint(x), magnitude = b & 0x7fffffffU;
        const uint32 normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
        // Adding 1/2 lines the last bit of a denormal half up with the last bit of the float: the sum is rounded there.
        const uint32 denormal = __float_as_uint(float_of(magnitude) + 0.5F) - 0x3f000000U;
        uint32 r = magnitude < 0x38800000U ? denormal : normal;
        if (magnitude >= 0x477ff000U) r = 0x7c00U;
        if (magnitude > 0x7f800000U) r = 0x7e00U;
        return {static_cast<uint16>(r | ((b >> 16) & 0x8000U))};
#endif
    }
};
template <class T> __device__ __forceinline__ T narrow(compute_t<T> x) { return narrowed<T>::from(x); }

// ---- conversions ----

/// What does not fit saturates, NaN gives 0, the fraction is dropped.
template <class To, class From> __device__ __forceinline__ To to_integer(From x) {
    constexpr To high = highest<To>(), low = lowest<To>();
    constexpr From end = From(high / 2 + 1) * 2; // high + 1, which is a power of two
    if (!(x == x)) return 0;
    if (x >= end) return high;
    if (x <= From(low)) return low;
    return static_cast<To>(x);
}
/// To is a type as it is stored: to float16 and bfloat16 a float is rounded, and stays a float.
template <class To, class From> __device__ __forceinline__ compute_t<To> cast(From x) {
    if constexpr (is_same<To, boolean>) return x != From(0);
    else if constexpr (is_same<To, float16> || is_same<To, bfloat16>) return widen(narrow<To>(static_cast<float>(x)));
    else if constexpr (is_floating<From> && !is_floating<To>) return to_integer<To>(x);
    else return static_cast<To>(x);
}

// ---- numbers of any type ----

template <class T> __device__ __forceinline__ T add(T a, T b) {
    if constexpr (is_floating<T>) return a + b;
    else return static_cast<T>(wrapping_t<T>(a) + wrapping_t<T>(b));
}
template <class T> __device__ __forceinline__ T subtract(T a, T b) {
    if constexpr (is_floating<T>) return a - b;
    else return static_cast<T>(wrapping_t<T>(a) - wrapping_t<T>(b));
}
template <class T> __device__ __forceinline__ T multiply(T a, T b) {
    if constexpr (is_floating<T>) return a * b;
    else return static_cast<T>(wrapping_t<T>(a) * wrapping_t<T>(b));
}
template <class T> __device__ __forceinline__ T negative(T a) {
    if constexpr (is_floating<T>) return -a;
    else return static_cast<T>(wrapping_t<T>(0) - wrapping_t<T>(a));
}
/// Integers: towards zero; by zero gives 0, and the lowest number by -1 gives itself.
template <class T> __device__ __forceinline__ T divide(T a, T b) {
    if constexpr (is_floating<T>) return a / b;
    else {
        if (b == 0) return 0;
        if constexpr (is_signed<T>)
            if (b == T(-1)) return negative(a);
        return static_cast<T>(a / b);
    }
}
__device__ __forceinline__ float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
__device__ __forceinline__ double fma(double a, double b, double c) { return ::fma(a, b, c); }
template <class T> __device__ __forceinline__ T fma(T a, T b, T c) { return add(multiply(a, b), c); }

/// What is left of a / b (towards zero), with the sign of a. Integers: by zero gives 0.
__device__ __forceinline__ float fmod(float a, float b) { return ::fmodf(a, b); }
__device__ __forceinline__ double fmod(double a, double b) { return ::fmod(a, b); }
template <class T> __device__ __forceinline__ T fmod(T a, T b) {
    return b == 0 ? T(0) : subtract(a, multiply(divide(a, b), b));
}
/// a - floor(a / b) * b as Python and NumPy have it: the sign of b. Integers: by zero gives 0.
template <class T> __device__ __forceinline__ T mod(T a, T b) {
    const T r = fmod(a, b);
    if constexpr (is_floating<T>) {
        if (r == 0) return is_negative(b) ? -T(0) : T(0);
        return (r < 0) != (b < 0) ? r + b : r; // NaN stays NaN
    } else if constexpr (is_signed<T>) return r != 0 && (r < 0) != (b < 0) ? add(r, b) : r;
    else return r;
}
__device__ __forceinline__ float abs(float a) { return ::fabsf(a); }
__device__ __forceinline__ double abs(double a) { return ::fabs(a); }
template <class T> __device__ __forceinline__ T abs(T a) {
    if constexpr (is_signed<T>) return a < 0 ? negative(a) : a;
    else return a;
}
/// -1, 0 or 1; a zero keeps its sign and NaN stays NaN.
template <class T> __device__ __forceinline__ T sign(T a) {
    if constexpr (is_signed<T>)
        if (a < 0) return T(-1);
    return a > 0 ? T(1) : a;
}
/// NaN where either is NaN; of equal ones (zeros of two signs) b.
template <class T> __device__ __forceinline__ T minimum(T a, T b) {
    if constexpr (is_floating<T>)
        if (a != a) return a;
    return a < b ? a : b;
}
template <class T> __device__ __forceinline__ T maximum(T a, T b) {
    if constexpr (is_floating<T>)
        if (a != a) return a;
    return a > b ? a : b;
}
/// NaN stays NaN, and -0 stays -0.
template <class T> __device__ __forceinline__ T relu(T a) {
    if constexpr (is_signed<T>) return T(0) > a ? T(0) : a;
    else return a;
}

#define TENON_ROUNDING(NAME, FUNCTION)                                          \
    __device__ __forceinline__ float NAME(float a) { return ::FUNCTION##f(a); } \
    __device__ __forceinline__ double NAME(double a) { return ::FUNCTION(a); }  \
    template <class T> __device__ __forceinline__ T NAME(T a) { return a; }
TENON_ROUNDING(floor, floor)
TENON_ROUNDING(ceil, ceil)
TENON_ROUNDING(trunc, trunc)
TENON_ROUNDING(round, rint) // half to even
#undef TENON_ROUNDING

// ---- tests, comparisons, truth values, bits ----

template <class T> __device__ __forceinline__ bool is_nan(T a) { return a != a; }
template <class T> __device__ __forceinline__ bool is_inf(T a) { return abs(a) == T(infinity()); }
template <class T> __device__ __forceinline__ bool is_finite(T a) { return abs(a) < T(infinity()); }

template <class T> __device__ __forceinline__ bool equal(T a, T b) { return a == b; }
template <class T> __device__ __forceinline__ bool not_equal(T a, T b) { return a != b; }
template <class T> __device__ __forceinline__ bool less(T a, T b) { return a < b; }
template <class T> __device__ __forceinline__ bool less_equal(T a, T b) { return a <= b; }
template <class T> __device__ __forceinline__ bool greater(T a, T b) { return a > b; }
template <class T> __device__ __forceinline__ bool greater_equal(T a, T b) { return a >= b; }

__device__ __forceinline__ bool logical_not(bool a) { return !a; }
__device__ __forceinline__ bool logical_and(bool a, bool b) { return a && b; }
__device__ __forceinline__ bool logical_or(bool a, bool b) { return a || b; }
__device__ __forceinline__ bool logical_xor(bool a, bool b) { return a != b; }

template <class T> __device__ __forceinline__ T bit_not(T a) {
    if constexpr (is_same<T, bool>) return !a;
    else return static_cast<T>(~a);
}
template <class T> __device__ __forceinline__ T bit_and(T a, T b) { return static_cast<T>(a & b); }
template <class T> __device__ __forceinline__ T bit_or(T a, T b) { return static_cast<T>(a | b); }
template <class T> __device__ __forceinline__ T bit_xor(T a, T b) { return static_cast<T>(a ^ b); }
/// A count of at least the width, or below 0, gives 0.
template <class T> __device__ __forceinline__ T shift_left(T a, T n) {
    return unsigned_t<T>(n) < 8 * sizeof(T) ? static_cast<T>(wrapping_t<T>(a) << unsigned_t<T>(n)) : T(0);
}
/// Filled with the sign for signed types. A count of at least the width, or below 0, leaves the filling only.
template <class T> __device__ __forceinline__ T shift_right(T a, T n) {
    if (unsigned_t<T>(n) < 8 * sizeof(T)) return static_cast<T>(a >> unsigned_t<T>(n));
    return is_signed<T> && a < T(0) ? static_cast<T>(~T(0)) : T(0);
}
template <class T> __device__ __forceinline__ T select(bool p, T a, T b) { return p ? a : b; }

// ---- real functions ----

// Long ones are called, not repeated for each element of a pack: NVRTC's time grows with what it unrolls.
#define TENON_CALLED __device__ __attribute__((noinline)) inline

#define TENON_REAL(NAME)                                                    \
    __device__ __forceinline__ float NAME(float a) { return ::NAME##f(a); } \
    TENON_CALLED double NAME(double a) { return ::NAME(a); }
TENON_REAL(exp)
TENON_REAL(exp2)
TENON_REAL(expm1)
TENON_REAL(log)
TENON_REAL(log2)
TENON_REAL(log10)
TENON_REAL(log1p)
TENON_REAL(sqrt)
TENON_REAL(cbrt)
TENON_REAL(sin)
TENON_REAL(cos)
TENON_REAL(tan)
TENON_REAL(asin)
TENON_REAL(acos)
TENON_REAL(atan)
TENON_REAL(sinh)
TENON_REAL(cosh)
TENON_REAL(tanh)
TENON_REAL(asinh)
TENON_REAL(acosh)
TENON_REAL(atanh)
TENON_REAL(erf)
TENON_REAL(erfc)
#undef TENON_REAL
#define TENON_REAL(NAME)                                                                \
    __device__ __forceinline__ float NAME(float a, float b) { return ::NAME##f(a, b); } \
    TENON_CALLED double NAME(double a, double b) { return ::NAME(a, b); }
TENON_REAL(pow)
TENON_REAL(atan2)
TENON_REAL(hypot)
#undef TENON_REAL
/// Of integers, by squaring; n below 0 leaves 1 of 1, 1 or -1 of -1, and 0 of all others.
template <class T> TENON_CALLED T pow(T a, T n) {
    if constexpr (is_signed<T>)
        if (n < 0) {
            if (a != 1 && a != T(-1)) return 0;
            n = static_cast<T>(n & 1);
        }
    T result = 1;
    for (; n != 0; n = static_cast<T>(n >> 1)) {
        if ((n & 1) != 0) result = multiply(result, a);
        a = multiply(a, a);
    }
    return result;
}

template <class T> __device__ __forceinline__ T rsqrt(T a) { return T(1) / sqrt(a); }
template <class T> __device__ __forceinline__ T reciprocal(T a) { return T(1) / a; }
/// 1 / (1 + e^-a), without overflow: of very negative ones the result is a denormal number before it is 0.
template <class T> __device__ __forceinline__ T sigmoid(T a) {
    const T e = exp(-abs(a));
    return (a < 0 ? e : T(1)) / (T(1) + e);
}
/// log(1 + e^a) = max(a, 0) + log1p(e^-|a|).
template <class T> __device__ __forceinline__ T softplus(T a) { return maximum(a, T(0)) + log1p(exp(-abs(a))); }

TENON_CALLED double lgamma(double a) { return ::lgamma(a); }
/// Near its zeros on the negative axis the terms cancel: there by double.
TENON_CALLED float lgamma(float a) {
    const float r = ::lgammaf(a);
    return a < -2.0F && ::fabsf(r) < 0x1p-4F ? static_cast<float>(lgamma(static_cast<double>(a))) : r;
}

/// c0 + c1 x + c2 x^2 + ... by Horner's rule.
__device__ __forceinline__ double polynomial(double, double c0) { return c0; }
template <class... C> __device__ __forceinline__ double polynomial(double x, double c0, C... c) {
    return ::fma(polynomial(x, c...), x, c0);
}

/// The inverse of erf at x, where z, as exact as x, is the smaller of 1 - x and 1 + x: infinite where z is 0, NaN where it is
/// negative. With w = -log(1 - x^2) it is x (sqrt(pi) / 2 + w R(w)); from |x| = 0.99 on, with s = sqrt(-log z), s - R(s). The R are
/// rational, as in simd/math_special.inl.
TENON_CALLED double inverse_erf(double x, double z) {
    if (::fabs(x) < 0.99) {
        const double w = -::log(z * (2.0 - z));
        const double r =
            polynomial(w, 0x1.db29fb2fee5e5p-3, 0x1.399980210af11p-6, 0x1.16c50896eaa1ap-7, 0x1.d0a7b2f05ef92p-12,
                       0x1.30dc8fee60dd5p-14, 0x1.bfa72057b0a36p-21, -0x1.25101d72ca638p-27, -0x1.33213c1167affp-27) /
            polynomial(w, 1.0, 0x1.0c08c0d257e20p-5, 0x1.717c945210664p-5, 0x1.1e3845eec9002p-11, 0x1.24226d3578c32p-11,
                       -0x1.2f376b4a511a4p-17, 0x1.67ce2a3160c45p-20, -0x1.77bbcf0e058aap-24);
        return x * ::fma(w, r, 0x1.c5bf891b4ef6bp-1);
    }
    if (z == 0) return x < 0 ? -infinity() : infinity();
    const double root = ::sqrt(-::log(z)), s = root > 27.5 ? 27.5 : root; // erfc of more is 0
    const double r =
        s < 6.0
            ? polynomial(s, -0x1.b302eec0f28b7p-7, 0x1.1578f4e6d5b4dp0, 0x1.75639f3339683p0, 0x1.661e64b5d3c16p1,
                         0x1.74e660a783168p0, 0x1.5f9c9758f918ap-3, 0x1.1119ff3e5dfaep-8, 0x1.11f9e00f82008p-18) /
                  polynomial(s, 1.0, 0x1.48dea2052b22ep1, 0x1.32e2fd6a4e825p2, 0x1.503835edfb1fap2, 0x1.11e717af2f256p2,
                             0x1.2b207983e7eaep0, 0x1.6efef0d73c775p-4, 0x1.7cd405765b0eep-10)
            : polynomial(s, -0x1.5dca389b65e16p-5, 0x1.06fc2b259eec0p0, 0x1.10317c76d6d15p0, 0x1.dc530f134e489p-3,
                         0x1.fffcddf7e3688p-7, 0x1.57412683d4025p-12, 0x1.b9e9efd267518p-20, 0x1.59b8d35434bacp-32) /
                  polynomial(s, 1.0, 0x1.ad402eb30468cp0, 0x1.36474dfa31149p1, 0x1.11026d00ea858p0,
                             0x1.3880e7572a4d7p-3, 0x1.f252efc98edb7p-8, 0x1.01497ed7a48f0p-13, 0x1.ecfe0c9acba45p-22);
    return is_negative(x) ? r - s : s - r;
}
template <class T> __device__ inline T erfinv(T a) {
    const double x = a;
    return static_cast<T>(inverse_erf(x, 1.0 - ::fabs(x)));
}
template <class T> __device__ inline T erfcinv(T a) {
    const double x = a;
    return static_cast<T>(inverse_erf(1.0 - x, x < 1.0 ? x : 2.0 - x));
}

/// The derivative of log gamma. Below 10 by recurrence (the ten reciprocals of x, ..., x + 9 pairwise, as one fraction), then the
/// asymptotic series (Abramowitz and Stegun 6.3.18); for x < 0 by reflection. At 0 it is -infinity (at -0 infinity), at -1, -2,
/// ... and at -infinity NaN.
TENON_CALLED double digamma_of(double x) {
    constexpr double pi = 3.14159265358979323846;
    if (x == 0) return is_negative(x) ? infinity() : -infinity();
    const double y = x < 0 ? 1.0 - x : x;
    const bool small = y < 10.0;
    const double shifted = small ? y + 10.0 : y;
    const double inverse = 1.0 / shifted, z = inverse * inverse;
    const double series =
        polynomial(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12, -3617.0 / 8160);
    double r = ::log(shifted) - ::fma(series, z, 0.5 * inverse);
    if (small) {
        // 1/y + 1/(y+9) + 1/(y+1) + 1/(y+8) + ... = (2 y + 9) (1/u + 1/(u+8) + 1/(u+14) + 1/(u+18) + 1/(u+20))
        const double u = y * (y + 9.0);
        const double denominator = u * polynomial(u, 40320.0, 12176.0, 1308.0, 60.0, 1.0);
        const double numerator = (2.0 * y + 9.0) * polynomial(u, 40320.0, 2 * 12176.0, 3 * 1308.0, 4 * 60.0, 5.0);
        r = r - numerator / denominator;
    }
    if (!(x < 0)) return r;
    const double fraction = x - ::rint(x);
    return fraction == 0 ? nan() : r - pi / ::tan(fraction * pi);
}
template <class T> __device__ inline T digamma(T a) { return static_cast<T>(digamma_of(static_cast<double>(a))); }

/// The n-th derivative of digamma, itself for n = 0, NaN for other n than whole ones.
template <class T> __device__ inline T polygamma(T n, T x) {
    if (n == 0) return digamma(x);
    return static_cast<T>(tenon::detail::scalar_polygamma(static_cast<double>(n), static_cast<double>(x)));
}

#undef TENON_CALLED

} // namespace tenon::cuda::tapes
