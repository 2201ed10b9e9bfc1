#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <cublasLt.h>

#include "cuda/by_hand.hpp"

/// Layers of networks that are trained by hand on a GPU. Matrices are row-major: cuBLASLt is told of their transposes.

namespace baseline {

inline void check(cublasStatus_t answer) {
    if (answer == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "cuBLASLt: %s\n", cublasLtGetStatusString(answer));
    std::exit(1);
}

/// c = alpha a b + beta c of row-major a [m, k], b [k, n], each perhaps stored transposed; then a bias [n], and relu, where there is one.
class product {
public:
    product(cublasLtHandle_t handle, int m, int k, int n, bool ta, bool tb, const float* bias, bool relu, bool adds);
    ~product();
    product(product&&) = delete;
    void run(float alpha, const float* a, const float* b, float* c, void* workspace, cudaStream_t stream) const;
    static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

private:
    cublasLtHandle_t handle_;
    cublasLtMatmulDesc_t what_{};
    cublasLtMatrixLayout_t a_{}, b_{}, c_{};
    cublasLtMatmulAlgo_t how_{};
    bool adds_;
};

/// A dense layer whose backward pass adds -rate times its gradients to its weights.
class dense_layer {
public:
    dense_layer(cublasLtHandle_t handle, int batch, int in, int out, bool relu, bool is_first);
    void forward(const float* x, void* workspace, cudaStream_t s) const;
    /// `gradient` [batch, out], of what comes out: it is changed where relu did; the input's is written to input_gradient().
    void backward(const float* x, float* gradient, float rate, void* workspace, cudaStream_t s) const;
    float* output() const { return y_.as<float>(); }
    float* input_gradient() const { return dx_->as<float>(); }

private:
    int batch_, in_, out_;
    bool relu_;
    gpu::buffer w_, b_, y_;
    std::unique_ptr<gpu::buffer> dx_;
    product forward_, to_input_, to_weights_;
};

/// A training step of images [batch, 784] with one of 10 labels each: these are copied from page-locked memory, and the loss back, by the
/// graph that has the rest.
class hand_step {
public:
    explicit hand_step(int batch) :
        batch(batch),
        images(static_cast<std::size_t>(batch) * 784 * sizeof(float)),
        labels(static_cast<std::size_t>(batch) * sizeof(std::int32_t)),
        gradient(static_cast<std::size_t>(batch) * 10 * sizeof(float)),
        loss(sizeof(float)),
        workspace(product::workspace_bytes) {
        gpu::check(cudaHostAlloc(&host_, images.bytes() + labels.bytes() + sizeof(float), cudaHostAllocDefault),
                   "cudaHostAlloc");
        std::memset(host_, 0, images.bytes() + labels.bytes());
    }
    ~hand_step() { cudaFreeHost(host_); }
    hand_step(hand_step&&) = delete;

    /// The mean loss before the update.
    float run(const float* of_images, const std::int32_t* of_labels) {
        std::memcpy(host_, of_images, images.bytes());
        std::memcpy(host_labels(), of_labels, labels.bytes());
        graph.run();
        return *host_loss();
    }

protected:
    /// `give` gives the network's work to the graph's stream.
    template <class F> void record(const F& give) {
        graph.record([&] {
            const cudaStream_t s = graph.stream();
            gpu::check(cudaMemcpyAsync(images.data(), host_, images.bytes(), cudaMemcpyHostToDevice, s),
                       "cudaMemcpyAsync");
            gpu::check(cudaMemcpyAsync(labels.data(), host_labels(), labels.bytes(), cudaMemcpyHostToDevice, s),
                       "cudaMemcpyAsync");
            give(s, workspace.data());
            gpu::check(cudaMemcpyAsync(host_loss(), loss.data(), sizeof(float), cudaMemcpyDeviceToHost, s),
                       "cudaMemcpyAsync");
        });
    }

    int batch;
    gpu::recorded graph;
    gpu::buffer images, labels, gradient, loss, workspace;

private:
    std::byte* host_labels() const { return static_cast<std::byte*>(host_) + images.bytes(); }
    float* host_loss() const { return reinterpret_cast<float*>(host_labels() + labels.bytes()); }

    void* host_ = nullptr;
};

/// loss[0] = mean cross-entropy of softmax(logits [batch, classes]); gradient [batch, classes].
void softmax_cross_entropy(const float* logits, const std::int32_t* labels, float* gradient, float* loss, int batch,
                           int classes, cudaStream_t s);
/// gradient = 0 where y is not positive.
void relu_gradient(const float* y, float* gradient, std::int64_t n, cudaStream_t s);
/// bias [columns] -= rate * the sums of the columns of gradient [rows, columns].
void subtract_sums(const float* gradient, float* bias, float rate, std::int64_t rows, int columns, cudaStream_t s);
/// w -= rate * g
void subtract(float* w, const float* g, float rate, std::int64_t n, cudaStream_t s);

} // namespace baseline
