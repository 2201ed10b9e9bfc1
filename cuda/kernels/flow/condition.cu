#include <cuda/kernels/flow/condition.hpp>

#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

__global__ void __launch_bounds__(32) set_condition_kernel(cudaGraphConditionalHandle condition, watched_flag by) {
    bool on = *by.flag;
    if (on && by.count) {
        if (by.end && *by.count % 8 == 0 && *static_cast<const volatile std::uint32_t*>(by.end) != 0) on = false;
        else ++*by.count;
    }
    cudaGraphSetConditional(condition, on ? 1 : 0);
}

} // namespace

void set_condition(cudaGraphConditionalHandle condition, const watched_flag& by, void* stream) {
    launch(set_condition_kernel, dim3(1), dim3(1), 0, stream, condition, by);
}

} // namespace tenon::cuda
