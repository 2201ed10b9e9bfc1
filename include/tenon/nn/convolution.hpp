#pragma once

#include <tenon/nn/activation.hpp>
#include <tenon/nn/layer.hpp>
#include <tenon/ops/linear/convolution.hpp>

/// The convolutional layer.
///
///     auto y = tn::nn::conv2d<32, 5>(tn::nn::relu)(x);                    // [batch, 28, 28, 1] -> [batch, 24, 24, 32]
///     auto z = tn::nn::conv2d<64, 3, tn::conv2d_options{.stride = 2, .padding = tn::same}>(tn::nn::relu)(y);

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
        friend constexpr bool operator==(const attributes&, const attributes&) = default;
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

    template <OperandOrIllShaped X> auto operator()(const X& x) const {
        static_assert(judged<X>::agree, "tenon: shapes do not agree");
        if constexpr (!judged<X>::fits) return ill_shaped{};
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

template <int Filters, height_width Window, conv2d_options Options = conv2d_options{}, class Activation>
conv2d_layer<Filters, Window, Options, Activation> conv2d(Activation a, const conv2d_layer_options& o = {}) {
    return conv2d_layer<Filters, Window, Options, Activation>(std::move(a), o);
}
template <int Filters, height_width Window, conv2d_options Options = conv2d_options{}>
conv2d_layer<Filters, Window, Options> conv2d(const conv2d_layer_options& o = {}) {
    return conv2d_layer<Filters, Window, Options>({}, o);
}

} // namespace tenon::nn
