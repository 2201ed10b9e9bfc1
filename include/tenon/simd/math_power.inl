// pow, cube root, hypotenuse.

namespace tenon::simd::TENON_SIMD_NS {

/// x^y as C's pow has it (C17 annex F.10.4.4): e^(y log |x|), then the signs and the special cases.
TENON_SIMD_INLINE f64 pow_of(for_float q, f64 x, f64 y) {
    const f64 a = magnitude_of(x);
    f64 f = a;
    const f64 e = split_exponent(q, f);
    const f64 log_a = choose(a < infinity_of<f64>, join_log(q, e, f), a);
    f64 r = exp_of(q, y * choose(a == 0, fill<f64>(-infinity_of<f64>), log_a));
    // A negative x: NaN unless y is whole, and negative where y is odd.
    const f64 half = y * 0.5;
    const auto whole = native_round<0>(y) == y;
    const auto odd = whole & (native_round<0>(half) != half);
    r = choose((bits_as<i64>(x) < 0) & odd, -r, r);
    r = choose((x < 0) & ~whole & (a < infinity_of<f64>), fill<f64>(nan_of<f64>), r);
    // 1 to any power, anything to the power 0, and -1 to an infinite power are 1, whatever NaN is about.
    const auto one = (x == 1.0) | (y == 0) | ((x == -1.0) & (magnitude_of(y) == infinity_of<f64>));
    return choose(one, fill<f64>(1.0), choose((x == x) & (y == y), r, x + y));
}

/// x = m 2^(3k) with 1 <= m < 8: a polynomial and one step of Halley's iteration, two in double.
template <class Q> TENON_SIMD_INLINE f64 cbrt_of(Q, f64 x) {
    const f64 a = magnitude_of(x);
    f64 normal = a;
    f64 shift = {};
    if constexpr (is_double<Q>) {
        const auto denormal = a < 0x1p-1022;
        normal = choose(denormal, a * 0x1p54, a);
        shift = choose(denormal, fill<f64>(18.0), shift);
    }
    const u64 b = bits_as<u64>(normal);
    const f64 e = from_integer(bits_as<i64>(b >> 52)) - 1023.0;
    const f64 k = native_round<1>((e + 0.5) * 0x1.5555555555555p-2);
    const f64 m = bits_as<f64>((b & 0xFFFFFFFFFFFFFU) | 0x3FF0000000000000U) * power_of_two(e - 3.0 * k);
    f64 t = polynomial(m, 0x1.2c991d28a80bdp-1, 0x1.0d66a0a6691f1p-1, -0x1.138a4e36c089ap-3, 0x1.8c433540b75bfp-6,
                       -0x1.2e953d2165bd7p-9, 0x1.71abedcd9950ap-14);
    const f64 cube = t * t * t;
    t = t * (cube + 2.0 * m) / (2.0 * cube + m);
    if constexpr (is_double<Q>) {
        // Halley's step again from t with half its bits, whose square is exact.
        const f64 s = bits_as<f64>(bits_as<i64>(t) & -0x10000000);
        const f64 ratio = m / (s * s);
        t = s + s * ((ratio - s) / (s + s + ratio));
    }
    const f64 r = t * power_of_two(k - shift);
    return choose((a > 0) & (a < infinity_of<f64>), with_sign(r, x), x);
}

/// sqrt(x^2 + y^2), infinity where either is infinite. In double the larger one is scaled to about 1.
template <class Q> TENON_SIMD_INLINE f64 hypot_of(Q, f64 x, f64 y) {
    const f64 a = magnitude_of(x);
    const f64 b = magnitude_of(y);
    f64 r;
    if constexpr (is_double<Q>) {
        const f64 large = native_max(a, b);
        const auto very_large = large > 0x1p500;
        const auto very_small = large < 0x1p-450;
        const f64 one = fill<f64>(1.0);
        const f64 down = choose(very_large, fill<f64>(0x1p-600), choose(very_small, fill<f64>(0x1p600), one));
        const f64 up = choose(very_large, fill<f64>(0x1p600), choose(very_small, fill<f64>(0x1p-600), one));
        const f64 c = a * down;
        const f64 d = b * down;
        r = native_sqrt(native_fma(c, c, d * d)) * up;
    } else {
        r = native_sqrt(native_fma(a, a, b * b));
    }
    return choose((a == infinity_of<f64>) | (b == infinity_of<f64>), fill<f64>(infinity_of<f64>), r);
}

TENON_SIMD_MATH2_FLOAT(pow)

/// Integers, by squaring: what wraps around does so. Of n below 0 it is what is left of 1 / a^-n: 1 of 1, 1 or -1 of -1, 0 of all others.
template <class T>
    requires std::is_integral_v<T> TENON_SIMD_INLINE pack<T> pow(pack<T> a, pack<T> n) {
        const pack<T> none = {}, one = broadcast<T>(1);
        pack<bool> lost = none != none;
        if constexpr (std::is_signed_v<T>) {
            lost = (n < none) & (a != one) & (a != -one);
            n = select(n < none, n & one, n);
        }
        pack<T> result = one;
        while (any(n != none)) {
            result = select((n & one) != none, result * a, result);
            a = a * a;
            n = shift_right(n, one);
        }
        return select(lost, none, result);
    }
TENON_SIMD_MATH(cbrt)
TENON_SIMD_MATH2(hypot)

} // namespace tenon::simd::TENON_SIMD_NS
