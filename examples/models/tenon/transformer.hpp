// A language model: of each token what follows it. tokens: int32[batch, time], of at most 1,024 steps.
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Tokens, int Width, int Heads, int Layers> auto transformer() {
    const auto block = nn::transformer_block<Heads, 4 * Width>({.causal = true, .dropout = 0.1});
    return [words = nn::embedding<Tokens, Width>(), places = nn::embedding<1024, Width>(),
            blocks = nn::repeated<Layers>(block), norm = nn::layer_norm(),
            head = nn::dense<Tokens>()](const auto& tokens, nn::phase p = nn::inference) {
        const auto word = words(tokens);
        const auto place = places(tn::arange_like<std::int32_t, 1>(tokens));
        return head(norm(blocks(word + place, p)));
    };
}

auto transformer_loss(const auto& model, const auto& tokens, const auto& next) {
    return nn::cross_entropy(model(tokens, nn::training), next);
}

} // namespace models
