#pragma once

#include <tenon/core/config.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>

/// The functions of ops/elementwise/formulas.hpp and ops/elementwise/activations.hpp on tensors whose types are known at run time only. They are the
/// same formulas; a mistake throws invalid_argument_error with their rules' words.
///
///     tn::any_tensor y = tn::untyped::gelu(x);
///     tn::any_tensor z = tn::untyped::clip(y, -1, 1);

namespace tenon::untyped {

any_tensor squared_difference(const tensor_or_number& a, const tensor_or_number& b, called_from here = caller());
any_tensor floor_divide(const tensor_or_number& a, const tensor_or_number& b, called_from here = caller());
any_tensor divide_no_nan(const tensor_or_number& a, const tensor_or_number& b, called_from here = caller());
any_tensor reciprocal_no_nan(const any_tensor& x, called_from here = caller());
any_tensor multiply_no_nan(const tensor_or_number& a, const tensor_or_number& b, called_from here = caller());
any_tensor clip(const tensor_or_number& x, const tensor_or_number& low, const tensor_or_number& high,
                called_from here = caller());
any_tensor lerp(const tensor_or_number& a, const tensor_or_number& b, const tensor_or_number& t,
                called_from here = caller());
any_tensor xlogy(const tensor_or_number& x, const tensor_or_number& y, called_from here = caller());
any_tensor xlog1py(const tensor_or_number& x, const tensor_or_number& y, called_from here = caller());
any_tensor xdivy(const tensor_or_number& x, const tensor_or_number& y, called_from here = caller());
any_tensor logaddexp(const tensor_or_number& a, const tensor_or_number& b, called_from here = caller());
any_tensor logaddexp2(const tensor_or_number& a, const tensor_or_number& b, called_from here = caller());
any_tensor copysign(const tensor_or_number& a, const tensor_or_number& b, called_from here = caller());
any_tensor heaviside(const tensor_or_number& x, const tensor_or_number& at_zero, called_from here = caller());
any_tensor fmin(const tensor_or_number& a, const tensor_or_number& b, called_from here = caller());
any_tensor fmax(const tensor_or_number& a, const tensor_or_number& b, called_from here = caller());
any_tensor nan_to_num(const any_tensor& x, double nan = 0, called_from here = caller());
any_tensor sinc(const any_tensor& x, called_from here = caller());
any_tensor deg2rad(const any_tensor& x, called_from here = caller());
any_tensor rad2deg(const any_tensor& x, called_from here = caller());
any_tensor logit(const any_tensor& p, called_from here = caller());
any_tensor ndtr(const any_tensor& x, called_from here = caller());
any_tensor ndtri(const any_tensor& p, called_from here = caller());
any_tensor trigamma(const any_tensor& x, called_from here = caller());
any_tensor betaln(const tensor_or_number& a, const tensor_or_number& b, called_from here = caller());
any_tensor signbit(const any_tensor& x, called_from here = caller());
any_tensor is_close(const tensor_or_number& a, const tensor_or_number& b, double rtol = 1e-5, double atol = 1e-8,
                    called_from here = caller());

any_tensor relu6(const any_tensor& x, called_from here = caller());
any_tensor leaky_relu(const any_tensor& x, const tensor_or_number& slope = 0.01, called_from here = caller());
any_tensor prelu(const any_tensor& x, const any_tensor& slope, called_from here = caller());
any_tensor elu(const any_tensor& x, const tensor_or_number& alpha = 1.0, called_from here = caller());
any_tensor selu(const any_tensor& x, called_from here = caller());
any_tensor celu(const any_tensor& x, const tensor_or_number& alpha = 1.0, called_from here = caller());
any_tensor gelu(const any_tensor& x, called_from here = caller());
any_tensor gelu_tanh(const any_tensor& x, called_from here = caller());
any_tensor silu(const any_tensor& x, called_from here = caller());
any_tensor swish(const any_tensor& x, called_from here = caller());
any_tensor hard_sigmoid(const any_tensor& x, called_from here = caller());
any_tensor hard_swish(const any_tensor& x, called_from here = caller());
any_tensor hard_tanh(const any_tensor& x, called_from here = caller());
any_tensor softsign(const any_tensor& x, called_from here = caller());
any_tensor mish(const any_tensor& x, called_from here = caller());
any_tensor log_sigmoid(const any_tensor& x, called_from here = caller());
any_tensor tanh_shrink(const any_tensor& x, called_from here = caller());
any_tensor soft_shrink(const any_tensor& x, const tensor_or_number& width = 0.5, called_from here = caller());
any_tensor hard_shrink(const any_tensor& x, const tensor_or_number& width = 0.5, called_from here = caller());
any_tensor threshold(const any_tensor& x, const tensor_or_number& limit, const tensor_or_number& value,
                     called_from here = caller());

} // namespace tenon::untyped

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_untyped_formulas)

#include <limits>

#include <tenon/core/error.hpp>
#include <tenon/ops/elementwise/activations.hpp>

namespace tenon::detail {

/// What a formula computes with where types are known at run time only: each instruction adds a node.
namespace loose {

struct value {
    using element_type = double; // the branch that a formula takes for floats
    any_tensor t;
};

template <class X> inline constexpr bool is_value = std::is_same_v<X, value>;
template <class... X>
concept SomeValue = (is_value<X> || ...);

inline const any_tensor& tensor_of(const value& x, const any_tensor&) { return x.t; }
template <std::uint64_t Bits> any_tensor tensor_of(number_constant<Bits>, const any_tensor& beside) {
    return scalar_constant(std::bit_cast<double>(Bits), beside.element());
}
inline any_tensor tensor_of(double x, const any_tensor& beside) { return scalar_constant(x, beside.element()); }
template <class X, class... Rest> const any_tensor& first_of(const X& x, const Rest&... rest) {
    if constexpr (is_value<X>) return x.t;
    else return first_of(rest...);
}

#define TENON_UNARY(NAME, ...) \
    inline value NAME(const value& x) { return {untyped::NAME(x.t)}; }
#define TENON_BINARY(NAME, ...)                                                 \
    template <class A, class B>                                                 \
        requires SomeValue<A, B> value NAME(const A& a, const B& b) {           \
            const any_tensor& beside = first_of(a, b);                          \
            return {untyped::NAME(tensor_of(a, beside), tensor_of(b, beside))}; \
        }
#define TENON_TERNARY(NAME, GROUP, ...)                                                               \
    template <class A, class B, class C>                                                              \
        requires SomeValue<A, B, C> value NAME(const A& a, const B& b, const C& c) {                  \
            constexpr bool choice = opcode_group::GROUP == opcode_group::choice;                      \
            const any_tensor& beside = [&]() -> const any_tensor& {                                   \
                if constexpr (choice) return first_of(b, c);                                          \
                else return first_of(a, b, c);                                                        \
            }();                                                                                      \
            return {untyped::NAME(tensor_of(a, beside), tensor_of(b, beside), tensor_of(c, beside))}; \
        }
#include <tenon/tape/instructions.inl>

inline value operator-(const value& x) { return negative(x); }
inline value operator!(const value& x) { return logical_not(x); }
#define TENON_LOOSE_OPERATOR(SIGN, NAME) \
    template <class A, class B>          \
    requires SomeValue<A, B> value operator SIGN(const A& a, const B& b) { return NAME(a, b); }
TENON_LOOSE_OPERATOR(+, add)
TENON_LOOSE_OPERATOR(-, subtract)
TENON_LOOSE_OPERATOR(*, multiply)
TENON_LOOSE_OPERATOR(/, divide)
TENON_LOOSE_OPERATOR(%, mod)
TENON_LOOSE_OPERATOR(==, equal)
TENON_LOOSE_OPERATOR(<, less)
TENON_LOOSE_OPERATOR(<=, less_equal)
TENON_LOOSE_OPERATOR(>, greater)
TENON_LOOSE_OPERATOR(&&, logical_and)
TENON_LOOSE_OPERATOR(||, logical_or)
#undef TENON_LOOSE_OPERATOR

/// A formula within a formula.
template <class Rule, class F, class... X>
    requires SomeValue<std::remove_cvref_t<X>...> value elementwise_composite(F f, X&&... x) { return f(x...); }

using operand = untyped::tensor_or_number;

/// Operands of which one at least is a tensor, as tensors of its element type.
template <class... X> std::vector<any_tensor> tensors_of(const char* who, const X&... x) {
    const operand all[] = {operand(x)...};
    const any_tensor* beside = nullptr;
    for (const operand& o : all)
        if (!beside) beside = o.tensor();
    if (!beside) throw invalid_argument_error(std::string(who) + ": one of the operands must be a tensor");
    std::vector<any_tensor> tensors;
    for (const operand& o : all)
        tensors.push_back(o.tensor() ? *o.tensor() : scalar_constant(o.number(), beside->element()));
    return tensors;
}

/// The formula on such operands, after its rule has judged them.
template <class Rule, class F, class... X> any_tensor run(const F& f, const X&... x) {
    const std::vector<any_tensor> tensors = tensors_of(Rule::name, x...);
    check_operands<Rule>(tensors);
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return f(value{tensors[I]}...).t; }
    (std::index_sequence_for<X...>{});
}

} // namespace loose
} // namespace tenon::detail

namespace tenon::untyped {

using loose_operand = const tensor_or_number&;
// A twin of one operand, of two, of three: the typed function's rule and formula.
#define TENON_TWIN_1(NAME)                                                    \
    TENON_INLINE any_tensor NAME(const any_tensor& x, called_from here) {     \
        const making made(here);                                              \
        return detail::loose::run<detail::NAME##_rule>(detail::NAME##_of, x); \
    }
#define TENON_TWIN_2(NAME)                                                             \
    TENON_INLINE any_tensor NAME(loose_operand a, loose_operand b, called_from here) { \
        const making made(here);                                                       \
        return detail::loose::run<detail::NAME##_rule>(detail::NAME##_of, a, b);       \
    }
#define TENON_TWIN_3(NAME)                                                                              \
    TENON_INLINE any_tensor NAME(loose_operand a, loose_operand b, loose_operand c, called_from here) { \
        const making made(here);                                                                        \
        return detail::loose::run<detail::NAME##_rule>(detail::NAME##_of, a, b, c);                     \
    }
#define TENON_TWIN_WITH(NAME)                                                                 \
    TENON_INLINE any_tensor NAME(const any_tensor& x, loose_operand with, called_from here) { \
        const making made(here);                                                              \
        return detail::loose::run<detail::NAME##_rule>(detail::NAME##_of, x, with);           \
    }

TENON_INLINE any_tensor fma(loose_operand a, loose_operand b, loose_operand c, called_from here) {
    return detail::add_instruction(opcode::fma, detail::loose::tensors_of("fma", a, b, c), element_type::none, here);
}
TENON_INLINE any_tensor select(const any_tensor& condition, loose_operand a, loose_operand b, called_from here) {
    const making made(here);
    const std::vector<any_tensor> values = detail::loose::tensors_of("select", a, b);
    return select(condition, values[0], values[1]);
}
TENON_INLINE any_tensor squared_difference(loose_operand a, loose_operand b, called_from here) {
    const making made(here);
    const auto square = [](const auto& x, const auto& y) { return detail::square_of(x - y); };
    return detail::loose::run<detail::squared_difference_rule>(square, a, b);
}
TENON_INLINE any_tensor floor_divide(loose_operand a, loose_operand b, called_from here) {
    const making made(here);
    const auto divided = [](const detail::loose::value& x, const detail::loose::value& y) {
        return is_floating(x.t.element()) ? detail::floor_divide_of(x, y) : detail::whole_floor_divide_of(x, y);
    };
    return detail::loose::run<detail::floor_divide_rule>(divided, a, b);
}
TENON_TWIN_2(divide_no_nan)
TENON_INLINE any_tensor reciprocal_no_nan(const any_tensor& x, called_from here) { return divide_no_nan(1, x, here); }
TENON_TWIN_2(multiply_no_nan)
TENON_TWIN_3(clip)
TENON_TWIN_3(lerp)
TENON_TWIN_2(xlogy)
TENON_TWIN_2(xlog1py)
TENON_TWIN_2(xdivy)
TENON_TWIN_2(logaddexp)
TENON_TWIN_2(logaddexp2)
TENON_TWIN_2(copysign)
TENON_TWIN_2(heaviside)
TENON_TWIN_2(fmin)
TENON_TWIN_2(fmax)
TENON_INLINE any_tensor nan_to_num(const any_tensor& x, double nan, called_from here) {
    const making made(here);
    const auto finite = [nan](const detail::loose::value& v) {
        const element_type e = v.t.element();
        const double most = e == element_type::float64    ? std::numeric_limits<double>::max()
                            : e == element_type::float16  ? static_cast<double>(std::numeric_limits<half>::max())
                            : e == element_type::bfloat16 ? static_cast<double>(std::numeric_limits<bfloat16>::max())
                                                          : static_cast<double>(std::numeric_limits<float>::max());
        return select(is_nan(v), nan, minimum(maximum(v, -most), most));
    };
    return detail::loose::run<detail::nan_to_num_rule>(finite, x);
}
TENON_TWIN_1(sinc)
TENON_TWIN_1(deg2rad)
TENON_TWIN_1(rad2deg)
TENON_TWIN_1(logit)
TENON_TWIN_1(ndtr)
TENON_TWIN_1(ndtri)
TENON_INLINE any_tensor trigamma(const any_tensor& x, called_from here) { return polygamma(1, x, here); }
TENON_TWIN_2(betaln)
TENON_TWIN_1(signbit)
TENON_INLINE any_tensor is_close(loose_operand a, loose_operand b, double rtol, double atol, called_from here) {
    const making made(here);
    return detail::loose::run<detail::is_close_rule>(detail::is_close_of{rtol, atol}, a, b);
}

TENON_TWIN_1(relu6)
TENON_TWIN_WITH(leaky_relu)
TENON_INLINE any_tensor prelu(const any_tensor& x, const any_tensor& slope, called_from here) {
    return leaky_relu(x, slope, here);
}
TENON_TWIN_WITH(elu)
TENON_TWIN_1(selu)
TENON_TWIN_WITH(celu)
TENON_TWIN_1(gelu)
TENON_TWIN_1(gelu_tanh)
TENON_TWIN_1(silu)
TENON_INLINE any_tensor swish(const any_tensor& x, called_from here) { return silu(x, here); }
TENON_TWIN_1(hard_sigmoid)
TENON_TWIN_1(hard_swish)
TENON_INLINE any_tensor hard_tanh(const any_tensor& x, called_from here) { return clip(x, -1, 1, here); }
TENON_TWIN_1(softsign)
TENON_TWIN_1(mish)
TENON_TWIN_1(log_sigmoid)
TENON_TWIN_1(tanh_shrink)
TENON_TWIN_WITH(soft_shrink)
TENON_TWIN_WITH(hard_shrink)
TENON_INLINE any_tensor threshold(const any_tensor& x, loose_operand limit, loose_operand value, called_from here) {
    const making made(here);
    return detail::loose::run<detail::threshold_rule>(detail::threshold_of, x, limit, value);
}

#undef TENON_TWIN_1
#undef TENON_TWIN_2
#undef TENON_TWIN_3
#undef TENON_TWIN_WITH

} // namespace tenon::untyped

#endif
