#pragma once

#include <cstdint>
#include <memory>

namespace baseline {

/// A training step of 784-300-100-10 (relu, softmax cross-entropy, gradient descent) on a GPU: products by cuBLASLt with their
/// epilogues, which add the scaled gradients to the weights where they lie, a few kernels for the rest, all in one CUDA graph; images
/// and labels are copied to the GPU in it, from page-locked memory, and the loss back.
class hand_gpu_mlp {
public:
    hand_gpu_mlp(int batch, float rate);
    ~hand_gpu_mlp();
    /// The mean loss before the update; images [batch, 784], labels [batch].
    float step(const float* images, const std::int32_t* labels);

private:
    struct state;
    std::unique_ptr<state> state_;
};

/// The same of 28x28 -> 32 5x5 -> pool -> 64 5x5 -> pool -> 256 -> 10 (same padding, relu), convolutions and pooling by cuDNN.
class hand_gpu_conv {
public:
    hand_gpu_conv(int batch, float rate);
    ~hand_gpu_conv();
    float step(const float* images, const std::int32_t* labels);

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace baseline
