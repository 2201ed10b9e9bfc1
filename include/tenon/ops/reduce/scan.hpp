#pragma once

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/axes.hpp>

/// Running sums, products, extremes and log-sum-exps along an axis.
///
///     auto c = tn::cumsum<0>(x);                      // [1, 2, 3] -> [1, 3, 6]
///     auto e = tn::cumsum<0>(x, {.exclusive = true}); // [1, 2, 3] -> [0, 1, 3]
///     auto r = tn::cumsum<0>(x, {.reversed = true});  // [1, 2, 3] -> [6, 5, 3]
///     auto p = tn::cumprod<-1>(x);                    // [1, 2, 3] -> [1, 2, 6]
///     auto m = tn::cummax<0>(x);                      // [1, 3, 2] -> [1, 3, 3]
///
/// Floats are computed with in double, half and bfloat16 in float, integers in their own type, wrapping around.

namespace tenon {

/// How a scan runs.
struct scan_options {
    bool exclusive = false; ///< each element's result leaves it out
    bool reversed = false;  ///< from the last element to the first
};

namespace detail {

struct scan_attributes {
    int axis = 0;
    bool exclusive = false;
    bool reversed = false;
};

/// The rule of a scan of numbers, or of floats only.
template <bool Floating> struct scan_rule {
    using attributes = scan_attributes;
    static constexpr op_flags flags = op_flags::alike;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (Floating && !is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        if (axis_of(a.axis, in[0].extents.rank()) < 0) return fault::axis_out_of_range;
        return in[0];
    }
};

} // namespace detail

/// in: x. For each element the sum of those up to it along the axis.
struct cumsum_op : detail::scan_rule<false> {
    static constexpr const char* name = "cumsum";
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(scan, cumsum);

/// in: x. For each element the product of those up to it.
struct cumprod_op : detail::scan_rule<false> {
    static constexpr const char* name = "cumprod";
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(scan, cumprod);

/// in: x. For each element the largest of those up to it. Of equal ones the first gets the gradient.
struct cummax_op : detail::scan_rule<false> {
    static constexpr const char* name = "cummax";
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(scan, cummax);

/// in: x. For each element the least of those up to it.
struct cummin_op : detail::scan_rule<false> {
    static constexpr const char* name = "cummin";
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(scan, cummin);

/// in: x. For each element the logarithm of the sum of e to those up to it.
struct cumlogsumexp_op : detail::scan_rule<true> {
    static constexpr const char* name = "cumlogsumexp";
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(scan, cumlogsumexp);

/// in: x, w. y[i] = x[i] + w[i] y[i - 1] along the axis. What the gradients of the others are made of, and its own.
struct recurrence_op {
    static constexpr const char* name = "recurrence";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        int axis = 0;
        bool later = false;     ///< y[i] = x[i] + w[i - 1] y[i - 1]
        bool exclusive = false; ///< if not later: each element's result is y[i - 1]
        bool reversed = false;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (in[1].element != in[0].element) return fault::element_types_differ;
        const merged_extents m = equal_shapes(in[0].extents, in[1].extents);
        if (m.what != fault::none) return m.what;
        if (detail::axis_of(a.axis, m.extents.rank()) < 0) return fault::axis_out_of_range;
        return inferred(in[0].element, m.extents);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(scan, recurrence);

namespace detail {
template <class Op, int Axis, class X> auto scan(const X& x, const scan_options& o) {
    using attrs = constant_attributes<scan_attributes{Axis, false, false}>;
    return apply_op<Op, attrs>(scan_attributes{Axis, o.exclusive, o.reversed}, x);
}
} // namespace detail

/// Running sums of x along Axis. Exclusive, the first is 0.
template <int Axis, OperandOrIllShaped X> auto cumsum(const X& x, scan_options o = {}, called_from here = caller()) {
    const making made(here);
    return detail::scan<cumsum_op, Axis>(x, o);
}
/// Running products. Exclusive, the first is 1. Gradients are exact where elements are 0.
template <int Axis, OperandOrIllShaped X> auto cumprod(const X& x, scan_options o = {}, called_from here = caller()) {
    const making made(here);
    return detail::scan<cumprod_op, Axis>(x, o);
}
/// The largest element so far; NaN from the first NaN on. Exclusive, the first is -infinity, or the least integer.
template <int Axis, OperandOrIllShaped X> auto cummax(const X& x, scan_options o = {}, called_from here = caller()) {
    const making made(here);
    return detail::scan<cummax_op, Axis>(x, o);
}
/// The least element so far; NaN from the first NaN on. Exclusive, the first is infinity, or the largest integer.
template <int Axis, OperandOrIllShaped X> auto cummin(const X& x, scan_options o = {}, called_from here = caller()) {
    const making made(here);
    return detail::scan<cummin_op, Axis>(x, o);
}
/// log(e^x[0] + ... + e^x[i]) without overflow. Exclusive, the first is -infinity.
template <int Axis, OperandOrIllShaped X>
auto cumlogsumexp(const X& x, scan_options o = {}, called_from here = caller()) {
    const making made(here);
    return detail::scan<cumlogsumexp_op, Axis>(x, o);
}

namespace untyped {
any_tensor cumsum(const any_tensor& x, int axis, scan_options o = {}, called_from here = caller());
any_tensor cumprod(const any_tensor& x, int axis, scan_options o = {}, called_from here = caller());
any_tensor cummax(const any_tensor& x, int axis, scan_options o = {}, called_from here = caller());
any_tensor cummin(const any_tensor& x, int axis, scan_options o = {}, called_from here = caller());
any_tensor cumlogsumexp(const any_tensor& x, int axis, scan_options o = {}, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_scan)

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/elementwise/for_elements_kernel.hpp>
#include <tenon/ops/reduce/scan_kernel.hpp>
#include <tenon/ops/control/control.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor cumsum(const any_tensor& x, int axis, scan_options o, called_from here) {
    return tenon::add<cumsum_op>({axis, o.exclusive, o.reversed}, {x}, here);
}
TENON_INLINE any_tensor cumprod(const any_tensor& x, int axis, scan_options o, called_from here) {
    return tenon::add<cumprod_op>({axis, o.exclusive, o.reversed}, {x}, here);
}
TENON_INLINE any_tensor cummax(const any_tensor& x, int axis, scan_options o, called_from here) {
    return tenon::add<cummax_op>({axis, o.exclusive, o.reversed}, {x}, here);
}
TENON_INLINE any_tensor cummin(const any_tensor& x, int axis, scan_options o, called_from here) {
    return tenon::add<cummin_op>({axis, o.exclusive, o.reversed}, {x}, here);
}
TENON_INLINE any_tensor cumlogsumexp(const any_tensor& x, int axis, scan_options o, called_from here) {
    return tenon::add<cumlogsumexp_op>({axis, o.exclusive, o.reversed}, {x}, here);
}
} // namespace untyped

namespace detail {

inline any_tensor recurrence(const any_tensor& x, const any_tensor& w, const recurrence_op::attributes& a) {
    return tenon::add<recurrence_op>(a, {x, w});
}

// x's scan up to each element and up to the one before it, of which the node is one.
template <class Op> struct scan_results {
    scan_attributes how;
    any_tensor x, upto, before;
    explicit scan_results(gradient_context& g) : how(g.attributes<scan_attributes>()), x(g.input(0)) {
        scan_attributes other = how;
        other.exclusive = !how.exclusive;
        upto = before = g.output();
        (how.exclusive ? upto : before) = tenon::add<Op>(other, {x});
    }
};

// Sets the gradient of a scan y of x where d y[j] / d x[i] = factor[i] weight[i + 1] ... weight[j], for j >= i.
inline void set_scan_gradient(gradient_context& g, const scan_attributes& how, const any_tensor& factor,
                              const any_tensor& weight) {
    g.set(0, untyped::multiply(factor, recurrence(g.output_gradient(), weight,
                                                  {how.axis, !how.exclusive, how.exclusive, !how.reversed})));
}

// An element that is beyond all before it, or is the first of all, makes all results up to the next such one.
template <class Op> void set_extreme_gradient(gradient_context& g, bool largest) {
    using namespace untyped;
    const scan_results<Op> r(g);
    const any_tensor number =
        tenon::add<cumsum_op>({r.how.axis, true, r.how.reversed}, {tenon::add<fill_like_op>({1}, {r.x})});
    const any_tensor beyond = largest ? greater(r.x, r.before) : less(r.x, r.before);
    const any_tensor first_nan = logical_and(is_nan(r.x), logical_not(is_nan(r.before)));
    const any_tensor taken = logical_or(logical_or(beyond, first_nan), equal(number, 0));
    const any_tensor factor = untyped::cast(taken, r.x.element());
    set_scan_gradient(g, r.how, factor, subtract(1, factor));
}

// e^(a - b) for a <= b, also where both are infinite.
inline any_tensor ratio_of_exps(const any_tensor& a, const any_tensor& b) {
    return untyped::select(untyped::equal(a, b), untyped::scalar(1, a.element()),
                           untyped::exp(untyped::subtract(a, b)));
}

inline scan_order order_of(const kernel_setup& s, int axis, bool exclusive, bool reversed) {
    return {axis_of(axis, s.inputs[0].extents.rank()), exclusive, reversed};
}
inline scan_order order_of(const kernel_setup& s) {
    const auto a = decode<scan_attributes>(s.attrs);
    return order_of(s, a.axis, a.exclusive, a.reversed);
}

template <class T> using cumsum_kernel = scan_kernel<running_sum<T>>;
template <class T> using cumprod_kernel = scan_kernel<running_product<T>>;
template <class T> using cummax_kernel = scan_kernel<running_max<T>>;
template <class T> using cummin_kernel = scan_kernel<running_min<T>>;
template <class T> using cumlogsumexp_kernel = scan_kernel<running_logsumexp<T>>;
template <class T> using recurrence_kernel = scan_kernel<running_recurrence<T>>;
template <class T> using recurrence_later_kernel = scan_kernel<running_recurrence_later<T>>;

} // namespace detail

TENON_INLINE void cumsum_op::gradient(gradient_context& g) {
    attributes a = g.attributes<attributes>();
    a.reversed = !a.reversed;
    g.set(0, tenon::add<cumsum_op>(a, {g.output_gradient()}));
}
TENON_INLINE void cumprod_op::gradient(gradient_context& g) {
    const detail::scan_results<cumprod_op> r(g);
    detail::set_scan_gradient(g, r.how, r.before, r.x);
}
TENON_INLINE void cummax_op::gradient(gradient_context& g) { detail::set_extreme_gradient<cummax_op>(g, true); }
TENON_INLINE void cummin_op::gradient(gradient_context& g) { detail::set_extreme_gradient<cummin_op>(g, false); }
TENON_INLINE void cumlogsumexp_op::gradient(gradient_context& g) {
    const detail::scan_results<cumlogsumexp_op> r(g);
    detail::set_scan_gradient(g, r.how, detail::ratio_of_exps(r.x, r.upto), detail::ratio_of_exps(r.before, r.upto));
}
TENON_INLINE void recurrence_op::gradient(gradient_context& g) {
    const attributes a = g.attributes<attributes>();
    const any_tensor x = g.input(0), w = g.input(1), d = g.output_gradient();
    const attributes plain{a.axis, false, false, !a.reversed}, before{a.axis, false, true, !a.reversed},
        later{a.axis, true, false, !a.reversed};
    const auto backward = [&](const attributes& how) { return detail::recurrence(d, w, how); };
    if (a.later) {
        g.set(0, backward(plain));
        g.set(1, untyped::multiply(backward(before), g.output()));
        return;
    }
    const any_tensor dx = backward(a.exclusive ? before : later);
    const any_tensor y_before = a.exclusive ? g.output() : detail::recurrence(x, w, {a.axis, false, true, a.reversed});
    g.set(0, dx);
    g.set(1, untyped::multiply(dx, y_before));
}

TENON_INLINE kernel_pointer cumsum_op::prepare(const kernel_setup& s) {
    using namespace detail;
    return kernel_for<cumsum_kernel>(signless_list{}, without_sign(s.inputs[0].element), s, order_of(s));
}
TENON_INLINE kernel_pointer cumprod_op::prepare(const kernel_setup& s) {
    using namespace detail;
    return kernel_for<cumprod_kernel>(signless_list{}, without_sign(s.inputs[0].element), s, order_of(s));
}
TENON_INLINE kernel_pointer cummax_op::prepare(const kernel_setup& s) {
    using namespace detail;
    return kernel_for<cummax_kernel>(number_list{}, s.inputs[0].element, s, order_of(s));
}
TENON_INLINE kernel_pointer cummin_op::prepare(const kernel_setup& s) {
    using namespace detail;
    return kernel_for<cummin_kernel>(number_list{}, s.inputs[0].element, s, order_of(s));
}
TENON_INLINE kernel_pointer cumlogsumexp_op::prepare(const kernel_setup& s) {
    using namespace detail;
    return kernel_for<cumlogsumexp_kernel>(floating_list{}, s.inputs[0].element, s, order_of(s));
}
TENON_INLINE kernel_pointer recurrence_op::prepare(const kernel_setup& s) {
    using namespace detail;
    const auto a = decode<attributes>(s.attrs);
    const scan_order how = order_of(s, a.axis, !a.later && a.exclusive, a.reversed);
    const element_type e = s.inputs[0].element;
    return a.later ? kernel_for<recurrence_later_kernel>(floating_list{}, e, s, how)
                   : kernel_for<recurrence_kernel>(floating_list{}, e, s, how);
}

} // namespace tenon

#endif
