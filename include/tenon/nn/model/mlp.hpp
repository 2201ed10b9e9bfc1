#pragma once

#include <tenon/nn/dense.hpp>
#include <tenon/nn/sequential.hpp>

/// Several fully connected layers.
///
///     auto y = tn::nn::mlp<300, 100, 10>(tn::nn::relu)(x);                // [batch, 784] -> [batch, 10]

namespace tenon::nn {

/// Dense layers one after another, with the activation behind each but the last: mlp<300, 10>(relu) is
/// sequential(dense<300>(relu), dense<10>()).
template <int... Units, class Activation = relu_activation> auto mlp(const Activation& activation = {}) {
    static_assert(sizeof...(Units) > 0,
                  "tenon::nn::mlp: the numbers of units are template arguments: write mlp<300, 10>()");
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto layer = [&]<int N, std::size_t J>() {
            if constexpr (J + 1 == sizeof...(Units)) return dense<N>();
            else return dense<N>(activation);
        };
        return sequential(layer.template operator()<Units, I>()...);
    }
    (std::make_index_sequence<sizeof...(Units)>());
}

} // namespace tenon::nn
