#pragma once

#include <limits>

// First: compilers tell the way to these in each complaint.
#include <tenon/core/check.hpp>
#include <tenon/expr/tree.hpp>

#include <tenon/ops/elementwise/elementwise.hpp>

/// Functions of each element that are formulas of others. They fuse as what they are made of does.

namespace tenon {

namespace detail {

// Numbers in the functions below, exact in double.
template <std::uint64_t Bits> inline constexpr number_constant<Bits> number_of{};
constexpr std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
inline constexpr auto zero = number_of<bits_of(0.0)>;
inline constexpr auto one = number_of<bits_of(1.0)>;
inline constexpr auto minus_one = number_of<bits_of(-1.0)>;
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

inline constexpr auto square_of = [](auto x) { return x * x; };
inline constexpr auto squared_difference_of = [](auto a, auto b) {
    return elementwise_composite<square_rule>(square_of, a - b);
};
inline constexpr auto lerp_of = [](auto a, auto b, auto t) { return t * (b - a) + a; };
inline constexpr auto clip_of = [](auto x, auto low, auto high) { return minimum(maximum(x, low), high); };
// Of integers: the quotient towards zero, less one where what is left has not b's sign; a - a % b may wrap around.
inline constexpr auto whole_floor_divide_of = [](auto a, auto b) {
    return select((b < zero && a - a / b * b > zero) || (b > zero && a - a / b * b < zero), a / b - one, a / b);
};
// (a - fmod(a, b)) is a multiple of b up to rounding, so 1 // 0.1 is 9; rounded down it is one less where a mod b is another remainder.
inline constexpr auto floor_divide_of = [](auto a, auto b) {
    if constexpr (std::is_integral_v<typename decltype(a)::element_type>) return whole_floor_divide_of(a, b);
    else
        return select(b == zero, a / b,
                      select(a % b == fmod(a, b), round((a - fmod(a, b)) / b), round((a - fmod(a, b)) / b) - one));
};
inline constexpr auto divide_no_nan_of = [](auto a, auto b) {
    return select(b == zero, zero, a / select(b == zero, one, b));
};
// Where the factor that makes them 0 is 0, the slope in it is the other factor, wherever that is finite.
inline constexpr auto multiply_no_nan_of = [](auto a, auto b) {
    return b * select(b == zero && !is_finite(a), zero, a);
};
inline constexpr auto xlogy_of = [](auto x, auto y) {
    return x * log(select(x == zero && !(y > zero && is_finite(y)), one, y));
};
inline constexpr auto xlog1py_of = [](auto x, auto y) {
    return x * log1p(select(x == zero && !(y > minus_one && is_finite(y)), zero, y));
};
inline constexpr auto xdivy_of = [](auto x, auto y) {
    return select(x == zero && !(abs(y) > zero), zero, x / select(x == zero && !(abs(y) > zero), one, y));
};
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
// Near 0, where sin(y) / y loses the digits of which its slopes are made, by its series: s is y * y.
inline constexpr auto sinc_series = [](auto s) {
    return ((((number_of<bits_of(-1 / 39916800.0)> * s + number_of<bits_of(1 / 362880.0)>)*s -
              number_of<bits_of(1 / 5040.0)>)*s +
             number_of<bits_of(1 / 120.0)>)*s -
            number_of<bits_of(1 / 6.0)>)*s +
           one;
};
inline constexpr auto sinc_of_angle = [](auto y) {
    const auto near = [=] { return abs(y) < number_of<bits_of(0.25)>; };
    return select(near(), elementwise_composite<sinc_rule>(sinc_series, select(near(), y * y, zero)),
                  sin(y) / select(near(), one, y));
};
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
// At 0 lgamma(a + b) may be as infinite as they are, and where one of them is infinite the sum is.
inline constexpr auto betaln_of = [](auto a, auto b) {
    const auto none = [=] { return a == zero || b == zero; };
    return select(is_inf(maximum(a, b)) && !none(), -(maximum(a, b) * minimum(a, b)),
                  lgamma(a) + lgamma(b) - select(none(), zero, lgamma(a + b)));
};

inline constexpr auto minus_root_of_half = number_of<bits_of(-0.70710678118654752440)>;
inline constexpr auto minus_root_of_two = number_of<bits_of(-1.41421356237309504880)>;
inline constexpr auto ndtr_of = [](auto x) { return half_of_one * erfc(minus_root_of_half * x); };
inline constexpr auto ndtri_of = [](auto p) { return minus_root_of_two * erfcinv(two * p); };
struct is_close_of {
    double rtol, atol;
    auto operator()(auto a, auto b) const { return a == b || abs(a - b) <= rtol * abs(b) + atol; }
};

template <int N> struct power_of {
    template <class X> auto operator()(X x) const {
        if constexpr (N < 0) return one / power_of<-N>{}(x);
        else if constexpr (N == 1) return x * one;
        else if constexpr (N % 2 == 0) return elementwise_composite<pow_rule>(square_of, power_of<N / 2>{}(x));
        else return x * power_of<N - 1>{}(x);
    }
};

} // namespace detail

/// x * x.
template <detail::ForwardedOperand X> auto square(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::square_rule>(detail::square_of, static_cast<X&&>(x));
}
/// x^N for a whole number N, by multiplications; for N below 0 one divided by x^-N. Also of integers, which wrap around.
template <int N, detail::ForwardedOperand X> auto pow(X&& x, called_from here = caller()) {
    const making made(here);
    static_assert(N != 0, "tenon::pow<N>(x): N is not 0; ones_like(x) is x^0");
    if constexpr (N == 0) return ill_shaped{};
    else return elementwise_composite<detail::pow_rule>(detail::power_of<N>{}, static_cast<X&&>(x));
}
/// (a - b)^2.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto squared_difference(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::squared_difference_rule>(detail::squared_difference_of, static_cast<A&&>(a),
                                                                  static_cast<B&&>(b));
}
/// a / b rounded down, so that b * floor_divide(a, b) + a % b is a.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto floor_divide(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::floor_divide_rule>(detail::floor_divide_of, static_cast<A&&>(a),
                                                            static_cast<B&&>(b));
}
/// a / b, but 0 where b is 0.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto divide_no_nan(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::divide_no_nan_rule>(detail::divide_no_nan_of, static_cast<A&&>(a),
                                                             static_cast<B&&>(b));
}
/// 1 / x, but 0 where x is 0.
template <detail::ForwardedOperand X> auto reciprocal_no_nan(X&& x, called_from here = caller()) {
    const making made(here);
    return divide_no_nan(detail::one, static_cast<X&&>(x));
}
/// a * b, but 0 where b is 0, also of an infinity or NaN.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto multiply_no_nan(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::multiply_no_nan_rule>(detail::multiply_no_nan_of, static_cast<A&&>(a),
                                                               static_cast<B&&>(b));
}
/// x, but at least low and at most high: numbers or tensors.
template <class X, class L, class H>
    requires detail::ElementwiseOperands<X, L, H>
auto clip(X&& x, L&& low, H&& high, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::clip_rule>(detail::clip_of, static_cast<X&&>(x), static_cast<L&&>(low),
                                                    static_cast<H&&>(high));
}
/// a + t * (b - a): a at t = 0, b at t = 1.
template <class A, class B, class T>
    requires detail::ElementwiseOperands<A, B, T>
auto lerp(A&& a, B&& b, T&& t, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::lerp_rule>(detail::lerp_of, static_cast<A&&>(a), static_cast<B&&>(b),
                                                    static_cast<T&&>(t));
}
/// x log(y), but 0 where x is 0.
template <class X, class Y>
    requires detail::ElementwiseOperands<X, Y>
auto xlogy(X&& x, Y&& y, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::xlogy_rule>(detail::xlogy_of, static_cast<X&&>(x), static_cast<Y&&>(y));
}
/// x log(1 + y), but 0 where x is 0.
template <class X, class Y>
    requires detail::ElementwiseOperands<X, Y>
auto xlog1py(X&& x, Y&& y, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::xlog1py_rule>(detail::xlog1py_of, static_cast<X&&>(x), static_cast<Y&&>(y));
}
/// x / y, but 0 where x is 0.
template <class X, class Y>
    requires detail::ElementwiseOperands<X, Y>
auto xdivy(X&& x, Y&& y, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::xdivy_rule>(detail::xdivy_of, static_cast<X&&>(x), static_cast<Y&&>(y));
}
/// log(e^a + e^b) without overflow.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto logaddexp(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::logaddexp_rule>(detail::logaddexp_of, static_cast<A&&>(a),
                                                         static_cast<B&&>(b));
}
/// log2(2^a + 2^b) without overflow.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto logaddexp2(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::logaddexp2_rule>(detail::logaddexp2_of, static_cast<A&&>(a),
                                                          static_cast<B&&>(b));
}
/// The magnitude of a with the sign of b, also that of -0. No gradient flows to b.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto copysign(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::copysign_rule>(detail::copysign_of, static_cast<A&&>(a), static_cast<B&&>(b));
}
/// 0 where x is negative, 1 where it is positive, `at_zero` where it is 0; NaN stays.
template <class X, class H>
    requires detail::ElementwiseOperands<X, H>
auto heaviside(X&& x, H&& at_zero, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::heaviside_rule>(detail::heaviside_of, static_cast<X&&>(x),
                                                         static_cast<H&&>(at_zero));
}
/// The lesser of two numbers; where one is NaN the other, as C has it.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto fmin(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::fmin_rule>(detail::fmin_of, static_cast<A&&>(a), static_cast<B&&>(b));
}
/// The larger of two numbers; where one is NaN the other, as C has it.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto fmax(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::fmax_rule>(detail::fmax_of, static_cast<A&&>(a), static_cast<B&&>(b));
}
/// x, but `nan` where it is NaN, and the largest finite numbers in place of infinities.
template <detail::ForwardedOperand X> auto nan_to_num(X&& x, double nan = 0, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::nan_to_num_rule>(detail::nan_to_num_of{nan}, static_cast<X&&>(x));
}
/// sin(pi x) / (pi x), 1 at 0.
template <detail::ForwardedOperand X> auto sinc(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::sinc_rule>(detail::sinc_of, static_cast<X&&>(x));
}
/// Degrees as radians.
template <detail::ForwardedOperand X> auto deg2rad(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::deg2rad_rule>(detail::deg2rad_of, static_cast<X&&>(x));
}
/// Radians as degrees.
template <detail::ForwardedOperand X> auto rad2deg(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::rad2deg_rule>(detail::rad2deg_of, static_cast<X&&>(x));
}
/// log(p / (1 - p)), the inverse of sigmoid.
template <detail::ForwardedOperand X> auto logit(X&& p, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::logit_rule>(detail::logit_of, static_cast<X&&>(p));
}
/// The normal distribution's probability of less than x, exact where it is small.
template <detail::ForwardedOperand X> auto ndtr(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::ndtr_rule>(detail::ndtr_of, static_cast<X&&>(x));
}
/// The inverse of ndtr: infinite at 0 and 1, NaN beyond.
template <detail::ForwardedOperand X> auto ndtri(X&& p, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::ndtri_rule>(detail::ndtri_of, static_cast<X&&>(p));
}
/// The slope of digamma.
template <detail::ForwardedOperand X> auto trigamma(X&& x, called_from here = caller()) {
    const making made(here);
    return polygamma(detail::one, static_cast<X&&>(x));
}
/// log |beta(a, b)|, as exact as the largest of the three lgamma that it is the sum of.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto betaln(A&& a, B&& b, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::betaln_rule>(detail::betaln_of, static_cast<A&&>(a), static_cast<B&&>(b));
}
/// True where x is negative, or -0.
template <detail::ForwardedOperand X> auto signbit(X&& x, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::signbit_rule>(detail::signbit_of, static_cast<X&&>(x));
}
/// True where |a - b| <= atol + rtol |b|; equal infinities are close, NaN to nothing.
template <class A, class B>
    requires detail::ElementwiseOperands<A, B>
auto is_close(A&& a, B&& b, double rtol = 1e-5, double atol = 1e-8, called_from here = caller()) {
    const making made(here);
    return elementwise_composite<detail::is_close_rule>(detail::is_close_of{rtol, atol}, static_cast<A&&>(a),
                                                        static_cast<B&&>(b));
}

} // namespace tenon
