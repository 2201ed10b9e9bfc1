// Logarithms.

namespace tenon::simd::TENON_SIMD_NS {

/// log x = e ln 2 + log(1 + f): e is returned, f replaces x, 2^-0.5 - 1 <= f < 2^0.5 - 1. For finite x > 0.
TENON_SIMD_INLINE f32 split_exponent(f32& x) {
    const auto denormal = x < 0x1p-126F;
    const u32 wrapped = bits_as<u32>(choose(denormal, x * 0x1p23F, x)) - 0x3F3504F3U; // also of NaN
    const auto b = bits_as<i32>(wrapped);
    const i32 e = (b >> 23) - (denormal & 23);
    x = bits_as<f32>((b & 0x7FFFFF) + 0x3F3504F3) - 1.0F;
    return __builtin_convertvector(e, f32);
}
template <class Q> TENON_SIMD_INLINE f64 split_exponent(Q, f64& x) {
    constexpr std::int64_t root_half = 0x3FE6A09E667F3BCD;
    f64 y = x;
    i64 bias = fill<i64>(1023);
    if constexpr (is_double<Q>) {
        const auto denormal = x < 0x1p-1022;
        y = choose(denormal, x * 0x1p54, x);
        bias = bias + (denormal & 54);
    }
    const u64 b = bits_as<u64>(y) + static_cast<std::uint64_t>((std::int64_t{1023} << 52) - root_half); // NaN wraps
    x = bits_as<f64>(bits_as<i64>(b & 0xFFFFFFFFFFFFFU) + root_half) - 1.0;
    return from_integer(bits_as<i64>(b >> 52) - bias);
}

/// (log(1 + f) - f + f^2/2) / f^3.
TENON_SIMD_INLINE f32 log_tail(f32 f) {
    return polynomial(f, 0x1.555548p-2F, -0x1.000006p-2F, 0x1.99a4b6p-3F, -0x1.555c4ep-3F, 0x1.233768p-3F,
                      -0x1.fc2206p-4F, 0x1.e6f066p-4F, -0x1.de3c1ep-4F, 0x1.1457bep-4F);
}
/// log(1 + f) - f.
TENON_SIMD_INLINE f32 log_rest(f32 f) {
    const f32 f2 = f * f;
    return native_fma(f2, fill<f32>(-0.5F), log_tail(f) * f * f2);
}
/// log(1 + f) - f + f^2/2, which is s (f^2/2 + R(s^2)) for s = f / (2 + f): log(1 + f) = 2 atanh s.
template <class Q> TENON_SIMD_INLINE f64 log_rest(Q, f64 f, f64 half_square) {
    const f64 s = f / (f + 2.0);
    const f64 z = s * s;
    f64 r;
    if constexpr (is_double<Q>)
        r = polynomial(z, 0x1.5555555555555p-1, 0x1.9999999999e06p-2, 0x1.249249242aafdp-2, 0x1.c71c7259a9cedp-3,
                       0x1.745cddff832a2p-3, 0x1.3b20b4da6bf36p-3, 0x1.0f5bf65e4e3f9p-3, 0x1.0f6a9768b56aep-3);
    else
        r = polynomial(z, 0x1.555555561f329p-1, 0x1.999996a67ca9ep-2, 0x1.24941335e4b52p-2, 0x1.c62aa07dccabcp-3,
                       0x1.911c91b65c1a4p-3);
    return s * native_fma(r, z, half_square);
}

/// r where x is finite and positive, else what log gives there.
template <class V> TENON_SIMD_INLINE V log_limits(V x, V r) {
    const V elsewhere = choose(x == 0, fill<V>(-infinity_of<V>), choose(x > 0, x, fill<V>(nan_of<V>)));
    return choose((x > 0) & (x < infinity_of<V>), r, elsewhere);
}

TENON_SIMD_INLINE f32 log_of(f32 x) {
    f32 f = x;
    const f32 e = split_exponent(f);
    const f32 r = native_fma(e, fill<f32>(0x1.7f7d1cp-20F), log_rest(f)) + f;
    return log_limits(x, native_fma(e, fill<f32>(0x1.62e4p-1F), r));
}
/// e ln 2 + log(1 + f).
template <class Q> TENON_SIMD_INLINE f64 join_log(Q q, f64 e, f64 f) {
    const f64 half_square = f * f * 0.5;
    const f64 rest = native_fma(e, fill<f64>(0x1.a39ef35793c76p-33), log_rest(q, f, half_square));
    return native_fma(e, fill<f64>(0x1.62e42feep-1), f - (half_square - rest));
}
template <class Q> TENON_SIMD_INLINE f64 log_of(Q q, f64 x) {
    f64 f = x;
    const f64 e = split_exponent(q, f);
    return log_limits(x, join_log(q, e, f));
}

TENON_SIMD_INLINE f32 log2_of(f32 x) {
    f32 f = x;
    const f32 e = split_exponent(f);
    return log_limits(x, native_fma(log_rest(f) + f, fill<f32>(0x1.715476p0F), e));
}
TENON_SIMD_INLINE f32 log10_of(f32 x) {
    f32 f = x;
    const f32 e = split_exponent(f);
    const f32 natural = log_rest(f) + f;
    const f32 low = native_fma(natural, fill<f32>(-0x1.5b235ep-27F), e * 0x1.3509f8p-18F);
    const f32 r = native_fma(natural, fill<f32>(0x1.bcb7b2p-2F), low);
    return log_limits(x, native_fma(e, fill<f32>(0x1.344p-2F), r));
}
TENON_SIMD_INLINE f64 log2_of(for_double q, f64 x) {
    f64 f = x;
    const f64 e = split_exponent(q, f);
    return log_limits(x, native_fma(join_log(q, f64{}, f), fill<f64>(0x1.71547652b82fep0), e));
}
TENON_SIMD_INLINE f64 log10_of(for_double q, f64 x) {
    f64 f = x;
    const f64 e = split_exponent(q, f);
    const f64 r = native_fma(join_log(q, f64{}, f), fill<f64>(0x1.bcb7b1526e50ep-2), e * 0x1.fef311f12b358p-46);
    return log_limits(x, native_fma(e, fill<f64>(0x1.34413509f78p-2), r));
}

/// log(1 + x). With u the rounded sum, what the rounding lost is added to f, scaled as u is.
TENON_SIMD_INLINE f32 log1p_of(f32 x) {
    const f32 u = x + 1.0F;
    const f32 lost = choose(x < 1.0F, x - (u - 1.0F), 1.0F - (u - x));
    const u32 wrapped = bits_as<u32>(u) - 0x3F3504F3U;
    const auto b = bits_as<i32>(wrapped);
    const i32 e = b >> 23;
    const f32 scale = bits_as<f32>((127 - choose(e > 64, fill<i32>(64), e)) << 23); // beyond 2^24 nothing is lost
    f32 f = bits_as<f32>((b & 0x7FFFFF) + 0x3F3504F3) - 1.0F;
    f = native_fma(lost, scale, f);
    const f32 n = __builtin_convertvector(e, f32);
    f32 r = native_fma(n, fill<f32>(0x1.7f7d1cp-20F), log_rest(f)) + f;
    r = native_fma(n, fill<f32>(0x1.62e4p-1F), r);
    return log_limits(u, flip_sign(magnitude_of(r), x)); // the sign: log1p(-0) = -0
}
template <class Q> TENON_SIMD_INLINE f64 log1p_of(Q q, f64 x) {
    const f64 u = x + 1.0;
    const f64 lost = choose(x < 1.0, x - (u - 1.0), 1.0 - (u - x));
    f64 f = u;
    const f64 e = split_exponent(for_float{}, f); // u is never denormal
    f = native_fma(lost, power_of_two(-choose(e > 128.0, fill<f64>(128.0), e)), f);
    return log_limits(u, flip_sign(magnitude_of(join_log(q, e, f)), x));
}

TENON_SIMD_INLINE pack<float> log(pack<float> a) { return {{log_of(a.v[0])}}; }
TENON_SIMD_INLINE pack<float> log2(pack<float> a) { return {{log2_of(a.v[0])}}; }
TENON_SIMD_INLINE pack<float> log10(pack<float> a) { return {{log10_of(a.v[0])}}; }
TENON_SIMD_INLINE pack<float> log1p(pack<float> a) { return {{log1p_of(a.v[0])}}; }
TENON_SIMD_MATH_DOUBLE(log)
TENON_SIMD_MATH_DOUBLE(log2)
TENON_SIMD_MATH_DOUBLE(log10)
TENON_SIMD_MATH_DOUBLE(log1p)

/// log(1 + e^x) = max(x, 0) + log1p(e^-|x|).
template <class T> TENON_SIMD_INLINE pack<T> softplus(pack<T> x) { return max(x, pack<T>{}) + log1p(exp(-abs(x))); }

} // namespace tenon::simd::TENON_SIMD_NS
