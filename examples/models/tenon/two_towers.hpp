// Who likes what: users and things as vectors, whose products are scores. Of a batch each pair is wrong for the others.
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Users, int Things, int Width> auto two_towers() {
    return [users = nn::sequential(nn::embedding<Users, Width>(), nn::mlp<Width, Width>(nn::relu)),
            things = nn::sequential(nn::embedding<Things, Width>(), nn::mlp<Width, Width>(nn::relu))](
               const auto& user, const auto& thing) {
        const auto u = tn::l2_normalize<-1>(users(user));
        return tn::matmul<tn::transpose_b>(u, tn::l2_normalize<-1>(things(thing)));
    };
}

auto two_towers_loss(const auto& model, const auto& user, const auto& thing) {
    return nn::cross_entropy(model(user, thing) / 0.05f, tn::arange_like<std::int32_t, 0>(user));
}

} // namespace models
