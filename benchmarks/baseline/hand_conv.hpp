#pragma once

#include <cstdint>
#include <memory>

#include "baseline/hand_mlp.hpp"

namespace baseline {

/// A training step of the convolutional network 28x28x1 -> 32 5x5 -> pool -> 64 5x5 -> pool -> 256 -> 10
/// (same padding, relu, largest of 2x2, softmax cross-entropy, gradient descent), written over oneDNN
/// primitives as well as we could. With several threads each takes its share of the batch, and of the rows of
/// the dense layers' weights in the update.
class hand_conv {
public:
    static constexpr int layers = 4;

    /// `channels_last`: activations stay in that order; otherwise in the order each primitive likes best.
    hand_conv(std::int64_t batch, int threads, float rate, bool channels_last = false);
    ~hand_conv();

    /// Layers 0, 1: [5, 5, in, out]; 2, 3: [in, out] (the pixels of layer 1 in the order height, width,
    /// channel); row-major.
    float* weights(int layer);
    float* bias(int layer);
    std::int64_t weight_count(int layer) const;
    std::int64_t bias_count(int layer) const;

    /// One step on images [batch, 28, 28, 1] and labels [batch]; the mean loss before the update.
    double step(const float* images, const std::int32_t* labels);

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace baseline
