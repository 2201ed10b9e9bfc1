#pragma once

#include <cuda/tapes/function.hpp>

/// Tapes as kernels.

namespace tenon::cuda {

/// The kernel of a fused_op.
kernel_pointer prepare_fused(const kernel_setup& s, tapes::way how);

} // namespace tenon::cuda
