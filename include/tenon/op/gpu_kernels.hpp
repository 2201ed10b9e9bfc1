#pragma once

#include <string>

#include <tenon/op/op_definition.hpp>

/// The kernels that a GPU library has, by op: a device of real GPUs runs these, simulated ones the CPU's.

namespace tenon {

/// Called by a GPU library when it is loaded; the last one of a name stays.
void register_gpu_kernel(const std::string& op, kernel_factory make);
/// The op's own, or that of a GPU library; nullptr where there is none.
kernel_factory find_gpu_kernel(const op_definition& op);
/// True where a GPU library is loaded.
bool knows_gpu_kernels();

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/op/gpu_kernels.ipp>
#endif
