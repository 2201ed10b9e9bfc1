// A U-net that says of each pixel whether it belongs to a thing. images: float[batch, height, width, channels].
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Filters> auto two_convolutions() {
    return nn::sequential(nn::conv2d<Filters, 3, 1, tn::same>(nn::relu), nn::conv2d<Filters, 3, 1, tn::same>(nn::relu));
}

inline auto unet() {
    return
        [down1 = two_convolutions<16>(), down2 = two_convolutions<32>(), bottom = two_convolutions<64>(),
         up2 = nn::conv2d_transpose<32, 2, 2>(), join2 = two_convolutions<32>(), up1 = nn::conv2d_transpose<16, 2, 2>(),
         join1 = two_convolutions<16>(), head = nn::conv2d<1, 1>()](const auto& x) {
            const auto a = down1(x);
            const auto b = down2(tn::max_pool2d<2>(a));
            const auto c = bottom(tn::max_pool2d<2>(b));
            const auto d = join2(tn::concat<-1>(b, up2(c)));
            return head(join1(tn::concat<-1>(a, up1(d))));
        };
}

auto unet_loss(const auto& model, const auto& images, const auto& masks) {
    return nn::binary_cross_entropy(model(images), masks);
}

} // namespace models
