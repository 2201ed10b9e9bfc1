#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

/// Philox 4x32-10, a counter-based generator: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy
/// as 1, 2, 3", SC 2011. A block of four words is a function of a counter and a key, so that any number of a sequence
/// can be computed by any thread of any device.

namespace tenon {

/// Four words: a counter, or the random numbers that belong to it.
struct philox_block {
    std::uint32_t word[4];
    friend constexpr bool operator==(const philox_block&, const philox_block&) noexcept = default;
};

namespace detail {
// No arrays: code of a GPU cannot read the host's, and nvcc makes a trap of it where a constexpr function does.
inline constexpr std::uint32_t philox_multiplier_0 = 0xD2511F53U, philox_multiplier_1 = 0xCD9E8D57U;
inline constexpr std::uint32_t philox_weyl_0 = 0x9E3779B9U, philox_weyl_1 = 0xBB67AE85U;
inline constexpr int philox_rounds = 10;
} // namespace detail

/// The numbers of `counter` under the key whose first word is the lower half of `key`.
constexpr philox_block philox(const philox_block& counter, std::uint64_t key) noexcept {
    philox_block c = counter;
    auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < detail::philox_rounds; ++round) {
        const std::uint64_t p0 = std::uint64_t{detail::philox_multiplier_0} * c.word[0];
        const std::uint64_t p1 = std::uint64_t{detail::philox_multiplier_1} * c.word[2];
        c = {{static_cast<std::uint32_t>(p1 >> 32) ^ c.word[1] ^ k0, static_cast<std::uint32_t>(p1),
              static_cast<std::uint32_t>(p0 >> 32) ^ c.word[3] ^ k1, static_cast<std::uint32_t>(p0)}};
        k0 += detail::philox_weyl_0;
        k1 += detail::philox_weyl_1;
    }
    return c;
}

/// A sequence of random numbers: block b of it is philox({first + b, run}, key), both 64 bits, lower halves first.
struct random_stream {
    std::uint64_t key = 0;
    std::uint64_t run = 0;
    std::uint64_t first = 0; ///< blocks of the same key and run before it

    constexpr philox_block block(std::uint64_t b) const noexcept {
        b += first;
        return philox({{static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32),
                        static_cast<std::uint32_t>(run), static_cast<std::uint32_t>(run >> 32)}},
                      key);
    }
};

/// Stands for a graph's seed where an op has a seed and its graph has none.
inline constexpr std::uint64_t default_graph_seed = 87654321;

/// The key of a stream, from the seeds of its graph and its op: other seeds give unrelated streams. Each of the two is
/// scrambled by the finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014), which is one to one.
constexpr std::uint64_t random_key(std::uint64_t graph_seed, std::uint64_t op_seed) noexcept {
    const auto scramble = [](std::uint64_t z) {
        z += 0x9E3779B97F4A7C15U;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    };
    return scramble(scramble(graph_seed) + op_seed);
}

} // namespace tenon
