#pragma once

#include <cstdint>

namespace baseline {

/// to[i] = from[i] / 255.
void scaled_pixels(float* to, const std::uint8_t* from, std::int64_t n);

} // namespace baseline
