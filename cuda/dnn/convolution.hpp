#pragma once

#include <cuda/dnn/graph.hpp>
#include <cuda/kernels/linear/convolution.hpp>

/// Convolutions as graphs of cuDNN. Filters lie as [outputs, height, width, channels], as tensor cores want them, which is not how Tenon
/// keeps them: filters_by_output() turns them.

namespace tenon::cuda::dnn {

/// What a graph of convolution_graph() ends with.
enum class after_convolution { nothing, bias, bias_relu };

/// Operands, in order: x, w, (bias,) y. For the two gradients: dy, w, dx and x, dy, dw. `tf32`: those of float may be rounded.
graph convolution_graph(operation_kind which, const convolution_sizes& s, element_type e, after_convolution after,
                        bool tf32 = false);

/// False for sizes that cuDNN is not asked about: a tensor without elements, or with 2^31 of them.
bool may_take(const convolution_sizes& s);

} // namespace tenon::cuda::dnn
