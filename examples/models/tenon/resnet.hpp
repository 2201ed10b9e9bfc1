// A residual network for small images: float[batch, height, width, channels].
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Filters, int Stride> auto resnet_block() {
    return [main = nn::sequential(nn::conv2d<Filters, 3, Stride, tn::same>({.use_bias = false}), nn::batch_norm(),
                                  nn::relu, nn::conv2d<Filters, 3, 1, tn::same>({.use_bias = false}), nn::batch_norm()),
            shortcut = nn::sequential(nn::conv2d<Filters, 1, Stride>({.use_bias = false}), nn::batch_norm())](
               const auto& x, nn::phase p = nn::inference) {
        const auto y = main(x, p);
        if constexpr (Stride == 1) return tn::relu(x + y);
        else return tn::relu(shortcut(x, p) + y);
    };
}

template <int Classes> auto resnet() {
    return nn::sequential(nn::conv2d<16, 3, 1, tn::same>({.use_bias = false}), nn::batch_norm(), nn::relu,
                          resnet_block<16, 1>(), resnet_block<16, 1>(), resnet_block<32, 2>(), resnet_block<32, 1>(),
                          resnet_block<64, 2>(), resnet_block<64, 1>(), nn::global_average_pool(),
                          nn::dense<Classes>());
}

auto resnet_loss(const auto& model, const auto& images, const auto& labels) {
    return nn::cross_entropy(model(images, nn::training), labels);
}

} // namespace models
