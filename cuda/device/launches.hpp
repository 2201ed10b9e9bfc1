#pragma once

#include <vector>

#include <driver_types.h>

#include <cuda/device/context.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::cuda {

/// What the kernel would launch, found by recording it: nothing runs. What conditional nodes run comes after the rest, once. Throws what CUDA says.
std::vector<launched_kernel> launches_of(gpu_context& on, kernel& k, const kernel_run& r);

/// Called by whoever records a graph into a conditional node: CUDA does not tell of a node which it has.
void note_part(cudaGraph_t part);

} // namespace tenon::cuda
