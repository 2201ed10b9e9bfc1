#pragma once

#include <vector>

#include <cuda/device/context.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::cuda {

/// What the kernel would launch, found by recording it: nothing runs. Throws what CUDA says.
std::vector<launched_kernel> launches_of(gpu_context& on, kernel& k, const kernel_run& r);

} // namespace tenon::cuda
