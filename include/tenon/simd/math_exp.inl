// e^x, 2^x, e^x - 1.

namespace tenon::simd::TENON_SIMD_NS {

/// Adding this to a float of at most 2^21 rounds it: the sum's low bits are the whole number plus Offset.
template <int Offset> inline constexpr float rounder = 0x1.8p23F + static_cast<float>(Offset);

/// e^(Sign x) = 2^n e^(Sign r) with n = round(Sign x / ln 2): r replaces x, |r| <= ln 2 / 2, and n is returned in the form
/// n + rounder<Offset>. The first product is exact: the factor has 15 bits (32 in double), n at most 8 (11).
template <int Offset, int Sign = 1> TENON_SIMD_INLINE f32 reduce_by_ln2(f32& x) {
    const f32 shifted = native_fma(x, fill<f32>(Sign * 0x1.715476p0F), fill<f32>(rounder<Offset>));
    const f32 n = shifted - rounder<Offset>;
    x = native_fma(n, fill<f32>(Sign * -0x1.62e4p-1F), x);
    x = native_fma(n, fill<f32>(Sign * -0x1.7f7d1cp-20F), x);
    return shifted;
}
/// The float 2^n from n + rounder<127>.
TENON_SIMD_INLINE f32 power_of_two(f32 shifted) { return bits_as<f32>(bits_as<i32>(shifted) << 23); }

/// What is left over of r after rounding goes to r_low.
TENON_SIMD_INLINE f64 reduce_by_ln2(f64& x, f64& r_low) {
    const f64 n = native_round<0>(x * 0x1.71547652b82fep0);
    const f64 high = native_fma(n, fill<f64>(-0x1.62e42feep-1), x);
    x = native_fma(n, fill<f64>(-0x1.a39ef35793c76p-33), high);
    r_low = native_fma(n, fill<f64>(-0x1.a39ef35793c76p-33), high - x);
    return n;
}

/// e^(Sign r) - 1 for |r| <= ln 2 / 2.
template <int Sign = 1> TENON_SIMD_INLINE f32 small_expm1(f32 r) {
    const f32 square = r * r;
    const f32 tail = paired_polynomial(r, square, 0x1p-1F, Sign * 0x1.55548ep-3F, 0x1.55545ep-5F, Sign * 0x1.123b92p-7F,
                                       0x1.6db47cp-10F);
    return native_fma(tail, square, Sign > 0 ? r : -r);
}
/// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2.
template <class Q> TENON_SIMD_INLINE f64 exp_tail(Q, f64 r) {
    if constexpr (is_double<Q>)
        return polynomial(r, 0x1.000000000000cp-1, 0x1.5555555555561p-3, 0x1.555555554ffebp-5, 0x1.111111110d602p-7,
                          0x1.6c16c185b6e2cp-10, 0x1.a01a01baf50bp-13, 0x1.a019966841839p-16, 0x1.71dddfa1d47ffp-19,
                          0x1.28b0726df643fp-22, 0x1.af85ca721f661p-26);
    else return polynomial(r, 0x1p-1F, 0x1.555556p-3F, 0x1.55548p-5F, 0x1.11107cp-7F, 0x1.6d96d2p-10F, 0x1.a1b858p-13F);
}

/// x 2^n from n + rounder<0>, |n| <= 250: rounded once where the result is normal.
TENON_SIMD_INLINE f32 scale_by_shifted(f32 x, f32 shifted) {
#if TENON_SIMD_LEVEL == 2
    return __builtin_ia32_scalefps512_mask(x, shifted - rounder<0>, x, static_cast<unsigned short>(-1), 4);
#else
    // In two steps, since 2^n itself may be too large or too small.
    const i32 n = bits_as<i32>(shifted) - bits_as<i32>(fill<f32>(rounder<0>));
    const i32 first = n >> 1;
    return x * bits_as<f32>((first + 127) << 23) * bits_as<f32>((n - first + 127) << 23);
#endif
}

TENON_SIMD_INLINE f32 exp_of(f32 x) {
    f32 r = clamp(x, -104.0F, 89.0F);
    const f32 n = reduce_by_ln2<0>(r);
    return scale_by_shifted(small_expm1(r) + 1.0F, n);
}
/// e^x 2^Shift.
template <int Shift = 0, class Q> TENON_SIMD_INLINE f64 exp_of(Q q, f64 x) {
    f64 r = clamp(x, -746.0, 711.0);
    f64 r_low;
    const f64 n = reduce_by_ln2(r, r_low);
    return scale_by_power_of_two(native_fma(exp_tail(q, r), r * r, r) + 1.0, n + static_cast<double>(Shift));
}

/// (1 + e^-x) 2^Shift, rounded about once: e^-x = 2^n (1 + t), and what is lost of 2^n + 1 is added to 2^n t.
/// 2^(n + Shift) must be a normal number.
template <int Shift> TENON_SIMD_INLINE f32 one_plus_exp_minus(f32 x) {
    const f32 scale = power_of_two(reduce_by_ln2<127 + Shift, -1>(x));
    const f32 one = bits_as<f32>(fill<i32>((127 + Shift) << 23));
    const f32 sum = scale + one;
    const f32 t = small_expm1<-1>(x);
    if constexpr (Shift == 0) return native_fma(t, scale, sum); // enough for tanh
    return native_fma(t, scale, one - (sum - scale)) + sum;
}
/// (1 + e^x) 2^Shift, the same way.
template <int Shift, class Q> TENON_SIMD_INLINE f64 one_plus_exp(Q q, f64 x) {
    f64 r_low;
    const f64 n = reduce_by_ln2(x, r_low);
    const f64 scale = power_of_two(n + static_cast<double>(Shift));
    const f64 one = power_of_two(fill<f64>(Shift));
    const f64 sum = scale + one;
    const f64 lost = one - (sum - scale);
    return native_fma(native_fma(exp_tail(q, x), x * x, x), scale, lost) + sum;
}

TENON_SIMD_INLINE f32 exp2_of(f32 x) {
    const f32 y = clamp(x, -151.0F, 129.0F);
    const f32 n = y + rounder<0>;
    const f32 r = (y - (n - rounder<0>)) * 0x1.62e43p-1F;
    return scale_by_shifted(small_expm1(r) + 1.0F, n);
}
TENON_SIMD_INLINE f64 exp2_of(for_double q, f64 x) {
    const f64 y = clamp(x, -1076.0, 1025.0);
    const f64 n = native_round<0>(y);
    const f64 r = (y - n) * 0x1.62e42fefa39efp-1;
    return scale_by_power_of_two(native_fma(exp_tail(q, r), r * r, r) + 1.0, n);
}

/// (e^x - 1) / 4: does not overflow before e^x / 2 does.
template <class Q> TENON_SIMD_INLINE f64 quarter_expm1(Q q, f64 x) {
    f64 r = clamp(x, -40.0, 710.5);
    f64 r_low;
    const f64 n = reduce_by_ln2(r, r_low);
    const f64 tail = is_double<Q> ? native_fma(exp_tail(q, r), r * r, r_low) : exp_tail(q, r) * (r * r);
    const f64 scale = power_of_two(n - 2.0);
    return native_fma(r + tail, scale, scale - 0.25);
}
template <class Q> TENON_SIMD_INLINE f64 expm1_of(Q q, f64 x) {
    return choose(magnitude_of(x) < 0x1p-60, x, 4.0 * quarter_expm1(q, x)); // tiny ones: exact, and -0 stays -0
}

TENON_SIMD_INLINE pack<float> exp(pack<float> a) { return {{exp_of(a.v[0])}}; }
TENON_SIMD_INLINE pack<float> exp2(pack<float> a) { return {{exp2_of(a.v[0])}}; }
TENON_SIMD_MATH_DOUBLE(exp)
TENON_SIMD_MATH_DOUBLE(exp2)
TENON_SIMD_MATH(expm1)

/// 1 / (1 + e^-x). Both terms of the divisor are scaled down, so that nothing overflows before the result is
/// zero: denormal results are right too.
TENON_SIMD_INLINE pack<float> sigmoid(pack<float> a) {
    const f32 scaled = one_plus_exp_minus<-60>(clamp(a.v[0], -105.0F, 40.0F));
    return {{0x1p-60F / scaled}};
}
template <class Q> TENON_SIMD_INLINE f64 sigmoid_of(Q q, f64 x) {
    return 0x1p-100 / one_plus_exp<-100>(q, clamp(-x, -60.0, 746.0));
}
TENON_SIMD_MATH_DOUBLE(sigmoid)

} // namespace tenon::simd::TENON_SIMD_NS
