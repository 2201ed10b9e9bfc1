#pragma once

#include <cstdint>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/half.hpp>
#include <tenon/simd/philox.hpp>

/// Arrays of random numbers from a random_stream.
///
/// The same stream gives the same numbers, to the last bit, whatever the thread count, the instruction set, the
/// compiler and the device: each element is computed from its own words of the stream by integer steps, additions,
/// multiplications, divisions and square roots that IEEE 754 rounds in one way. No function of the C library is called
/// and no product is fused with a sum.
///
/// Elements of up to 32 random bits (float, half, bfloat16, bool): element i is made of word i % 4 of block i / 4,
/// normal ones of words 2 * (i % 4 / 2) and the one after. Elements of 64 bits (double and integers): of words 2 * (i %
/// 2) and the one after of block i / 2; a normal double of all four.

namespace tenon::detail {

/// Evenly distributed in [lo, hi), for finite lo < hi: lo + u * (hi - lo), where u is a multiple of 2^-24 (float),
/// 2^-53 (double), 2^-11 (half) or 2^-8 (bfloat16); what would be rounded to hi is the number below it.
void fill_uniform(float* to, std::int64_t n, random_stream s, float lo, float hi, thread_pool* pool = nullptr);
void fill_uniform(double* to, std::int64_t n, random_stream s, double lo, double hi, thread_pool* pool = nullptr);
void fill_uniform(half* to, std::int64_t n, random_stream s, half lo, half hi, thread_pool* pool = nullptr);
void fill_uniform(bfloat16* to, std::int64_t n, random_stream s, bfloat16 lo, bfloat16 hi, thread_pool* pool = nullptr);

/// Normally distributed: mean + deviation * z. A pair of z comes from a pair of even numbers: sqrt(-2 ln u) cos(2 pi v)
/// and sqrt(-2 ln u) sin(2 pi v) (G. Box, M. Muller, "A note on the generation of random normal deviates", 1958).
/// |z| < 6.7 for float, half and bfloat16, < 8.6 for double.
void fill_normal(float* to, std::int64_t n, random_stream s, float mean, float deviation, thread_pool* pool = nullptr);
void fill_normal(double* to, std::int64_t n, random_stream s, double mean, double deviation,
                 thread_pool* pool = nullptr);
void fill_normal(half* to, std::int64_t n, random_stream s, float mean, float deviation, thread_pool* pool = nullptr);
void fill_normal(bfloat16* to, std::int64_t n, random_stream s, float mean, float deviation,
                 thread_pool* pool = nullptr);

/// Normally distributed under the condition |z| <= 2. By the inverse of the distribution function, not by rejection:
/// one number of the stream for each element, so that nothing depends on what was rejected before.
void fill_truncated_normal(float* to, std::int64_t n, random_stream s, float mean, float deviation,
                           thread_pool* pool = nullptr);
void fill_truncated_normal(double* to, std::int64_t n, random_stream s, double mean, double deviation,
                           thread_pool* pool = nullptr);
void fill_truncated_normal(half* to, std::int64_t n, random_stream s, float mean, float deviation,
                           thread_pool* pool = nullptr);
void fill_truncated_normal(bfloat16* to, std::int64_t n, random_stream s, float mean, float deviation,
                           thread_pool* pool = nullptr);

/// 0 .. range-1, evenly: the upper 64 bits of x * range with x even in [0, 2^64) (D. Lemire, "Fast random integer
/// generation in an interval", 2019, without his rejection). The chance of each number is within 2^-64 of 1 / range.
/// Stored as lo + number in integers of `bytes` bytes, which wrap around.
void fill_integers(void* to, int bytes, std::int64_t n, random_stream s, std::int64_t lo, std::uint64_t range,
                   thread_pool* pool = nullptr);

/// True with probability p, in steps of 2^-32.
void fill_bernoulli(bool* to, std::int64_t n, random_stream s, double p, thread_pool* pool = nullptr);

/// A permutation of 0 .. n-1, all equally likely (to 2^-64 a step): R. Durstenfeld, "Algorithm 235: random
/// permutation", 1964. Serial.
void fill_permutation(std::int32_t* to, std::int64_t n, random_stream s);
void fill_permutation(std::int64_t* to, std::int64_t n, random_stream s);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/ops/random/random_numbers.ipp>
#endif
