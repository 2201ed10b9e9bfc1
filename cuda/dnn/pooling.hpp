#pragma once

#include <cuda/dnn/graph.hpp>
#include <cuda/kernels/linear/pooling.hpp>

/// Pools as graphs of cuDNN: the largest elements, means, and the gradients of means. Which of equal largest elements has the gradient is
/// for cuDNN to choose, so those are never asked of it.

namespace tenon::cuda::dnn {

/// Operands, in order: x, y; for `average_pool_backward` dy, dx.
graph pooling_graph(operation_kind which, const pooling_sizes& s, element_type e);

} // namespace tenon::cuda::dnn
