#include "own_kernels.hpp"

#include <cuda/kernels/launch.hpp>

namespace own {

namespace {

__global__ void add_told_number(float* to, const float* a, std::int64_t n, const std::int64_t* told) {
    const auto all = std::int64_t{gridDim.x} * blockDim.x;
    for (auto i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all)
        to[i] = a[i] + static_cast<float>(*told);
}

__global__ void stumble_over(float* to, const float* a, std::int64_t n) {
    const auto all = std::int64_t{gridDim.x} * blockDim.x;
    for (auto i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) {
        const float* from = a[0] > 0 ? reinterpret_cast<const float*>(std::uintptr_t{64}) : a;
        to[i] = from[i];
    }
}

} // namespace

void add_told(float* to, const float* a, std::int64_t n, const std::int64_t* told, void* stream) {
    tenon::cuda::launch(add_told_number, tenon::cuda::blocks_for(n), tenon::cuda::block_threads, 0, stream, to, a, n,
                        told);
}

void stumble(float* to, const float* a, std::int64_t n, void* stream) {
    tenon::cuda::launch(stumble_over, tenon::cuda::blocks_for(n), tenon::cuda::block_threads, 0, stream, to, a, n);
}

} // namespace own
