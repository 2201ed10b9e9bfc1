#include <cuda/kernels/flow/condition.hpp>

#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

__global__ void __launch_bounds__(32)
    set_condition_kernel(cudaGraphConditionalHandle condition, const bool* flag, std::int64_t* count) {
    const bool on = *flag;
    if (on && count) ++*count;
    cudaGraphSetConditional(condition, on ? 1 : 0);
}

} // namespace

void set_condition(cudaGraphConditionalHandle condition, const bool* flag, std::int64_t* count, void* stream) {
    launch(set_condition_kernel, dim3(1), dim3(1), 0, stream, condition, flag, count);
}

} // namespace tenon::cuda
