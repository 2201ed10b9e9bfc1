#pragma once

#include <cuda/kernels/rows/blocks.hpp>
#include <cuda/kernels/shape/indices.hpp>
#include <tenon/core/element_type.hpp>

/// Softmax, its gradient and the losses of classifiers: formulas in tenon/ops/rows/softmax.hpp. All pointers are on the device, and of float,
/// double, half or bfloat16 elements unless said otherwise. A line of up to 8192 elements (256 where the axis is not the last and there are
/// many lines) is read once; a longer one once for its largest element and its sum together, and once more for the results.
/// Outputs may lie where an input of their sizes does.

namespace tenon::cuda {

/// y = softmax(x), or its logarithm, along lines of x.
void softmax(element_type element, const void* x, void* y, const line_layout& lines, bool logarithm, void* stream);
/// dx from y and dy.
void softmax_gradient(element_type element, const void* y, const void* dy, void* dx, const line_layout& lines,
                      bool logarithm, void* stream);

/// Of rows of classes, and a label each: int32, or int64 where they are wide. Either result may be null. A row whose label is none of its
/// classes gets NaN, for loss and dx, and the first such is found, as check_indices() finds it.
void sparse_cross_entropy(element_type element, const void* x, const void* labels, bool wide_labels, void* loss,
                          void* dx, const line_layout& rows, bad_index* found, void* stream);
/// Of rows of classes, and a weight for each element. Either result may be null.
void cross_entropy(element_type element, const void* x, const void* weights, void* loss, void* dx,
                   const line_layout& rows, void* stream);

} // namespace tenon::cuda
