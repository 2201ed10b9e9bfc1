// Trigonometric functions and their inverses.

namespace tenon::simd::TENON_SIMD_NS {

/// Up to here an angle is reduced by subtracting multiples of pi/2; beyond (and for infinity), lane by lane
/// in the C library.
inline constexpr double largest_angle = 0x1.8p20;

/// A positive angle less n pi/2, |value + low| <= pi/4, where n modulo 4 is the quadrant.
struct reduced_angle {
    f64 value;
    f64 low;
    i64 quadrant;
};
// pi/2 in three pieces; the first two have 33 bits, so that n times them is exact. (Cody and Waite, 1980.)
template <class Q> TENON_SIMD_INLINE reduced_angle reduce_angle(Q, f64 x) {
    const f64 shifted = native_fma(x, fill<f64>(0x1.45f306dc9c883p-1), fill<f64>(0x1.8p52));
    const f64 n = shifted - 0x1.8p52;
    const f64 high = native_fma(n, fill<f64>(-0x1.921fb544p0), x);
    if constexpr (!is_double<Q>) {
        return {native_fma(n, fill<f64>(-0x1.0b4611a626331p-34), high), f64{}, bits_as<i64>(shifted)};
    } else {
        const f64 second = n * 0x1.0b4611a6p-34;
        const f64 middle = high - second;
        const f64 third = n * 0x1.3198a2e037073p-69;
        const f64 value = middle - third;
        return {value, ((high - middle) - second) + ((middle - value) - third), bits_as<i64>(shifted)};
    }
}

/// sin and cos of an angle of at most pi/4.
template <class Q> TENON_SIMD_INLINE f64 sin_of_reduced(Q, const reduced_angle& angle, f64 z) {
    const f64 r = angle.value;
    if constexpr (is_double<Q>) {
        const f64 p = polynomial(z, -0x1.5555555555549p-3, 0x1.111111110f842p-7, -0x1.a01a019c0a298p-13,
                                 0x1.71de3570fdd2dp-19, -0x1.ae5e60c4bcda3p-26, 0x1.5d915e17232a6p-33);
        return r + native_fma(p * z, r, angle.low);
    } else {
        const f64 p =
            polynomial(z, -0x1.5555554ca931ep-3, 0x1.11110889f6758p-7, -0x1.a00f939891f14p-13, 0x1.6cd5ec1e288ecp-19);
        return native_fma(p * z, r, r);
    }
}
template <class Q> TENON_SIMD_INLINE f64 cos_of_reduced(Q, const reduced_angle& angle, f64 z) {
    const f64 half = 0.5 * z;
    const f64 w = 1.0 - half;
    if constexpr (is_double<Q>) {
        const f64 p = polynomial(z, 0x1.555555555554cp-5, -0x1.6c16c16c1514p-10, 0x1.a01a019cab738p-16,
                                 -0x1.27e4f80533446p-22, 0x1.1ee9e89068034p-29, -0x1.8facd12fc6556p-37);
        return w + (((1.0 - w) - half) + native_fma(z * z, p, -angle.value * angle.low));
    } else {
        const f64 p =
            polynomial(z, 0x1.5555554f428ebp-5, -0x1.6c16b88befcadp-10, 0x1.a011178a6a53cp-16, -0x1.2429089a162bfp-22);
        return native_fma(z * z, p, w);
    }
}

/// All ones where bit 0 is set, all zeros elsewhere.
TENON_SIMD_INLINE i64 odd_lanes(i64 n) { return i64{} - (n & 1); }
/// The sign bit where bit 1 is set.
TENON_SIMD_INLINE f64 second_bit_as_sign(i64 n) { return bits_as<f64>((n & 2) << 62); }

template <class Q> TENON_SIMD_INLINE f64 sin_of(Q q, f64 x) {
    const reduced_angle r = reduce_angle(q, magnitude_of(x));
    const f64 z = r.value * r.value;
    const f64 y = choose(odd_lanes(r.quadrant), cos_of_reduced(q, r, z), sin_of_reduced(q, r, z));
    return flip_sign(flip_sign(y, second_bit_as_sign(r.quadrant)), x);
}
template <class Q> TENON_SIMD_INLINE f64 cos_of(Q q, f64 x) {
    const reduced_angle r = reduce_angle(q, magnitude_of(x));
    const f64 z = r.value * r.value;
    const f64 y = choose(odd_lanes(r.quadrant), sin_of_reduced(q, r, z), cos_of_reduced(q, r, z));
    return flip_sign(y, second_bit_as_sign(r.quadrant + 1));
}

// For float, one polynomial for sin from -pi/2 to pi/2 serves both: the angle less n pi, or less (n + 1/2) pi
// for cos, and an odd n turns the sign.
TENON_SIMD_INLINE f64 sin_from_half_pi(f64 x, f64 multiple, i64 odd) {
    const f64 high = native_fma(multiple, fill<f64>(-0x1.921fb544p1), x);
    const f64 r = native_fma(multiple, fill<f64>(-0x1.0b4611a626331p-33), high);
    const f64 z = r * r;
    const f64 p = polynomial(z, 1.0, -0x1.555555475e714p-3, 0x1.11110c4702f0fp-7, -0x1.a017d89e668e9p-13,
                             0x1.71705e30da68ap-19, -0x1.9a6577fee9981p-26);
    return flip_sign(p * r, bits_as<f64>(odd << 63));
}
TENON_SIMD_INLINE f64 sin_of(for_float, f64 x) {
    const f64 shifted = native_fma(x, fill<f64>(0x1.45f306dc9c883p-2), fill<f64>(0x1.8p52));
    return sin_from_half_pi(x, shifted - 0x1.8p52, bits_as<i64>(shifted));
}
TENON_SIMD_INLINE f64 cos_of(for_float, f64 x) {
    const f64 shifted = native_fma(x, fill<f64>(0x1.45f306dc9c883p-2), fill<f64>(-0.5)) + 0x1.8p52;
    return sin_from_half_pi(x, (shifted - 0x1.8p52) + 0.5, bits_as<i64>(shifted) + 1);
}

template <class Q> TENON_SIMD_INLINE f64 tan_of(Q q, f64 x) {
    const reduced_angle r = reduce_angle(q, magnitude_of(x));
    const f64 z = r.value * r.value;
    const f64 s = sin_of_reduced(q, r, z);
    const f64 c = cos_of_reduced(q, r, z);
    const i64 odd = odd_lanes(r.quadrant);
    return flip_sign(choose(odd, -c, s) / choose(odd, s, c), x);
}

namespace small_angles {
TENON_SIMD_MATH(sin)
TENON_SIMD_MATH(cos)
TENON_SIMD_MATH(tan)
} // namespace small_angles
#define TENON_SIMD_PERIODIC(NAME)                                                              \
    template <class T> TENON_SIMD_INLINE pack<T> NAME(pack<T> a) {                             \
        return scalar_where(abs(a) > broadcast<T>(T(largest_angle)), a, small_angles::NAME(a), \
                            simd::detail::scalar_##NAME);                                      \
    }
TENON_SIMD_PERIODIC(sin)
TENON_SIMD_PERIODIC(cos)
TENON_SIMD_PERIODIC(tan)
#undef TENON_SIMD_PERIODIC

inline constexpr double half_pi = 0x1.921fb54442d18p0;
inline constexpr double half_pi_low = 0x1.1a62633145c07p-54;

/// (atan t - t) / t^3 for |t| <= tan(pi/8), of z = t^2.
template <class Q> TENON_SIMD_INLINE f64 atan_tail(Q, f64 z) {
    if constexpr (is_double<Q>)
        return polynomial(z, -0x1.5555555555554p-2, 0x1.9999999999652p-3, -0x1.249249247598fp-3, 0x1.c71c71b75b414p-4,
                          -0x1.745d14bba2cebp-4, 0x1.3b136e5041c18p-4, -0x1.110c7460de3c2p-4, 0x1.e17217dea1129p-5,
                          -0x1.ab7df32bb1b8bp-5, 0x1.70ee91c7fdb65p-5, -0x1.1239a6b804f08p-5, 0x1.f1ec844b70fe3p-7);
    else
        return polynomial(z, -0x1.555554c7e7187p-2, 0x1.999919c4ca60dp-3, -0x1.247ef6ef19ddap-3, 0x1.c4666b5758f97p-4,
                          -0x1.5b3c168976a45p-4, 0x1.84cd6035a8c0bp-5);
}
/// atan(small / large) for 0 <= small <= large: beyond tan(pi/8) as pi/4 + atan of a smaller number.
template <class Q> TENON_SIMD_INLINE f64 atan_of_ratio(Q q, f64 small, f64 large) {
    const auto beyond_eighth = small > large * 0x1.a827999fcef32p-2;
    const f64 t = choose(beyond_eighth, small - large, small) / choose(beyond_eighth, small + large, large);
    const f64 z = t * t;
    const f64 base = choose(beyond_eighth, fill<f64>(half_pi / 2), f64{});
    if constexpr (is_double<Q>) {
        const f64 base_low = choose(beyond_eighth, fill<f64>(half_pi_low / 2), f64{});
        return base + (t + native_fma(atan_tail(q, z) * z, t, base_low));
    } else {
        return base + native_fma(atan_tail(q, z) * z, t, t);
    }
}
template <class Q> TENON_SIMD_INLINE f64 atan_of(Q q, f64 x) {
    const f64 a = magnitude_of(x);
    const f64 one = fill<f64>(1.0);
    const auto steep = a > 1.0;
    const f64 r = atan_of_ratio(q, choose(steep, one, a), choose(steep, a, one));
    return with_sign(choose(steep, half_pi - (r - half_pi_low), r), x);
}
/// The angle of the point (x, y), with C's conventions for zeros and infinities.
template <class Q> TENON_SIMD_INLINE f64 atan2_of(Q q, f64 y, f64 x) {
    f64 a = magnitude_of(x);
    f64 b = magnitude_of(y);
    if constexpr (is_double<Q>) { // neither the sum of the two nor the ratio may overflow
        const auto huge = (a > 0x1p1000) | (b > 0x1p1000);
        a = choose(huge, a * 0x1p-4, a);
        b = choose(huge, b * 0x1p-4, b);
    }
    const auto steep = b > a;
    f64 small = choose(steep, a, b);
    f64 large = choose(steep, b, a);
    const auto both_infinite = small == infinity_of<f64>;
    small = choose(both_infinite, fill<f64>(1.0), small);
    large = choose(both_infinite | (large == 0), fill<f64>(1.0), large);
    f64 r = atan_of_ratio(q, small, large);
    r = choose(steep, half_pi - (r - half_pi_low), r);
    const auto left = bits_as<i64>(x) < 0;
    r = choose(left, 2 * half_pi - (r - 2 * half_pi_low), r);
    return choose((x == x) & (y == y), with_sign(r, y), x + y);
}

/// (asin t - t) / t^3 for 0 <= t <= 0.5, of z = t^2.
template <class Q> TENON_SIMD_INLINE f64 asin_tail(Q, f64 z) {
    if constexpr (is_double<Q>)
        return polynomial(z, 0x1.5555555555578p-3, 0x1.333333332df06p-4, 0x1.6db6db722bf23p-5, 0x1.f1c71a8b713bep-6,
                          0x1.6e8bdfeaacf21p-6, 0x1.1c49ddc13368dp-6, 0x1.ca2149aeee1d1p-7, 0x1.7577652779b3ap-7,
                          0x1.618b87e99c935p-7, 0x1.e1500fccc9443p-9, 0x1.65052c7d31c3bp-6, -0x1.59fab5ded87bep-6,
                          0x1.0be5a26cefacfp-5);
    else
        return polynomial(z, 0x1.55555609adbdep-3, 0x1.3332a7a361346p-4, 0x1.6ddb3d2aa8158p-5, 0x1.ed51477fea817p-6,
                          0x1.9367b7c944565p-6, 0x1.e8c22d6e17483p-8, 0x1.1c51b8ddcd79ap-5);
}
/// asin(a) for 0 <= a <= 0.5; for larger a, acos(a) = 2 asin(sqrt((1 - a) / 2)). NaN beyond 1.
template <class Q, class Mask> TENON_SIMD_INLINE f64 asin_or_acos(Q q, f64 a, Mask large) {
    const f64 z = choose(large, (1.0 - a) * 0.5, a * a);
    const f64 t = choose(large, native_sqrt(z), a);
    const f64 r = native_fma(asin_tail(q, z) * z, t, t);
    return choose(large, r + r, r);
}
template <class Q> TENON_SIMD_INLINE f64 asin_of(Q q, f64 x) {
    const f64 a = magnitude_of(x);
    const auto large = a > 0.5;
    const f64 r = asin_or_acos(q, a, large);
    return with_sign(choose(large, half_pi - (r - half_pi_low), r), x);
}
template <class Q> TENON_SIMD_INLINE f64 acos_of(Q q, f64 x) {
    const f64 a = magnitude_of(x);
    const auto large = a > 0.5;
    const f64 r = asin_or_acos(q, a, large);
    const f64 near = half_pi - (flip_sign(r, x) - half_pi_low);
    const f64 far = choose(x < 0, 2 * half_pi - (r - 2 * half_pi_low), r);
    return choose(large, far, near);
}

TENON_SIMD_MATH(asin)
TENON_SIMD_MATH(acos)
TENON_SIMD_MATH(atan)
TENON_SIMD_MATH2(atan2)

} // namespace tenon::simd::TENON_SIMD_NS
