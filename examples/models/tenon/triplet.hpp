// Faces as vectors of length one: those of a person near each other. images: float[batch, height, width, channels].
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Width> auto siamese() {
    return nn::sequential(nn::conv2d<32, 3>(nn::relu), nn::max_pool<2>(), nn::conv2d<64, 3>(nn::relu), nn::flatten(),
                          nn::dense<Width>(), [](const auto& x) { return tn::l2_normalize<-1>(x); });
}

auto triplet_loss(const auto& model, const auto& anchor, const auto& same, const auto& other) {
    return nn::triplet(model(anchor), model(same), model(other), 0.2);
}

} // namespace models
