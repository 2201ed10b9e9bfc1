#pragma once

#include <tenon/expr/tree.hpp>
#include <tenon/ops/elementwise/untyped_elementwise.hpp>

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
/// For tensors whose types are known at run time only: untyped_elementwise.hpp.

namespace tenon {

namespace detail {

/// What functions take as X&&: no untyped tensor, of which they would be preferred to those of untyped.
template <class X> inline constexpr bool is_forwarded = stands_for_a_tensor<X> && !UntypedTensor<X>;
template <class X>
concept ForwardedOperand = is_forwarded<X>;
template <class X>
concept ElementwiseOperand = ForwardedOperand<X> || Number<X>;
/// At least one tensor among numbers; beside what a mistaken call returned, anything.
template <class... X>
inline constexpr bool
    are_elementwise = ((ElementwiseOperand<X> && ...) && (is_operand<X> || ...)) || any_ill_shaped<X...>;
template <class... X>
concept ElementwiseOperands = are_elementwise<X...>;
template <class B, class A>
concept ElementwiseBeside = are_elementwise<A, B>;
/// What select chooses of: numbers alone, too.
template <class A, class B>
concept ElementwiseChoice = are_elementwise<A, B> ||(Number<A>&& Number<B>);

} // namespace detail

// Functions that are one instruction (tape/instructions.inl). They are written out, not made by a macro: a compiler that
// complains about a call shows each macro it went through. A test holds that there is one for each.

// Arithmetic of numbers.

/// a + b.
template <class A, detail::ElementwiseBeside<A> B> auto operator+(A&& a, B&& b) {
    return elementwise<opcode::add>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// a - b.
template <class A, detail::ElementwiseBeside<A> B> auto operator-(A&& a, B&& b) {
    return elementwise<opcode::subtract>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// a b, of each element; matmul multiplies matrices.
template <class A, detail::ElementwiseBeside<A> B> auto operator*(A&& a, B&& b) {
    return elementwise<opcode::multiply>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// a / b; of integers rounded towards zero.
template <class A, detail::ElementwiseBeside<A> B> auto operator/(A&& a, B&& b) {
    return elementwise<opcode::divide>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// What is left of a / b rounded down, as Python and NumPy have it: it has b's sign.
template <class A, detail::ElementwiseBeside<A> B> auto operator%(A&& a, B&& b) {
    return elementwise<opcode::mod>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// -x; of unsigned integers 2^bits - x.
template <Operand X> auto operator-(X&& x) { return elementwise<opcode::negative>(static_cast<X&&>(x)); }

template <class A, detail::ElementwiseBeside<A> B> auto add(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::add>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto subtract(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::subtract>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto multiply(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::multiply>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto divide(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::divide>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto mod(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::mod>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// What is left of a / b rounded towards zero, as C has it: it has a's sign.
template <class A, detail::ElementwiseBeside<A> B> auto fmod(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::fmod>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <detail::ForwardedOperand X> auto negative(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::negative>(static_cast<X&&>(x));
}
/// |x|. The least signed integer stays what it is.
template <detail::ForwardedOperand X> auto abs(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::abs>(static_cast<X&&>(x));
}
/// -1, 0 or 1; NaN stays.
template <detail::ForwardedOperand X> auto sign(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::sign>(static_cast<X&&>(x));
}
/// The largest integer that is not above x.
template <detail::ForwardedOperand X> auto floor(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::floor>(static_cast<X&&>(x));
}
/// The least integer that is not below x.
template <detail::ForwardedOperand X> auto ceil(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::ceil>(static_cast<X&&>(x));
}
/// To the nearest integer, halves to the even one.
template <detail::ForwardedOperand X> auto round(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::round>(static_cast<X&&>(x));
}
/// Another name of round.
template <detail::ForwardedOperand X> auto rint(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::round>(static_cast<X&&>(x));
}
/// x rounded towards zero.
template <detail::ForwardedOperand X> auto trunc(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::trunc>(static_cast<X&&>(x));
}
/// The smaller one; NaN where either is NaN.
template <class A, detail::ElementwiseBeside<A> B> auto minimum(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::minimum>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// The larger one; NaN where either is NaN.
template <class A, detail::ElementwiseBeside<A> B> auto maximum(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::maximum>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// a * b + c, rounded once where the processor can.
template <class A, class B, class C>
    requires detail::ElementwiseOperands<A, B, C>
auto fma(A&& a, B&& b, C&& c, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::fma>(static_cast<A&&>(a), static_cast<B&&>(b), static_cast<C&&>(c));
}

// Comparisons. The result is bool.

/// True where a is b; NaN equals nothing.
template <class A, detail::ElementwiseBeside<A> B> auto operator==(A&& a, B&& b) {
    return elementwise<opcode::equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// True where a is not b.
template <class A, detail::ElementwiseBeside<A> B> auto operator!=(A&& a, B&& b) {
    return elementwise<opcode::not_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// True where a is less than b.
template <class A, detail::ElementwiseBeside<A> B> auto operator<(A&& a, B&& b) {
    return elementwise<opcode::less>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// True where a is not more than b, and neither is NaN.
template <class A, detail::ElementwiseBeside<A> B> auto operator<=(A&& a, B&& b) {
    return elementwise<opcode::less_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// True where a is more than b.
template <class A, detail::ElementwiseBeside<A> B> auto operator>(A&& a, B&& b) {
    return elementwise<opcode::greater>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// True where a is not less than b, and neither is NaN.
template <class A, detail::ElementwiseBeside<A> B> auto operator>=(A&& a, B&& b) {
    return elementwise<opcode::greater_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto equal(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto not_equal(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::not_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto less(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::less>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto less_equal(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::less_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto greater(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::greater>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto greater_equal(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::greater_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}

/// True where x is NaN.
template <detail::ForwardedOperand X> auto is_nan(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::is_nan>(static_cast<X&&>(x));
}
/// True where x is infinite, of either sign.
template <detail::ForwardedOperand X> auto is_inf(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::is_inf>(static_cast<X&&>(x));
}
/// True where x is neither infinite nor NaN.
template <detail::ForwardedOperand X> auto is_finite(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::is_finite>(static_cast<X&&>(x));
}

// Truth values. Both operands are always computed.

/// True where both are.
template <class A, detail::ElementwiseBeside<A> B> auto operator&&(A&& a, B&& b) {
    return elementwise<opcode::logical_and>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// True where one is, or both.
template <class A, detail::ElementwiseBeside<A> B> auto operator||(A&& a, B&& b) {
    return elementwise<opcode::logical_or>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// True where x is false.
template <Operand X> auto operator!(X&& x) { return elementwise<opcode::logical_not>(static_cast<X&&>(x)); }
template <class A, detail::ElementwiseBeside<A> B> auto logical_and(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::logical_and>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto logical_or(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::logical_or>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// True where one is, and not both.
template <class A, detail::ElementwiseBeside<A> B> auto logical_xor(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::logical_xor>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <detail::ForwardedOperand X> auto logical_not(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::logical_not>(static_cast<X&&>(x));
}

// Bits of integers and bools.

/// Each bit that both have.
template <class A, detail::ElementwiseBeside<A> B> auto operator&(A&& a, B&& b) {
    return elementwise<opcode::bit_and>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// Each bit that one has, or both.
template <class A, detail::ElementwiseBeside<A> B> auto operator|(A&& a, B&& b) {
    return elementwise<opcode::bit_or>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// Each bit that one has, and not both.
template <class A, detail::ElementwiseBeside<A> B> auto operator^(A&& a, B&& b) {
    return elementwise<opcode::bit_xor>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// Each bit that x has not.
template <Operand X> auto operator~(X&& x) { return elementwise<opcode::bit_not>(static_cast<X&&>(x)); }
/// The bits of a moved up by b; by the width or more, or by less than 0, all are shifted out.
template <detail::ElementwiseOperand A, detail::ElementwiseBeside<A> B> auto operator<<(A&& a, B&& b) {
    return elementwise<opcode::shift_left>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// The bits of a moved down by b; signed numbers keep their sign.
template <detail::ElementwiseOperand A, detail::ElementwiseBeside<A> B> auto operator>>(A&& a, B&& b) {
    return elementwise<opcode::shift_right>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto bit_and(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::bit_and>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto bit_or(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::bit_or>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto bit_xor(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::bit_xor>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <detail::ForwardedOperand X> auto bit_not(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::bit_not>(static_cast<X&&>(x));
}
template <class A, detail::ElementwiseBeside<A> B> auto shift_left(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::shift_left>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, detail::ElementwiseBeside<A> B> auto shift_right(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::shift_right>(static_cast<A&&>(a), static_cast<B&&>(b));
}

/// a where the condition (bool) is true, else b. No gradient, so no NaN either, comes from the other one's value. Of two numbers
/// it has the type that C++ gives to their sum: select(x > 0, 1.0f, -1.0f) is float.
template <detail::ForwardedOperand P, class A, class B>
    requires detail::ElementwiseChoice<A, B>
auto select(P&& condition, A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::select>(static_cast<P&&>(condition), static_cast<A&&>(a), static_cast<B&&>(b));
}
/// NumPy's name for select.
template <detail::ForwardedOperand P, class A, class B>
    requires detail::ElementwiseChoice<A, B>
auto where(P&& condition, A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::select>(static_cast<P&&>(condition), static_cast<A&&>(a), static_cast<B&&>(b));
}

// Real functions.

/// e^x.
template <detail::ForwardedOperand X> auto exp(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::exp>(static_cast<X&&>(x));
}
/// 2^x.
template <detail::ForwardedOperand X> auto exp2(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::exp2>(static_cast<X&&>(x));
}
/// e^x - 1, exact near 0.
template <detail::ForwardedOperand X> auto expm1(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::expm1>(static_cast<X&&>(x));
}
/// The natural logarithm: -infinity at 0, NaN below.
template <detail::ForwardedOperand X> auto log(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::log>(static_cast<X&&>(x));
}
/// The logarithm of base 2, as log.
template <detail::ForwardedOperand X> auto log2(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::log2>(static_cast<X&&>(x));
}
/// The logarithm of base 10, as log.
template <detail::ForwardedOperand X> auto log10(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::log10>(static_cast<X&&>(x));
}
/// log(1 + x), exact near 0.
template <detail::ForwardedOperand X> auto log1p(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::log1p>(static_cast<X&&>(x));
}
/// The square root; NaN below 0.
template <detail::ForwardedOperand X> auto sqrt(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::sqrt>(static_cast<X&&>(x));
}
/// 1 / sqrt(x).
template <detail::ForwardedOperand X> auto rsqrt(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::rsqrt>(static_cast<X&&>(x));
}
/// The cube root, of either sign.
template <detail::ForwardedOperand X> auto cbrt(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::cbrt>(static_cast<X&&>(x));
}
/// 1 / x.
template <detail::ForwardedOperand X> auto reciprocal(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::reciprocal>(static_cast<X&&>(x));
}
/// The sine of x radians.
template <detail::ForwardedOperand X> auto sin(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::sin>(static_cast<X&&>(x));
}
/// The cosine of x radians.
template <detail::ForwardedOperand X> auto cos(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::cos>(static_cast<X&&>(x));
}
/// The tangent of x radians.
template <detail::ForwardedOperand X> auto tan(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::tan>(static_cast<X&&>(x));
}
/// The angle in [-pi/2, pi/2] whose sine is x; NaN beyond -1 and 1.
template <detail::ForwardedOperand X> auto asin(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::asin>(static_cast<X&&>(x));
}
/// The angle in [0, pi] whose cosine is x; NaN beyond -1 and 1.
template <detail::ForwardedOperand X> auto acos(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::acos>(static_cast<X&&>(x));
}
/// The angle in (-pi/2, pi/2) whose tangent is x.
template <detail::ForwardedOperand X> auto atan(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::atan>(static_cast<X&&>(x));
}
/// (e^x - e^-x) / 2.
template <detail::ForwardedOperand X> auto sinh(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::sinh>(static_cast<X&&>(x));
}
/// (e^x + e^-x) / 2.
template <detail::ForwardedOperand X> auto cosh(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::cosh>(static_cast<X&&>(x));
}
/// (e^x - e^-x) / (e^x + e^-x).
template <detail::ForwardedOperand X> auto tanh(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::tanh>(static_cast<X&&>(x));
}
/// The y whose sinh is x.
template <detail::ForwardedOperand X> auto asinh(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::asinh>(static_cast<X&&>(x));
}
/// The y >= 0 whose cosh is x; NaN below 1.
template <detail::ForwardedOperand X> auto acosh(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::acosh>(static_cast<X&&>(x));
}
/// The y whose tanh is x; NaN beyond -1 and 1.
template <detail::ForwardedOperand X> auto atanh(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::atanh>(static_cast<X&&>(x));
}
/// The angle of the point (x = b, y = a), in (-pi, pi].
template <class A, detail::ElementwiseBeside<A> B> auto atan2(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::atan2>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// sqrt(a^2 + b^2) without overflow.
template <class A, detail::ElementwiseBeside<A> B> auto hypot(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::hypot>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// a^b as C has it: NaN for negative a and fractional b. The gradient in b is 0 where a <= 0. Of integers by multiplications, which wrap
/// around; where b is below 0 what is left of 1 / a^-b: 1 of 1, 1 or -1 of -1, and 0 of all others, also of 0.
template <class A, detail::ElementwiseBeside<A> B> auto pow(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::pow>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.
template <detail::ForwardedOperand X> auto erf(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::erf>(static_cast<X&&>(x));
}
/// 1 - erf(x), exact for large x.
template <detail::ForwardedOperand X> auto erfc(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::erfc>(static_cast<X&&>(x));
}
/// The x whose erf is y: infinite at -1 and 1, NaN beyond.
template <detail::ForwardedOperand X> auto erfinv(X&& y, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::erfinv>(static_cast<X&&>(y));
}
/// The x whose erfc is y, exact for small y: infinite at 0 and 2, NaN beyond.
template <detail::ForwardedOperand X> auto erfcinv(X&& y, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::erfcinv>(static_cast<X&&>(y));
}
/// log |gamma(x)|.
template <detail::ForwardedOperand X> auto lgamma(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::lgamma>(static_cast<X&&>(x));
}
/// The slope of lgamma.
template <detail::ForwardedOperand X> auto digamma(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::digamma>(static_cast<X&&>(x));
}
/// The n-th derivative of digamma at x, itself for n = 0; NaN where n is not 0, 1, 2, ... At 0, -1, -2, ... it is
/// infinity for odd n; for even n NaN, but at 0 the limit from the side of its sign. No gradient flows to n.
template <class N, detail::ElementwiseBeside<N> X> auto polygamma(N&& n, X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::polygamma>(static_cast<N&&>(n), static_cast<X&&>(x));
}
/// 1 / (1 + e^-x).
template <detail::ForwardedOperand X> auto sigmoid(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::sigmoid>(static_cast<X&&>(x));
}
/// log(1 + e^x), exact for all x.
template <detail::ForwardedOperand X> auto softplus(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::softplus>(static_cast<X&&>(x));
}
/// max(x, 0); NaN stays.
template <detail::ForwardedOperand X> auto relu(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise<opcode::relu>(static_cast<X&&>(x));
}

} // namespace tenon
