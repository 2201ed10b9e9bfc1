#pragma once

#include <utility>

#include <tenon/expr/tree.hpp>
#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/axes.hpp>

/// Reductions: many elements combined into one, over any axes.
///
///     auto loss  = tn::mean(squared);                    // [batch, 10] -> []
///     auto rows  = tn::sum<1>(x);                        // [batch, 10] -> [batch]
///     auto peak  = tn::max<-1>(x, tn::keepdims);         // [batch, 10] -> [batch, 1]
///     auto label = tn::argmax<1>(logits);                // int64 [batch]
///
/// Axes are template arguments, counted from the end when negative; without axes everything is reduced. Floats are added up in blocks whose
/// sums are added in double; half and bfloat16 in float; integers in their own type, wrapping around. The order depends on the sizes and on what
/// else a step computes of the same elements, never on the number of threads. NaN goes through min and max. Over an axis of size 0 sums are 0, products 1, means NaN; min, max and the
/// arg versions are errors.

namespace tenon {

/// Axes, and whether they are kept with size 1. No axes: all.
struct reduction_attributes {
    index_list axes;
    bool keepdims = false;
};

namespace detail {

/// The elements a reduction accepts.
enum class reduces { numbers, real_numbers, truth, anything };

template <class A>
constexpr inferred reduction_rule(const A& a, type_list in, reduces what, element_type result, bool needs_elements) {
    if (in.size() != 1) return fault::expects_more_operands;
    const element_type e = in[0].element;
    if (what == reduces::numbers && !is_numeric(e)) return fault::element_type_must_be_numeric;
    if (what == reduces::real_numbers && !is_floating(e)) return fault::element_type_must_be_floating;
    if (what == reduces::truth && e != element_type::boolean) return fault::element_type_must_be_bool;
    if (e == element_type::string) return fault::element_type_not_supported;
    const axis_set axes = axes_or_all(a.axes, in[0].extents.rank());
    if (axes.what != fault::none) return axes.what;
    const extents sizes = reduced_extents(in[0].extents, axes, a.keepdims);
    if (needs_elements && sizes.elements() != 0)
        for (int i = 0; i < in[0].extents.rank(); ++i)
            if (axes.has(i) && in[0].extents[i] == extent(0)) return fault::nothing_to_choose_from;
    return inferred(result == element_type::none ? e : result, sizes);
}

/// The rule of a reduction of elements of kind What to elements of type Result (none: the same).
template <reduces What, element_type Result = element_type::none, bool NeedsElements = false> struct reduction_of {
    using attributes = reduction_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return reduction_rule(a, in, What, Result, NeedsElements);
    }
    static double operations(const attributes&, type_list in, type_list) { return double(in[0].extents.elements()); }
};

} // namespace detail

/// in: x. Sum.
struct sum_op : detail::reduction_of<detail::reduces::numbers> {
    static constexpr const char* name = "sum";
    static constexpr op_flags flags = op_flags::alike;
    static op_and_attributes of_made(const attributes&, const op_definition&, const tenon::attributes&, type_list);
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, sum);

/// in: x. Sum divided by the number of elements.
struct mean_op : detail::reduction_of<detail::reduces::real_numbers> {
    static constexpr const char* name = "mean";
    static constexpr op_flags flags = op_flags::alike;
    static op_and_attributes of_made(const attributes&, const op_definition&, const tenon::attributes&, type_list);
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, mean);

/// in: x. Product.
struct prod_op : detail::reduction_of<detail::reduces::numbers> {
    static constexpr const char* name = "prod";
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, prod);

/// in: x. Least element.
struct min_op : detail::reduction_of<detail::reduces::numbers, element_type::none, true> {
    static constexpr const char* name = "min";
    static op_and_attributes of_made(const attributes&, const op_definition&, const tenon::attributes&, type_list);
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, min);

/// in: x. Largest element.
struct max_op : detail::reduction_of<detail::reduces::numbers, element_type::none, true> {
    static constexpr const char* name = "max";
    static op_and_attributes of_made(const attributes&, const op_definition&, const tenon::attributes&, type_list);
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, max);

/// in: x. Position of the first least element.
struct argmin_op : detail::reduction_of<detail::reduces::numbers, element_type::int64, true> {
    static constexpr const char* name = "argmin";
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, argmin);

/// in: x. Position of the first largest element.
struct argmax_op : detail::reduction_of<detail::reduces::numbers, element_type::int64, true> {
    static constexpr const char* name = "argmax";
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, argmax);

/// in: x. Whether any element is true.
struct any_op : detail::reduction_of<detail::reduces::truth> {
    static constexpr const char* name = "any";
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, any);

/// in: x. Whether all elements are true.
struct all_op : detail::reduction_of<detail::reduces::truth> {
    static constexpr const char* name = "all";
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, all);

/// in: x. Number of elements that are not 0 (false).
struct count_nonzero_op : detail::reduction_of<detail::reduces::anything, element_type::int64> {
    static constexpr const char* name = "count_nonzero";
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, count_nonzero);

/// in: x. Logarithm of the sum of exponentials.
struct logsumexp_op : detail::reduction_of<detail::reduces::real_numbers> {
    static constexpr const char* name = "logsumexp";
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, logsumexp);

/// in: x. Mean of the squared deviations from the mean, or its square root; the sum is divided by count -
/// ddof.
struct variance_op {
    static constexpr const char* name = "variance";
    struct attributes {
        index_list axes;
        bool keepdims = false;
        int ddof = 0;
        bool root = false;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return detail::reduction_rule(a, in, detail::reduces::real_numbers, element_type::none, false);
    }
    static op_and_attributes of_made(const attributes&, const op_definition&, const tenon::attributes&, type_list);
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, variance);

/// in: x. order 1: sum of |x|; 2: square root of the sum of squares; 0: largest |x|.
struct norm_op {
    static constexpr const char* name = "norm";
    struct attributes {
        index_list axes;
        bool keepdims = false;
        int order = 2;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return detail::reduction_rule(a, in, detail::reduces::real_numbers, element_type::none, false);
    }
    static op_and_attributes of_made(const attributes&, const op_definition&, const tenon::attributes&, type_list);
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, norm);

/// in: x, whose value does not matter. The number of elements along the axes, as a scalar of type `element`.
struct element_count_op {
    static constexpr const char* name = "element_count";
    struct attributes {
        index_list axes;
        element_type element = element_type::int64;
    };
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        const detail::axis_set axes = detail::axes_or_all(a.axes, in[0].extents.rank());
        if (axes.what != fault::none) return axes.what;
        return is_numeric(a.element) ? inferred(a.element, extents{}) : fault::element_type_must_be_numeric;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, element_count);

/// in: x, like. The reverse of broadcast_like: x summed over the dimensions that it has and `like`, whose
/// value does not matter, lacks (`axes`, and leading ones) or has with size 1.
struct sum_like_op {
    static constexpr const char* name = "sum_like";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        index_list axes;
    };
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    /// `like` with a 1 for each dimension that it lacks.
    static constexpr extents aligned(const attributes& a, const extents& x, const extents& like) {
        const detail::axis_set axes = detail::axes_of(a.axes, x.rank());
        extents result;
        int from = 0;
        const int missing = x.rank() - like.rank() - a.axes.count;
        for (int i = 0; i < x.rank(); ++i)
            result.push_back(i < missing || axes.has(i) || from >= like.rank() ? extent(1) : like[from++]);
        return result;
    }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        const extents &x = in[0].extents, &like = in[1].extents;
        const detail::axis_set axes = detail::axes_of(a.axes, x.rank());
        if (axes.what != fault::none) return axes.what;
        if (like.rank() + a.axes.count > x.rank()) return fault::rank_too_high;
        const extents sizes = aligned(a, x, like);
        for (int i = 0; i < x.rank(); ++i) {
            if (sizes[i] == extent(1)) continue;
            if (const merged_extent m = equal_sizes(x[i], sizes[i]); m.what != fault::none) return m.what;
        }
        return inferred(in[0].element, like);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, sum_like);

/// in: g, the gradient of a product with the reduced axes kept; x; and n directions h of x's sizes. Derivatives of
/// order n + 1: for each element m of x, g times the sum, over all ways to take n others k1, .., kn of its group, of
/// h1[k1] .. hn[kn] and the product of the elements that are left. Nothing is divided by, so all are right where
/// elements are 0; and since a derivative of one is another, there are derivatives of every order.
struct prod_gradient_op {
    static constexpr const char* name = "prod_gradient";
    using attributes = reduction_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() < 2) return fault::expects_more_operands;
        const detail::axis_set axes = detail::axes_or_all(a.axes, in[1].extents.rank());
        if (axes.what != fault::none) return axes.what;
        for (int i = 0; i < in.size(); ++i) {
            if (in[i].element != in[1].element) return fault::element_types_differ;
            const extents sizes = i == 0 ? detail::reduced_extents(in[1].extents, axes, true) : in[1].extents;
            if (equal_shapes(sizes, in[i].extents).what != fault::none) return fault::gradient_shape_differs;
        }
        return is_floating(in[1].element) ? inferred(in[1]) : inferred(fault::element_type_must_be_floating);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reduction, prod_gradient);

/// Given to a reduction: the reduced axes stay, with size 1.
struct keep_dims {
    static constexpr bool kept = true;
};
inline constexpr keep_dims keepdims{};
/// The default: the reduced axes are dropped.
struct drop_dims {
    static constexpr bool kept = false;
};
/// Given to variance and standard_deviation: the sum is divided by count - value.
struct ddof {
    int value = 0;
};
/// As the order of a norm: the largest magnitude.
inline constexpr int largest_magnitude = 0;

namespace detail {
template <class K> inline constexpr bool keeps_or_drops = std::is_same_v<K, keep_dims> || std::is_same_v<K, drop_dims>;
template <class K>
concept KeepOrDrop = keeps_or_drops<K>;

template <class K, int... Axes> inline constexpr reduction_attributes reducing_axes{index_list(Axes...), K::kept};
} // namespace detail

/// Sum. float, double, half, bfloat16, integers.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto sum(const X& x, K = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<sum_op, detail::reducing_axes<K, Axes...>>(x);
}
/// Sum divided by the number of elements. Floating types.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto mean(const X& x, K = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<mean_op, detail::reducing_axes<K, Axes...>>(x);
}
/// Product. Its derivatives, of any order, are right where elements are 0.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto prod(const X& x, K = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<prod_op, detail::reducing_axes<K, Axes...>>(x);
}
/// Least element; NaN where there is one. Elements that share the least value share the gradient.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto min(const X& x, K = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<min_op, detail::reducing_axes<K, Axes...>>(x);
}
/// Largest element; as min.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto max(const X& x, K = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<max_op, detail::reducing_axes<K, Axes...>>(x);
}
/// Position (int64) of the first least element; of the first NaN where there is one. Over several axes: the
/// position in row-major order of those.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto argmin(const X& x, K = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<argmin_op, detail::reducing_axes<K, Axes...>>(x);
}
/// Position of the first largest element; as argmin.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto argmax(const X& x, K = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<argmax_op, detail::reducing_axes<K, Axes...>>(x);
}
/// True where any element is; x is bool.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto any(const X& x, K = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<any_op, detail::reducing_axes<K, Axes...>>(x);
}
/// True where all elements are; x is bool.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto all(const X& x, K = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<all_op, detail::reducing_axes<K, Axes...>>(x);
}
/// Number (int64) of elements that are not 0; a NaN is not.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto count_nonzero(const X& x, K = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<count_nonzero_op, detail::reducing_axes<K, Axes...>>(x);
}
/// log(sum(exp(x))), with the largest element taken out first: no overflow, and infinities as the limits have
/// them.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto logsumexp(const X& x, K = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<logsumexp_op, detail::reducing_axes<K, Axes...>>(x);
}
/// sum((x - mean)^2) / (count - d.value), in two passes, or of stretches about their own means, which are joined.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto variance(const X& x, K = {}, ddof d = {}, called_from here = caller()) {
    const making made(here);
    constexpr variance_op::attributes a{index_list(Axes...), K::kept, 0, false};
    return apply_op<variance_op, detail::constant_attributes<a>>(
        variance_op::attributes{a.axes, a.keepdims, d.value, false}, x);
}
template <int... Axes, OperandOrIllShaped X> auto variance(const X& x, ddof d, called_from here = caller()) {
    const making made(here);
    return variance<Axes...>(x, drop_dims{}, d);
}
/// The square root of the variance. Its gradient is 0 where it is.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto standard_deviation(const X& x, K = {}, ddof d = {}, called_from here = caller()) {
    const making made(here);
    constexpr variance_op::attributes a{index_list(Axes...), K::kept, 0, true};
    return apply_op<variance_op, detail::constant_attributes<a>>(
        variance_op::attributes{a.axes, a.keepdims, d.value, true}, x);
}
template <int... Axes, OperandOrIllShaped X> auto standard_deviation(const X& x, ddof d, called_from here = caller()) {
    const making made(here);
    return standard_deviation<Axes...>(x, drop_dims{}, d);
}
/// norm<2>(x): square root of the sum of squares; norm<1>: sum of magnitudes; norm<largest_magnitude>.
/// Further template arguments are axes. The gradient of norm<2> is 0 where the norm is.
template <int Order, int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto norm(const X& x, K = {}, called_from here = caller()) {
    const making made(here);
    static_assert(Order >= 0 && Order <= 2, "tenon::norm: the order is 1, 2 or largest_magnitude");
    return apply_op<norm_op, norm_op::attributes{index_list(Axes...), K::kept, Order}>(x);
}
/// Mean and variance (of ddof 0), as a pair.
template <int... Axes, OperandOrIllShaped X, detail::KeepOrDrop K = drop_dims>
auto moments(const X& x, K k = {}, called_from here = caller()) {
    const making made(here);
    auto m = mean<Axes...>(x, k);
    if constexpr (std::is_same_v<decltype(m), ill_shaped>) return std::pair(m, m);
    else return std::pair(m, variance<Axes...>(x, k));
}
/// x / sqrt(max(sum(x^2), epsilon)): of length 1 along the axes, unless it is shorter than sqrt(epsilon).
template <int... Axes, Operand X> auto l2_normalize(const X& x, double epsilon = 1e-12, called_from here = caller()) {
    const making made(here);
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else {
        const auto& t = detail::as_tensor(x);
        auto squares = sum<Axes...>(detail::as_tensor(elementwise<opcode::multiply>(t, t)), keepdims);
        return elementwise<opcode::multiply>(
            t, elementwise<opcode::rsqrt>(elementwise<opcode::maximum>(std::move(squares), epsilon)));
    }
}
/// x summed to the sizes of `like`, which x was repeated from.
template <OperandOrIllShaped X, OperandOrIllShaped L>
auto sum_like(const X& x, const L& like, called_from here = caller()) {
    const making made(here);
    return apply_op<sum_like_op, detail::default_attributes<sum_like_op>>(sum_like_op::attributes{}, x, like);
}

namespace untyped {
any_tensor sum(const any_tensor& x, const index_list& axes = {}, bool keepdims = false, called_from here = caller());
any_tensor mean(const any_tensor& x, const index_list& axes = {}, bool keepdims = false, called_from here = caller());
any_tensor prod(const any_tensor& x, const index_list& axes = {}, bool keepdims = false, called_from here = caller());
any_tensor min(const any_tensor& x, const index_list& axes = {}, bool keepdims = false, called_from here = caller());
any_tensor max(const any_tensor& x, const index_list& axes = {}, bool keepdims = false, called_from here = caller());
any_tensor argmin(const any_tensor& x, const index_list& axes = {}, bool keepdims = false, called_from here = caller());
any_tensor argmax(const any_tensor& x, const index_list& axes = {}, bool keepdims = false, called_from here = caller());
any_tensor any(const any_tensor& x, const index_list& axes = {}, bool keepdims = false, called_from here = caller());
any_tensor all(const any_tensor& x, const index_list& axes = {}, bool keepdims = false, called_from here = caller());
any_tensor count_nonzero(const any_tensor& x, const index_list& axes = {}, bool keepdims = false,
                         called_from here = caller());
any_tensor logsumexp(const any_tensor& x, const index_list& axes = {}, bool keepdims = false,
                     called_from here = caller());
any_tensor variance(const any_tensor& x, const index_list& axes = {}, bool keepdims = false, int ddof = 0,
                    called_from here = caller());
any_tensor standard_deviation(const any_tensor& x, const index_list& axes = {}, bool keepdims = false, int ddof = 0,
                              called_from here = caller());
any_tensor norm(const any_tensor& x, int order, const index_list& axes = {}, bool keepdims = false,
                called_from here = caller());
/// Mean and variance.
std::pair<any_tensor, any_tensor> moments(const any_tensor& x, const index_list& axes = {}, bool keepdims = false,
                                          called_from here = caller());
any_tensor l2_normalize(const any_tensor& x, const index_list& axes = {}, double epsilon = 1e-12,
                        called_from here = caller());
/// `like` lacks the dimensions `axes` of x.
any_tensor sum_like(const any_tensor& x, const any_tensor& like, const index_list& axes = {});
/// x divided by the number of elements of `sizes` along the axes (less `ddof`).
any_tensor divide_by_count(const any_tensor& x, const any_tensor& sizes, const index_list& axes, int ddof = 0);
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_reduction)

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/reduce/reduction.inl>
#include <tenon/ops/reduce/reduction_gradients.inl>

namespace tenon {

namespace untyped {
#define TENON_REDUCTION(NAME)                                                                                \
    TENON_INLINE any_tensor NAME(const any_tensor& x, const index_list& axes, bool kept, called_from here) { \
        return tenon::add<NAME##_op>({axes, kept}, {x}, here);                                               \
    }
TENON_REDUCTION(sum)
TENON_REDUCTION(mean)
TENON_REDUCTION(prod)
TENON_REDUCTION(min)
TENON_REDUCTION(max)
TENON_REDUCTION(argmin)
TENON_REDUCTION(argmax)
TENON_REDUCTION(any)
TENON_REDUCTION(all)
TENON_REDUCTION(count_nonzero)
TENON_REDUCTION(logsumexp)
#undef TENON_REDUCTION
TENON_INLINE any_tensor variance(const any_tensor& x, const index_list& axes, bool kept, int less, called_from here) {
    return tenon::add<variance_op>({axes, kept, less, false}, {x}, here);
}
TENON_INLINE any_tensor standard_deviation(const any_tensor& x, const index_list& axes, bool kept, int less,
                                           called_from here) {
    return tenon::add<variance_op>({axes, kept, less, true}, {x}, here);
}
TENON_INLINE any_tensor norm(const any_tensor& x, int order, const index_list& axes, bool kept, called_from here) {
    return tenon::add<norm_op>({axes, kept, order}, {x}, here);
}
TENON_INLINE std::pair<any_tensor, any_tensor> moments(const any_tensor& x, const index_list& axes, bool kept,
                                                       called_from here) {
    return {mean(x, axes, kept, here), variance(x, axes, kept, 0, here)};
}
TENON_INLINE any_tensor l2_normalize(const any_tensor& x, const index_list& axes, double epsilon, called_from here) {
    const making made(here);
    return multiply(x, rsqrt(maximum(sum(multiply(x, x), axes, true), epsilon)));
}
} // namespace untyped

} // namespace tenon

#endif
