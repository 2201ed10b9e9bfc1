#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda/kernels/image/place.hpp>

/// Images that are cut, each at a place of its own. All is given to `stream`, a cudaStream_t.

namespace tenon::cuda {

/// Where each image is cut: two numbers each, the first row and the first column. Pixels, or parts in [0, 1) of the places that
/// there are.
struct crop_places {
    const void* places; ///< on the device: float, else int32
    bool parts;
    image_sizes large, small; ///< what is cut, and what is cut out; both of one batch and of equal channels
};

/// A number that is no place: the device finds the first, the host reads it. at -1: none.
struct bad_place {
    std::int64_t at;
    float part;
    std::int32_t pixel;
};

/// Writes the first number that is no place to `found` (memory of the host that the device reaches), which else stays.
void check_places(const crop_places& p, bad_place* found, void* stream);

/// What is no place counts as 0. Elements are 1, 2, 4 or 8 bytes long.
void crop_images(const crop_places& p, const void* large, void* small, std::size_t element_bytes, void* stream);
/// Zeros, with what was cut out in its place.
void uncrop_images(const crop_places& p, const void* small, void* large, std::size_t element_bytes, void* stream);

} // namespace tenon::cuda
