#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda/kernels/image/place.hpp>

/// Images of elements of 1, 2, 4 or 8 bytes whose pixels are moved, not changed. All is given to `stream`, a cudaStream_t.

namespace tenon::cuda {

/// Each image for which `which` is true with left and right, or its ends, changed; the others as they are.
void flip_images(const void* from, void* to, std::size_t element_bytes, const image_sizes& sizes, const bool* which,
                 bool upside_down, void* stream);

/// Each pixel that in whose area its centre lies. `from` has the batch and channels of `to`, and pixels.
void resize_nearest(const void* from, const image_sizes& from_sizes, void* to, const image_sizes& to_sizes,
                    std::size_t element_bytes, void* stream);

/// Boxes, one for each image: `numbers` floats each, 2 or 4 (box_mask_op); of 2 the sizes are height and width, in pixels.
struct box_options {
    const float* boxes = nullptr;
    int numbers = 4;
    std::int64_t height = 0, width = 0;
    bool inside = false; ///< the place is one of those at which the box lies in the image
};
/// Whether a pixel lies in its image's box; sizes.channels is 1.
void mask_boxes(bool* to, const image_sizes& sizes, const box_options& o, void* stream);
/// The images with `value`, its lower bytes, in their boxes. `to` may be `from`.
void fill_boxes(const void* from, void* to, std::size_t element_bytes, const image_sizes& sizes, const box_options& o,
                std::uint64_t value, void* stream);

} // namespace tenon::cuda
