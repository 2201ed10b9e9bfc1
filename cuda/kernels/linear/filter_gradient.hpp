#pragma once

#include <cstddef>

#include <cuda/kernels/linear/convolution.hpp>

/// The gradient of a convolution's filters for float, where its few results are sums over many pixels.

namespace tenon::cuda {

/// Whether filter_gradient() takes these sizes: neither tiny groups nor tensors of 2^30 elements.
bool has_filter_gradient(const convolution_sizes& s);
/// Whether a kernel with a block for each tile of results would leave most of a GPU idle: filter_gradient() divides the sums, too.
bool has_few_filters(const convolution_sizes& s);

/// dw from x and dy. The pixels are divided into parts, each added in float; their sums lie in `scratch` and are added in order, in
/// double. What is divided does not depend on the GPU.
void filter_gradient(const convolution_sizes& s, const float* x, const float* dy, float* dw, void* scratch,
                     void* stream);
std::size_t filter_gradient_scratch(const convolution_sizes& s);

} // namespace tenon::cuda
