// Deep Q-learning: what an action is worth in a state, learnt of pairs of states by a network that follows slowly.
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Actions> auto dqn() { return nn::mlp<64, 64, Actions>(nn::relu); }

auto dqn_loss(const auto& model, const auto& target, const auto& state, const auto& action, const auto& reward,
              const auto& next, const auto& ended) {
    const auto taken = tn::take_along_axis<1>(model(state), tn::expand_dims<1>(action));
    const auto future = tn::stop_gradient(tn::max<1>(target(next)));
    return nn::huber(tn::squeeze<1>(taken), reward + 0.99f * (1.0f - ended) * future);
}

} // namespace models
