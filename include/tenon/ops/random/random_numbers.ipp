#pragma once

#include <bit>
#include <utility>

#include <tenon/op/widened.hpp>
#include <tenon/ops/random/random_numbers.hpp>
#include <tenon/simd/pack.hpp>

#define TENON_SIMD_FILE <tenon/ops/random/random_kernel.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::detail {

// Pieces begin with whole vectors of blocks; one is about 20 us of work.
inline constexpr std::int64_t random_grain = 1 << 15;

template <std::int64_t PerBlock, class T, class F, class... Arguments>
void fill_parts(F f, T* to, std::int64_t n, random_stream s, thread_pool* pool, Arguments... arguments) {
    parallel_for(pool, n, random_grain, [&](std::int64_t begin, std::int64_t end) {
        f(to + begin, end - begin, s, s.first + static_cast<std::uint64_t>(begin / PerBlock), arguments...);
    });
}

// Fills blocks of W by f, of which store(block, to, count) makes elements of T.
template <std::int64_t PerBlock, class W, class T, class F, class Store, class... Arguments>
void fill_narrow(F f, Store store, T* to, std::int64_t n, random_stream s, thread_pool* pool, Arguments... arguments) {
    const auto piece = [&](T* at, std::int64_t count, random_stream, std::uint64_t first) {
        constexpr std::int64_t most = 1024;
        W block[most];
        for (; count > 0; at += most, count -= most, first += most / PerBlock) {
            const std::int64_t some = count < most ? count : most;
            f(block, some, s, first, arguments...);
            store(block, at, some);
        }
    };
    fill_parts<PerBlock>(piece, to, n, s, pool);
}
// Elements of 16 bits, rounded from floats.
template <class T, class F, class... Arguments>
void fill_rounded(F f, T* to, std::int64_t n, random_stream s, thread_pool* pool, Arguments... arguments) {
    const auto store = [](const float* from, T* at, std::int64_t count) {
        narrow(from, at, element_type_of<T>, count, nullptr);
    };
    fill_narrow<4, float>(f, store, to, n, s, pool, arguments...);
}
// Integers of which only the lower bits are kept.
template <class T, class F, class... Arguments>
void fill_lower_bits(F f, T* to, std::int64_t n, random_stream s, thread_pool* pool, Arguments... arguments) {
    const auto store = [](const std::uint32_t* from, T* at, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) at[i] = static_cast<T>(from[i]);
    };
    fill_narrow<2, std::uint32_t>(f, store, to, n, s, pool, arguments...);
}

// The largest number of T below x (which is not the smallest one).
template <class T, class Bits> T number_below(T x) {
    const auto bits = std::bit_cast<Bits>(x);
    constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    if ((bits & static_cast<Bits>(~sign)) == 0) return std::bit_cast<T>(static_cast<Bits>(sign | 1U)); // a zero
    return std::bit_cast<T>(static_cast<Bits>((bits & sign) != 0 ? bits + 1U : bits - 1U));
}

TENON_INLINE void fill_uniform(float* to, std::int64_t n, random_stream s, float lo, float hi, thread_pool* pool) {
    fill_parts<4>(TENON_SIMD_BEST(uniform), to, n, s, pool, 24, lo, hi - lo, number_below<float, std::uint32_t>(hi));
}
TENON_INLINE void fill_uniform(double* to, std::int64_t n, random_stream s, double lo, double hi, thread_pool* pool) {
    fill_parts<2>(TENON_SIMD_BEST(uniform64), to, n, s, pool, lo, hi - lo, number_below<double, std::uint64_t>(hi));
}
TENON_INLINE void fill_uniform(half* to, std::int64_t n, random_stream s, half lo, half hi, thread_pool* pool) {
    fill_rounded(TENON_SIMD_BEST(uniform), to, n, s, pool, 11, float(lo), float(hi) - float(lo),
                 float(number_below<half, std::uint16_t>(hi)));
}
TENON_INLINE void fill_uniform(bfloat16* to, std::int64_t n, random_stream s, bfloat16 lo, bfloat16 hi,
                               thread_pool* pool) {
    fill_rounded(TENON_SIMD_BEST(uniform), to, n, s, pool, 8, float(lo), float(hi) - float(lo),
                 float(number_below<bfloat16, std::uint16_t>(hi)));
}

#define TENON_RANDOM_FILL(NAME, FUNCTION)                                                              \
    TENON_INLINE void NAME(float* to, std::int64_t n, random_stream s, float mean, float deviation,    \
                           thread_pool* pool) {                                                        \
        fill_parts<4>(TENON_SIMD_BEST(FUNCTION), to, n, s, pool, mean, deviation);                     \
    }                                                                                                  \
    TENON_INLINE void NAME(double* to, std::int64_t n, random_stream s, double mean, double deviation, \
                           thread_pool* pool) {                                                        \
        fill_parts<2>(TENON_SIMD_BEST(FUNCTION##64), to, n, s, pool, mean, deviation);                 \
    }                                                                                                  \
    TENON_INLINE void NAME(half* to, std::int64_t n, random_stream s, float mean, float deviation,     \
                           thread_pool* pool) {                                                        \
        fill_rounded(TENON_SIMD_BEST(FUNCTION), to, n, s, pool, mean, deviation);                      \
    }                                                                                                  \
    TENON_INLINE void NAME(bfloat16* to, std::int64_t n, random_stream s, float mean, float deviation, \
                           thread_pool* pool) {                                                        \
        fill_rounded(TENON_SIMD_BEST(FUNCTION), to, n, s, pool, mean, deviation);                      \
    }
TENON_RANDOM_FILL(fill_normal, normal)
TENON_RANDOM_FILL(fill_truncated_normal, truncated_normal)
#undef TENON_RANDOM_FILL

TENON_INLINE void fill_integers(void* to, int bytes, std::int64_t n, random_stream s, std::int64_t lo,
                                std::uint64_t range, thread_pool* pool) {
    const auto low = static_cast<std::uint64_t>(lo);
    const auto words = TENON_SIMD_BEST(integers<std::uint32_t>);
    switch (bytes) {
    case 1: return fill_lower_bits(words, static_cast<std::uint8_t*>(to), n, s, pool, low, range);
    case 2: return fill_lower_bits(words, static_cast<std::uint16_t*>(to), n, s, pool, low, range);
    case 4: return fill_parts<2>(words, static_cast<std::uint32_t*>(to), n, s, pool, low, range);
    default:
        return fill_parts<2>(TENON_SIMD_BEST(integers<std::uint64_t>), static_cast<std::uint64_t*>(to), n, s, pool, low,
                             range);
    }
}

TENON_INLINE void fill_bernoulli(bool* to, std::int64_t n, random_stream s, double p, thread_pool* pool) {
    const bool always = p >= 1;
    const auto below = always || !(p > 0) ? 0U : static_cast<std::uint32_t>(p * 0x1p32);
    fill_parts<4>(TENON_SIMD_BEST(bernoulli), to, n, s, pool, below, always);
}

template <class T> void shuffle_numbers(T* to, std::int64_t n, random_stream s) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(i);
    // Element i, from the last to the second, changes places with one of 0 .. i: number n-1-i of the stream says which.
    philox_block words{};
    for (std::int64_t k = 0; k + 1 < n; ++k) {
        if (k % 2 == 0) words = s.block(static_cast<std::uint64_t>(k / 2));
        const std::uint64_t x0 = words.word[k % 2 * 2], x1 = words.word[k % 2 * 2 + 1];
        const auto i = static_cast<std::uint64_t>(n - 1 - k);
        const std::uint64_t r0 = (i + 1) & 0xFFFFFFFFU, r1 = (i + 1) >> 32;
        const std::uint64_t middle = ((x0 * r0) >> 32) + ((x1 * r0) & 0xFFFFFFFFU) + x0 * r1;
        const std::uint64_t j = x1 * r1 + ((x1 * r0) >> 32) + (middle >> 32);
        std::swap(to[i], to[j]);
    }
}
TENON_INLINE void fill_permutation(std::int32_t* to, std::int64_t n, random_stream s) { shuffle_numbers(to, n, s); }
TENON_INLINE void fill_permutation(std::int64_t* to, std::int64_t n, random_stream s) { shuffle_numbers(to, n, s); }

} // namespace tenon::detail
