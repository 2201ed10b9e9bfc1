#pragma once

// First: compilers tell the way to these in each complaint.
#include <tenon/core/check.hpp>
#include <tenon/expr/tree.hpp>

#include <tenon/ops/elementwise/formulas.hpp>
#include <tenon/tape/gelu.hpp>

/// Activations of neural networks, beside relu, sigmoid, tanh and softplus, which are instructions (ops/elementwise/elementwise.hpp).

namespace tenon {

namespace detail {

struct relu6_rule : composite_rule<"relu6", false> {};
struct leaky_relu_rule : composite_rule<"leaky_relu", true> {};
struct elu_rule : composite_rule<"elu", true> {};
struct selu_rule : composite_rule<"selu", true> {};
struct celu_rule : composite_rule<"celu", true> {};
struct gelu_rule : composite_rule<"gelu", true> {};
struct gelu_tanh_rule : composite_rule<"gelu_tanh", true> {};
struct silu_rule : composite_rule<"silu", true> {};
struct hard_sigmoid_rule : composite_rule<"hard_sigmoid", true> {};
struct hard_swish_rule : composite_rule<"hard_swish", true> {};
struct softsign_rule : composite_rule<"softsign", true> {};
struct mish_rule : composite_rule<"mish", true> {};
struct log_sigmoid_rule : composite_rule<"log_sigmoid", true> {};
struct tanh_shrink_rule : composite_rule<"tanh_shrink", true> {};
struct soft_shrink_rule : composite_rule<"soft_shrink", true> {};
struct hard_shrink_rule : composite_rule<"hard_shrink", true> {};
struct threshold_rule : composite_rule<"threshold", false> {};

inline constexpr auto selu_scale = number_of<bits_of(1.05070098735548049342)>;
inline constexpr auto selu_scale_times_alpha = number_of<bits_of(1.75809934084737685997)>;

inline constexpr auto relu6_of = [](auto x) { return minimum(relu(x), six); };
inline constexpr auto leaky_relu_of = [](auto x, auto slope) { return select(x > zero, x, slope * x); };
// expm1 sees no positive number, whose infinite slope would make 0 * inf of the branch that is not taken.
inline constexpr auto elu_of = [](auto x, auto alpha) { return select(x > zero, x, alpha * expm1(minimum(x, zero))); };
inline constexpr auto selu_of = [](auto x) {
    return select(x > zero, selu_scale * x, selu_scale_times_alpha * expm1(minimum(x, zero)));
};
inline constexpr auto celu_of = [](auto x, auto alpha) {
    return select(x > zero, x, alpha * expm1(minimum(x, zero) / alpha));
};
inline constexpr auto gelu_of = [](auto x) { return half_of_one * x * erfc(minus_root_of_half * x); };
inline constexpr auto gelu_tanh_of = [](auto x) {
    return x * sigmoid(x * fma(number_of<bits_of(gelu_cubic)> * x, x, number_of<bits_of(gelu_linear)>));
};
inline constexpr auto silu_of = [](auto x) { return x * sigmoid(x); };
inline constexpr auto hard_sigmoid_of = [](auto x) { return minimum(relu(x + three), six) / six; };
inline constexpr auto hard_swish_of = [](auto x) { return x * minimum(relu(x + three), six) / six; };
inline constexpr auto softsign_of = [](auto x) { return x / (abs(x) + one); };
inline constexpr auto mish_of = [](auto x) { return x * tanh(softplus(x)); };
inline constexpr auto log_sigmoid_of = [](auto x) { return -softplus(-x); };
inline constexpr auto tanh_shrink_of = [](auto x) { return x - tanh(x); };
inline constexpr auto soft_shrink_of = [](auto x, auto width) { return x - minimum(maximum(x, -width), width); };
inline constexpr auto hard_shrink_of = [](auto x, auto width) { return select(abs(x) <= width, zero, x); };
inline constexpr auto threshold_of = [](auto x, auto limit, auto value) { return select(x <= limit, value, x); };

} // namespace detail

/// min(max(x, 0), 6).
template <detail::ForwardedOperand X> auto relu6(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::relu6_rule>(detail::relu6_of, static_cast<X&&>(x));
}
/// x where it is positive, else slope * x. With a tensor for slope: PReLU (He et al. 2015).
template <detail::ForwardedOperand X, class S = double>
    requires detail::ElementwiseOperand<S>
auto leaky_relu(X&& x, S&& slope = 0.01, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::leaky_relu_rule>(detail::leaky_relu_of, static_cast<X&&>(x),
                                                          static_cast<S&&>(slope));
}
/// leaky_relu whose slope is learnt: a tensor that broadcasts to x.
template <detail::ForwardedOperand X, detail::ForwardedOperand S>
auto prelu(X&& x, S&& slope, called_from here = caller()) {
    const making made(here);
    return leaky_relu(static_cast<X&&>(x), static_cast<S&&>(slope));
}
/// x where it is positive, else alpha (e^x - 1) (Clevert et al. 2015).
template <detail::ForwardedOperand X, class S = double>
    requires detail::ElementwiseOperand<S>
auto elu(X&& x, S&& alpha = 1.0, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::elu_rule>(detail::elu_of, static_cast<X&&>(x), static_cast<S&&>(alpha));
}
/// 1.0507 elu(x, 1.6733) (Klambauer et al. 2017).
template <detail::ForwardedOperand X> auto selu(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::selu_rule>(detail::selu_of, static_cast<X&&>(x));
}
/// x where it is positive, else alpha (e^(x / alpha) - 1) (Barron 2017).
template <detail::ForwardedOperand X, class S = double>
    requires detail::ElementwiseOperand<S>
auto celu(X&& x, S&& alpha = 1.0, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::celu_rule>(detail::celu_of, static_cast<X&&>(x), static_cast<S&&>(alpha));
}
/// x times the normal distribution's probability of less than x (Hendrycks, Gimpel 2016).
template <detail::ForwardedOperand X> auto gelu(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::gelu_rule>(detail::gelu_of, static_cast<X&&>(x));
}
/// The same with tanh in place of erf: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
template <detail::ForwardedOperand X> auto gelu_tanh(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::gelu_tanh_rule>(detail::gelu_tanh_of, static_cast<X&&>(x));
}
/// x sigmoid(x).
template <detail::ForwardedOperand X> auto silu(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::silu_rule>(detail::silu_of, static_cast<X&&>(x));
}
/// Another name of silu.
template <detail::ForwardedOperand X> auto swish(X&& x, called_from here = caller()) {
    const making made(here);
    return silu(static_cast<X&&>(x));
}
/// min(max(x + 3, 0), 6) / 6.
template <detail::ForwardedOperand X> auto hard_sigmoid(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::hard_sigmoid_rule>(detail::hard_sigmoid_of, static_cast<X&&>(x));
}
/// x hard_sigmoid(x) (Howard et al. 2019).
template <detail::ForwardedOperand X> auto hard_swish(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::hard_swish_rule>(detail::hard_swish_of, static_cast<X&&>(x));
}
/// min(max(x, -1), 1).
template <detail::ForwardedOperand X> auto hard_tanh(X&& x, called_from here = caller()) {
    const making made(here);
    return clip(static_cast<X&&>(x), -1, 1);
}
/// x / (1 + |x|).
template <detail::ForwardedOperand X> auto softsign(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::softsign_rule>(detail::softsign_of, static_cast<X&&>(x));
}
/// x tanh(softplus(x)) (Misra 2019).
template <detail::ForwardedOperand X> auto mish(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::mish_rule>(detail::mish_of, static_cast<X&&>(x));
}
/// log(sigmoid(x)).
template <detail::ForwardedOperand X> auto log_sigmoid(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::log_sigmoid_rule>(detail::log_sigmoid_of, static_cast<X&&>(x));
}
/// x - tanh(x).
template <detail::ForwardedOperand X> auto tanh_shrink(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::tanh_shrink_rule>(detail::tanh_shrink_of, static_cast<X&&>(x));
}
/// x moved by `width` towards 0, and 0 where |x| is less.
template <detail::ForwardedOperand X, class S = double>
    requires detail::ElementwiseOperand<S>
auto soft_shrink(X&& x, S&& width = 0.5, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::soft_shrink_rule>(detail::soft_shrink_of, static_cast<X&&>(x),
                                                           static_cast<S&&>(width));
}
/// x, but 0 where |x| is not above `width`.
template <detail::ForwardedOperand X, class S = double>
    requires detail::ElementwiseOperand<S>
auto hard_shrink(X&& x, S&& width = 0.5, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::hard_shrink_rule>(detail::hard_shrink_of, static_cast<X&&>(x),
                                                           static_cast<S&&>(width));
}
/// x where it is above `limit`, else `value`; NaN stays.
template <detail::ForwardedOperand X, class L, class V>
    requires(detail::ElementwiseOperand<L>&& detail::ElementwiseOperand<V>)
auto threshold(X&& x, L&& limit, V&& value, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::threshold_rule>(detail::threshold_of, static_cast<X&&>(x),
                                                         static_cast<L&&>(limit), static_cast<V&&>(value));
}

} // namespace tenon
