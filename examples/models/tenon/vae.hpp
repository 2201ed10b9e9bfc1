// A variational autoencoder of pictures whose pixels are 0 to 1.
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Pixels, int Latent> auto vae() {
    return [encoder = nn::mlp<128, 2 * Latent>(nn::relu), decoder = nn::mlp<128, Pixels>(nn::relu)](const auto& x) {
        const auto [mean, log_variance] = tn::split<2, -1>(encoder(x));
        const auto z = mean + tn::exp(0.5f * log_variance) * tn::random_normal_like(mean);
        return std::tuple(decoder(z), mean, log_variance);
    };
}

auto vae_loss(const auto& model, const auto& x) {
    const auto [logits, mean, log_variance] = model(x);
    const auto divergence = 0.5f * tn::sum<1>(tn::exp(log_variance) + tn::square(mean) - 1.0f - log_variance);
    return tn::mean(tn::sum<1>(tn::sigmoid_cross_entropy(logits, x)) + divergence);
}

} // namespace models
