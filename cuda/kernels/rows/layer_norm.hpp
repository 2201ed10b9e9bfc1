#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda/kernels/rows/blocks.hpp>
#include <tenon/core/element_type.hpp>

/// Layer normalisation of rows: formulas in tenon/ops/rows/normalization.hpp. All pointers are on the device; means and factors are of the
/// type that is computed in. A row of up to 8192 elements is read once.

namespace tenon::cuda {

/// y = (x - mean) factor gamma + beta. Any of y, mean and factor may be null; y may lie where x does.
void layer_norm(element_type element, const void* x, const void* gamma, const void* beta, void* y, void* mean,
                void* factor, const line_layout& rows, double epsilon, void* stream);

/// Of what the gradient works in.
std::size_t layer_norm_scratch_bytes(element_type element, const line_layout& rows);
/// The gradients of x, gamma and beta. Any may be null; dx may lie where x or dy does.
void layer_norm_gradient(element_type element, const void* x, const void* gamma, const void* dy, const void* mean,
                         const void* factor, void* dx, void* dgamma, void* dbeta, std::byte* scratch,
                         const line_layout& rows, void* stream);

} // namespace tenon::cuda
