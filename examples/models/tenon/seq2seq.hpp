// A translator: an encoder, and a decoder that attends to all it has read. source, target, next: int32[batch, time].
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Words, int Width, int Hidden> auto seq2seq() {
    return [read = nn::embedding<Words, Width>(), write = nn::embedding<Words, Width>(), encoder = nn::gru<Hidden>(),
            decoder = nn::gru<Hidden>(), head = nn::dense<Words>()](const auto& source, const auto& target) {
        const auto [memory, state] = encoder(read(source));
        const auto [written, end] = decoder(write(target), state);
        return head(tn::concat<-1>(written, nn::attention(written, memory, memory)));
    };
}

auto seq2seq_loss(const auto& model, const auto& source, const auto& target, const auto& next) {
    return nn::cross_entropy(model(source, target), next);
}

} // namespace models
