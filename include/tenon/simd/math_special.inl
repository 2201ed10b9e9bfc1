// Error functions and their inverses, the logarithm of the gamma function with its derivative.

namespace tenon::simd::TENON_SIMD_NS {

/// Odd polynomial up to 1; beyond, 1 - e^P(|x|) with P near log erfc, of which few bits are needed.
TENON_SIMD_INLINE f32 erf_of(f32 x) {
    const f32 a = magnitude_of(x);
    const f32 z = a * a;
    const f32 near = native_fma(polynomial(z, 0x1.06eba8p-3F, -0x1.81273ep-2F, 0x1.ce2d1ep-4F, -0x1.b7fb9ep-6F,
                                           0x1.54193p-8F, -0x1.a47fe8p-11F, 0x1.4ad342p-14F),
                                a, a);
    const f32 b = native_min(fill<f32>(3.95F), a);
    f32 r = polynomial(b, 0x1.8b3eep-13F, -0x1.212c2cp0F, -0x1.4434fp-1F, -0x1.bc18dp-4F, 0x1.9d0bd2p-6F,
                       -0x1.1398f6p-8F, 0x1.ceeaep-12F, -0x1.6c067cp-16F);
    const f32 scale = power_of_two(reduce_by_ln2<127>(r));
    const f32 t = small_expm1(r);
    const f32 far = (1.0F - scale) - t * scale;
    return with_sign(choose(a < 1.0F, near, far), x);
}

/// e^(-x^2) times a polynomial for e^(x^2) erfc(x), in (x - 2.5) / (x + 2.5); erfc(-x) = 2 - erfc(x).
TENON_SIMD_INLINE f64 erfc_of(for_float q, f64 x) {
    const f64 a = clamp(magnitude_of(x), 0.0, 10.2);
    const f64 t = (a - 2.5) / (a + 2.5);
    const f64 p =
        polynomial(t, 0x1.afbb3f3b66e92p-3, -0x1.7ca88dbe172d1p-2, 0x1.01c11a2f9b8b3p-2, -0x1.00116298af38ep-3,
                   0x1.470bdf1ab0ce5p-5, -0x1.05a692cdb780ap-8, -0x1.5a70a39cd303ap-9, 0x1.c80797751e1f8p-11,
                   0x1.e1361bc8ca65cp-13, -0x1.e0268fb29aabdp-14, -0x1.0437fddfaa12ap-15, 0x1.316dc0937391fp-18);
    const f64 r = p * exp_of(q, -(a * a));
    return choose(x < 0, 2.0 - r, r);
}

/// The inverse of erf at x, where z, as exact as x, is the smaller of 1 - x and 1 + x: infinite where z is 0, NaN where
/// it is negative. With w = -log(1 - x^2) it is x (sqrt(pi) / 2 + w R(w)); from |x| = 0.99 on, with s = sqrt(-log z),
/// s - R(s). The R are rational.
template <class Q> TENON_SIMD_INLINE f64 inverse_erf(Q q, f64 x, f64 z) {
    const auto middle = magnitude_of(x) < 0.99;
    const f64 w = -log_of(q, choose(middle, z * (2.0 - z), z));
    const f64 s = native_min(fill<f64>(27.5), native_sqrt(w)); // erfc of more is 0
    f64 middle_r;
    f64 outer_r;
    if constexpr (is_double<Q>) {
        middle_r =
            polynomial(w, 0x1.db29fb2fee5e5p-3, 0x1.399980210af11p-6, 0x1.16c50896eaa1ap-7, 0x1.d0a7b2f05ef92p-12,
                       0x1.30dc8fee60dd5p-14, 0x1.bfa72057b0a36p-21, -0x1.25101d72ca638p-27, -0x1.33213c1167affp-27) /
            polynomial(w, 1.0, 0x1.0c08c0d257e20p-5, 0x1.717c945210664p-5, 0x1.1e3845eec9002p-11, 0x1.24226d3578c32p-11,
                       -0x1.2f376b4a511a4p-17, 0x1.67ce2a3160c45p-20, -0x1.77bbcf0e058aap-24);
        const f64 near =
            polynomial(s, -0x1.b302eec0f28b7p-7, 0x1.1578f4e6d5b4dp0, 0x1.75639f3339683p0, 0x1.661e64b5d3c16p1,
                       0x1.74e660a783168p0, 0x1.5f9c9758f918ap-3, 0x1.1119ff3e5dfaep-8, 0x1.11f9e00f82008p-18) /
            polynomial(s, 1.0, 0x1.48dea2052b22ep1, 0x1.32e2fd6a4e825p2, 0x1.503835edfb1fap2, 0x1.11e717af2f256p2,
                       0x1.2b207983e7eaep0, 0x1.6efef0d73c775p-4, 0x1.7cd405765b0eep-10);
        const f64 far =
            polynomial(s, -0x1.5dca389b65e16p-5, 0x1.06fc2b259eec0p0, 0x1.10317c76d6d15p0, 0x1.dc530f134e489p-3,
                       0x1.fffcddf7e3688p-7, 0x1.57412683d4025p-12, 0x1.b9e9efd267518p-20, 0x1.59b8d35434bacp-32) /
            polynomial(s, 1.0, 0x1.ad402eb30468cp0, 0x1.36474dfa31149p1, 0x1.11026d00ea858p0, 0x1.3880e7572a4d7p-3,
                       0x1.f252efc98edb7p-8, 0x1.01497ed7a48f0p-13, 0x1.ecfe0c9acba45p-22);
        outer_r = choose(s < 6.0, near, far);
    } else {
        middle_r = polynomial(w, 0x1.db29fb2ecda31p-3, 0x1.5579dd65ba804p-6, 0x1.4c355b2f77295p-8,
                              0x1.41815dc40ed2ap-12, 0x1.0ed6797a8a557p-16) /
                   polynomial(w, 1.0, 0x1.481bee49cb2f9p-5, 0x1.ea319e1b79a05p-6, 0x1.9ca8717e683d8p-11,
                              0x1.4085b3b587dccp-13);
        outer_r =
            polynomial(s, -0x1.56116b342e68ep-5, 0x1.12c1a54ac3515p0, 0x1.639260819c768p-1, 0x1.83f8bd82c4696p-5,
                       0x1.af17657a53b71p-14) /
            polynomial(s, 1.0, 0x1.6ee2783b70fccp0, 0x1.f0b9c614895d7p0, 0x1.f71c91ecac211p-2, 0x1.3722e5db53420p-6);
    }
    const f64 inner = x * native_fma(w, middle_r, fill<f64>(0x1.c5bf891b4ef6bp-1));
    const f64 outer = choose(z == 0, fill<f64>(infinity_of<f64>), s - outer_r);
    return choose(middle, inner, with_sign(outer, x));
}
template <class Q> TENON_SIMD_INLINE f64 erfinv_of(Q q, f64 x) { return inverse_erf(q, x, 1.0 - magnitude_of(x)); }
template <class Q> TENON_SIMD_INLINE f64 erfcinv_of(Q q, f64 x) {
    return inverse_erf(q, 1.0 - x, native_min(x, 2.0 - x));
}

/// log |gamma(x)| for x > 0.
TENON_SIMD_INLINE f64 lgamma_of_positive(for_float q, f64 x) {
    const f64 log_x = log_of(q, x);
    // Up to 3: (y - 1)(y - 2) P(y - 2), where y is x or, below 1, x + 1 and gamma(x) = gamma(x + 1) / x.
    const auto below_one = x < 1.0;
    const f64 d = choose(below_one, x, native_min(fill<f64>(3.0), x) - 1.0);
    const f64 e = d - 1.0;
    const f64 p =
        polynomial(e, 0x1.b0ee60716b43bp-2, -0x1.9ae65093ec9ccp-4, 0x1.0e0ca05f89075p-5, -0x1.95ce31f8ec4c1p-7,
                   0x1.4795b9705419bp-8, -0x1.144dc542b9e21p-9, 0x1.e04cd02798564p-11, -0x1.aa0e3d3be4cb5p-12,
                   0x1.791b5087e4bd4p-13, -0x1.5453ee1010412p-14, 0x1.6e7baeba8a5b2p-15, -0x1.62c20749c7a34p-16,
                   0x1.2fa48fcf478e5p-19, -0x1.d6f26c8c1a066p-22, 0x1.46d91ada64c08p-18, -0x1.4a948264fc98cp-19);
    const f64 near = d * e * p + choose(below_one, -log_x, f64{}); // + 0: not -0 at 1
    // Beyond 3: Stirling's series.
    const f64 inverse = 1.0 / native_max(fill<f64>(3.0), x);
    const f64 z = inverse * inverse;
    const f64 series = inverse * polynomial(z, 0x1.5555554b5d37bp-4, -0x1.6c15d5d6323cbp-9, 0x1.9f54dc69735e3p-11,
                                            -0x1.26b093b190d87p-11, 0x1.fbc53cd5b337bp-12);
    const f64 far = native_fma(x - 0.5, log_x - 1.0, series) + (0x1.d67f1c864beb5p-1 - 0.5);
    return choose(x < 3.0, near, far);
}
/// By reflection for x < 0: |gamma(x) gamma(-x)| = pi / |x sin(pi x)|. Infinity at 0, -1, -2, ... and at both
/// infinities.
TENON_SIMD_INLINE f64 lgamma_of(for_float q, f64 x) {
    const f64 a = magnitude_of(x);
    f64 r = lgamma_of_positive(q, a);
    const f64 fraction = a - native_round<0>(a);
    const f64 sine = sin_of(q, fraction * (2 * half_pi));
    const f64 reflected = log_of(q, 2 * half_pi / magnitude_of(a * sine)) - r;
    r = choose(x < 0, choose(fraction == 0, fill<f64>(infinity_of<f64>), reflected), r);
    return choose(a == infinity_of<f64>, a, choose(x == 0, fill<f64>(infinity_of<f64>), r));
}

/// The derivative of log gamma. Below 10 by recurrence (the ten reciprocals of x, ..., x + 9 pairwise, as one
/// fraction), then the asymptotic series (Abramowitz and Stegun 6.3.18); for x < 0 by reflection. At 0 it is
/// -infinity (at -0 infinity), at -1, -2, ... and at -infinity NaN. The absolute error is a few 1e-16 times
/// the largest term, which near the zeros leaves enough digits for float and not for double.
template <class Q> TENON_SIMD_INLINE f64 digamma_of(Q, f64 x) {
    constexpr for_double q;
    const auto negative = x < 0;
    const f64 y = choose(negative, 1.0 - x, x);
    const auto small = y < 10.0;
    const f64 s = native_min(fill<f64>(10.0), y);
    const f64 u = s * (s + 9.0);
    // 1/s + 1/(s+9) + 1/(s+1) + 1/(s+8) + ... = (2 s + 9) (1/u + 1/(u+8) + 1/(u+14) + 1/(u+18) + 1/(u+20))
    const f64 denominator = u * polynomial(u, 40320.0, 12176.0, 1308.0, 60.0, 1.0);
    const f64 numerator = (2.0 * s + 9.0) * polynomial(u, 40320.0, 2 * 12176.0, 3 * 1308.0, 4 * 60.0, 5.0);
    const f64 shifted = choose(small, y + 10.0, y);
    const f64 inverse = 1.0 / shifted;
    const f64 z = inverse * inverse;
    const f64 series =
        polynomial(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12, -3617.0 / 8160);
    f64 r = log_of(q, shifted) - native_fma(series, z, 0.5 * inverse);
    r = choose(small, r - numerator / denominator, r);
    const f64 fraction = x - native_round<0>(x);
    const f64 pole = choose(fraction == 0, fill<f64>(nan_of<f64>), 2 * half_pi / tan_of(q, fraction * (2 * half_pi)));
    r = choose(negative, r - pole, r);
    return choose(x == 0, flip_sign(fill<f64>(-infinity_of<f64>), x), r);
}

TENON_SIMD_INLINE pack<float> erf(pack<float> a) { return {{erf_of(a.v[0])}}; }
TENON_SIMD_MATH_FLOAT(erfc)
TENON_SIMD_MATH(erfinv)
TENON_SIMD_MATH(erfcinv)
namespace far_from_zeros {
TENON_SIMD_MATH_FLOAT(lgamma)
}
/// log |gamma(x)|. Near its zeros on the negative axis the terms cancel, and the C library takes over.
TENON_SIMD_INLINE pack<float> lgamma(pack<float> a) {
    const pack<float> r = far_from_zeros::lgamma(a);
    return scalar_where((a < broadcast<float>(-2.0F)) & (abs(r) < broadcast<float>(0x1p-6F)), a, r,
                        simd::detail::scalar_lgamma);
}
TENON_SIMD_MATH(digamma)

} // namespace tenon::simd::TENON_SIMD_NS
