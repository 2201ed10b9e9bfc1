// Packs of a row of elements, the larger of two and e^x of what is not above 0: read once per instruction set by row_packs.hpp.

namespace tenon::simd::TENON_SIMD_NS {

// Lambdas are inlined like everything else, and what is done several times is written out: g++ at -O2 would keep arrays of
// accumulators in memory.
template <class F, int... K> TENON_SIMD_INLINE void for_each_of(const F& f, std::integer_sequence<int, K...>) {
    (f(std::integral_constant<int, K>{}), ...);
}
template <int N, class F> TENON_SIMD_INLINE void unrolled(const F& f) {
    for_each_of(f, std::make_integer_sequence<int, N>{});
}

/// Calls f(index, count) for the packs of a row: count is `lanes` but for the last.
template <class F> TENON_SIMD_INLINE void for_packs(std::int64_t n, const F& f) {
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) f(i, std::integral_constant<int, lanes>{});
    if (i < n) f(i, static_cast<int>(n - i));
}
template <class T, class N> TENON_SIMD_INLINE pack<T> load_some(const T* from, N n) {
    if constexpr (std::is_same_v<N, int>) return load_partial(from, n);
    else return load(from);
}
/// The same with the first element in the other lanes, for what is not a sum: see load_tail.
template <class T, class N> TENON_SIMD_INLINE pack<T> load_filled(const T* from, N n) {
    if constexpr (std::is_same_v<N, int>) return load_tail(from, n);
    else return load(from);
}
template <class T, class N> TENON_SIMD_INLINE void store_some(T* to, pack<T> a, N n) {
    if constexpr (std::is_same_v<N, int>) store_partial(to, a, n);
    else store(to, a);
}
/// The first n lanes of a; `other` in the rest.
template <class S, class N> TENON_SIMD_INLINE pack<S> keep_some(pack<S> a, N n, S other) {
    if constexpr (std::is_same_v<N, int>)
        return select(iota<std::int32_t>() < broadcast<std::int32_t>(n), a, broadcast<S>(other));
    else return a;
}

/// The first n lanes from memory, none of it beyond them; `other` in the rest.
template <class T, class N> TENON_SIMD_INLINE pack<T> load_or(const T* from, N n, T other) {
    return keep_some(load_some(from, n), n, other);
}

/// Asks memory for the lines of packs that are needed soon.
template <int Packs, class T> TENON_SIMD_INLINE void fetch_packs(const T* at) {
    constexpr int bytes = Packs * lanes * static_cast<int>(sizeof(T));
#pragma GCC unroll 16
    for (int b = 0; b < bytes; b += 64) __builtin_prefetch(reinterpret_cast<const std::byte*>(at) + b);
}

/// The larger one; b when either is NaN: one instruction.
struct combine_larger {
    template <class S> TENON_SIMD_INLINE static pack<S> apply(pack<S> a, pack<S> b) {
        TENON_SIMD_PARTS(pack<S>, native_max(a.v[p], b.v[p]));
    }
};
template <class S> TENON_SIMD_INLINE pack<S> larger(pack<S> a, pack<S> b) { return combine_larger::apply(a, b); }

/// What all lanes of a pack, or of several, come to, in lane 0.
template <class Combine, int Packs, class T> TENON_SIMD_INLINE pack<T> combine_all(const pack<T>* x) {
    if constexpr (Packs == 1) {
        return fold<Combine, lanes / 2>(*x);
    } else {
        pack<T> half[Packs / 2];
        unrolled<Packs / 2>([&](auto k) TENON_ROWS_LAMBDA { half[k] = Combine::apply(x[k], x[k + Packs / 2]); });
        return combine_all<Combine, Packs / 2>(static_cast<const pack<T>*>(half));
    }
}

#if TENON_SIMD_LEVEL == 0
/// 2^n e^r with n = round(x / ln 2), e^r = 1 + r + r^2 P(r), to 1e-8 before rounding.
TENON_SIMD_INLINE f32 exp_of_normal(f32 x) {
    const f32 n = native_round<0>(x * 0x1.715476p0F);
    f32 r = native_fma(n, fill<f32>(-0x1.62e4p-1F), x); // 15 bits times at most 8: exact also without fma
    r = native_fma(n, fill<f32>(-0x1.7f7d1cp-20F), r);
    const f32 p = polynomial(r, 0.5F, 0x1.5554dep-3F, 0x1.55551ap-5F, 0x1.120b62p-7F, 0x1.6d10fcp-10F);
    const f32 y = native_fma(p, r * r, r) + 1.0F;
    return y * bits_as<f32>((__builtin_convertvector(n, i32) + 127) << 23);
}
#else
/// 2^n e^r with n = round(8 x / ln 2) / 8, which stands in the last bits of `shifted`: those left of the point are added to an
/// exponent, and the last three say which eighth power of 2 it is of. These have less by what the three bits add.
TENON_SIMD_INLINE f32 exp_of_normal(f32 x) {
    const f32 shifted = native_fma(x, fill<f32>(0x1.715476p0F), fill<f32>(0x1.8p20F));
    const f32 n = shifted - 0x1.8p20F;
    const u32 bits = bits_as<u32>(shifted);
    const f32 eighth = one_of_eight(bits_as<i32>(bits), 0x1p0F, 0x1.f72b84p-1F, 0x1.f06fep-1F, 0x1.ebfdaep-1F,
                                    0x1.ea09e6p-1F, 0x1.eace54p-1F, 0x1.ee89fap-1F, 0x1.f5818ep-1F);
    const f32 power = bits_as<f32>(bits_as<u32>(eighth) + (bits << 20));
    f32 r = native_fma(n, fill<f32>(-0x1.62e4p-1F), x);
    r = native_fma(n, fill<f32>(-0x1.7f7d1cp-20F), r);
    const f32 p = polynomial(r, 0x1.000874p-1F, 0x1.555656p-3F);
    return native_fma(power, native_fma(p, r * r, r), power);
}
#endif
/// e^x for x <= 0 and NaN, within 1.2 ulp. What is less than e^-87 is zero: beside the largest term, which is 1, it does not count, and
/// denormal numbers take a hundred times as long.
TENON_SIMD_INLINE pack<float> exp_below_one(pack<float> a) {
    return {{choose(a.v[0] < -87.0F, f32{}, exp_of_normal(native_max(fill<f32>(-87.0F), a.v[0])))}};
}
/// The same of double, where e^-708 is the least.
TENON_SIMD_INLINE pack<double> exp_below_one(pack<double> x) {
    const pack<double> least = broadcast<double>(-708.0);
    return select(x < least, pack<double>{}, exp(larger(least, x)));
}

} // namespace tenon::simd::TENON_SIMD_NS
