// A denoising autoencoder with convolutions. images: float[batch, 28, 28, 1], 0 to 1.
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

inline auto autoencoder() {
    return nn::sequential(nn::conv2d<16, 3, 2, tn::same>(nn::relu), nn::conv2d<32, 3, 2, tn::same>(nn::relu),
                          nn::conv2d_transpose<16, 2, 2>(nn::relu), nn::conv2d_transpose<1, 2, 2>(nn::sigmoid));
}

auto autoencoder_loss(const auto& model, const auto& images) {
    const auto noisy = images + 0.2f * tn::random_normal_like(images);
    return nn::mean_squared_error(model(noisy), images);
}

} // namespace models
