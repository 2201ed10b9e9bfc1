#include "baseline/images.hpp"

namespace baseline {

void scaled_pixels(float* to, const std::uint8_t* from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]) * (1 / 255.0f);
}

} // namespace baseline
