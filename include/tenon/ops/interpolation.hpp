#pragma once

#include <tenon/core/config.hpp>

namespace tenon {

/// How a pixel of an image is found between others (image/image_resize.hpp).
enum class interpolation {
    nearest, ///< the pixel whose area holds the point
    bilinear, ///< between the four around it, by their distances; at the border the outermost. Nothing is smoothed before.
    area,     ///< resize alone: the mean of what the new pixel covers
    count_
};
inline constexpr interpolation nearest = interpolation::nearest, bilinear = interpolation::bilinear;

} // namespace tenon
