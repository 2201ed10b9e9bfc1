#pragma once

#include <cuda/kernels/linear/convolution.hpp>

/// The gradient of a convolution's images for float, where windows move by single pixels.

namespace tenon::cuda {

/// Whether input_gradient() takes these sizes: strides of 1, outputs of a group that are a multiple of 16, tensors of fewer than 2^30
/// elements.
bool has_input_gradient(const convolution_sizes& s);
/// Whether its blocks fill a large GPU twice.
bool has_many_pixels(const convolution_sizes& s);
/// dx from dy and w, which are tile-aligned (tiles.hpp). Each element is one sum in float, in a fixed order.
void input_gradient(const convolution_sizes& s, const float* dy, const float* w, float* dx, void* stream);

} // namespace tenon::cuda
