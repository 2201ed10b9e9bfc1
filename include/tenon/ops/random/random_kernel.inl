// Random numbers on vectors: read once per instruction set by random_numbers.ipp. Only operations that IEEE 754 rounds
// in one way are used, and no fused multiply-add, so that every instruction set gives the same bits.

namespace tenon::simd::TENON_SIMD_NS {

/// The 64-bit products of the lower halves of the lanes.
TENON_SIMD_INLINE u64 multiply_lower_halves(u64 a, u64 b) {
#if !defined(__x86_64__) || defined(__clang__)
    return (a & 0xFFFFFFFFU) * (b & 0xFFFFFFFFU);
#elif TENON_SIMD_LEVEL == 2
    using product = native_t<long long, 8>;
    return bits_as<u64>(
        __builtin_ia32_pmuludq512_mask(bits_as<i32>(a), bits_as<i32>(b), product{}, static_cast<unsigned char>(-1)));
#elif TENON_SIMD_LEVEL == 1
    return bits_as<u64>(__builtin_ia32_pmuludq256(bits_as<i32>(a), bits_as<i32>(b)));
#else
    return bits_as<u64>(__builtin_ia32_pmuludq128(bits_as<i32>(a), bits_as<i32>(b)));
#endif
}

// Elements of a u64 vector, and what a pair of them holds: `lanes` blocks are computed at a time.
inline constexpr int philox_lanes = lanes / 2;

// What is done twice is written out twice: g++ at -O2 would keep arrays in memory.
#define TENON_RANDOM_LAMBDA __attribute__((always_inline))
template <class F> TENON_SIMD_INLINE void twice(const F& f) {
    f(std::integral_constant<int, 0>{});
    f(std::integral_constant<int, 1>{});
}

/// The words of `lanes` blocks: w[g][k] has word k of blocks g * philox_lanes + (0 .. philox_lanes-1) in the lower
/// halves of its lanes. The upper halves hold nothing of use.
struct philox_words {
    u64 w[2][4];
};

TENON_SIMD_INLINE philox_words philox_blocks(std::uint64_t first, std::uint64_t run, std::uint64_t key) {
    constexpr std::uint64_t numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    using unaligned = native<std::uint64_t, philox_lanes>::unaligned;
    const u64 lane = *reinterpret_cast<const unaligned*>(numbers);
    const u64 m0 = fill<u64>(tenon::detail::philox_multiplier_0), m1 = fill<u64>(tenon::detail::philox_multiplier_1);
    philox_words s;
    twice([&](auto g) TENON_RANDOM_LAMBDA {
        const u64 block = lane + (first + static_cast<std::uint64_t>(g * philox_lanes));
        s.w[g][0] = block;
        s.w[g][1] = block >> 32;
        s.w[g][2] = fill<u64>(run);
        s.w[g][3] = fill<u64>(run >> 32);
    });
    std::uint64_t k0 = key & 0xFFFFFFFFU, k1 = key >> 32;
    for (int round = 0; round < tenon::detail::philox_rounds; ++round) {
        twice([&](auto g) TENON_RANDOM_LAMBDA {
            const u64 p0 = multiply_lower_halves(s.w[g][0], m0), p1 = multiply_lower_halves(s.w[g][2], m1);
            s.w[g][0] = (p1 >> 32) ^ s.w[g][1] ^ k0;
            s.w[g][1] = p1;
            s.w[g][2] = (p0 >> 32) ^ s.w[g][3] ^ k1;
            s.w[g][3] = p0;
        });
        k0 += tenon::detail::philox_weyl_0; // the carries stay in the upper halves
        k1 += tenon::detail::philox_weyl_1;
    }
    return s;
}

/// a0 b0 a1 b1 ...: the first half of it, or the second.
template <class V> TENON_SIMD_INLINE V interleave_lower(V a, V b) {
    if constexpr (philox_lanes == 8) return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    else if constexpr (philox_lanes == 4) return __builtin_shufflevector(a, b, 0, 4, 1, 5);
    else return __builtin_shufflevector(a, b, 0, 2);
}
template <class V> TENON_SIMD_INLINE V interleave_upper(V a, V b) {
    if constexpr (philox_lanes == 8) return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    else if constexpr (philox_lanes == 4) return __builtin_shufflevector(a, b, 2, 6, 3, 7);
    else return __builtin_shufflevector(a, b, 1, 3);
}

/// Two words in one: the lower halves of `lower` below those of `upper`.
TENON_SIMD_INLINE u64 join_words(u64 lower, u64 upper) { return (lower & 0xFFFFFFFFU) | (upper << 32); }

/// The words in the order of memory: block after block, as 64-bit pairs.
struct ordered_words {
    u64 v[4];
};
TENON_SIMD_INLINE ordered_words in_order(const philox_words& s) {
    ordered_words o;
    twice([&](auto g) TENON_RANDOM_LAMBDA {
        const u64 a = join_words(s.w[g][0], s.w[g][1]), b = join_words(s.w[g][2], s.w[g][3]);
        o.v[2 * g] = interleave_lower(a, b);
        o.v[2 * g + 1] = interleave_upper(a, b);
    });
    return o;
}

// Mathematics, in turns of the circle rather than radians. The polynomials interpolate at Chebyshev's points with 60
// digits; errors are relative to the function and below 1e-8 (float) and 1e-17 (double), before rounding.

template <class V, int N, class S> TENON_SIMD_INLINE V horner(V x, const S (&coefficients)[N]) {
    V r = fill<V>(coefficients[N - 1]);
    for (int k = N - 2; k >= 0; --k) r = r * x + coefficients[k];
    return r;
}

/// The natural logarithm of normal numbers above 0: u = 2^e m, ln m = 2 s + s^3 P(s^2) with s = (m - 1) / (m + 1).
TENON_SIMD_INLINE f32 plain_log(f32 u) {
    constexpr float p[] = {0x1.555556p-1F, 0x1.9999ecp-2F, 0x1.245c4p-2F, 0x1.ddcf72p-3F};
    const i32 bits = bits_as<i32>(u);
    const i32 e = (bits - 0x3F3504F3) >> 23; // m in [sqrt(1/2), sqrt(2))
    const f32 m = bits_as<f32>(bits - (e << 23));
    const f32 s = (m - 1.0F) / (m + 1.0F), z = s * s;
    return __builtin_convertvector(e, f32) * 0x1.62e43p-1F + s * (z * horner(z, p) + 2.0F);
}
TENON_SIMD_INLINE f64 plain_log(f64 u) {
    constexpr double p[] = {0x1.5555555555555p-1, 0x1.9999999999998p-2, 0x1.249249249295ap-2,
                            0x1.c71c71c64c6c3p-3, 0x1.745d17d365b46p-3, 0x1.3b137b2ece4bcp-3,
                            0x1.111d2832da632p-3, 0x1.debeb0e5d974ap-4, 0x1.e6b14bf9246a8p-4};
    constexpr double big = 0x1.8p52;
    const i64 bits = bits_as<i64>(u);
    const u64 shifted = bits_as<u64>(bits - 0x3FE6A09E667F3BCD);
    const i64 sign = bits_as<i64>(shifted) < 0;
    const i64 e = bits_as<i64>((shifted >> 52) | (bits_as<u64>(sign) << 12)); // >> of signed lanes is slow on avx2
    const f64 m = bits_as<f64>(bits - (e << 52));
    const f64 s = (m - 1.0) / (m + 1.0), z = s * s;
    const f64 exponent = bits_as<f64>(e + std::bit_cast<std::int64_t>(big)) - big;
    return exponent * 0x1.62e42fefa39efp-1 + s * (z * horner(z, p) + 2.0);
}

/// sin and cos of a part of the circle, given in turns between -1/8 and 1/8.
TENON_SIMD_INLINE f32 plain_sin(f32 turns) {
    constexpr float p[] = {0x1.921fb6p+2F, -0x1.4abbcep+5F, 0x1.466bbap+6F, -0x1.32ca9ep+6F, 0x1.4bc83ep+5F};
    return turns * horner(turns * turns, p);
}
TENON_SIMD_INLINE f32 plain_cos(f32 turns) {
    constexpr float p[] = {1.0F, -0x1.3bd3ccp+4F, 0x1.03c1eap+6F, -0x1.55cb98p+6F, 0x1.db6466p+5F};
    return horner(turns * turns, p);
}
TENON_SIMD_INLINE f64 plain_sin(f64 turns) {
    constexpr double p[] = {0x1.921fb54442d18p+2, -0x1.4abbce625be53p+5, 0x1.466bc6775aadap+6, -0x1.32d2cce62ac20p+6,
                            0x1.50783485cba05p+5, -0x1.e3074b4f999bfp+3, 0x1.e8eed0e86f79cp+1, -0x1.6c5b71b14b8f8p-1};
    return turns * horner(turns * turns, p);
}
TENON_SIMD_INLINE f64 plain_cos(f64 turns) {
    constexpr double p[] = {1.0,
                            -0x1.3bd3cc9be45dep+4,
                            0x1.03c1f081b5ac4p+6,
                            -0x1.55d3c7e3cbff7p+6,
                            0x1.e1f506891ae94p+5,
                            -0x1.a6d1f2a086a1fp+4,
                            0x1.f9d38708329fcp+2,
                            -0x1.b6de8b5d63c46p+0,
                            0x1.1e744f3979516p-2};
    return horner(turns * turns, p);
}

/// z of the normal distribution with P(|Z| <= |z| given |Z| <= 2) = |v|, with the sign of v, for |v| < 1:
/// z = x R(-ln(1 - x^2)) with x = v erf(sqrt(2)).
TENON_SIMD_INLINE f32 truncated_quantile(f32 v) {
    constexpr float p[] = {0x1.aeaad4p+0F,  0x1.6957dp-2F,  0x1.d198bep-9F,   -0x1.a1c4e4p-9F,
                           0x1.a8c6c2p-13F, 0x1.71a35p-15F, -0x1.baaa18p-18F, -0x1.debc1ep-22F};
    const f32 x = v * 0x1.e8b43p-1F;
    return x * horner(-plain_log(1.0F - x * x) - 1.25F, p);
}
TENON_SIMD_INLINE f64 truncated_quantile(f64 v) {
    constexpr double p[] = {
        0x1.aeaad3c10ba6bp+0,  0x1.6957d0994ea7dp-2,   0x1.d193551374ac1p-9,   -0x1.a1c4db20a938ep-9,
        0x1.a9dd3e6ce98c6p-13, 0x1.719c798d5c77dp-15,  -0x1.ded2562577f21p-18, -0x1.daae91ae5011ep-22,
        0x1.836de5be4da79p-23, -0x1.e3804148541bap-30, -0x1.0874b2e923dbbp-28, 0x1.2e06d347a9e52p-32,
        0x1.300e55ece88c6p-34, -0x1.698c07e77a848p-37, -0x1.ff256fcbe702bp-41, 0x1.1bfdeded55a59p-42};
    const f64 x = v * 0x1.e8b4307d3627ap-1;
    return x * horner(-plain_log(1.0 - x * x) - 1.25, p);
}
template <class V, class S> TENON_SIMD_INLINE V limit(V z, S bound) {
    z = choose(z < bound, z, fill<V>(bound));
    return choose(z > -bound, z, fill<V>(-bound));
}

// From bits to numbers, exactly.

/// In [1, 2): the upper 52 bits as a fraction.
TENON_SIMD_INLINE f64 from_one_to_two(u64 bits) { return bits_as<f64>((bits >> 12) | 0x3FF0000000000000U); }

/// k / 2^digits for the upper bits k.
struct unit_interval32 {
    int digits;
    TENON_SIMD_INLINE f32 operator()(u32 bits) const {
        return __builtin_convertvector(bits_as<i32>(bits >> (32 - digits)), f32) *
               (1.0F / static_cast<float>(1 << digits));
    }
};
/// The same with 53 bits.
struct unit_interval64 {
    TENON_SIMD_INLINE f64 operator()(u64 bits) const {
        const u64 last = bits & 0x800U; // the 53rd bit
        return (from_one_to_two(bits) - 1.0) + choose(last != 0U, fill<f64>(0x1p-53), f64{});
    }
};

/// lo + u * (hi - lo), at most `last`.
template <class Unit, class V, class S> struct uniform_map {
    Unit unit;
    S lo, width, last;
    template <class Bits> TENON_SIMD_INLINE V operator()(Bits bits) const {
        const V x = unit(bits) * width + lo;
        return choose(x < last, x, fill<V>(last));
    }
};

template <class V, class S> struct truncated_map {
    S mean, deviation;
    TENON_SIMD_INLINE V operator()(u32 bits) const {
        const f32 k = __builtin_convertvector(bits_as<i32>(bits >> 8), f32);
        return limit(truncated_quantile(((k - 0x1p23F) + 0.5F) * 0x1p-23F), 2.0F) * deviation + mean;
    }
    TENON_SIMD_INLINE V operator()(u64 bits) const {
        const f64 v = (from_one_to_two(bits) - 1.5) * 2.0 + 0x1p-52;
        return limit(truncated_quantile(v), 2.0) * deviation + mean;
    }
};

/// Box and Muller's pair: u from 31 bits, the angle from 32.
struct normal_pair32 {
    f32 first, second;
    TENON_SIMD_INLINE normal_pair32(u32 a, u32 b) {
        const f32 u = (__builtin_convertvector(bits_as<i32>(a >> 1), f32) + 0.5F) * 0x1p-31F;
        const f32 radius = native_sqrt(plain_log(u) * -2.0F);
        const u32 quarter = (b + 0x20000000U) >> 30;
        const f32 turns = __builtin_convertvector(bits_as<i32>(b - (quarter << 30)), f32) * 0x1p-32F;
        const f32 s = plain_sin(turns), c = plain_cos(turns);
        const i32 odd = bits_as<i32>((quarter & 1U) != 0U);
        const u32 x = bits_as<u32>(choose(odd, s, c)) ^ (((quarter + 1U) & 2U) << 30);
        const u32 y = bits_as<u32>(choose(odd, c, s)) ^ ((quarter & 2U) << 30);
        first = bits_as<f32>(x) * radius;
        second = bits_as<f32>(y) * radius;
    }
};
/// The same with 52 bits for u and 54 for the angle.
struct normal_pair64 {
    f64 first, second;
    TENON_SIMD_INLINE normal_pair64(u64 a, u64 b) {
        constexpr double big = 0x1.8p52;
        const f64 u = (from_one_to_two(a) - 1.0) + 0x1p-53;
        const f64 radius = native_sqrt(plain_log(u) * -2.0);
        const u64 quarter = (b + 0x2000000000000000U) >> 62;
        const u64 rest = b - (quarter << 62); // between -2^61 and 2^61
        const u64 sign = bits_as<u64>(bits_as<i64>(rest) < 0);
        const i64 steps = bits_as<i64>((rest >> 10) | (sign << 54));
        const f64 turns = (bits_as<f64>(steps + std::bit_cast<std::int64_t>(big)) - big) * 0x1p-54;
        const f64 s = plain_sin(turns), c = plain_cos(turns);
        const i64 odd = bits_as<i64>((quarter & 1U) != 0U);
        const u64 x = bits_as<u64>(choose(odd, s, c)) ^ (((quarter + 1U) & 2U) << 62);
        const u64 y = bits_as<u64>(choose(odd, c, s)) ^ ((quarter & 2U) << 62);
        first = bits_as<f64>(x) * radius;
        second = bits_as<f64>(y) * radius;
    }
};

// Loops. `to` and n are a part of an array that begins with block `first`.

/// Runs step(block, out) for chunks of Elements elements; the last one goes through a buffer.
template <int Elements, int PerBlock, class T, class Step>
TENON_SIMD_INLINE void for_chunks(T* to, std::int64_t n, std::uint64_t first, const Step& step) {
    std::int64_t i = 0;
    for (; i + Elements <= n; i += Elements) step(first + static_cast<std::uint64_t>(i / PerBlock), to + i);
    if (i < n) {
        T buffer[Elements];
        step(first + static_cast<std::uint64_t>(i / PerBlock), static_cast<T*>(buffer));
        for (std::int64_t k = 0; i + k < n; ++k) to[i + k] = buffer[k];
    }
}

/// An element a word: map is asked with u32 vectors.
template <class Map> struct word_step {
    random_stream s;
    Map map;
    TENON_SIMD_INLINE void operator()(std::uint64_t block, float* out) const {
        const ordered_words o = in_order(philox_blocks(block, s.run, s.key));
        twice([&](auto k) TENON_RANDOM_LAMBDA {
            store<float>(out + 2 * k * lanes, pack<float>{{map(bits_as<u32>(o.v[2 * k]))}});
            store<float>(out + (2 * k + 1) * lanes, pack<float>{{map(bits_as<u32>(o.v[2 * k + 1]))}});
        });
    }
};
/// An element two words: map is asked with u64 vectors.
template <class Map> struct double_step {
    random_stream s;
    Map map;
    TENON_SIMD_INLINE void operator()(std::uint64_t block, double* out) const {
        const ordered_words o = in_order(philox_blocks(block, s.run, s.key));
        twice([&](auto k) TENON_RANDOM_LAMBDA {
            store<double>(out + k * lanes, pack<double>{{map(o.v[2 * k]), map(o.v[2 * k + 1])}});
        });
    }
};

struct normal_step32 {
    random_stream s;
    float mean, deviation;
    TENON_SIMD_INLINE f32 scaled(f32 z) const { return z * deviation + mean; }
    TENON_SIMD_INLINE void operator()(std::uint64_t block, float* out) const {
        const philox_words p = philox_blocks(block, s.run, s.key);
        // Both groups side by side: group 0 in the lower halves of the 64-bit lanes, group 1 in the upper ones.
        philox_words back;
        twice([&](auto k) TENON_RANDOM_LAMBDA {
            const normal_pair32 z(bits_as<u32>(join_words(p.w[0][2 * k], p.w[1][2 * k])),
                                  bits_as<u32>(join_words(p.w[0][2 * k + 1], p.w[1][2 * k + 1])));
            back.w[0][2 * k] = bits_as<u64>(scaled(z.first));
            back.w[0][2 * k + 1] = bits_as<u64>(scaled(z.second));
            back.w[1][2 * k] = back.w[0][2 * k] >> 32;
            back.w[1][2 * k + 1] = back.w[0][2 * k + 1] >> 32;
        });
        const ordered_words o = in_order(back);
        twice([&](auto k) TENON_RANDOM_LAMBDA {
            store<float>(out + 2 * k * lanes, pack<float>{{bits_as<f32>(o.v[2 * k])}});
            store<float>(out + (2 * k + 1) * lanes, pack<float>{{bits_as<f32>(o.v[2 * k + 1])}});
        });
    }
};
struct normal_step64 {
    random_stream s;
    double mean, deviation;
    TENON_SIMD_INLINE void operator()(std::uint64_t block, double* out) const {
        const philox_words p = philox_blocks(block, s.run, s.key);
        twice([&](auto g) TENON_RANDOM_LAMBDA {
            const normal_pair64 z(join_words(p.w[g][0], p.w[g][1]), join_words(p.w[g][2], p.w[g][3]));
            const f64 a = z.first * deviation + mean, b = z.second * deviation + mean;
            store<double>(out + g * lanes, pack<double>{{interleave_lower(a, b), interleave_upper(a, b)}});
        });
    }
};

struct bernoulli_step {
    random_stream s;
    std::uint32_t below; // true where the word is less, or always
    bool always;
    TENON_SIMD_INLINE pack<bool> truth(u64 words) const {
        return {{bits_as<i32>(bits_as<u32>(words) < below) | (always ? -1 : 0)}};
    }
    TENON_SIMD_INLINE void operator()(std::uint64_t block, bool* out) const {
        const ordered_words o = in_order(philox_blocks(block, s.run, s.key));
        twice([&](auto k) TENON_RANDOM_LAMBDA {
            store<bool>(out + 2 * k * lanes, truth(o.v[2 * k]));
            store<bool>(out + (2 * k + 1) * lanes, truth(o.v[2 * k + 1]));
        });
    }
};

/// The upper 64 bits of the 128 of x * range.
TENON_SIMD_INLINE u64 multiply_upper(u64 x, std::uint64_t range) {
    const u64 r0 = fill<u64>(range & 0xFFFFFFFFU), r1 = fill<u64>(range >> 32);
    const u64 a = multiply_lower_halves(x, r0), b = multiply_lower_halves(x >> 32, r0);
    const u64 c = multiply_lower_halves(x, r1), d = multiply_lower_halves(x >> 32, r1);
    const u64 middle = (a >> 32) + (b & 0xFFFFFFFFU) + (c & 0xFFFFFFFFU);
    return d + (b >> 32) + (c >> 32) + (middle >> 32);
}
template <class T> struct integer_step {
    random_stream s;
    std::uint64_t lo, range;
    TENON_SIMD_INLINE void operator()(std::uint64_t block, T* out) const {
        const ordered_words o = in_order(philox_blocks(block, s.run, s.key));
        twice([&](auto k) TENON_RANDOM_LAMBDA {
            store<T>(out + k * lanes, convert<T>(pack<std::uint64_t>{{multiply_upper(o.v[2 * k], range) + lo,
                                                                      multiply_upper(o.v[2 * k + 1], range) + lo}}));
        });
    }
};

// What random_numbers.ipp calls. Numbers of fewer bits are made of these.

inline void uniform(float* to, std::int64_t n, random_stream s, std::uint64_t first, int digits, float lo, float width,
                    float last) {
    using map = uniform_map<unit_interval32, f32, float>;
    for_chunks<4 * lanes, 4>(to, n, first, word_step<map>{s, {{digits}, lo, width, last}});
}
inline void uniform64(double* to, std::int64_t n, random_stream s, std::uint64_t first, double lo, double width,
                      double last) {
    using map = uniform_map<unit_interval64, f64, double>;
    for_chunks<2 * lanes, 2>(to, n, first, double_step<map>{s, {{}, lo, width, last}});
}
inline void normal(float* to, std::int64_t n, random_stream s, std::uint64_t first, float mean, float deviation) {
    for_chunks<4 * lanes, 4>(to, n, first, normal_step32{s, mean, deviation});
}
inline void normal64(double* to, std::int64_t n, random_stream s, std::uint64_t first, double mean, double deviation) {
    for_chunks<2 * lanes, 2>(to, n, first, normal_step64{s, mean, deviation});
}
inline void truncated_normal(float* to, std::int64_t n, random_stream s, std::uint64_t first, float mean,
                             float deviation) {
    for_chunks<4 * lanes, 4>(to, n, first, word_step<truncated_map<f32, float>>{s, {mean, deviation}});
}
inline void truncated_normal64(double* to, std::int64_t n, random_stream s, std::uint64_t first, double mean,
                               double deviation) {
    for_chunks<2 * lanes, 2>(to, n, first, double_step<truncated_map<f64, double>>{s, {mean, deviation}});
}
template <class T>
inline void integers(T* to, std::int64_t n, random_stream s, std::uint64_t first, std::uint64_t lo,
                     std::uint64_t range) {
    for_chunks<2 * lanes, 2>(to, n, first, integer_step<T>{s, lo, range});
}
inline void bernoulli(bool* to, std::int64_t n, random_stream s, std::uint64_t first, std::uint32_t below,
                      bool always) {
    for_chunks<4 * lanes, 4>(to, n, first, bernoulli_step{s, below, always});
}

#undef TENON_RANDOM_LAMBDA

} // namespace tenon::simd::TENON_SIMD_NS
