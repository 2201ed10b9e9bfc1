#pragma once

#include <tenon/nn/layer.hpp>
#include <tenon/ops/pooling.hpp>

namespace tenon::nn {

/// The largest element of each window: max_pool<2>() is [batch, 28, 28, c] -> [batch, 14, 14, c].
template <int Window, int Stride = Window, padding Padding = valid> struct max_pool {
    template <OperandOrIllShaped X> auto operator()(const X& x) const { return max_pool2d<Window, Stride, Padding>(x); }
};

/// The mean of each window; what is outside of the image does not count.
template <int Window, int Stride = Window, padding Padding = valid> struct average_pool {
    template <OperandOrIllShaped X> auto operator()(const X& x) const {
        return average_pool2d<Window, Stride, Padding>(x);
    }
};

} // namespace tenon::nn
