#pragma once

#include <memory>

#include <cuda/device/context.hpp>
#include <tenon/ops/flow/body_kernels.hpp>

/// What a GPU does next by a value that lies there: conditional nodes of CUDA graphs.

namespace tenon::cuda {

/// For the kernels of one device. In a stream that records, what decides becomes a node of that recording; else a graph of its own, made for
/// each run. Where CUDA will not have what a part does in a node, the host waits for the value and decides; standard error is told once why.
std::unique_ptr<tenon::detail::device_branches> make_branches(gpu_context& on);

} // namespace tenon::cuda
