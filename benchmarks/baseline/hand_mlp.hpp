#pragma once

#include <cstdint>
#include <memory>

namespace baseline {

/// True when hand_mlp and hand_conv can be made: built with oneDNN 2.
bool has_onednn();

/// A training step of the network 784-300-100-10 (relu, softmax cross-entropy, gradient descent), written
/// over oneDNN products as well as we could. With several threads each takes its share of the batch through
/// the forward and backward pass and its share of every weight matrix's rows through the update; they meet
/// twice a step.
class hand_mlp {
public:
    static constexpr std::int64_t layers = 3;
    static constexpr std::int64_t sizes[layers + 1] = {784, 300, 100, 10};

    hand_mlp(std::int64_t batch, int threads, float rate);
    ~hand_mlp();

    /// Layer l's weights, sizes[l] x sizes[l + 1], row-major, and its bias. To be set before the first step.
    float* weights(int layer);
    float* bias(int layer);

    /// One step on images [batch, 784] and labels [batch]; the mean loss before the update.
    double step(const float* images, const std::int32_t* labels);
    /// The mean loss, without an update.
    double loss(const float* images, const std::int32_t* labels);

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace baseline
