#pragma once

#include <cstddef>
#include <memory>

#include <tenon/runtime/device/gpu_backend.hpp>

/// GPUs without a GPU: programs for many devices run, and are tested, anywhere.

namespace tenon {

/// `count` GPUs that this machine's CPU plays: CPU kernels (without those that a GPU lacks) on one thread each,
/// `memory` bytes of the host's memory as a hard limit, streams that go on while the caller does, and copies to, from and between
/// them that take `latency` seconds and what their bytes take at `bandwidth` bytes a second, one after another in each
/// direction. Numbers are those of the CPU. Throws invalid_argument_error where a count or size makes no sense, or the
/// machine has not that much memory.
std::shared_ptr<const gpu_backend> simulated_gpu(int count, std::size_t memory, double bandwidth = 0,
                                                 double latency = 0);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/device/simulated_gpu.ipp>
#endif
