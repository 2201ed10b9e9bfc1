#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda/kernels/image/place.hpp>
#include <tenon/core/element_type.hpp>

namespace tenon::cuda {

/// Images of floating elements in other sizes, and the gradient of that. What a pixel is made of is found once for each row and each
/// column, in scratch memory, by a first launch. Sums are in float for half and bfloat16, rounded once, in the order of pixels.
class image_resizing {
public:
    image_resizing() = default;
    /// Both sizes have the same batch and channels; neither is without elements.
    image_resizing(sampling method, element_type e, const image_sizes& images, const image_sizes& resized);

    std::size_t scratch_bytes() const noexcept;
    void resize(const void* images, void* resized, std::byte* scratch, void* stream) const;
    /// To each pixel of the images the gradients of those made of it, by their weights.
    void spread(const void* gradient, void* images, std::byte* scratch, void* stream) const;

private:
    template <class T> void run_as(const void* from, void* to, bool spreads, std::byte* scratch, void* stream) const;
    void run(const void* from, void* to, bool spreads, std::byte* scratch, void* stream) const;

    sampling method_ = sampling::bilinear;
    element_type element_ = element_type::float32;
    image_sizes images_, resized_;
    std::int64_t most_rows_ = 1, most_columns_ = 1; // of which a pixel is made
};

} // namespace tenon::cuda
