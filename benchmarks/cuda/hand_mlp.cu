#include <cstring>

#include "cuda/hand_layers.hpp"
#include "cuda/hand_training.hpp"

namespace baseline {

namespace {
struct lt_handle {
    cublasLtHandle_t handle{};
    lt_handle() { check(cublasLtCreate(&handle)); }
    ~lt_handle() { cublasLtDestroy(handle); }
};
} // namespace

struct hand_gpu_mlp::state {
    state(int batch, float rate) :
        batch(batch),
        images(static_cast<std::size_t>(batch) * 784 * sizeof(float)),
        labels(static_cast<std::size_t>(batch) * sizeof(std::int32_t)),
        gradient(static_cast<std::size_t>(batch) * 10 * sizeof(float)),
        loss(sizeof(float)),
        workspace(product::workspace_bytes),
        first(lt.handle, batch, 784, 300, true, true),
        second(lt.handle, batch, 300, 100, true, false),
        third(lt.handle, batch, 100, 10, false, false) {
        gpu::check(cudaHostAlloc(&host, images.bytes() + labels.bytes() + sizeof(float), cudaHostAllocDefault),
                   "cudaHostAlloc");
        std::memset(host, 0, images.bytes() + labels.bytes());
        graph.record([&] { give(rate, graph.stream()); });
    }
    ~state() { cudaFreeHost(host); }

    std::byte* host_labels() const { return static_cast<std::byte*>(host) + images.bytes(); }
    float* host_loss() const { return reinterpret_cast<float*>(host_labels() + labels.bytes()); }

    void give(float rate, cudaStream_t s) const {
        gpu::check(cudaMemcpyAsync(images.data(), host, images.bytes(), cudaMemcpyHostToDevice, s), "cudaMemcpyAsync");
        gpu::check(cudaMemcpyAsync(labels.data(), host_labels(), labels.bytes(), cudaMemcpyHostToDevice, s),
                   "cudaMemcpyAsync");
        void* const w = workspace.data();
        first.forward(images.as<float>(), w, s);
        second.forward(first.output(), w, s);
        third.forward(second.output(), w, s);
        softmax_cross_entropy(third.output(), labels.as<std::int32_t>(), gradient.as<float>(), loss.as<float>(), batch,
                              10, s);
        third.backward(second.output(), gradient.as<float>(), rate, w, s);
        second.backward(first.output(), third.input_gradient(), rate, w, s);
        first.backward(images.as<float>(), second.input_gradient(), rate, w, s);
        gpu::check(cudaMemcpyAsync(host_loss(), loss.data(), sizeof(float), cudaMemcpyDeviceToHost, s),
                   "cudaMemcpyAsync");
    }

    int batch;
    lt_handle lt;
    gpu::buffer images, labels, gradient, loss, workspace;
    dense_layer first, second, third;
    void* host = nullptr;
    gpu::recorded graph;
};

hand_gpu_mlp::hand_gpu_mlp(int batch, float rate) : state_(std::make_unique<state>(batch, rate)) {}
hand_gpu_mlp::~hand_gpu_mlp() = default;

float hand_gpu_mlp::step(const float* images, const std::int32_t* labels) {
    std::memcpy(state_->host, images, state_->images.bytes());
    std::memcpy(state_->host_labels(), labels, state_->labels.bytes());
    state_->graph.run();
    return *state_->host_loss();
}

} // namespace baseline
