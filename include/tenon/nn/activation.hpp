#pragma once

#include <concepts>

#include <tenon/ops/elementwise/activations.hpp>

/// Activation functions as values: given to layers, or layers themselves.
///
///     auto h = tn::nn::dense<300>(tn::nn::relu)(x);
///     auto m = tn::nn::sequential(tn::nn::dense<300>(), tn::nn::tanh);
///
/// Their formulas are those of the functions of the same name in ops/elementwise/elementwise.hpp. A lambda is one, too:
///     auto softened = [](const auto& x) { return tn::tanh(x * 0.5f); };

namespace tenon::detail {
/// What can be called with a tensor, perhaps, and is no tensor, text, number or list.
template <class F>
inline constexpr bool is_activation = (std::is_class_v<F> && !OperandOrIllShaped<F> &&
                                       !std::is_convertible_v<const F&, std::string>) ||
                                      std::is_function_v<std::remove_pointer_t<F>>;

// What an activation answers that is called with nothing, or with what is no tensor.
template <class X> ill_shaped not_called() {
    static_assert(is_mistake<X>,
                  "tenon::nn: an activation is an object: dense<300>(nn::relu); it is called with a tensor");
    return {};
}
} // namespace tenon::detail

namespace tenon::nn {

/// x itself.
inline constexpr struct linear_activation {
    template <OperandOrIllShaped X> auto operator()(X&& x) const { return static_cast<X&&>(x); }
    template <std::integral... N> ill_shaped operator()(N...) const {
        static_assert(detail::is_mistake<N...>, "tenon::nn::linear: it is the activation x itself; a fully connected "
                                                "layer is nn::dense<300>(), whose inputs x tells");
        return {};
    }
} linear;

inline constexpr struct relu_activation {
    template <OperandOrIllShaped X> auto operator()(X&& x) const { return tenon::relu(static_cast<X&&>(x)); }
    template <auto..., class X = void> ill_shaped operator()(detail::any_argument = {}) const {
        return detail::not_called<X>();
    }
} relu;

inline constexpr struct leaky_relu_activation {
    double slope = 0.01;
    template <OperandOrIllShaped X> auto operator()(X&& x) const {
        return tenon::leaky_relu(static_cast<X&&>(x), slope);
    }
    template <auto..., class X = void> ill_shaped operator()(detail::any_argument = {}) const {
        return detail::not_called<X>();
    }
} leaky_relu;

inline constexpr struct elu_activation {
    template <OperandOrIllShaped X> auto operator()(X&& x) const { return tenon::elu(static_cast<X&&>(x)); }
    template <auto..., class X = void> ill_shaped operator()(detail::any_argument = {}) const {
        return detail::not_called<X>();
    }
} elu;

inline constexpr struct selu_activation {
    template <OperandOrIllShaped X> auto operator()(X&& x) const { return tenon::selu(static_cast<X&&>(x)); }
    template <auto..., class X = void> ill_shaped operator()(detail::any_argument = {}) const {
        return detail::not_called<X>();
    }
} selu;

inline constexpr struct gelu_activation {
    template <OperandOrIllShaped X> auto operator()(X&& x) const { return tenon::gelu(static_cast<X&&>(x)); }
    template <auto..., class X = void> ill_shaped operator()(detail::any_argument = {}) const {
        return detail::not_called<X>();
    }
} gelu;

inline constexpr struct gelu_tanh_activation {
    template <OperandOrIllShaped X> auto operator()(X&& x) const { return tenon::gelu_tanh(static_cast<X&&>(x)); }
    template <auto..., class X = void> ill_shaped operator()(detail::any_argument = {}) const {
        return detail::not_called<X>();
    }
} gelu_tanh;

inline constexpr struct silu_activation {
    template <OperandOrIllShaped X> auto operator()(X&& x) const { return tenon::silu(static_cast<X&&>(x)); }
    template <auto..., class X = void> ill_shaped operator()(detail::any_argument = {}) const {
        return detail::not_called<X>();
    }
} silu;

inline constexpr struct tanh_activation {
    template <OperandOrIllShaped X> auto operator()(X&& x) const { return tenon::tanh(static_cast<X&&>(x)); }
    template <auto..., class X = void> ill_shaped operator()(detail::any_argument = {}) const {
        return detail::not_called<X>();
    }
} tanh;

inline constexpr struct sigmoid_activation {
    template <OperandOrIllShaped X> auto operator()(X&& x) const { return tenon::sigmoid(static_cast<X&&>(x)); }
    template <auto..., class X = void> ill_shaped operator()(detail::any_argument = {}) const {
        return detail::not_called<X>();
    }
} sigmoid;

inline constexpr struct softplus_activation {
    template <OperandOrIllShaped X> auto operator()(X&& x) const { return tenon::softplus(static_cast<X&&>(x)); }
    template <auto..., class X = void> ill_shaped operator()(detail::any_argument = {}) const {
        return detail::not_called<X>();
    }
} softplus;

} // namespace tenon::nn
