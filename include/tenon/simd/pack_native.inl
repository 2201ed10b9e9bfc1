// What has no operator in the compilers' vector language: single instructions, by the compilers' builtins.
// (Not by <immintrin.h>, which takes g++ longer to parse than all of this layer.)

namespace tenon::simd::TENON_SIMD_NS {

// Newer versions of clang replace the builtins of single instructions by generic ones.
#if defined(__clang__) && __has_builtin(__builtin_elementwise_sqrt)
template <class V> TENON_SIMD_INLINE V native_sqrt(V a) { return __builtin_elementwise_sqrt(a); }
#elif TENON_SIMD_LEVEL == 2 && defined(__clang__)
TENON_SIMD_INLINE f32 native_sqrt(f32 a) { return __builtin_ia32_sqrtps512(a, 4); }
TENON_SIMD_INLINE f64 native_sqrt(f64 a) { return __builtin_ia32_sqrtpd512(a, 4); }
#elif TENON_SIMD_LEVEL == 2
TENON_SIMD_INLINE f32 native_sqrt(f32 a) { return __builtin_ia32_sqrtps512_mask(a, a, -1, 4); }
TENON_SIMD_INLINE f64 native_sqrt(f64 a) { return __builtin_ia32_sqrtpd512_mask(a, a, -1, 4); }
#elif TENON_SIMD_LEVEL == 1
TENON_SIMD_INLINE f32 native_sqrt(f32 a) { return __builtin_ia32_sqrtps256(a); }
TENON_SIMD_INLINE f64 native_sqrt(f64 a) { return __builtin_ia32_sqrtpd256(a); }
#elif defined(__x86_64__)
TENON_SIMD_INLINE f32 native_sqrt(f32 a) { return __builtin_ia32_sqrtps(a); }
TENON_SIMD_INLINE f64 native_sqrt(f64 a) { return __builtin_ia32_sqrtpd(a); }
#else
TENON_SIMD_INLINE f32 native_sqrt(f32 a) {
    return f32{__builtin_sqrtf(a[0]), __builtin_sqrtf(a[1]), __builtin_sqrtf(a[2]), __builtin_sqrtf(a[3])};
}
TENON_SIMD_INLINE f64 native_sqrt(f64 a) { return f64{__builtin_sqrt(a[0]), __builtin_sqrt(a[1])}; }
#endif

/// a * b + c, rounded once but for baseline.
#if TENON_SIMD_LEVEL == 0
template <class V> TENON_SIMD_INLINE V native_fma(V a, V b, V c) { return a * b + c; }
#elif defined(__clang__) && __has_builtin(__builtin_elementwise_fma)
template <class V> TENON_SIMD_INLINE V native_fma(V a, V b, V c) { return __builtin_elementwise_fma(a, b, c); }
#elif TENON_SIMD_LEVEL == 2
TENON_SIMD_INLINE f32 native_fma(f32 a, f32 b, f32 c) {
    return __builtin_ia32_vfmaddps512_mask(a, b, c, static_cast<unsigned short>(-1), 4);
}
TENON_SIMD_INLINE f64 native_fma(f64 a, f64 b, f64 c) {
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, static_cast<unsigned char>(-1), 4);
}
#else
TENON_SIMD_INLINE f32 native_fma(f32 a, f32 b, f32 c) { return __builtin_ia32_vfmaddps256(a, b, c); }
TENON_SIMD_INLINE f64 native_fma(f64 a, f64 b, f64 c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
#endif

#if TENON_SIMD_LEVEL == 2
/// Mode 0 half to even, 1 down, 2 up, 3 towards zero; none raises "inexact".
template <int Mode> TENON_SIMD_INLINE f32 native_round(f32 a) {
    return __builtin_ia32_rndscaleps_mask(a, Mode | 8, a, static_cast<unsigned short>(-1), 4);
}
template <int Mode> TENON_SIMD_INLINE f64 native_round(f64 a) {
    return __builtin_ia32_rndscalepd_mask(a, Mode | 8, a, static_cast<unsigned char>(-1), 4);
}
/// Bit k is the sign of lane k.
TENON_SIMD_INLINE unsigned native_signs(i32 m) { return static_cast<unsigned short>(__builtin_ia32_cvtd2mask512(m)); }
#elif TENON_SIMD_LEVEL == 1
template <int Mode> TENON_SIMD_INLINE f32 native_round(f32 a) { return __builtin_ia32_roundps256(a, Mode | 8); }
template <int Mode> TENON_SIMD_INLINE f64 native_round(f64 a) { return __builtin_ia32_roundpd256(a, Mode | 8); }
TENON_SIMD_INLINE unsigned native_signs(i32 m) {
    return static_cast<unsigned>(__builtin_ia32_movmskps256(bits_as<f32>(m)));
}
#else
#if defined(__x86_64__)
TENON_SIMD_INLINE unsigned native_signs(i32 m) {
    return static_cast<unsigned>(__builtin_ia32_movmskps(bits_as<f32>(m)));
}
#else
TENON_SIMD_INLINE unsigned native_signs(i32 m) {
    const i32 bit = (m < 0) & i32{1, 2, 4, 8};
    return static_cast<unsigned>(bit[0] | bit[1] | bit[2] | bit[3]);
}
#endif
/// SSE2 cannot round: adding and subtracting 2^digits drops the fraction, and what went the wrong way is put
/// right.
template <int Mode, class V, class I, class S> TENON_SIMD_INLINE V round_by_adding(V a, I sign_bit, S big) {
    const I sign = bits_as<I>(a) & sign_bit;
    const V magnitude = bits_as<V>(bits_as<I>(a) ^ sign);
    V r = (magnitude + big) - big;
    if constexpr (Mode == 3) r = choose(r > magnitude, r - S(1), r);
    r = bits_as<V>(bits_as<I>(r) | sign);
    if constexpr (Mode == 1) r = choose(r > a, r - S(1), r);
    if constexpr (Mode == 2) r = bits_as<V>(bits_as<I>(choose(r < a, r + S(1), r)) | sign);
    return choose(magnitude < big, r, a);
}
template <int Mode> TENON_SIMD_INLINE f32 native_round(f32 a) {
    return round_by_adding<Mode>(a, fill<i32>(std::numeric_limits<std::int32_t>::min()), 0x1p23F);
}
template <int Mode> TENON_SIMD_INLINE f64 native_round(f64 a) {
    return round_by_adding<Mode>(a, fill<i64>(std::numeric_limits<std::int64_t>::min()), 0x1p52);
}
#endif

/// a < b ? a : b, and a > b ? a : b: with a NaN, b. g++ does not see the instruction in the choice.
#if defined(__x86_64__) && !defined(__clang__)
#if TENON_SIMD_LEVEL == 2
TENON_SIMD_INLINE f32 native_min(f32 a, f32 b) { return __builtin_ia32_minps512_mask(a, b, a, -1, 4); }
TENON_SIMD_INLINE f64 native_min(f64 a, f64 b) { return __builtin_ia32_minpd512_mask(a, b, a, -1, 4); }
TENON_SIMD_INLINE f32 native_max(f32 a, f32 b) { return __builtin_ia32_maxps512_mask(a, b, a, -1, 4); }
TENON_SIMD_INLINE f64 native_max(f64 a, f64 b) { return __builtin_ia32_maxpd512_mask(a, b, a, -1, 4); }
#elif TENON_SIMD_LEVEL == 1
TENON_SIMD_INLINE f32 native_min(f32 a, f32 b) { return __builtin_ia32_minps256(a, b); }
TENON_SIMD_INLINE f64 native_min(f64 a, f64 b) { return __builtin_ia32_minpd256(a, b); }
TENON_SIMD_INLINE f32 native_max(f32 a, f32 b) { return __builtin_ia32_maxps256(a, b); }
TENON_SIMD_INLINE f64 native_max(f64 a, f64 b) { return __builtin_ia32_maxpd256(a, b); }
#else
TENON_SIMD_INLINE f32 native_min(f32 a, f32 b) { return __builtin_ia32_minps(a, b); }
TENON_SIMD_INLINE f64 native_min(f64 a, f64 b) { return __builtin_ia32_minpd(a, b); }
TENON_SIMD_INLINE f32 native_max(f32 a, f32 b) { return __builtin_ia32_maxps(a, b); }
TENON_SIMD_INLINE f64 native_max(f64 a, f64 b) { return __builtin_ia32_maxpd(a, b); }
#endif
#else
template <class V> TENON_SIMD_INLINE V native_min(V a, V b) { return choose(a < b, a, b); }
template <class V> TENON_SIMD_INLINE V native_max(V a, V b) { return choose(a > b, a, b); }
#endif

#if TENON_SIMD_LEVEL > 0
/// The one of eight numbers that the lowest three bits of an index say.
template <class... Numbers> TENON_SIMD_INLINE f32 one_of_eight(i32 index, Numbers... n) {
    static_assert(sizeof...(n) == 8);
#if TENON_SIMD_LEVEL == 1
    return __builtin_ia32_permvarsf256(f32{n...}, index);
#elif defined(__clang__)
    return __builtin_ia32_permvarsf512(f32{n..., n...}, index);
#else
    return __builtin_ia32_permvarsf512_mask(f32{n..., n...}, index, f32{}, static_cast<unsigned short>(-1));
#endif
}
#endif

} // namespace tenon::simd::TENON_SIMD_NS
