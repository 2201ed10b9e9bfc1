#pragma once

#include <tenon/nn/activation.hpp>
#include <tenon/nn/layer.hpp>
#include <tenon/ops/convolution.hpp>

/// The convolutional layer.
///
///     auto h = tn::nn::conv2d<32, 5>(tn::nn::relu)(x);      // [batch, 28, 28, 1] -> [batch, 28, 28, 32]
///     auto y = tn::nn::conv2d<64, 3, tn::conv2d_options{.stride = 2, .padding = tn::same}>()(h);

namespace tenon::nn {

struct convolution_options {
    initializer kernel = he_normal();
    initializer bias = zeros();
    bool use_bias = true;
    std::string name = "conv2d"; ///< its variables are NAME/kernel and NAME/bias; a used name gets a number
};

/// activation(conv2d(x, kernel) + bias): [batch, height, width, channels] -> [batch, height', width', Filters]. kernel:
/// [Kernel, Kernel, channels / groups, Filters], bias: [Filters]. By default zeros around keep the image's size.
template <int Filters, int Kernel, conv2d_options Options, class Activation = linear_activation> class conv2d_layer {
    static_assert(Filters > 0 && Kernel > 0, "tenon::nn::conv2d: filters and kernel must be positive");

    // What the compiler checks when the layer is called: that the convolution exists.
    struct rule {
        static constexpr const char* name = "conv2d";
        static constexpr inferred infer(const conv2d_op::attributes& a, type_list in, int) {
            if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
            const extents& e = in[0].extents;
            if (e.rank() != 4) return fault::rank_must_be_4;
            if (!e[3].is_number()) return fault::size_must_be_known;
            if (e[3].size % Options.groups != 0 || Filters % Options.groups != 0)
                return fault::channels_not_divisible_by_groups;
            const tensor_type both[] = {
                in[0], {in[0].element, extents(Kernel, Kernel, e[3].size / Options.groups, Filters)}};
            return conv2d_op::infer(a, type_list(both, 2), 0);
        }
    };

public:
    explicit conv2d_layer(Activation a = {}, convolution_options o = {})
        : activation_(std::move(a)), options_(std::move(o)) {}

    template <OperandOrIllShaped X> auto operator()(const X& x) const {
        if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
        else {
            using statics = detail::constant_attributes<detail::attributes_of(Options)>;
            using result = typename detail::op_result<rule, statics, 0, void, detail::operand_of_t<X>>::type;
            if constexpr (std::is_same_v<result, ill_shaped>) return ill_shaped{};
            else {
                using T = typename X::element_type;
                constexpr auto channels = static_cast<int>(X::shape_type::extents[3].size) / Options.groups;
                const first_call names(kernel_, options_.name);
                const auto kernel =
                    kernel_.template get<T, shape<Kernel, Kernel, channels, Filters>>("kernel", options_.kernel);
                if (!options_.use_bias)
                    return detail::as_tensor(activation_(tenon::conv2d<Options>(x, kernel)));
                const auto bias = bias_.template get<T, shape<Filters>>("bias", options_.bias);
                return detail::as_tensor(activation_(tenon::conv2d<Options>(x, kernel) + bias));
            }
        }
    }

    /// The variables; empty handles before the first call.
    const any_tensor& kernel() const noexcept { return kernel_.variable(); }
    const any_tensor& bias() const noexcept { return bias_.variable(); }

private:
    Activation activation_;
    convolution_options options_;
    parameter kernel_, bias_;
};

template <int Filters, int Kernel, conv2d_options Options = conv2d_options{.padding = same}, class Activation>
conv2d_layer<Filters, Kernel, Options, Activation> conv2d(Activation a, const convolution_options& o = {}) {
    return conv2d_layer<Filters, Kernel, Options, Activation>(std::move(a), o);
}
template <int Filters, int Kernel, conv2d_options Options = conv2d_options{.padding = same}>
conv2d_layer<Filters, Kernel, Options> conv2d(const convolution_options& o = {}) {
    return conv2d_layer<Filters, Kernel, Options>({}, o);
}

} // namespace tenon::nn
