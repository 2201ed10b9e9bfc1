#pragma once

#include <cuda/kernels/image/place.hpp>
#include <tenon/core/sizes/extents.hpp>

namespace tenon::cuda {

/// A single image is a batch of one.
inline image_sizes sizes_of_images(const extents& e) {
    const int last = e.rank() - 1;
    return {e.rank() == 4 ? e[0].size : 1, e[last - 2].size, e[last - 1].size, e[last].size};
}

} // namespace tenon::cuda
