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
#define TENON_UNARY(NAME, ...) TENON_HINT(NAME, it_takes_a_tensor)
#define TENON_BINARY(NAME, ...) TENON_HINT(NAME, it_takes_two_tensors)
#include <tenon/tape/instructions.inl>
TENON_HINT(rint, it_takes_a_tensor)
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
#undef TENON_HINT

} // namespace tenon
