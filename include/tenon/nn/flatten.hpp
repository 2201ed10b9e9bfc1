#pragma once

#include <tenon/ops/shape/reshape.hpp>

namespace tenon::nn {

/// Joins all dimensions but the first: [batch, 28, 28, 1] -> [batch, 784].
struct flatten {
    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        return tenon::flatten<1>(x);
    }
};

/// Sees what follows dimension 0 in other sizes: reshaped_to<28, 28, 1>() is [batch, 784] -> [batch, 28, 28, 1].
template <auto... Dims> struct reshaped_to {
    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        return reshape<shape<kept<0>, Dims...>>(x);
    }
};

} // namespace tenon::nn
