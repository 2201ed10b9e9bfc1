#pragma once

#include <cuda/dnn/graph.hpp>
#include <cuda/kernels/rows/attention.hpp>

/// Attention as graphs of cuDNN, which computes them in blocks: memory is linear in the sequence.

namespace tenon::cuda::dnn {

/// Operands, first of all tensors and in order: q, k, v, y, logarithms, and, where the layout has lengths, how many keys and how many queries each
/// sequence has, of int32. What queries give that see no key is not said.
graph attention_graph(const attention_layout& l, element_type e);
/// The same: q, k, v, y, logarithms, dy, dq, dk, dv, a float for each query to work in, and both lengths. What is added up is in one order in every run:
/// for that cuDNN keeps a 16-bit number for each query and key, so it is asked for as many heads at a time as keeps these below
/// most_gradient_workspace (gradient_part).
graph attention_gradient_graph(const attention_layout& l, element_type e);
inline constexpr std::size_t most_gradient_workspace = std::size_t{256} << 20;

/// A layout like `l` of as many of its heads of keys as one gradient graph takes (`least`: as few as can be): of one sequence, or of whole
/// sequences; batch 0: of none. All are a whole number of such parts, one after another.
attention_layout gradient_part(const attention_layout& l, bool least);

/// False for what cuDNN is not asked about: tensors that are empty or have 2^31 elements, elements of float and double.
bool may_take(const attention_layout& l, element_type e);

} // namespace tenon::cuda::dnn
