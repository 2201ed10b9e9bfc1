#pragma once

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime_api.h>

/// What is written by hand over CUDA, as the other side of a comparison.

namespace gpu {

inline void check(cudaError_t answer, const char* call) {
    if (answer == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(answer));
    std::exit(1);
}

/// Memory of the GPU for what is written by hand.
class buffer {
public:
    explicit buffer(std::size_t bytes) : bytes_(bytes) {
        check(cudaMalloc(&data_, bytes), "cudaMalloc");
        check(cudaMemset(data_, 0x3d, bytes),
              "cudaMemset"); // floats near 0.05: never zeros, which move for less energy
    }
    ~buffer() { cudaFree(data_); }
    buffer(buffer&&) = delete;
    void* data() const { return data_; }
    template <class T> T* as() const { return static_cast<T*>(data_); }
    std::size_t bytes() const { return bytes_; }

private:
    std::size_t bytes_;
    void* data_ = nullptr;
};

/// What is given to a stream once, and then launched as a CUDA graph.
class recorded {
public:
    recorded() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
    ~recorded() {
        if (graph_) cudaGraphExecDestroy(graph_);
        cudaStreamDestroy(stream_);
    }
    recorded(recorded&&) = delete;

    cudaStream_t stream() const { return stream_; }
    /// `give` gives the stream what is recorded. It does so once before: what is loaded when it is first used is there then.
    template <class F> void record(const F& give) {
        give();
        check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
        check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        give();
        cudaGraph_t captured{};
        check(cudaStreamEndCapture(stream_, &captured), "cudaStreamEndCapture");
        check(cudaGraphInstantiate(&graph_, captured, 0), "cudaGraphInstantiate");
        check(cudaGraphDestroy(captured), "cudaGraphDestroy");
    }
    /// Returns when all of it has ended.
    void run() const {
        check(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch");
        check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    }

private:
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t graph_ = nullptr;
};

} // namespace gpu
