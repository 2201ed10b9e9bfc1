#pragma once

#include <cstddef>
#include <cstdint>

/// One value in many places.

namespace tenon::cuda {

/// Puts the `element_bytes` (1, 2, 4 or 8) lower bytes of `bits` into each of `elements` elements at `to`.
void fill(void* to, std::int64_t elements, std::size_t element_bytes, std::uint64_t bits, void* stream);

} // namespace tenon::cuda
