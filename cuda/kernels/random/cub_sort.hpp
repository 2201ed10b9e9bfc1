#pragma once

#include <cstddef>
#include <cstdint>

/// A stable sort of keys with what belongs to them.

namespace tenon::cuda {

/// Device memory that sort_pairs() needs for so many. Asks the current GPU.
std::size_t sort_pairs_bytes(std::int64_t count, std::size_t key_bytes, int bits);

/// Keys without sign, of 4 or 8 bytes, ascending by their lower `bits` bits, and their values; equal keys keep their order.
/// The inputs stay as they are. `scratch` has the bytes that sort_pairs_bytes() says.
void sort_pairs(void* scratch, std::size_t scratch_bytes, const void* keys, void* sorted_keys,
                const std::int64_t* values, std::int64_t* sorted_values, std::int64_t count, std::size_t key_bytes,
                int bits, void* stream);

} // namespace tenon::cuda
