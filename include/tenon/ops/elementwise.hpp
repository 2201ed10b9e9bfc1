#pragma once

#include <limits>

#include <tenon/expr/tree.hpp>

/// Functions of each element. They are lazy expressions: what is written in one expression runs as one pass over
/// memory, forward and backward, and an operand with a name becomes a node of the graph, once.
///
///     auto h = relu(matmul(x, w) + b);            // one node for relu and +
///     auto y = select(x > 0, x, 0.1f * expm1(x)); // numbers take the type of the tensor beside them
///
/// Sizes broadcast as NumPy's do: they are aligned at the last dimension, and a dimension that is missing or 1 is
/// repeated. Element types must be equal; cast<T>(x) converts. half and bfloat16 are computed in float. Integers wrap
/// around; division by zero gives 0. The gradient of a step (sign, floor, comparisons) is zero.
///
/// For tensors whose types are known at run time only there are the same instructions in namespace tenon::untyped.

namespace tenon {

namespace detail {

template <class X>
concept ElementwiseOperand = OperandOrIllShaped<X> || Number<X>;
/// At least one tensor among numbers.
template <class... X>
concept ElementwiseOperands = (ElementwiseOperand<X> && ...) && (OperandOrIllShaped<X> || ...);
template <class B, class A>
concept ElementwiseBeside = ElementwiseOperands<A, B>;

// Numbers in the functions below, exact in double.
template <std::uint64_t Bits> inline constexpr number_constant<Bits> number_of{};
constexpr std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
inline constexpr auto zero = number_of<bits_of(0.0)>;
inline constexpr auto one = number_of<bits_of(1.0)>;
inline constexpr auto two = number_of<bits_of(2.0)>;
inline constexpr auto three = number_of<bits_of(3.0)>;
inline constexpr auto six = number_of<bits_of(6.0)>;
inline constexpr auto half_of_one = number_of<bits_of(0.5)>;

template <fixed_string Name, bool Floating> struct composite_rule {
    static constexpr const char* name = Name.text;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        const inferred r = infer_instruction(opcode::add, in);
        if (r && Floating && !is_floating(r.type.element)) return fault::element_type_must_be_floating;
        return r;
    }
};
// Types with names of their own: clang prints the text in a template argument as numbers.
struct square_rule : composite_rule<"square", false> {};
struct logaddexp_rule : composite_rule<"logaddexp", true> {};
struct logaddexp2_rule : composite_rule<"logaddexp2", true> {};
struct copysign_rule : composite_rule<"copysign", true> {};
struct nan_to_num_rule : composite_rule<"nan_to_num", true> {};
struct heaviside_rule : composite_rule<"heaviside", true> {};
struct fmin_rule : composite_rule<"fmin", true> {};
struct fmax_rule : composite_rule<"fmax", true> {};
struct sinc_rule : composite_rule<"sinc", true> {};
struct deg2rad_rule : composite_rule<"deg2rad", true> {};
struct rad2deg_rule : composite_rule<"rad2deg", true> {};
struct pow_rule : composite_rule<"pow", false> {};
struct squared_difference_rule : composite_rule<"squared_difference", false> {};
struct floor_divide_rule : composite_rule<"floor_divide", false> {};
struct divide_no_nan_rule : composite_rule<"divide_no_nan", true> {};
struct multiply_no_nan_rule : composite_rule<"multiply_no_nan", true> {};
struct clip_rule : composite_rule<"clip", false> {};
struct lerp_rule : composite_rule<"lerp", true> {};
struct xlogy_rule : composite_rule<"xlogy", true> {};
struct xlog1py_rule : composite_rule<"xlog1py", true> {};
struct xdivy_rule : composite_rule<"xdivy", true> {};
struct logit_rule : composite_rule<"logit", true> {};
struct ndtr_rule : composite_rule<"ndtr", true> {};
struct ndtri_rule : composite_rule<"ndtri", true> {};
struct betaln_rule : composite_rule<"betaln", true> {};
struct signbit_rule : composite_rule<"signbit", true> {};
struct is_close_rule : composite_rule<"is_close", true> {};
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

} // namespace detail

// Functions that are one instruction. They are written out, not made by a macro: a compiler that complains about a
// call shows each macro it went through.

// Arithmetic of numbers.

template <class A, detail::ElementwiseBeside<A> B> auto operator+(A&& a, B&& b) {
    return elementwise<opcode::add>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto operator-(A&& a, B&& b) {
    return elementwise<opcode::subtract>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto operator*(A&& a, B&& b) {
    return elementwise<opcode::multiply>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// Of integers: towards zero.
template <class A, detail::ElementwiseBeside<A> B> auto operator/(A&& a, B&& b) {
    return elementwise<opcode::divide>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// What is left of a / b rounded down, as Python and NumPy have it: it has b's sign.
template <class A, detail::ElementwiseBeside<A> B> auto operator%(A&& a, B&& b) {
    return elementwise<opcode::modulo>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <OperandOrIllShaped X> auto operator-(X&& x) { return elementwise<opcode::negative>(static_cast<X&&>(x)); }

template <class A, detail::ElementwiseBeside<A> B> auto add(A&& a, B&& b) {
    return elementwise<opcode::add>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto subtract(A&& a, B&& b) {
    return elementwise<opcode::subtract>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto multiply(A&& a, B&& b) {
    return elementwise<opcode::multiply>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto divide(A&& a, B&& b) {
    return elementwise<opcode::divide>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto mod(A&& a, B&& b) {
    return elementwise<opcode::modulo>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// What is left of a / b rounded towards zero, as C has it: it has a's sign.
template <class A, detail::ElementwiseBeside<A> B> auto fmod(A&& a, B&& b) {
    return elementwise<opcode::remainder>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <OperandOrIllShaped X> auto negative(X&& x) { return elementwise<opcode::negative>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto abs(X&& x) { return elementwise<opcode::abs>(static_cast<X&&>(x)); }
/// -1, 0 or 1; NaN stays.
template <OperandOrIllShaped X> auto sign(X&& x) { return elementwise<opcode::sign>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto floor(X&& x) { return elementwise<opcode::floor>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto ceil(X&& x) { return elementwise<opcode::ceil>(static_cast<X&&>(x)); }
/// To the nearest integer, halves to the even one.
template <OperandOrIllShaped X> auto round(X&& x) { return elementwise<opcode::round>(static_cast<X&&>(x)); }
/// Another name of round.
template <OperandOrIllShaped X> auto rint(X&& x) { return elementwise<opcode::round>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto trunc(X&& x) { return elementwise<opcode::trunc>(static_cast<X&&>(x)); }
/// NaN where either is NaN.
template <class A, detail::ElementwiseBeside<A> B> auto minimum(A&& a, B&& b) {
    return elementwise<opcode::minimum>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto maximum(A&& a, B&& b) {
    return elementwise<opcode::maximum>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// a * b + c, rounded once where the processor can.
template <class A, class B, class C>
    requires detail::ElementwiseOperands<A, B, C>
auto fma(A&& a, B&& b, C&& c) {
    return elementwise<opcode::fma>(static_cast<A&&>(a), static_cast<B&&>(b), static_cast<C&&>(c));
}

// Comparisons. The result is bool.

template <class A, detail::ElementwiseBeside<A> B> auto operator==(A&& a, B&& b) {
    return elementwise<opcode::equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto operator!=(A&& a, B&& b) {
    return elementwise<opcode::not_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto operator<(A&& a, B&& b) {
    return elementwise<opcode::less>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto operator<=(A&& a, B&& b) {
    return elementwise<opcode::less_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto operator>(A&& a, B&& b) {
    return elementwise<opcode::greater>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto operator>=(A&& a, B&& b) {
    return elementwise<opcode::greater_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto equal(A&& a, B&& b) {
    return elementwise<opcode::equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto not_equal(A&& a, B&& b) {
    return elementwise<opcode::not_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto less(A&& a, B&& b) {
    return elementwise<opcode::less>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto less_equal(A&& a, B&& b) {
    return elementwise<opcode::less_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto greater(A&& a, B&& b) {
    return elementwise<opcode::greater>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto greater_equal(A&& a, B&& b) {
    return elementwise<opcode::greater_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}

template <OperandOrIllShaped X> auto is_nan(X&& x) { return elementwise<opcode::is_nan>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto is_inf(X&& x) { return elementwise<opcode::is_inf>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto is_finite(X&& x) { return elementwise<opcode::is_finite>(static_cast<X&&>(x)); }

// Truth values. Both operands are always computed.

template <class A, detail::ElementwiseBeside<A> B> auto operator&&(A&& a, B&& b) {
    return elementwise<opcode::logical_and>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto operator||(A&& a, B&& b) {
    return elementwise<opcode::logical_or>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <OperandOrIllShaped X> auto operator!(X&& x) { return elementwise<opcode::logical_not>(static_cast<X&&>(x)); }
template <class A, detail::ElementwiseBeside<A> B> auto logical_and(A&& a, B&& b) {
    return elementwise<opcode::logical_and>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto logical_or(A&& a, B&& b) {
    return elementwise<opcode::logical_or>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto logical_xor(A&& a, B&& b) {
    return elementwise<opcode::logical_xor>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <OperandOrIllShaped X> auto logical_not(X&& x) {
    return elementwise<opcode::logical_not>(static_cast<X&&>(x));
}

// Bits of integers and bools.

template <class A, detail::ElementwiseBeside<A> B> auto operator&(A&& a, B&& b) {
    return elementwise<opcode::bit_and>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto operator|(A&& a, B&& b) {
    return elementwise<opcode::bit_or>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto operator^(A&& a, B&& b) {
    return elementwise<opcode::bit_xor>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <OperandOrIllShaped X> auto operator~(X&& x) { return elementwise<opcode::bit_not>(static_cast<X&&>(x)); }
/// Shifts of integers; by the width or more, or by less than 0, all bits are shifted out.
template <class A, detail::ElementwiseBeside<A> B> auto operator<<(A&& a, B&& b) {
    return elementwise<opcode::shift_left>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// Signed numbers keep their sign.
template <class A, detail::ElementwiseBeside<A> B> auto operator>>(A&& a, B&& b) {
    return elementwise<opcode::shift_right>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto bit_and(A&& a, B&& b) {
    return elementwise<opcode::bit_and>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto bit_or(A&& a, B&& b) {
    return elementwise<opcode::bit_or>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto bit_xor(A&& a, B&& b) {
    return elementwise<opcode::bit_xor>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <OperandOrIllShaped X> auto bit_not(X&& x) { return elementwise<opcode::bit_not>(static_cast<X&&>(x)); }
template <class A, detail::ElementwiseBeside<A> B> auto shift_left(A&& a, B&& b) {
    return elementwise<opcode::shift_left>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto shift_right(A&& a, B&& b) {
    return elementwise<opcode::shift_right>(static_cast<A&&>(a), static_cast<B&&>(b));
}

/// a where the condition (bool) is true, else b. No gradient, so no NaN either, comes from the other one's value.
template <OperandOrIllShaped P, class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto select(P&& condition, A&& a, B&& b) {
    return elementwise<opcode::select>(static_cast<P&&>(condition), static_cast<A&&>(a), static_cast<B&&>(b));
}
/// NumPy's name for select.
template <OperandOrIllShaped P, class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto where(P&& condition, A&& a, B&& b) {
    return select(static_cast<P&&>(condition), static_cast<A&&>(a), static_cast<B&&>(b));
}

// Real functions.

template <OperandOrIllShaped X> auto exp(X&& x) { return elementwise<opcode::exp>(static_cast<X&&>(x)); }
/// 2^x.
template <OperandOrIllShaped X> auto exp2(X&& x) { return elementwise<opcode::exp2>(static_cast<X&&>(x)); }
/// e^x - 1, exact near 0.
template <OperandOrIllShaped X> auto expm1(X&& x) { return elementwise<opcode::expm1>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto log(X&& x) { return elementwise<opcode::log>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto log2(X&& x) { return elementwise<opcode::log2>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto log10(X&& x) { return elementwise<opcode::log10>(static_cast<X&&>(x)); }
/// log(1 + x), exact near 0.
template <OperandOrIllShaped X> auto log1p(X&& x) { return elementwise<opcode::log1p>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto sqrt(X&& x) { return elementwise<opcode::sqrt>(static_cast<X&&>(x)); }
/// 1 / sqrt(x).
template <OperandOrIllShaped X> auto rsqrt(X&& x) { return elementwise<opcode::rsqrt>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto cbrt(X&& x) { return elementwise<opcode::cbrt>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto reciprocal(X&& x) { return elementwise<opcode::reciprocal>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto sin(X&& x) { return elementwise<opcode::sin>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto cos(X&& x) { return elementwise<opcode::cos>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto tan(X&& x) { return elementwise<opcode::tan>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto asin(X&& x) { return elementwise<opcode::asin>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto acos(X&& x) { return elementwise<opcode::acos>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto atan(X&& x) { return elementwise<opcode::atan>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto sinh(X&& x) { return elementwise<opcode::sinh>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto cosh(X&& x) { return elementwise<opcode::cosh>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto tanh(X&& x) { return elementwise<opcode::tanh>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto asinh(X&& x) { return elementwise<opcode::asinh>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto acosh(X&& x) { return elementwise<opcode::acosh>(static_cast<X&&>(x)); }
template <OperandOrIllShaped X> auto atanh(X&& x) { return elementwise<opcode::atanh>(static_cast<X&&>(x)); }
/// The angle of the point (x = b, y = a), in (-pi, pi].
template <class A, detail::ElementwiseBeside<A> B> auto atan2(A&& a, B&& b) {
    return elementwise<opcode::atan2>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// sqrt(a^2 + b^2) without overflow.
template <class A, detail::ElementwiseBeside<A> B> auto hypot(A&& a, B&& b) {
    return elementwise<opcode::hypot>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// a^b as C has it: NaN for negative a and fractional b. The gradient in b is 0 where a <= 0.
template <class A, detail::ElementwiseBeside<A> B> auto pow(A&& a, B&& b) {
    return elementwise<opcode::power>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <OperandOrIllShaped X> auto erf(X&& x) { return elementwise<opcode::erf>(static_cast<X&&>(x)); }
/// 1 - erf(x), exact for large x.
template <OperandOrIllShaped X> auto erfc(X&& x) { return elementwise<opcode::erfc>(static_cast<X&&>(x)); }
/// The x whose erf is y: infinite at -1 and 1, NaN beyond.
template <OperandOrIllShaped X> auto erfinv(X&& y) { return elementwise<opcode::erfinv>(static_cast<X&&>(y)); }
/// The x whose erfc is y, exact for small y: infinite at 0 and 2, NaN beyond.
template <OperandOrIllShaped X> auto erfcinv(X&& y) { return elementwise<opcode::erfcinv>(static_cast<X&&>(y)); }
/// log |gamma(x)|.
template <OperandOrIllShaped X> auto lgamma(X&& x) { return elementwise<opcode::lgamma>(static_cast<X&&>(x)); }
/// The slope of lgamma.
template <OperandOrIllShaped X> auto digamma(X&& x) { return elementwise<opcode::digamma>(static_cast<X&&>(x)); }
/// The n-th derivative of digamma at x, itself for n = 0; NaN where n is not 0, 1, 2, ... At 0, -1, -2, ... it is
/// infinity for odd n; for even n NaN, but at 0 the limit from the side of its sign. No gradient flows to n.
template <class N, detail::ElementwiseBeside<N> X> auto polygamma(N&& n, X&& x) {
    return elementwise<opcode::polygamma>(static_cast<N&&>(n), static_cast<X&&>(x));
}
/// The slope of digamma.
template <OperandOrIllShaped X> auto trigamma(X&& x) { return polygamma(detail::one, static_cast<X&&>(x)); }
/// 1 / (1 + e^-x).
template <OperandOrIllShaped X> auto sigmoid(X&& x) { return elementwise<opcode::sigmoid>(static_cast<X&&>(x)); }
/// log(1 + e^x), exact for all x.
template <OperandOrIllShaped X> auto softplus(X&& x) { return elementwise<opcode::softplus>(static_cast<X&&>(x)); }
/// max(x, 0); NaN stays.
template <OperandOrIllShaped X> auto relu(X&& x) { return elementwise<opcode::relu>(static_cast<X&&>(x)); }

namespace detail {

inline constexpr auto square_of = [](auto x) { return x * x; };
inline constexpr auto squared_difference_of = [](auto a, auto b) {
    return elementwise_composite<square_rule>(square_of, a - b);
};
inline constexpr auto lerp_of = [](auto a, auto b, auto t) { return t * (b - a) + a; };
inline constexpr auto clip_of = [](auto x, auto low, auto high) { return minimum(maximum(x, low), high); };
// (a - a mod b) is a multiple of b up to rounding, so 1 // 0.1 is 9.
inline constexpr auto floor_divide_of = [](auto a, auto b) {
    if constexpr (std::is_integral_v<typename decltype(a)::element_type>) return (a - a % b) / b;
    else return select(b == zero, a / b, round((a - a % b) / b));
};
inline constexpr auto divide_no_nan_of = [](auto a, auto b) {
    return select(b == zero, zero, a / select(b == zero, one, b));
};
inline constexpr auto multiply_no_nan_of = [](auto a, auto b) { return b * select(b == zero, zero, a); };
inline constexpr auto xlogy_of = [](auto x, auto y) {
    return select(x == zero, zero, x * log(select(x == zero, one, y)));
};
inline constexpr auto xlog1py_of = [](auto x, auto y) {
    return select(x == zero, zero, x * log1p(select(x == zero, zero, y)));
};
inline constexpr auto xdivy_of = [](auto x, auto y) { return select(x == zero, zero, x / select(x == zero, one, y)); };
inline constexpr auto logaddexp_with_difference = [](auto a, auto b, auto d) {
    return select(d > zero, a + softplus(-d), b + softplus(d));
};
// Infinities of one sign have the difference 0.
inline constexpr auto logaddexp_of = [](auto a, auto b) {
    return elementwise_composite<logaddexp_rule>(logaddexp_with_difference, a, b,
                                                 select((a == b) && is_inf(a), zero, a - b));
};
inline constexpr auto log_of_2 = number_of<bits_of(0.69314718055994530942)>;
inline constexpr auto one_by_log_of_2 = number_of<bits_of(1.44269504088896340736)>;
inline constexpr auto logaddexp2_with_difference = [](auto a, auto b, auto d) {
    return select(d > zero, a + one_by_log_of_2 * softplus(-d), b + one_by_log_of_2 * softplus(d));
};
inline constexpr auto logaddexp2_of = [](auto a, auto b) {
    return elementwise_composite<logaddexp2_rule>(logaddexp2_with_difference, a, b,
                                                  select((a == b) && is_inf(a), zero, (a - b) * log_of_2));
};
// 1 / -0 is less than 0.
inline constexpr auto signbit_of = [](auto x) { return x < zero || one / x < zero; };
inline constexpr auto copysign_of = [](auto a, auto b) {
    return select(elementwise_composite<signbit_rule>(signbit_of, b), -abs(a), abs(a));
};
inline constexpr auto heaviside_of = [](auto x, auto h) {
    return select(x == zero, h, half_of_one * sign(x) + half_of_one);
};
inline constexpr auto fmin_of = [](auto a, auto b) {
    return select(is_nan(a), b, select(is_nan(b), a, minimum(a, b)));
};
inline constexpr auto fmax_of = [](auto a, auto b) {
    return select(is_nan(a), b, select(is_nan(b), a, maximum(a, b)));
};
inline constexpr auto pi = number_of<bits_of(3.14159265358979323846)>;
inline constexpr auto sinc_of_angle = [](auto y) { return select(y == zero, one, sin(y) / select(y == zero, one, y)); };
inline constexpr auto sinc_of = [](auto x) { return elementwise_composite<sinc_rule>(sinc_of_angle, pi * x); };
inline constexpr auto deg2rad_of = [](auto x) { return number_of<bits_of(0.01745329251994329577)> * x; };
inline constexpr auto rad2deg_of = [](auto x) { return number_of<bits_of(57.2957795130823208768)> * x; };
struct nan_to_num_of {
    double nan;
    auto operator()(auto x) const {
        constexpr double most = static_cast<double>(std::numeric_limits<typename decltype(x)::element_type>::max());
        return select(is_nan(x), nan, minimum(maximum(x, number_of<bits_of(-most)>), number_of<bits_of(most)>));
    }
};
inline constexpr auto logit_of = [](auto p) { return log(p) - log1p(-p); };
inline constexpr auto betaln_of = [](auto a, auto b) { return lgamma(a) + lgamma(b) - lgamma(a + b); };

inline constexpr auto minus_root_of_half = number_of<bits_of(-0.70710678118654752440)>;
inline constexpr auto minus_root_of_two = number_of<bits_of(-1.41421356237309504880)>;
inline constexpr auto ndtr_of = [](auto x) { return half_of_one * erfc(minus_root_of_half * x); };
inline constexpr auto ndtri_of = [](auto p) { return minus_root_of_two * erfcinv(two * p); };
// 2 sqrt(2 / pi), and that times 0.044715
inline constexpr auto gelu_linear = number_of<bits_of(1.59576912160573071176)>;
inline constexpr auto gelu_cubic = number_of<bits_of(0.07135481627260025)>;
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
inline constexpr auto gelu_tanh_of = [](auto x) { return x * sigmoid(x * fma(gelu_cubic * x, x, gelu_linear)); };
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
struct is_close_of {
    double rtol, atol;
    auto operator()(auto a, auto b) const { return a == b || abs(a - b) <= rtol * abs(b) + atol; }
};

template <int N> struct power_of {
    template <class X> auto operator()(X x) const {
        if constexpr (N == 1) return x * one;
        else if constexpr (N % 2 == 0) return elementwise_composite<pow_rule>(square_of, power_of<N / 2>{}(x));
        else return x * power_of<N - 1>{}(x);
    }
};

} // namespace detail

/// x * x.
template <OperandOrIllShaped X> auto square(X&& x) {
    return elementwise_composite<detail::square_rule>(detail::square_of, static_cast<X&&>(x));
}
/// x^N for a whole number N >= 1, by multiplications; also of integers.
template <int N, OperandOrIllShaped X> auto pow(X&& x) {
    static_assert(N >= 1, "tenon::pow<N>(x): N is at least 1; use pow(x, n)");
    return elementwise_composite<detail::pow_rule>(detail::power_of<N>{}, static_cast<X&&>(x));
}
/// (a - b)^2.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto squared_difference(A&& a, B&& b) {
    return elementwise_composite<detail::squared_difference_rule>(detail::squared_difference_of, static_cast<A&&>(a),
                                                                  static_cast<B&&>(b));
}
/// a / b rounded down, so that b * floor_divide(a, b) + a % b is a.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto floor_divide(A&& a, B&& b) {
    return elementwise_composite<detail::floor_divide_rule>(detail::floor_divide_of, static_cast<A&&>(a),
                                                            static_cast<B&&>(b));
}
/// a / b, but 0 where b is 0.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto divide_no_nan(A&& a, B&& b) {
    return elementwise_composite<detail::divide_no_nan_rule>(detail::divide_no_nan_of, static_cast<A&&>(a),
                                                             static_cast<B&&>(b));
}
/// 1 / x, but 0 where x is 0.
template <OperandOrIllShaped X> auto reciprocal_no_nan(X&& x) {
    return divide_no_nan(detail::one, static_cast<X&&>(x));
}
/// a * b, but 0 where b is 0, also of an infinity or NaN.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto multiply_no_nan(A&& a, B&& b) {
    return elementwise_composite<detail::multiply_no_nan_rule>(detail::multiply_no_nan_of, static_cast<A&&>(a),
                                                               static_cast<B&&>(b));
}
/// x, but at least low and at most high: numbers or tensors.
template <class X, class L, class H>
    requires detail::ElementwiseOperands<X, L, H>
auto clip(X&& x, L&& low, H&& high) {
    return elementwise_composite<detail::clip_rule>(detail::clip_of, static_cast<X&&>(x), static_cast<L&&>(low),
                                                    static_cast<H&&>(high));
}
/// a + t * (b - a): a at t = 0, b at t = 1.
template <class A, class B, class T>
    requires detail::ElementwiseOperands<A, B, T>
auto lerp(A&& a, B&& b, T&& t) {
    return elementwise_composite<detail::lerp_rule>(detail::lerp_of, static_cast<A&&>(a), static_cast<B&&>(b),
                                                    static_cast<T&&>(t));
}
/// x log(y), but 0 where x is 0.
template <class X, class Y>
    requires detail::ElementwiseOperands<X, Y>
auto xlogy(X&& x, Y&& y) {
    return elementwise_composite<detail::xlogy_rule>(detail::xlogy_of, static_cast<X&&>(x), static_cast<Y&&>(y));
}
/// x log(1 + y), but 0 where x is 0.
template <class X, class Y>
    requires detail::ElementwiseOperands<X, Y>
auto xlog1py(X&& x, Y&& y) {
    return elementwise_composite<detail::xlog1py_rule>(detail::xlog1py_of, static_cast<X&&>(x), static_cast<Y&&>(y));
}
/// x / y, but 0 where x is 0.
template <class X, class Y>
    requires detail::ElementwiseOperands<X, Y>
auto xdivy(X&& x, Y&& y) {
    return elementwise_composite<detail::xdivy_rule>(detail::xdivy_of, static_cast<X&&>(x), static_cast<Y&&>(y));
}
/// log(e^a + e^b) without overflow.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto logaddexp(A&& a, B&& b) {
    return elementwise_composite<detail::logaddexp_rule>(detail::logaddexp_of, static_cast<A&&>(a),
                                                         static_cast<B&&>(b));
}
/// log2(2^a + 2^b) without overflow.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto logaddexp2(A&& a, B&& b) {
    return elementwise_composite<detail::logaddexp2_rule>(detail::logaddexp2_of, static_cast<A&&>(a),
                                                          static_cast<B&&>(b));
}
/// The magnitude of a with the sign of b, also that of -0. No gradient flows to b.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto copysign(A&& a, B&& b) {
    return elementwise_composite<detail::copysign_rule>(detail::copysign_of, static_cast<A&&>(a), static_cast<B&&>(b));
}
/// 0 where x is negative, 1 where it is positive, `at_zero` where it is 0; NaN stays.
template <class X, class H>
    requires detail::ElementwiseOperands<X, H>
auto heaviside(X&& x, H&& at_zero) {
    return elementwise_composite<detail::heaviside_rule>(detail::heaviside_of, static_cast<X&&>(x),
                                                         static_cast<H&&>(at_zero));
}
/// The lesser of two numbers; where one is NaN the other, as C has it.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto fmin(A&& a, B&& b) {
    return elementwise_composite<detail::fmin_rule>(detail::fmin_of, static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto fmax(A&& a, B&& b) {
    return elementwise_composite<detail::fmax_rule>(detail::fmax_of, static_cast<A&&>(a), static_cast<B&&>(b));
}
/// x, but `nan` where it is NaN, and the largest finite numbers in place of infinities.
template <OperandOrIllShaped X> auto nan_to_num(X&& x, double nan = 0) {
    return elementwise_composite<detail::nan_to_num_rule>(detail::nan_to_num_of{nan}, static_cast<X&&>(x));
}
/// sin(pi x) / (pi x), 1 at 0.
template <OperandOrIllShaped X> auto sinc(X&& x) {
    return elementwise_composite<detail::sinc_rule>(detail::sinc_of, static_cast<X&&>(x));
}
/// Degrees as radians.
template <OperandOrIllShaped X> auto deg2rad(X&& x) {
    return elementwise_composite<detail::deg2rad_rule>(detail::deg2rad_of, static_cast<X&&>(x));
}
/// Radians as degrees.
template <OperandOrIllShaped X> auto rad2deg(X&& x) {
    return elementwise_composite<detail::rad2deg_rule>(detail::rad2deg_of, static_cast<X&&>(x));
}
/// log(p / (1 - p)), the inverse of sigmoid.
template <OperandOrIllShaped X> auto logit(X&& p) {
    return elementwise_composite<detail::logit_rule>(detail::logit_of, static_cast<X&&>(p));
}
/// The normal distribution's probability of less than x, exact where it is small.
template <OperandOrIllShaped X> auto ndtr(X&& x) {
    return elementwise_composite<detail::ndtr_rule>(detail::ndtr_of, static_cast<X&&>(x));
}
/// The inverse of ndtr: infinite at 0 and 1, NaN beyond.
template <OperandOrIllShaped X> auto ndtri(X&& p) {
    return elementwise_composite<detail::ndtri_rule>(detail::ndtri_of, static_cast<X&&>(p));
}
/// log |beta(a, b)|, as exact as the largest of the three lgamma that it is the sum of.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto betaln(A&& a, B&& b) {
    return elementwise_composite<detail::betaln_rule>(detail::betaln_of, static_cast<A&&>(a), static_cast<B&&>(b));
}
/// True where x is negative, or -0.
template <OperandOrIllShaped X> auto signbit(X&& x) {
    return elementwise_composite<detail::signbit_rule>(detail::signbit_of, static_cast<X&&>(x));
}
/// True where |a - b| <= atol + rtol |b|; equal infinities are close, NaN to nothing.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto is_close(A&& a, B&& b, double rtol = 1e-5, double atol = 1e-8) {
    return elementwise_composite<detail::is_close_rule>(detail::is_close_of{rtol, atol}, static_cast<A&&>(a),
                                                        static_cast<B&&>(b));
}

// Activations.

/// min(max(x, 0), 6).
template <OperandOrIllShaped X> auto relu6(X&& x) {
    return elementwise_composite<detail::relu6_rule>(detail::relu6_of, static_cast<X&&>(x));
}
/// x where it is positive, else slope * x. With a tensor for slope: PReLU (He et al. 2015).
template <OperandOrIllShaped X, class S = double>
    requires detail::ElementwiseOperand<S>
auto leaky_relu(X&& x, S&& slope = 0.01) {
    return elementwise_composite<detail::leaky_relu_rule>(detail::leaky_relu_of, static_cast<X&&>(x),
                                                          static_cast<S&&>(slope));
}
/// leaky_relu whose slope is learnt: a tensor that broadcasts to x.
template <OperandOrIllShaped X, OperandOrIllShaped S> auto prelu(X&& x, S&& slope) {
    return leaky_relu(static_cast<X&&>(x), static_cast<S&&>(slope));
}
/// x where it is positive, else alpha (e^x - 1) (Clevert et al. 2015).
template <OperandOrIllShaped X, class S = double>
    requires detail::ElementwiseOperand<S>
auto elu(X&& x, S&& alpha = 1.0) {
    return elementwise_composite<detail::elu_rule>(detail::elu_of, static_cast<X&&>(x), static_cast<S&&>(alpha));
}
/// 1.0507 elu(x, 1.6733) (Klambauer et al. 2017).
template <OperandOrIllShaped X> auto selu(X&& x) {
    return elementwise_composite<detail::selu_rule>(detail::selu_of, static_cast<X&&>(x));
}
/// x where it is positive, else alpha (e^(x / alpha) - 1) (Barron 2017).
template <OperandOrIllShaped X, class S = double>
    requires detail::ElementwiseOperand<S>
auto celu(X&& x, S&& alpha = 1.0) {
    return elementwise_composite<detail::celu_rule>(detail::celu_of, static_cast<X&&>(x), static_cast<S&&>(alpha));
}
/// x times the normal distribution's probability of less than x (Hendrycks, Gimpel 2016).
template <OperandOrIllShaped X> auto gelu(X&& x) {
    return elementwise_composite<detail::gelu_rule>(detail::gelu_of, static_cast<X&&>(x));
}
/// The same with tanh in place of erf: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
template <OperandOrIllShaped X> auto gelu_tanh(X&& x) {
    return elementwise_composite<detail::gelu_tanh_rule>(detail::gelu_tanh_of, static_cast<X&&>(x));
}
/// x sigmoid(x).
template <OperandOrIllShaped X> auto silu(X&& x) {
    return elementwise_composite<detail::silu_rule>(detail::silu_of, static_cast<X&&>(x));
}
/// Another name of silu.
template <OperandOrIllShaped X> auto swish(X&& x) { return silu(static_cast<X&&>(x)); }
/// min(max(x + 3, 0), 6) / 6.
template <OperandOrIllShaped X> auto hard_sigmoid(X&& x) {
    return elementwise_composite<detail::hard_sigmoid_rule>(detail::hard_sigmoid_of, static_cast<X&&>(x));
}
/// x hard_sigmoid(x) (Howard et al. 2019).
template <OperandOrIllShaped X> auto hard_swish(X&& x) {
    return elementwise_composite<detail::hard_swish_rule>(detail::hard_swish_of, static_cast<X&&>(x));
}
/// min(max(x, -1), 1).
template <OperandOrIllShaped X> auto hard_tanh(X&& x) { return clip(static_cast<X&&>(x), -1, 1); }
/// x / (1 + |x|).
template <OperandOrIllShaped X> auto softsign(X&& x) {
    return elementwise_composite<detail::softsign_rule>(detail::softsign_of, static_cast<X&&>(x));
}
/// x tanh(softplus(x)) (Misra 2019).
template <OperandOrIllShaped X> auto mish(X&& x) {
    return elementwise_composite<detail::mish_rule>(detail::mish_of, static_cast<X&&>(x));
}
/// log(sigmoid(x)).
template <OperandOrIllShaped X> auto log_sigmoid(X&& x) {
    return elementwise_composite<detail::log_sigmoid_rule>(detail::log_sigmoid_of, static_cast<X&&>(x));
}
/// x - tanh(x).
template <OperandOrIllShaped X> auto tanh_shrink(X&& x) {
    return elementwise_composite<detail::tanh_shrink_rule>(detail::tanh_shrink_of, static_cast<X&&>(x));
}
/// x moved by `width` towards 0, and 0 where |x| is less.
template <OperandOrIllShaped X, class S = double>
    requires detail::ElementwiseOperand<S>
auto soft_shrink(X&& x, S&& width = 0.5) {
    return elementwise_composite<detail::soft_shrink_rule>(detail::soft_shrink_of, static_cast<X&&>(x),
                                                           static_cast<S&&>(width));
}
/// x, but 0 where |x| is not above `width`.
template <OperandOrIllShaped X, class S = double>
    requires detail::ElementwiseOperand<S>
auto hard_shrink(X&& x, S&& width = 0.5) {
    return elementwise_composite<detail::hard_shrink_rule>(detail::hard_shrink_of, static_cast<X&&>(x),
                                                           static_cast<S&&>(width));
}
/// x where it is above `limit`, else `value`; NaN stays.
template <OperandOrIllShaped X, class L, class V>
    requires(detail::ElementwiseOperand<L>&& detail::ElementwiseOperand<V>)
auto threshold(X&& x, L&& limit, V&& value) {
    return elementwise_composite<detail::threshold_rule>(detail::threshold_of, static_cast<X&&>(x),
                                                         static_cast<L&&>(limit), static_cast<V&&>(value));
}

/// The instructions on tensors whose types are known at run time only. A mistake throws invalid_argument_error with
/// the rule's words. The planner fuses chains of them.
namespace untyped {

/// A number as a scalar tensor of that element type.
inline any_tensor scalar(double value, element_type type) { return detail::scalar_constant(value, type); }
/// Each element converted as static_cast does it.
inline any_tensor cast(const any_tensor& x, element_type to) {
    return x.element() == to ? x : detail::add_instruction(opcode::cast, {x}, to);
}

#define TENON_UNARY(NAME) \
    inline any_tensor NAME(const any_tensor& x) { return detail::add_instruction(opcode::NAME, {x}); }
#define TENON_BINARY(NAME)                                                                            \
    inline any_tensor NAME(const any_tensor& a, const any_tensor& b) {                                \
        return detail::add_instruction(opcode::NAME, {a, b});                                         \
    }                                                                                                 \
    inline any_tensor NAME(const any_tensor& a, double b) { return NAME(a, scalar(b, a.element())); } \
    inline any_tensor NAME(double a, const any_tensor& b) { return NAME(scalar(a, b.element()), b); }
TENON_UNARY(exp)
TENON_UNARY(exp2)
TENON_UNARY(expm1)
TENON_UNARY(log)
TENON_UNARY(log2)
TENON_UNARY(log10)
TENON_UNARY(log1p)
TENON_UNARY(sqrt)
TENON_UNARY(rsqrt)
TENON_UNARY(cbrt)
TENON_UNARY(reciprocal)
TENON_UNARY(sin)
TENON_UNARY(cos)
TENON_UNARY(tan)
TENON_UNARY(asin)
TENON_UNARY(acos)
TENON_UNARY(atan)
TENON_UNARY(sinh)
TENON_UNARY(cosh)
TENON_UNARY(tanh)
TENON_UNARY(asinh)
TENON_UNARY(acosh)
TENON_UNARY(atanh)
TENON_UNARY(erf)
TENON_UNARY(erfc)
TENON_UNARY(erfinv)
TENON_UNARY(erfcinv)
TENON_UNARY(lgamma)
TENON_UNARY(digamma)
TENON_UNARY(sigmoid)
TENON_UNARY(softplus)
TENON_UNARY(negative)
TENON_UNARY(abs)
TENON_UNARY(sign)
TENON_UNARY(floor)
TENON_UNARY(ceil)
TENON_UNARY(round)
TENON_UNARY(trunc)
TENON_UNARY(relu)
TENON_UNARY(is_nan)
TENON_UNARY(is_inf)
TENON_UNARY(is_finite)
TENON_UNARY(logical_not)
TENON_UNARY(bit_not)
TENON_BINARY(add)
TENON_BINARY(subtract)
TENON_BINARY(multiply)
TENON_BINARY(divide)
TENON_BINARY(modulo)
TENON_BINARY(remainder)
TENON_BINARY(minimum)
TENON_BINARY(maximum)
TENON_BINARY(power)
TENON_BINARY(atan2)
TENON_BINARY(hypot)
TENON_BINARY(polygamma)
TENON_BINARY(bit_and)
TENON_BINARY(bit_or)
TENON_BINARY(bit_xor)
TENON_BINARY(shift_left)
TENON_BINARY(shift_right)
TENON_BINARY(logical_and)
TENON_BINARY(logical_or)
TENON_BINARY(logical_xor)
TENON_BINARY(equal)
TENON_BINARY(not_equal)
TENON_BINARY(less)
TENON_BINARY(less_equal)
TENON_BINARY(greater)
TENON_BINARY(greater_equal)
/// a where the condition (bool) is true, else b.
inline any_tensor select(const any_tensor& condition, const any_tensor& a, const any_tensor& b) {
    return detail::add_instruction(opcode::select, {condition, a, b});
}
/// a * b + c, rounded once where the processor can.
inline any_tensor fma(const any_tensor& a, const any_tensor& b, const any_tensor& c) {
    return detail::add_instruction(opcode::fma, {a, b, c});
}
inline any_tensor square(const any_tensor& x) { return multiply(x, x); }

} // namespace untyped
} // namespace tenon
