#pragma once

#include <cstddef>
#include <cstdint>

/// Where a mask is true, and how many of it are before.

namespace tenon::cuda {

/// Masks are counted in at most so many parts.
inline constexpr std::int64_t mask_parts = 1024;

/// Places are int64, else int32: as many trues as that may be.
constexpr bool has_wide_places(std::int64_t n) { return n > 0x7FFFFFFF; }
constexpr std::size_t place_bytes(std::int64_t n) { return has_wide_places(n) ? 8 : 4; }

/// places[i] = how many of mask[0 .. i-1] are true where mask[i] is, else -1, for a mask of n bools; *chosen (memory of the host that the
/// device reaches) = how many are true at all. counts: mask_parts numbers on the device, written over. Of an empty mask nothing is
/// written.
void list_mask_places(const void* mask, std::int64_t n, void* places, std::int64_t* counts, std::int64_t* chosen,
                      void* stream);

} // namespace tenon::cuda
