#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>

namespace tenon::cuda {

/// Of indices [outer, inner], of any integer type: [outer, depth, inner] elements of `element_bytes` bytes, `one` (its lower bytes)
/// where the place along depth is the index, else zeros.
void one_hot(element_type of_indices, const void* indices, void* to, std::size_t element_bytes, std::uint64_t one,
             std::int64_t outer, std::int64_t depth, std::int64_t inner, void* stream);

} // namespace tenon::cuda
