#pragma once

#include <tenon/nn/activation.hpp>
#include <tenon/nn/layer.hpp>
#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/linear/windows.hpp>

/// Convolutional layers: of images, and below them transposed ones, and those of lines and of volumes.
///
///     auto y = tn::nn::conv2d<32, 5>(tn::nn::relu)(x);                    // [batch, 28, 28, 1] -> [batch, 24, 24, 32]
///     auto z = tn::nn::conv2d<64, 3, 2, tn::same>(tn::nn::relu)(y);       // stride 2, zeros around
///     auto d = tn::nn::conv2d<64, 3, tn::conv2d_options{.padding = tn::pad(2), .dilation = 2}>(tn::nn::relu)(y);
///     auto u = tn::nn::conv2d_transpose<32, 4, 2, tn::same>(tn::nn::relu)(z); // larger again
///     auto w = tn::nn::conv1d<16, 5>(tn::nn::relu)(lines);                // [batch, 100, 8] -> [batch, 96, 16]

namespace tenon::nn {

struct conv2d_layer_options {
    initializer kernel = glorot_uniform();
    initializer bias = zeros();
    bool use_bias = true;
    std::string name = "conv2d"; ///< its variables are NAME/kernel and NAME/bias; a used name gets a number
};

/// What the compiler checks when a convolutional layer is called. in: x, whose number of channels is a number.
struct conv2d_layer_rule {
    static constexpr const char* name = "conv2d";
    struct attributes {
        int filters = 0;
        height_width window = 1;
        conv2d_options options;
    };
    /// The sizes of the kernel.
    static constexpr extents kernel(const attributes& a, const extents& x) {
        return {a.window.height, a.window.width, x[3].size / a.options.groups, a.filters};
    }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        const extents& x = in[0].extents;
        if (x.rank() != 4) return fault::rank_must_be_4;
        if (!x[3].is_number()) return fault::size_must_be_known;
        if (a.options.groups < 1 || x[3].size % a.options.groups != 0) return fault::channels_not_divisible_by_groups;
        return detail::infer_convolution(detail::attributes_of(a.options), in[0], {in[0].element, kernel(a, x)});
    }
};

/// activation(conv2d(x, kernel) + bias): [batch, height, width, channels] -> [batch, .., .., Filters].
/// kernel: [rows, columns, channels / groups, Filters], bias: [Filters].
template <int Filters, height_width Window, conv2d_options Options = conv2d_options{},
          class Activation = linear_activation>
class conv2d_layer {
    static_assert(Filters > 0, "tenon::nn::conv2d: the number of filters must be positive");
    static constexpr conv2d_layer_rule::attributes attributes{Filters, Window, Options};

public:
    template <class X> using judged = judgement<conv2d_layer_rule, detail::constant_attributes<attributes>, X>;

    explicit conv2d_layer(Activation a = {}, conv2d_layer_options o = {}) :
        activation_(std::move(a)), options_(std::move(o)) {}

    template <class X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            using T = typename X::element_type;
            constexpr extents sizes = conv2d_layer_rule::kernel(attributes, X::shape_type::extents);
            using kernel_shape = shape<sizes[0].size, sizes[1].size, sizes[2].size, sizes[3].size>;
            const first_call names(kernel_, options_.name);
            const auto kernel = kernel_.template get<T, kernel_shape>("kernel", options_.kernel);
            if (!options_.use_bias) return detail::as_tensor(activation_(tenon::conv2d<Options>(x, kernel)));
            const auto bias = bias_.template get<T, shape<Filters>>("bias", options_.bias);
            return detail::as_tensor(activation_(tenon::conv2d<Options>(x, kernel) + bias));
        }
    }

    /// The variables; empty handles before the first call.
    const any_tensor& kernel() const noexcept { return kernel_.variable(); }
    const any_tensor& bias() const noexcept { return bias_.variable(); }

private:
    Activation activation_;
    conv2d_layer_options options_;
    parameter kernel_, bias_;
};

/// conv2d<64, 3, 2, same>(relu): with a stride and a padding, as the op has them, or conv2d_options. So has conv2d_transpose.
// One function, so that a compiler that refuses a call has little to say.
template <int Filters = 0, height_width Window = 0, auto... How, class First = conv2d_layer_options>
auto conv2d(First first = {}, const conv2d_layer_options& o = {}) {
    if constexpr (Window.height == 0) {
        static_assert(detail::is_mistake<First>, "tenon::nn::conv2d: say the window: conv2d<64, 3>(nn::relu)");
        return ill_shaped{};
    } else if constexpr (!detail::is_activation<First> && !std::is_same_v<First, conv2d_layer_options>) {
        static_assert(detail::is_mistake<First>,
                      "tenon::nn::conv2d: first the activation, a function of tensors such as nn::relu, then options; "
                      "the layer is called with a tensor: conv2d<64, 3>(nn::relu)(x)");
        return ill_shaped{};
    } else if constexpr (std::is_same_v<First, conv2d_layer_options>)
        return conv2d_layer<Filters, Window, conv2d_options{How...}>({}, first);
    else return conv2d_layer<Filters, Window, conv2d_options{How...}, First>(std::move(first), o);
}

struct window_layer_options {
    initializer kernel = glorot_uniform();
    initializer bias = zeros();
    bool use_bias = true;
    std::string
        name; ///< its variables are NAME/kernel and NAME/bias; a used name gets a number. Empty: the layer's, as "conv1d"
};

/// Convolutions of lines, in which a window of Window elements moves as Options say, and transposed ones.
template <int Filters, int Window, conv1d_options Options, bool Transpose> struct line_windows {
    static constexpr const char* name = Transpose ? "conv1d_transpose" : "conv1d";
    using attributes = no_attributes;
    static constexpr int filters = Filters, rank = 3, groups = Options.groups;
    static constexpr extents kernel(std::int64_t channels) {
        if constexpr (Transpose) return {Window, Filters / groups, channels};
        return {Window, channels / groups, Filters};
    }
    static constexpr inferred judge(const tensor_type& x, const tensor_type& w) {
        const tensor_type both[] = {x, w};
        return detail::conv1d_rule<Transpose>::infer(Options, type_list(both, 2), 0);
    }
    template <class X, class W> static auto apply(const X& x, const W& w) {
        if constexpr (Transpose) return tenon::conv1d_transpose<Options>(x, w);
        else return tenon::conv1d<Options>(x, w);
    }
};
/// Transposed convolutions of images.
template <int Filters, height_width Window, conv2d_options Options> struct transposed_windows {
    static constexpr const char* name = "conv2d_transpose";
    using attributes = no_attributes;
    static constexpr int filters = Filters, rank = 4, groups = Options.groups;
    static constexpr extents kernel(std::int64_t channels) {
        return {Window.height, Window.width, Filters / groups, channels};
    }
    static constexpr inferred judge(const tensor_type& x, const tensor_type& w) {
        const tensor_type both[] = {x, w};
        return conv2d_transpose_op::infer(detail::attributes_of(Options), type_list(both, 2), 0);
    }
    template <class X, class W> static auto apply(const X& x, const W& w) {
        return tenon::conv2d_transpose<Options>(x, w);
    }
};
/// Convolutions of volumes, and transposed ones.
template <int Filters, depth_height_width Window, conv3d_options Options, bool Transpose> struct volume_windows {
    static constexpr const char* name = Transpose ? "conv3d_transpose" : "conv3d";
    using attributes = no_attributes;
    static constexpr int filters = Filters, rank = 5, groups = Options.groups;
    static constexpr extents kernel(std::int64_t channels) {
        const std::int64_t d = Window.depth, h = Window.height, w = Window.width;
        if constexpr (Transpose) return {d, h, w, Filters / groups, channels};
        return {d, h, w, channels / groups, Filters};
    }
    static constexpr inferred judge(const tensor_type& x, const tensor_type& w) {
        const tensor_type both[] = {x, w};
        return detail::conv3d_rule<Transpose>::infer(Options, type_list(both, 2), 0);
    }
    template <class X, class W> static auto apply(const X& x, const W& w) {
        if constexpr (Transpose) return tenon::conv3d_transpose<Options>(x, w);
        else return tenon::conv3d<Options>(x, w);
    }
};

/// What the compiler checks when such a layer is called. in: x, whose number of channels is a number.
template <class Windows> struct window_layer_rule : Windows {
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        const extents& x = in[0].extents;
        if (x.rank() != Windows::rank)
            return Windows::rank == 4   ? inferred(fault::rank_must_be_4)
                   : Windows::rank == 3 ? inferred(detail::rank_must_be_3)
                                        : inferred(detail::rank_must_be_5);
        const extent& channels = x[x.rank() - 1];
        if (!channels.is_number()) return fault::size_must_be_known;
        if (Windows::groups < 1 || channels.size % Windows::groups != 0 || Windows::filters % Windows::groups != 0)
            return fault::channels_not_divisible_by_groups;
        return Windows::judge(in[0], {in[0].element, Windows::kernel(channels.size)});
    }
};

/// activation(the convolution of x with a kernel + bias). kernel: as the convolution takes it; bias: [filters].
template <class Windows, class Activation = linear_activation> class window_layer {
    static_assert(Windows::filters > 0, "tenon::nn: the number of filters must be positive");
    template <class X> struct kernel_sizes {
        static constexpr extents value = Windows::kernel(X::shape_type::extents[Windows::rank - 1].size);
    };

public:
    template <class X> using judged = judgement<window_layer_rule<Windows>, detail::without_attributes, X>;

    explicit window_layer(Activation a = {}, window_layer_options o = {}) :
        activation_(std::move(a)), options_(std::move(o)) {
        if (options_.name.empty()) options_.name = Windows::name;
    }

    template <class X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            using T = typename X::element_type;
            const first_call names(kernel_, options_.name);
            const auto kernel =
                kernel_.template get<T, detail::shape_from_t<kernel_sizes<X>>>("kernel", options_.kernel);
            if (!options_.use_bias) return detail::as_tensor(activation_(Windows::apply(x, kernel)));
            const auto bias = bias_.template get<T, shape<Windows::filters>>("bias", options_.bias);
            return detail::as_tensor(activation_(Windows::apply(x, kernel) + bias));
        }
    }

    /// The variables; empty handles before the first call.
    const any_tensor& kernel() const noexcept { return kernel_.variable(); }
    const any_tensor& bias() const noexcept { return bias_.variable(); }

private:
    Activation activation_;
    window_layer_options options_;
    parameter kernel_, bias_;
};

/// conv1d<32, 5>(relu): [batch, length, channels] -> [batch, .., 32].
template <int Filters, int Window, conv1d_options Options = conv1d_options{}, class Activation = linear_activation>
auto conv1d(Activation a = {}, const window_layer_options& o = {}) {
    return window_layer<line_windows<Filters, Window, Options, false>, Activation>(std::move(a), o);
}
template <int Filters, int Window, conv1d_options Options = conv1d_options{}, class Activation = linear_activation>
auto conv1d_transpose(Activation a = {}, const window_layer_options& o = {}) {
    return window_layer<line_windows<Filters, Window, Options, true>, Activation>(std::move(a), o);
}
/// conv2d_transpose<16, 3, conv2d_options{.stride = 2, .padding = same}>(relu): [b, 7, 7, channels] -> [b, 14, 14, 16].
template <int Filters, height_width Window, conv2d_options Options = conv2d_options{},
          class Activation = linear_activation>
auto conv2d_transpose(Activation a = {}, const window_layer_options& o = {}) {
    return window_layer<transposed_windows<Filters, Window, Options>, Activation>(std::move(a), o);
}
template <int Filters, height_width Window, int Stride, padding Padding = valid, class Activation = linear_activation>
auto conv2d_transpose(Activation a = {}, const window_layer_options& o = {}) {
    return conv2d_transpose<Filters, Window, conv2d_options{Stride, Padding}>(std::move(a), o);
}
/// conv3d<16, 3>(relu): [batch, depth, height, width, channels] -> [batch, .., .., .., 16].
template <int Filters, depth_height_width Window, conv3d_options Options = conv3d_options{},
          class Activation = linear_activation>
auto conv3d(Activation a = {}, const window_layer_options& o = {}) {
    return window_layer<volume_windows<Filters, Window, Options, false>, Activation>(std::move(a), o);
}
template <int Filters, depth_height_width Window, conv3d_options Options = conv3d_options{},
          class Activation = linear_activation>
auto conv3d_transpose(Activation a = {}, const window_layer_options& o = {}) {
    return window_layer<volume_windows<Filters, Window, Options, true>, Activation>(std::move(a), o);
}

} // namespace tenon::nn
