// A diffusion model of points: a network that finds the noise in what was mixed with noise. points: float[batch, Size].
#pragma once

#include "batch.hpp"

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Size, int Width> auto diffusion() {
    return [times = nn::embedding<1000, Width>(), points = nn::dense<Width>(),
            body = nn::sequential(nn::silu, nn::mlp<Width, Size>(nn::silu))](const auto& x, const auto& t) {
        const auto time = times(t);
        return body(points(x) + time);
    };
}

auto diffusion_loss(const auto& model, const auto& points) {
    const auto t = tn::random_integers<std::int32_t, tn::shape<batch>>(points, 0, 1000);
    const auto left = tn::expand_dims<1>(tn::square(tn::cos(tn::cast<float>(t) * (0.5f * 3.14159265f / 1000))));
    const auto noise = tn::random_normal_like(points);
    return nn::mean_squared_error(model(tn::sqrt(left) * points + tn::sqrt(1.0f - left) * noise, t), noise);
}

} // namespace models
