#pragma once

#include <cuda/kernels/image/place.hpp>
#include <tenon/core/element_type.hpp>

namespace tenon::cuda {

struct transform_options {
    sampling method = sampling::bilinear; ///< or nearest
    double value = 0;                     ///< around the images
};

/// The image whose pixel (x, y) is that of `images` at (a x + b y + c, d x + e y + f), for an image's matrix a .. f, counted from
/// the middle. Elements are floating; half and bfloat16 are computed in float. Rounded as the host does, so that both choose the
/// same pixels.
void affine_transform(element_type e, const void* images, void* to, const image_sizes& sizes, const float* matrices,
                      const transform_options& o, void* stream);

/// The gradient to the images: each pixel adds up what is made of it, in the order of pixels. A matrix that brings the image
/// together in a line or a point takes time quadratic in its pixels.
void affine_transform_gradient(element_type e, const void* gradient, void* to, const image_sizes& sizes,
                               const float* matrices, const transform_options& o, void* stream);

} // namespace tenon::cuda
