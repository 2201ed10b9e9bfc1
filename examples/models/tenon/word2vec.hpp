// Words by the words around them: skip-grams with negative samples. center, context: int32[batch].
#pragma once

#include "batch.hpp"

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Words, int Width> auto word2vec() {
    return [centers = nn::embedding<Words, Width>(), contexts = nn::embedding<Words, Width>()](const auto& center,
                                                                                               const auto& context) {
        const auto vector = centers(center);
        return tn::sum<-1>(vector * contexts(context));
    };
}

template <int Words> auto word2vec_loss(const auto& model, const auto& center, const auto& context) {
    const auto others = tn::random_integers<std::int32_t, tn::shape<batch, 5>>(center, 0, Words);
    const auto right = tn::log_sigmoid(model(center, context));
    const auto wrong = tn::log_sigmoid(-model(tn::expand_dims<1>(center), others));
    return -(tn::mean(right) + tn::mean(tn::sum<1>(wrong)));
}

} // namespace models
