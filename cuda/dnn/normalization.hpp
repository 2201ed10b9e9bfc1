#pragma once

#include <tenon/op/kernel.hpp>

/// Layer normalisation by cuDNN. (Softmax is not here: cuDNN's engines take no graph whose sums or largest elements are used again in it.)

namespace tenon::cuda::dnn {

/// cuDNN's kernels for layer_norm and its gradient, which leave to `own` what lies less aligned than cuDNN wants; `own` itself where
/// TENON_CUDA_NORMALIZATION is not "cudnn", where cuDNN is missing, or does not take these sizes and types.
kernel_pointer prepare_layer_norm(const kernel_setup& s, kernel_pointer own);
kernel_pointer prepare_layer_norm_gradient(const kernel_setup& s, kernel_pointer own);

} // namespace tenon::cuda::dnn
