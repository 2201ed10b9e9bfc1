#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include <cuda_runtime_api.h>

#include <tenon/simd/philox.hpp>

/// Random numbers from the words of a stream, one at a time: what tenon/ops/random/random_kernel.inl computes on vectors, to the last bit.
/// Only operations that IEEE 754 rounds in one way are used, and no fused multiply-add: what includes this is compiled so
/// that the compiler makes none.

namespace tenon::cuda {

/// The words w and w + 1 as one number.
__host__ __device__ inline std::uint64_t two_words(const philox_block& b, int w) {
    return b.word[w] | std::uint64_t{b.word[w + 1]} << 32;
}

template <class T, int N> __host__ __device__ inline T horner(T x, const T (&coefficients)[N]) {
    T r = coefficients[N - 1];
    for (int k = N - 2; k >= 0; --k) r = r * x + coefficients[k];
    return r;
}

__host__ __device__ inline float square_root(float x) { return sqrtf(x); }
__host__ __device__ inline double square_root(double x) { return sqrt(x); }

// The natural logarithm of normal numbers above 0, sin and cos of turns between -1/8 and 1/8.

__host__ __device__ inline float plain_log(float u) {
    constexpr float p[] = {0x1.555556p-1F, 0x1.9999ecp-2F, 0x1.245c4p-2F, 0x1.ddcf72p-3F};
    const auto bits = std::bit_cast<std::int32_t>(u);
    const std::int32_t e = (bits - 0x3F3504F3) >> 23;
    const float m = std::bit_cast<float>(static_cast<std::uint32_t>(bits) - (static_cast<std::uint32_t>(e) << 23));
    const float s = (m - 1.0F) / (m + 1.0F), z = s * s;
    return static_cast<float>(e) * 0x1.62e43p-1F + s * (z * horner(z, p) + 2.0F);
}
__host__ __device__ inline double plain_log(double u) {
    constexpr double p[] = {0x1.5555555555555p-1, 0x1.9999999999998p-2, 0x1.249249249295ap-2,
                            0x1.c71c71c64c6c3p-3, 0x1.745d17d365b46p-3, 0x1.3b137b2ece4bcp-3,
                            0x1.111d2832da632p-3, 0x1.debeb0e5d974ap-4, 0x1.e6b14bf9246a8p-4};
    const auto bits = std::bit_cast<std::int64_t>(u);
    const std::int64_t e = (bits - 0x3FE6A09E667F3BCD) >> 52;
    const double m = std::bit_cast<double>(static_cast<std::uint64_t>(bits) - (static_cast<std::uint64_t>(e) << 52));
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    return static_cast<double>(e) * 0x1.62e42fefa39efp-1 + s * (z * horner(z, p) + 2.0);
}

__host__ __device__ inline float plain_sin(float turns) {
    constexpr float p[] = {0x1.921fb6p+2F, -0x1.4abbcep+5F, 0x1.466bbap+6F, -0x1.32ca9ep+6F, 0x1.4bc83ep+5F};
    return turns * horner(turns * turns, p);
}
__host__ __device__ inline float plain_cos(float turns) {
    constexpr float p[] = {1.0F, -0x1.3bd3ccp+4F, 0x1.03c1eap+6F, -0x1.55cb98p+6F, 0x1.db6466p+5F};
    return horner(turns * turns, p);
}
__host__ __device__ inline double plain_sin(double turns) {
    constexpr double p[] = {0x1.921fb54442d18p+2, -0x1.4abbce625be53p+5, 0x1.466bc6775aadap+6, -0x1.32d2cce62ac20p+6,
                            0x1.50783485cba05p+5, -0x1.e3074b4f999bfp+3, 0x1.e8eed0e86f79cp+1, -0x1.6c5b71b14b8f8p-1};
    return turns * horner(turns * turns, p);
}
__host__ __device__ inline double plain_cos(double turns) {
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

/// z with P(|Z| <= |z| given |Z| <= 2) = |v|, and the sign of v, for |v| < 1.
__host__ __device__ inline float truncated_quantile(float v) {
    constexpr float p[] = {0x1.aeaad4p+0F,  0x1.6957dp-2F,  0x1.d198bep-9F,   -0x1.a1c4e4p-9F,
                           0x1.a8c6c2p-13F, 0x1.71a35p-15F, -0x1.baaa18p-18F, -0x1.debc1ep-22F};
    const float x = v * 0x1.e8b43p-1F;
    return x * horner(-plain_log(1.0F - x * x) - 1.25F, p);
}
__host__ __device__ inline double truncated_quantile(double v) {
    constexpr double p[] = {
        0x1.aeaad3c10ba6bp+0,  0x1.6957d0994ea7dp-2,   0x1.d193551374ac1p-9,   -0x1.a1c4db20a938ep-9,
        0x1.a9dd3e6ce98c6p-13, 0x1.719c798d5c77dp-15,  -0x1.ded2562577f21p-18, -0x1.daae91ae5011ep-22,
        0x1.836de5be4da79p-23, -0x1.e3804148541bap-30, -0x1.0874b2e923dbbp-28, 0x1.2e06d347a9e52p-32,
        0x1.300e55ece88c6p-34, -0x1.698c07e77a848p-37, -0x1.ff256fcbe702bp-41, 0x1.1bfdeded55a59p-42};
    const double x = v * 0x1.e8b4307d3627ap-1;
    return x * horner(-plain_log(1.0 - x * x) - 1.25, p);
}
template <class T> __host__ __device__ inline T limited(T z, T bound) {
    z = z < bound ? z : bound;
    return z > -bound ? z : -bound;
}

/// In [1, 2): the upper 52 bits as a fraction.
__host__ __device__ inline double from_one_to_two(std::uint64_t bits) {
    return std::bit_cast<double>((bits >> 12) | 0x3FF0000000000000U);
}

/// k / 2^digits for the upper bits k of a word; of two words always 53.
__host__ __device__ inline float unit_interval(std::uint32_t bits, int digits) {
    return static_cast<float>(static_cast<std::int32_t>(bits >> (32 - digits))) *
           (1.0F / static_cast<float>(1 << digits));
}
__host__ __device__ inline double unit_interval(std::uint64_t bits, int) {
    return (from_one_to_two(bits) - 1.0) + ((bits & 0x800U) != 0U ? 0x1p-53 : 0.0);
}

/// Of a distribution: lo, hi - lo and the largest number for an even one; mean and standard deviation for a normal one.
template <class T> struct even_numbers {
    int digits;
    T lo, width, last;
    template <class Bits> __host__ __device__ T operator()(Bits bits) const {
        const T x = unit_interval(bits, digits) * width + lo;
        return x < last ? x : last;
    }
};
template <class T> struct truncated_numbers {
    T mean, deviation;
    __host__ __device__ T operator()(std::uint32_t bits) const {
        const auto k = static_cast<float>(static_cast<std::int32_t>(bits >> 8));
        return limited(truncated_quantile(((k - 0x1p23F) + 0.5F) * 0x1p-23F), 2.0F) * deviation + mean;
    }
    __host__ __device__ T operator()(std::uint64_t bits) const {
        const double v = (from_one_to_two(bits) - 1.5) * 2.0 + 0x1p-52;
        return limited(truncated_quantile(v), 2.0) * deviation + mean;
    }
};

/// Box and Muller's pair.
template <class T> struct normal_pair { T first, second; };
__host__ __device__ inline normal_pair<float> normal_numbers(std::uint32_t a, std::uint32_t b) {
    const float u = (static_cast<float>(static_cast<std::int32_t>(a >> 1)) + 0.5F) * 0x1p-31F;
    const float radius = square_root(plain_log(u) * -2.0F);
    const std::uint32_t quarter = (b + 0x20000000U) >> 30;
    const float turns = static_cast<float>(static_cast<std::int32_t>(b - (quarter << 30))) * 0x1p-32F;
    const float s = plain_sin(turns), c = plain_cos(turns);
    const bool odd = (quarter & 1U) != 0U;
    const std::uint32_t x = std::bit_cast<std::uint32_t>(odd ? s : c) ^ (((quarter + 1U) & 2U) << 30);
    const std::uint32_t y = std::bit_cast<std::uint32_t>(odd ? c : s) ^ ((quarter & 2U) << 30);
    return {std::bit_cast<float>(x) * radius, std::bit_cast<float>(y) * radius};
}
__host__ __device__ inline normal_pair<double> normal_numbers(std::uint64_t a, std::uint64_t b) {
    const double u = (from_one_to_two(a) - 1.0) + 0x1p-53;
    const double radius = square_root(plain_log(u) * -2.0);
    const std::uint64_t quarter = (b + 0x2000000000000000U) >> 62;
    const auto rest = static_cast<std::int64_t>(b - (quarter << 62)); // between -2^61 and 2^61
    const double turns = static_cast<double>(rest >> 10) * 0x1p-54;
    const double s = plain_sin(turns), c = plain_cos(turns);
    const bool odd = (quarter & 1U) != 0U;
    const std::uint64_t x = std::bit_cast<std::uint64_t>(odd ? s : c) ^ (((quarter + 1U) & 2U) << 62);
    const std::uint64_t y = std::bit_cast<std::uint64_t>(odd ? c : s) ^ ((quarter & 2U) << 62);
    return {std::bit_cast<double>(x) * radius, std::bit_cast<double>(y) * radius};
}

/// The upper 64 bits of the 128 of x * range.
__host__ __device__ inline std::uint64_t multiply_upper(std::uint64_t x, std::uint64_t range) {
    const std::uint64_t x0 = x & 0xFFFFFFFFU, x1 = x >> 32, r0 = range & 0xFFFFFFFFU, r1 = range >> 32;
    const std::uint64_t a = x0 * r0, b = x1 * r0, c = x0 * r1;
    const std::uint64_t middle = (a >> 32) + (b & 0xFFFFFFFFU) + (c & 0xFFFFFFFFU);
    return x1 * r1 + (b >> 32) + (c >> 32) + (middle >> 32);
}

/// The numbers of a block, in their order.
template <class T, int N> struct block_of { T number[N]; };
/// A word each for float, two for double.
template <class T, class Map> struct mapped_blocks {
    static constexpr int size = sizeof(T) == 8 ? 2 : 4;
    Map map;
    __host__ __device__ block_of<T, size> operator()(const philox_block& b) const {
        if constexpr (size == 2) return {{map(two_words(b, 0)), map(two_words(b, 2))}};
        else return {{map(b.word[0]), map(b.word[1]), map(b.word[2]), map(b.word[3])}};
    }
};
template <class T> struct normal_blocks {
    static constexpr int size = sizeof(T) == 8 ? 2 : 4;
    T mean, deviation;
    __host__ __device__ block_of<T, size> operator()(const philox_block& b) const {
        if constexpr (size == 2) {
            const normal_pair<double> z = normal_numbers(two_words(b, 0), two_words(b, 2));
            return {{scaled(z.first), scaled(z.second)}};
        } else {
            const normal_pair<float> z0 = normal_numbers(b.word[0], b.word[1]),
                                     z1 = normal_numbers(b.word[2], b.word[3]);
            return {{scaled(z0.first), scaled(z0.second), scaled(z1.first), scaled(z1.second)}};
        }
    }
    __host__ __device__ T scaled(T z) const { return z * deviation + mean; }
};
/// lo + 0 .. range-1; T is an integer without sign, of which the lower bits are kept.
template <class T> struct integer_blocks {
    static constexpr int size = 2;
    std::uint64_t lo, range;
    __host__ __device__ block_of<T, size> operator()(const philox_block& b) const {
        return {{static_cast<T>(multiply_upper(two_words(b, 0), range) + lo),
                 static_cast<T>(multiply_upper(two_words(b, 2), range) + lo)}};
    }
};
/// True where a word is less, or always.
struct truth_blocks {
    static constexpr int size = 4;
    std::uint32_t below;
    bool always;
    __host__ __device__ block_of<bool, size> operator()(const philox_block& b) const {
        return {{always || b.word[0] < below, always || b.word[1] < below, always || b.word[2] < below,
                 always || b.word[3] < below}};
    }
};

} // namespace tenon::cuda
