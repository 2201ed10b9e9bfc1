// A convolutional network for digits. images: float[batch, 28, 28, 1].
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

inline auto convnet() {
    return nn::sequential(nn::conv2d<32, 3>(nn::relu), nn::conv2d<64, 3>(nn::relu), nn::max_pool<2>(),
                          nn::dropout(0.25), nn::flatten(), nn::dense<128>(nn::relu), nn::dropout(0.5),
                          nn::dense<10>());
}

auto convnet_loss(const auto& net, const auto& x, const auto& y) { return nn::cross_entropy(net(x, nn::training), y); }

} // namespace models
