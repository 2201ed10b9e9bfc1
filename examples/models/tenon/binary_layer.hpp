// An op of one's own: signs, whose gradient is that of x clipped to -1 .. 1, in a layer whose weights are -1 or 1.
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

auto binary_sign(const auto& x) {
    const auto soft = tn::clip(x, -1, 1);
    return soft + tn::stop_gradient(tn::select(x >= 0, 1.0f, -1.0f) - soft);
}

template <int Units> class binary_layer {
public:
    template <tn::Operand X> auto operator()(const X& x) const {
        constexpr int inputs = static_cast<int>(X::shape_type::extents[X::rank() - 1].size);
        const nn::first_call names(weight_, "binary_layer");
        return matmul(x, binary_sign(weight_.get<float, tn::shape<inputs, Units>>("weight", tn::glorot_uniform())));
    }

private:
    nn::parameter weight_;
};

} // namespace models
