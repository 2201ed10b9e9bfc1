#pragma once

#include <tenon/expr/fused.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/graph/tensor_or_number.hpp>

/// The operators, and in namespace tenon::untyped the functions, of elementwise.hpp for tensors whose types are known at run time only. Each
/// adds a node; the planner fuses chains of them.

namespace tenon {

/// The instructions on tensors whose types are known at run time only. A mistake throws invalid_argument_error with
/// the rule's words. A number beside a tensor becomes one of its element type, exactly: 300 beside uint8 is a mistake.
namespace untyped {

/// A number as a scalar tensor of that element type; invalid_argument_error where it does not hold the number: 300 for
/// uint8, 0.5 for integers.
inline any_tensor scalar(const number& value, element_type type, called_from here = caller()) {
    const making made(here);
    return detail::scalar_constant(value, type);
}
/// Each element converted as tenon::cast does it.
inline any_tensor cast(const any_tensor& x, element_type to, called_from here = caller()) {
    return x.element() == to ? x : detail::add_instruction(opcode::cast, {x}, to, here);
}

#define TENON_UNARY(NAME, ...)                                                       \
    inline any_tensor NAME(const any_tensor& x, called_from here = caller()) {       \
        return detail::add_instruction(opcode::NAME, {x}, element_type::none, here); \
    }
#define TENON_BINARY(NAME, ...)                                                                     \
    inline any_tensor NAME(const any_tensor& a, const any_tensor& b, called_from here = caller()) { \
        return detail::add_instruction(opcode::NAME, {a, b}, element_type::none, here);             \
    }                                                                                               \
    inline any_tensor NAME(const any_tensor& a, const number& b, called_from here = caller()) {     \
        return NAME(a, scalar(b, a.element()), here);                                               \
    }                                                                                               \
    inline any_tensor NAME(const number& a, const any_tensor& b, called_from here = caller()) {     \
        return NAME(scalar(a, b.element()), b, here);                                               \
    }
#define TENON_TERNARY(NAME, ...)                                                           \
    inline any_tensor NAME(const any_tensor& a, const any_tensor& b, const any_tensor& c,  \
                           called_from here = caller()) {                                  \
        return detail::add_instruction(opcode::NAME, {a, b, c}, element_type::none, here); \
    }
#include <tenon/tape/instructions.inl>

/// One of a, b and c at least is a tensor; of a and b, the values that are chosen from.
any_tensor fma(const tensor_or_number& a, const tensor_or_number& b, const tensor_or_number& c,
               called_from here = caller());
any_tensor select(const any_tensor& condition, const tensor_or_number& a, const tensor_or_number& b,
                  called_from here = caller());

inline any_tensor rint(const any_tensor& x, called_from here = caller()) { return round(x, here); }
inline any_tensor where(const any_tensor& condition, const any_tensor& a, const any_tensor& b,
                        called_from here = caller()) {
    return select(condition, a, b, here);
}
inline any_tensor where(const any_tensor& condition, const tensor_or_number& a, const tensor_or_number& b,
                        called_from here = caller()) {
    return select(condition, a, b, here);
}
inline any_tensor square(const any_tensor& x, called_from here = caller()) { return multiply(x, x, here); }

} // namespace untyped

namespace detail {
template <class X>
concept BesideUntyped = UntypedTensor<X> || Typed<X> || AsNumber<X>;
/// An untyped tensor and what may stand beside it. Tensors of known types alone are none: their mistakes are the compiler's.
template <class A, class B>
inline constexpr bool is_untyped_pair = (UntypedTensor<A> && BesideUntyped<B>) ||
                                        (UntypedTensor<B> && BesideUntyped<A>);
template <class B, class A>
concept UntypedBeside = is_untyped_pair<A, B>;
} // namespace detail

// The operators, where one operand at least is a tensor whose type is known at run time only.
#define TENON_OPERATOR(SIGN, NAME)                                                                    \
    template <class A, detail::UntypedBeside<A> B> any_tensor operator SIGN(const A& a, const B& b) { \
        return untyped::NAME(a, b);                                                                   \
    }
TENON_OPERATOR(+, add)
TENON_OPERATOR(-, subtract)
TENON_OPERATOR(*, multiply)
TENON_OPERATOR(/, divide)
TENON_OPERATOR(%, mod)
TENON_OPERATOR(==, equal)
TENON_OPERATOR(!=, not_equal)
TENON_OPERATOR(<, less)
TENON_OPERATOR(<=, less_equal)
TENON_OPERATOR(>, greater)
TENON_OPERATOR(>=, greater_equal)
TENON_OPERATOR(&&, logical_and)
TENON_OPERATOR(||, logical_or)
TENON_OPERATOR(&, bit_and)
TENON_OPERATOR(|, bit_or)
TENON_OPERATOR(^, bit_xor)
TENON_OPERATOR(<<, shift_left)
TENON_OPERATOR(>>, shift_right)
#undef TENON_OPERATOR
template <detail::UntypedTensor X> any_tensor operator-(const X& x) { return untyped::negative(x); }
template <detail::UntypedTensor X> any_tensor operator!(const X& x) { return untyped::logical_not(x); }
template <detail::UntypedTensor X> any_tensor operator~(const X& x) { return untyped::bit_not(x); }

} // namespace tenon
