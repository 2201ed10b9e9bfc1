// An actor and a critic (A2C). state: float[batch, n]; action: int32[batch]; reward: float[batch], all that followed.
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Actions> auto actor_critic() {
    return [body = nn::sequential(nn::dense<64>(nn::tanh), nn::dense<64>(nn::tanh)), actor = nn::dense<Actions>(),
            critic = nn::dense<1>()](const auto& state) {
        const auto h = body(state);
        const auto logits = actor(h);
        return std::pair(logits, tn::squeeze<1>(critic(h)));
    };
}

auto actor_critic_loss(const auto& model, const auto& state, const auto& action, const auto& reward) {
    const auto [logits, value] = model(state);
    const auto surprise = tn::stop_gradient(reward - value);
    const auto chosen = tn::sparse_softmax_cross_entropy(logits, action);
    const auto entropy = -tn::sum<1>(tn::softmax(logits) * tn::log_softmax(logits));
    return tn::mean(chosen * surprise) + 0.5f * nn::mean_squared_error(value, reward) - 0.01f * tn::mean(entropy);
}

} // namespace models
