#include <cuda/kernels/matrices/batches.hpp>

#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

__global__ void first_failed(const std::int32_t* failed, std::int64_t count, std::int64_t* first) {
    __shared__ unsigned long long least;
    constexpr unsigned long long none = ~0ULL;
    if (threadIdx.x == 0) least = none;
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x)
        if (failed[i] != 0) {
            atomicMin(&least, static_cast<unsigned long long>(i));
            break;
        }
    __syncthreads();
    if (threadIdx.x == 0 && least != none) *first = static_cast<std::int64_t>(least);
}

} // namespace

void report_first_failed(const std::int32_t* failed, std::int64_t count, std::int64_t* first, void* stream) {
    if (count > 0) launch(first_failed, 1, block_threads, 0, stream, failed, count, first);
}

} // namespace tenon::cuda
