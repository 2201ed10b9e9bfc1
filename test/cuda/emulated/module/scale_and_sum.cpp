#include "emulator/device.hpp"

#include <cuda/kernels/launch.hpp>

// A library of kernels that a test loads, as those are that a program compiles while it runs.

namespace {

__global__ void scale_and_sum(const double* from, char n, double factor, double* sum) {
    double* const partial = tenon::cuda::dynamic_shared<double>();
    partial[threadIdx.x] = 0;
    for (unsigned i = threadIdx.x; i < static_cast<unsigned>(n); i += blockDim.x)
        partial[threadIdx.x] += from[i] * factor;
    for (unsigned d = blockDim.x / 2; d; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) partial[threadIdx.x] += partial[threadIdx.x + d];
    }
    if (threadIdx.x == 0) *sum = partial[0];
}

} // namespace

TENON_EMULATED_KERNEL(scale_and_sum)
