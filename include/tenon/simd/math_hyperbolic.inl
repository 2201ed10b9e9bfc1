// Hyperbolic functions and their inverses.

namespace tenon::simd::TENON_SIMD_NS {

/// Odd polynomial up to 0.625; beyond, 1 - 2 / (e^2|x| + 1), which loses nothing there.
TENON_SIMD_INLINE f32 tanh_of(f32 x) {
    const f32 a = magnitude_of(x);
    const f32 z = x * x;
    const f32 near = native_fma(
        polynomial(z, -0x1.555534p-2F, 0x1.11074cp-3F, -0x1.b8405ap-5F, 0x1.523bc8p-6F, -0x1.762d76p-8F) * z, a, a);
    const f32 far = 1.0F - 2.0F / one_plus_exp<0>(native_min(fill<f32>(40.0F), a + a));
    return with_sign(choose(a < 0.625F, near, far), x);
}
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
