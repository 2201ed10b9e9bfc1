#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

/// Sums in place.

namespace tenon::cuda {

/// to[i] += from[i], i < n, of numbers; integers wrap around.
void add_into(element_type element, void* to, const void* from, std::int64_t n, void* stream);

} // namespace tenon::cuda
