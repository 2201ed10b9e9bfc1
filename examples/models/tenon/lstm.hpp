// A model of texts, letter by letter. letters: int32[batch, time].
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Letters, int Width, int Hidden> auto lstm() {
    return nn::sequential(nn::embedding<Letters, Width>(), nn::all_steps(nn::lstm<Hidden>()), nn::dropout(0.2),
                          nn::all_steps(nn::lstm<Hidden>()), nn::dense<Letters>());
}

auto lstm_loss(const auto& model, const auto& letters, const auto& next) {
    return nn::cross_entropy(model(letters, nn::training), next);
}

} // namespace models
