// A generator of points and a discriminator that tells them from real ones.
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Size> auto generator() { return nn::mlp<64, 64, Size>(nn::relu); }
inline auto discriminator() { return nn::mlp<64, 64, 1>(nn::leaky_relu); }

auto gan_losses(const auto& generator, const auto& discriminator, const auto& real, const auto& noise) {
    const auto on_real = discriminator(real);
    const auto on_fake = discriminator(generator(noise));
    return std::pair(tn::mean(tn::softplus(-on_real)) + tn::mean(tn::softplus(on_fake)),
                     tn::mean(tn::softplus(-on_fake)));
}

} // namespace models
