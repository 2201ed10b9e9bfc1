// Hyperbolic functions and their inverses.

namespace tenon::simd::TENON_SIMD_NS {

#if TENON_SIMD_LEVEL == 0
/// Odd polynomial up to 0.625; beyond, 1 - 2 / (e^2|x| + 1), which loses nothing there.
TENON_SIMD_INLINE f32 tanh_of(f32 x) {
    const f32 a = magnitude_of(x);
    const f32 z = x * x;
    const f32 near = native_fma(
        polynomial(z, -0x1.555534p-2F, 0x1.11074cp-3F, -0x1.b8405ap-5F, 0x1.523bc8p-6F, -0x1.762d76p-8F) * z, a, a);
    const f32 far = 1.0F - 2.0F / one_plus_exp_minus<0>(native_max(fill<f32>(-40.0F), a * -2.0F));
    return with_sign(choose(a < 0.625F, near, far), x);
}
#else
/// A polynomial of degree 7 in |x| - c for each of eight intervals, two to an octave of 0.91 |x| + 0.5, of whose bits three
/// say which (those of 0.5 the fifth). No quotient and no long sum is waited for. The c are where the first coefficient is nearly a float,
/// and where no term goes into a larger octave than the sum.
TENON_SIMD_INLINE f32 tanh_of(f32 x) {
    const f32 a = magnitude_of(x);
    const f32 place = native_fma(a, fill<f32>(0x1.d1eb86p-1F), fill<f32>(0.5F));
    const i32 which = bits_as<i32>(native_min(fill<f32>(0x1.fffffep2F), place)) >> 22;
    // clang-format off
    const f32 c = one_of_eight(which, 0x1.2379e4p1F, 0x1.aeac76p1F, 0x1.664f7cp2F, 0x1.333334p3F, 0.0F, 0x1.174c5ap-1F, 0x1.a37518p-1F, 0x1.6105aap0F);
    const f32 c0 = one_of_eight(which, 0x1.f55684p-1F, 0x1.fec702p-1F, 0x1.fffc68p-1F, 0x1p0F, 0.0F, 0x1.fd132p-2F, 0x1.596d6cp-1F, 0x1.c2ee74p-1F);
    const f32 c1 = one_of_eight(which, 0x1.51a282p-5F, 0x1.389e3p-8F, 0x1.ccde74p-15F, 0x1.38af5ep-22F, 0x1p0F, 0x1.81755ep-1F, 0x1.16f3f2p-1F, 0x1.cb69a4p-3F);
    const f32 c2 = one_of_eight(which, -0x1.4a9998p-5F, -0x1.37dfeap-8F, -0x1.cded8cp-15F, 0x1.5f468ep-20F, -0x1.37b4fep-24F, -0x1.7f41b8p-2F, -0x1.786648p-2F, -0x1.949dcap-3F);
    const f32 c3 = one_of_eight(which, 0x1.a63966p-6F, 0x1.9de266p-9F, 0x1.274984p-15F, 0x1.47cbe6p-19F, -0x1.555408p-2F, -0x1.09d2d8p-4F, 0x1.0fe518p-4F, 0x1.967004p-4F);
    const f32 c4 = one_of_eight(which, -0x1.8281e4p-7F, -0x1.99ad8ap-10F, -0x1.336accp-16F, 0x1.1dd2aap-19F, -0x1.d5c0acp-14F, 0x1.41156cp-3F, 0x1.3ebb42p-4F, -0x1.60e8e6p-6F);
    const f32 c5 = one_of_eight(which, 0x1.01bcbp-8F, 0x1.4025acp-11F, 0x1.8c2404p-17F, 0x1.06b6dep-20F, 0x1.136542p-3F, -0x1.539798p-5F, -0x1.ffc19cp-5F, -0x1.2b2bd2p-7F);
    const f32 c6 = one_of_eight(which, -0x1.6e84b6p-11F, -0x1.a68428p-13F, 0x1.a3f3ccp-19F, 0x1.e45a4cp-23F, -0x1.6c20ep-8F, -0x1.87d1d4p-5F, 0x1.a8c712p-8F, 0x1.64e722p-7F);
    const f32 c7 = one_of_eight(which, -0x1.04c692p-12F, 0x1.eb2bd8p-15F, 0x1.939d9ep-19F, 0x1.7730e8p-26F, -0x1.5d4172p-5F, 0x1.292b4ap-6F, 0x1.0158cap-6F, -0x1.2fb8b6p-8F);
    // clang-format on
    const f32 t = native_min(fill<f32>(0x1.333334p3F), a) - c; // from there it is 1
    const f32 t2 = t * t;
    const f32 low = native_fma(native_fma(c3, t, c2), t2, native_fma(c1, t, c0));
    const f32 high = native_fma(native_fma(c7, t, c6), t2, native_fma(c5, t, c4));
    return with_sign(native_fma(high, t2 * t2, low), x);
}
#endif
TENON_SIMD_INLINE f64 tanh_of(for_double q, f64 x) {
    const f64 a = magnitude_of(x);
    const f64 e = 4.0 * quarter_expm1(q, clamp(a + a, 0.0, 60.0));
    return choose(a < 0x1p-60, x, with_sign(e / (e + 2.0), x));
}

/// (E + E / (E + 1)) / 2 with E = e^|x| - 1.
template <class Q> TENON_SIMD_INLINE f64 sinh_of(Q q, f64 x) {
    const f64 a = magnitude_of(x);
    const f64 quarter = quarter_expm1(q, a);
    const f64 r = 2.0 * (quarter + quarter / native_fma(quarter, fill<f64>(4.0), fill<f64>(1.0)));
    return choose(a < 0x1p-60, x, with_sign(r, x));
}
template <class Q> TENON_SIMD_INLINE f64 cosh_of(Q q, f64 x) {
    const f64 h = exp_of<-1>(q, magnitude_of(x));
    return h + 0.25 / h;
}

/// log1p(a + a^2 / (1 + sqrt(a^2 + 1))) with the sign of x; where a^2 would overflow, log(2 a).
template <class Q> TENON_SIMD_INLINE f64 asinh_of(Q q, f64 x) {
    const f64 a = magnitude_of(x);
    const auto large = a > 0x1p400;
    const f64 b = choose(large, fill<f64>(1.0), a);
    const f64 square = b * b;
    const f64 sum = b + square / (native_sqrt(square + 1.0) + 1.0);
    const f64 r = log1p_of(q, choose(large, a, sum)) + choose(large, fill<f64>(0x1.62e42fefa39efp-1), f64{});
    return choose(a < 0x1p-60, x, with_sign(r, x));
}
/// log1p(t + sqrt(2 t + t^2)) with t = x - 1; NaN below 1.
template <class Q> TENON_SIMD_INLINE f64 acosh_of(Q q, f64 x) {
    const auto large = x > 0x1p400;
    const f64 t = choose(large, fill<f64>(1.0), x) - 1.0;
    const f64 sum = t + native_sqrt(native_fma(t, t, t + t));
    const f64 r = log1p_of(q, choose(large, x, sum)) + choose(large, fill<f64>(0x1.62e42fefa39efp-1), f64{});
    return choose(x < 1.0, fill<f64>(nan_of<f64>), r);
}
/// log1p(2 a / (1 - a)) / 2 with the sign of x; NaN beyond 1.
template <class Q> TENON_SIMD_INLINE f64 atanh_of(Q q, f64 x) {
    const f64 a = magnitude_of(x);
    const f64 r = 0.5 * log1p_of(q, (a + a) / (1.0 - a));
    return choose(a < 0x1p-60, x, with_sign(r, x));
}

TENON_SIMD_INLINE pack<float> tanh(pack<float> a) { return {{tanh_of(a.v[0])}}; }
TENON_SIMD_MATH_DOUBLE(tanh)
TENON_SIMD_MATH(sinh)
TENON_SIMD_MATH(cosh)
TENON_SIMD_MATH(asinh)
TENON_SIMD_MATH(acosh)
TENON_SIMD_MATH(atanh)

} // namespace tenon::simd::TENON_SIMD_NS
