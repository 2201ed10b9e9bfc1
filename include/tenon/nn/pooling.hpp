#pragma once

#include <tenon/nn/layer.hpp>
#include <tenon/ops/linear/pooling.hpp>

/// Pooling layers: the ops of ops/linear/pooling.hpp as values.
///
///     auto model = tn::nn::sequential(tn::nn::conv2d<32, 5>(tn::nn::relu), tn::nn::max_pool<2>(), tn::nn::flatten());

namespace tenon::detail {
struct no_window {
    template <class... W> explicit no_window(const W&...) {
        static_assert(is_mistake<W...>, "tenon::nn: the window of a pool is a template argument: max_pool<2>()");
    }
    template <class X> ill_shaped operator()(const X&) const { return {}; }
};
} // namespace tenon::detail

namespace tenon::nn {

/// The largest element of each window, channel by channel: max_pool<2> is [b, 28, 28, c] -> [b, 14, 14, c].
/// Stride 0: as far as the window is large.
template <height_width Window, height_width Stride = 0, padding Padding = valid> struct max_pool {
    template <class X>
    using judged =
        judgement<max_pool2d_op,
                  detail::constant_attributes<detail::attributes_of(pool2d_options{Window, Stride, Padding}, false)>,
                  X>;
    template <class X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        return apply_op<max_pool2d_op, detail::attributes_of(pool2d_options{Window, Stride, Padding}, false)>(x);
    }
};
template <padding Padding> struct max_pool<0, 0, Padding> : detail::no_window { using detail::no_window::no_window; };
template <class... W> max_pool(W...) -> max_pool<0>;

/// The mean of each window, channel by channel.
template <height_width Window, height_width Stride = 0, padding Padding = valid> struct average_pool {
    template <class X>
    using judged =
        judgement<average_pool2d_op,
                  detail::constant_attributes<detail::attributes_of(pool2d_options{Window, Stride, Padding}, true)>, X>;
    template <class X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        return apply_op<average_pool2d_op, detail::attributes_of(pool2d_options{Window, Stride, Padding}, true)>(x);
    }
};
template <padding Padding> struct average_pool<0, 0, Padding> : detail::no_window {
    using detail::no_window::no_window;
};
template <class... W> average_pool(W...) -> average_pool<0>;

/// The mean of each channel of each image: [batch, height, width, channels] -> [batch, channels].
struct global_average_pool {
    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        return tenon::global_average_pool(x);
    }
};

} // namespace tenon::nn
