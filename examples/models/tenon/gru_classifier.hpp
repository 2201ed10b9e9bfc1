// What a sentence says, good or bad, read in both directions. words: int32[batch, time].
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Words, int Width, int Hidden, int Classes> auto gru_classifier() {
    return [table = nn::embedding<Words, Width>(), forth = nn::gru<Hidden>(),
            back = nn::gru<Hidden>({.reversed = true}), head = nn::sequential(nn::dropout(0.5), nn::dense<Classes>())](
               const auto& words, nn::phase p = nn::inference) {
        const auto x = table(words);
        const auto forward = forth(x).state;
        return head(tn::concat<-1>(forward, back(x).state), p);
    };
}

auto gru_classifier_loss(const auto& model, const auto& words, const auto& labels) {
    return nn::cross_entropy(model(words, nn::training), labels);
}

} // namespace models
