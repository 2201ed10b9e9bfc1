#pragma once

#include <tenon/core/check.hpp>

/// Calls of functions of tensors with nothing, with a number, or with too much, and what to write instead. Each of these functions is worse than
/// any that takes an argument as what it is, std::exp(1) or one of the user's own.

namespace tenon {

namespace detail {
template <class X> ill_shaped it_takes_a_tensor() {
    static_assert(
        is_mistake<X>,
        "tenon: this takes a tensor, as relu(x) and exp(constant(1.0f)) do; of a number alone there is std::exp; "
        "a layer is an object: nn::relu");
    return {};
}
template <class X> ill_shaped it_takes_two_tensors() {
    static_assert(
        is_mistake<X>,
        "tenon: this takes two tensors, or a tensor and a number: maximum(x, y), maximum(x, 0.0f); the greatest "
        "element is max(x)");
    return {};
}
} // namespace detail

#define TENON_HINT(NAME, SAID)                                                                                 \
    template <auto..., class X = void> ill_shaped NAME(detail::any_argument = {}, detail::any_argument = {}) { \
        return detail::SAID<X>();                                                                              \
    }
TENON_HINT(negative, it_takes_a_tensor)
TENON_HINT(abs, it_takes_a_tensor)
TENON_HINT(sign, it_takes_a_tensor)
TENON_HINT(floor, it_takes_a_tensor)
TENON_HINT(ceil, it_takes_a_tensor)
TENON_HINT(round, it_takes_a_tensor)
TENON_HINT(rint, it_takes_a_tensor)
TENON_HINT(trunc, it_takes_a_tensor)
TENON_HINT(is_nan, it_takes_a_tensor)
TENON_HINT(is_inf, it_takes_a_tensor)
TENON_HINT(is_finite, it_takes_a_tensor)
TENON_HINT(logical_not, it_takes_a_tensor)
TENON_HINT(bit_not, it_takes_a_tensor)
TENON_HINT(exp, it_takes_a_tensor)
TENON_HINT(exp2, it_takes_a_tensor)
TENON_HINT(expm1, it_takes_a_tensor)
TENON_HINT(log, it_takes_a_tensor)
TENON_HINT(log2, it_takes_a_tensor)
TENON_HINT(log10, it_takes_a_tensor)
TENON_HINT(log1p, it_takes_a_tensor)
TENON_HINT(sqrt, it_takes_a_tensor)
TENON_HINT(rsqrt, it_takes_a_tensor)
TENON_HINT(cbrt, it_takes_a_tensor)
TENON_HINT(reciprocal, it_takes_a_tensor)
TENON_HINT(sin, it_takes_a_tensor)
TENON_HINT(cos, it_takes_a_tensor)
TENON_HINT(tan, it_takes_a_tensor)
TENON_HINT(asin, it_takes_a_tensor)
TENON_HINT(acos, it_takes_a_tensor)
TENON_HINT(atan, it_takes_a_tensor)
TENON_HINT(sinh, it_takes_a_tensor)
TENON_HINT(cosh, it_takes_a_tensor)
TENON_HINT(tanh, it_takes_a_tensor)
TENON_HINT(asinh, it_takes_a_tensor)
TENON_HINT(acosh, it_takes_a_tensor)
TENON_HINT(atanh, it_takes_a_tensor)
TENON_HINT(erf, it_takes_a_tensor)
TENON_HINT(erfc, it_takes_a_tensor)
TENON_HINT(erfinv, it_takes_a_tensor)
TENON_HINT(erfcinv, it_takes_a_tensor)
TENON_HINT(lgamma, it_takes_a_tensor)
TENON_HINT(digamma, it_takes_a_tensor)
TENON_HINT(sigmoid, it_takes_a_tensor)
TENON_HINT(softplus, it_takes_a_tensor)
TENON_HINT(relu, it_takes_a_tensor)
TENON_HINT(leaky_relu, it_takes_a_tensor)
TENON_HINT(elu, it_takes_a_tensor)
TENON_HINT(selu, it_takes_a_tensor)
TENON_HINT(celu, it_takes_a_tensor)
TENON_HINT(gelu, it_takes_a_tensor)
TENON_HINT(gelu_tanh, it_takes_a_tensor)
TENON_HINT(silu, it_takes_a_tensor)
TENON_HINT(mish, it_takes_a_tensor)
TENON_HINT(relu6, it_takes_a_tensor)
TENON_HINT(square, it_takes_a_tensor)
TENON_HINT(zeros_like, it_takes_a_tensor)
TENON_HINT(ones_like, it_takes_a_tensor)
TENON_HINT(stop_gradient, it_takes_a_tensor)
TENON_HINT(add, it_takes_two_tensors)
TENON_HINT(subtract, it_takes_two_tensors)
TENON_HINT(multiply, it_takes_two_tensors)
TENON_HINT(divide, it_takes_two_tensors)
TENON_HINT(minimum, it_takes_two_tensors)
TENON_HINT(maximum, it_takes_two_tensors)
TENON_HINT(equal, it_takes_two_tensors)
TENON_HINT(not_equal, it_takes_two_tensors)
TENON_HINT(less, it_takes_two_tensors)
TENON_HINT(less_equal, it_takes_two_tensors)
TENON_HINT(greater, it_takes_two_tensors)
TENON_HINT(greater_equal, it_takes_two_tensors)
TENON_HINT(logical_and, it_takes_two_tensors)
TENON_HINT(logical_or, it_takes_two_tensors)
TENON_HINT(logical_xor, it_takes_two_tensors)
TENON_HINT(atan2, it_takes_two_tensors)
TENON_HINT(hypot, it_takes_two_tensors)
#undef TENON_HINT

} // namespace tenon
