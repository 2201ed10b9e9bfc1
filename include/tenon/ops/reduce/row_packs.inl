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
        constexpr int rest = (Packs + 1) / 2;
        pack<T> half[rest];
        unrolled<rest>([&](auto k) TENON_ROWS_LAMBDA {
            if constexpr (k + rest < Packs) half[k] = Combine::apply(x[k], x[k + rest]);
            else half[k] = x[k];
        });
        return combine_all<Combine, rest>(static_cast<const pack<T>*>(half));
    }
}

// Exponentials of a slice beside a whole power of 2, e^x / 2^k with k near some element of it: what each is of their sum is the same
// as beside the largest, which nobody has to look for, and k rounds nothing.

/// x / ln 2 plus `middle` - k is near `middle` where n, the nearest number of 1 / steps, is k: the last bits of the sum are
/// steps (n - k + offset).
template <class T> struct beside_power {
    static constexpr int steps = 1, offset = 512, most = 1 << 15; ///< |k| is at most `most`
    static constexpr T middle = 0x1.8p52 + offset, zero = -1023, large = 0x1p900, inverse = 0x1.71547652b82fep0;
};
template <> struct beside_power<float> {
#if TENON_SIMD_LEVEL == 0
    static constexpr int steps = 1, offset = 64, most = 1 << 8; // times the 15 bits of ln 2: exact without fma
    static constexpr float middle = 0x1.8p23F + offset;
#else
    static constexpr int steps = 8, offset = 64, most = 1 << 15;
    static constexpr float middle = 0x1.8p20F + offset;
#endif
    /// n - k whose power is stored as 0; sums are less than `large`; 1 / ln 2.
    static constexpr float zero = -127, large = 0x1p100F, inverse = 0x1.715476p0F;
};

#if TENON_SIMD_LEVEL == 0
/// 2^(n - k) e^r with n = round(x / ln 2), e^r = 1 + r + r^2 P(r), to 1e-8 before rounding.
TENON_SIMD_INLINE f32 exp_beside(f32 x, f32 base, f32 shifted) {
    const f32 n = shifted - base;
    f32 r = native_fma(n, fill<f32>(-0x1.62e4p-1F), x);
    r = native_fma(n, fill<f32>(-0x1.7f7d1cp-20F), r);
    const f32 p = polynomial(r, 0.5F, 0x1.5554dep-3F, 0x1.55551ap-5F, 0x1.120b62p-7F, 0x1.6d10fcp-10F);
    const f32 y = native_fma(p, r * r, r) + 1.0F;
    return y * bits_as<f32>((bits_as<u32>(shifted) << 23) + ((127U - beside_power<float>::offset) << 23));
}
#else
/// 2^(n - k) 2^f with n = round(8 x / ln 2) / 8. What is left of the point of n - k is added to an exponent, and the three bits behind it
/// say which eighth power of 2 it is of. These have less by what the three bits add, and by the offset.
TENON_SIMD_INLINE f32 exp_beside(f32 x, f32 base, f32 shifted) {
    const f32 n = shifted - base;
    const f32 eighth = one_of_eight(bits_as<i32>(shifted), 0x1p-64F, 0x1.f72b84p-65F, 0x1.f06fep-65F, 0x1.ebfdaep-65F,
                                    0x1.ea09e6p-65F, 0x1.eace54p-65F, 0x1.ee89fap-65F, 0x1.f5818ep-65F);
    const f32 power = bits_as<f32>(bits_as<u32>(eighth) + (bits_as<u32>(shifted) << 20));
    f32 f = native_fma(x, fill<f32>(beside_power<float>::inverse), -n);
    f = native_fma(x, fill<f32>(0x1.4ae0cp-26F), f);
    const f32 p = polynomial(f, 0x1.62e43p-1F, 0x1.ec0c42p-3F, 0x1.c69ff2p-5F);
    return native_fma(power * f, p, power);
}
#endif
TENON_SIMD_INLINE f64 exp_beside(f64 x, f64 base, f64 shifted) {
    const f64 n = shifted - base;
    f64 r = native_fma(n, fill<f64>(-0x1.62e42feep-1), x);
    r = native_fma(n, fill<f64>(-0x1.a39ef35793c76p-33), r);
    const f64 y = native_fma(exp_tail(for_double{}, r), r * r, r) + 1.0;
    return y * bits_as<f64>((bits_as<u64>(shifted) << 52) + ((1023ULL - beside_power<double>::offset) << 52));
}
template <class T> TENON_SIMD_INLINE pack<T> exp_beside(pack<T> x, pack<T> base, pack<T> shifted) {
    TENON_SIMD_PARTS(pack<T>, exp_beside(x.v[p], base.v[p], shifted.v[p]));
}
/// At most `most`, which is positive; NaN stays NaN, or becomes it. Of floats by integers: pipes that multiply have enough to do.
TENON_SIMD_INLINE f64 keep_below(f64 x, double most) { return native_min(fill<f64>(most), x); }
TENON_SIMD_INLINE f32 keep_below(f32 x, float most) {
    if constexpr (TENON_SIMD_LEVEL == 0) return native_min(fill<f32>(most), x);
    const i32 a = bits_as<i32>(x), b = bits_as<i32>(fill<f32>(most));
    return bits_as<f32>(a < b ? a : b);
}

/// What exponentials of slices are taken beside: 2^k, as `middle` - k, near the element x; or e^shift, where x is the largest. What is
/// less than `least` is 0.
template <class T> struct exp_reference {
    using beside = beside_power<T>;
    pack<T> shift, base, least;

    TENON_SIMD_INLINE static exp_reference of(pack<T> x) {
        exp_reference r{};
        for (int p = 0; p < pack<T>::parts; ++p) {
            const auto k = clamp(native_round<0>(x.v[p] * beside::inverse), T(-beside::most), T(beside::most));
            r.base.v[p] = beside::middle - k;
            r.least.v[p] = (k + beside::zero) * T(0x1.62e42fefa39efp-1);
        }
        return r;
    }
    TENON_SIMD_INLINE static exp_reference largest(pack<T> x) {
        exp_reference r = of(pack<T>{});
        r.shift = x;
        return r;
    }
    /// e^x / 2^k, within 1.2 ulp (of double: 1); 0, or something below it, where that is less than the least normal number. What is
    /// much larger than 1 is at least 2^126 (2^1022), and makes a sum that is not near. NaN of NaN.
    TENON_SIMD_INLINE pack<T> exp(pack<T> x) const {
        TENON_SIMD_PARTS(pack<T>, of_part(native_max(least.v[p], x.v[p] - shift.v[p]), base.v[p]));
    }

private:
    template <class V> TENON_SIMD_INLINE static V of_part(V x, V b) {
        return exp_beside(x, b,
                          keep_below(native_fma(x, fill<V>(beside::inverse), b), beside::middle - beside::zero - 1));
    }
};
/// Whether sums are of exponentials beside a power near one of them; false of NaN.
template <class T> TENON_SIMD_INLINE bool are_near(pack<T> sums) {
    return all((sums > broadcast<T>(T(0.5))) & (sums < broadcast<T>(beside_power<T>::large)));
}
template <class T> TENON_SIMD_INLINE bool is_near(T sum) {
    using bits = std::make_unsigned_t<simd::detail::signed_t<T>>; // what is below a half wraps around
    constexpr bits half = __builtin_bit_cast(bits, T(0.5)), large = __builtin_bit_cast(bits, beside_power<T>::large);
    return __builtin_bit_cast(bits, sum) - half < large - half;
}

/// e^x for x <= 0 and NaN, within 1.2 ulp. What is less than e^-87, of double e^-708, is zero: beside the largest term, which is 1, it
/// does not count, and denormal numbers take a hundred times as long.
template <class T> TENON_SIMD_INLINE pack<T> exp_below_one(pack<T> x) {
    const pack<T> least = broadcast<T>(std::is_same_v<T, float> ? T(-87) : T(-708)), d = larger(least, x);
    const pack<T> base = broadcast<T>(beside_power<T>::middle);
    const pack<T> shifted = fma(d, broadcast<T>(beside_power<T>::inverse), base);
    return select(x < least, pack<T>{}, exp_beside(d, base, shifted));
}

} // namespace tenon::simd::TENON_SIMD_NS
