#pragma once

#include "tests.hpp"
#include "emulator/device.hpp"

#include <cuda/kernels/launch.hpp>

#include "device_array.hpp"

/// What tests of the emulated GPU share.

namespace {

using tenon::cuda::launch;
using tenon::cuda::testing::device_array;
namespace emulator = tenon::emulator;

[[maybe_unused]] __global__ void number_threads(std::int64_t* to, std::int64_t n) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) to[i] = i;
}

[[maybe_unused]] __global__ void add_one(std::int64_t* to, std::int64_t n) {
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) ++to[i];
}

[[maybe_unused]] __global__ void copy_numbers(const std::int64_t* from, std::int64_t* to, std::int64_t n) {
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}

inline std::vector<std::int64_t> up_to(std::size_t n) {
    std::vector<std::int64_t> all(n);
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return all;
}
inline std::vector<std::int64_t> all_of(std::size_t n, std::int64_t x) { return std::vector<std::int64_t>(n, x); }

inline cudaStream_t new_stream() {
    cudaStream_t s = nullptr;
    REQUIRE(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess);
    return s;
}
inline cudaEvent_t new_event() {
    cudaEvent_t e = nullptr;
    REQUIRE(cudaEventCreateWithFlags(&e, cudaEventDisableTiming) == cudaSuccess);
    return e;
}

} // namespace
