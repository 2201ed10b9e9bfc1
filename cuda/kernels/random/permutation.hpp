#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/simd/philox.hpp>

/// A random permutation, the same as the CPU's.
///
/// That one is serial (R. Durstenfeld, 1964): step i, from n-1 down to 1, exchanges elements i and j_i <= i. What it leaves can be
/// told without doing so. What place p holds when step p begins came there from place m, where m > p is the last step before that
/// chose p: so V(p) = V(m), or p where there was none. Element i of the result is what place j_i held when step i began:
/// V(m) for the last step m before i that chose j_i, or j_i where there was none. Steps that chose one place stand together when
/// steps are sorted by their choices; and V is found by following m, a number of steps that grows with log n.

namespace tenon::cuda {

/// Device memory for it: of `count` elements each, `keys` and `sorted_keys` of key_bytes_of(count) bytes (indices.hpp).
struct permutation_memory {
    void *keys, *sorted_keys;
    std::int64_t *steps, *sorted_steps, *next;
};

/// keys[i] = j_i and steps[i] = i, of the stream of random numbers with this key; `run` is where the device reads its run.
void choose_places(const permutation_memory& m, std::size_t key_bytes, std::int64_t count, std::uint64_t key,
                   const std::uint64_t* run, void* stream);
/// The permutation, of integers of 4 or 8 bytes, from sorted_keys with their sorted_steps, by key and then by step.
/// Overwrites `steps`.
void follow_places(const permutation_memory& m, std::size_t key_bytes, std::int64_t count, void* to,
                   std::size_t to_bytes, void* stream);

} // namespace tenon::cuda
