#include "cuda/hand_chain.hpp"

#include <utility>

namespace baseline {

namespace {
__global__ void hyperbolic_tangent(const float* from, float* to, std::int64_t n) {
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) to[i] = tanhf(from[i]);
}
unsigned blocks_for(std::int64_t elements) { return static_cast<unsigned>((elements + 255) / 256); }
} // namespace

hand_chain::hand_chain(int kernels, std::int64_t elements) :
    a_(static_cast<std::size_t>(elements) * sizeof(float)), b_(static_cast<std::size_t>(elements) * sizeof(float)) {
    graph_.record([&] {
        float *from = a_.as<float>(), *to = b_.as<float>();
        for (int k = 0; k < kernels; ++k, std::swap(from, to))
            hyperbolic_tangent<<<blocks_for(elements), 256, 0, graph_.stream()>>>(from, to, elements);
    });
}

hand_tanh::hand_tanh(std::int64_t elements) :
    elements_(elements),
    from_(static_cast<std::size_t>(elements) * sizeof(float)),
    to_(static_cast<std::size_t>(elements) * sizeof(float)) {
    gpu::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    gpu::check(cudaEventCreate(&begin_), "cudaEventCreate");
    gpu::check(cudaEventCreate(&end_), "cudaEventCreate");
}
hand_tanh::~hand_tanh() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
}
double hand_tanh::run() const {
    gpu::check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    hyperbolic_tangent<<<blocks_for(elements_), 256, 0, stream_>>>(from_.as<float>(), to_.as<float>(), elements_);
    gpu::check(cudaEventRecord(end_, stream_), "cudaEventRecord");
    gpu::check(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float milliseconds = 0;
    gpu::check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
}

} // namespace baseline
