#pragma once

#include <algorithm>
#include <limits>

#include <tenon/core/with_element.hpp>
#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/reduce/scan.hpp>
#include <tenon/ops/reduce/sort.hpp>
#include <tenon/ops/reduce/top_k.hpp>
#include <tenon/ops/rows/softmax.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/shape/selection.hpp>
#include <tenon/ops/shape/gather.hpp>

/// Operators of ONNX that compute along axes: reductions, softmax, running sums, the largest.

namespace tenon::detail::onnx {

using reduction = any_tensor (*)(const any_tensor&, const index_list&, bool, called_from);

// Axes as an attribute, or, in later sets, as an input; none: all, unless the node says that none are meant.
template <class F> void reduce(const call& c, F&& f) {
    any_tensor x = c.x();
    std::vector<std::int64_t> axes = c.integers("axes");
    if (c.has(1)) axes = c.integers(1, "the axes");
    if (axes.empty() && c.integer("noop_with_empty_axes", 0) != 0) return c.give(f(x, index_list(), true, true));
    c.give(f(x, axes_in(c, axes, x.rank()), c.integer("keepdims", 1) != 0, false));
}
template <reduction F> void plain_reduction(const call& c) {
    reduce(c, [](const any_tensor& x, const index_list& axes, bool keep, bool none) {
        return none ? x : F(x, axes, keep, caller());
    });
}
// `each` before, and `after` the sum.
template <any_tensor (*Each)(const any_tensor&, called_from), any_tensor (*After)(const any_tensor&, called_from)>
void sum_of(const call& c) {
    reduce(c, [](const any_tensor& x, const index_list& axes, bool keep, bool none) {
        const any_tensor y = Each(x, caller());
        return After(none ? y : untyped::sum(y, axes, keep), caller());
    });
}
inline any_tensor as_it_is(const any_tensor& x, called_from) { return x; }
inline any_tensor root(const any_tensor& x, called_from) {
    if (is_floating(x.element())) return untyped::sqrt(x);
    return untyped::cast(untyped::sqrt(untyped::cast(x, element_type::float64)), x.element());
}

// Of no elements the least is infinite, of integers the largest number, and the other way round.
inline any_tensor extreme_of_none(const any_tensor& x, const index_list& axes, bool keep, bool least) {
    const any_tensor none = untyped::sum(x, axes, keep); // its sizes, and 0
    const number all = with_element(x.element(), [&]<class T>(const T&) -> number {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
            return least ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
        else return least ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    });
    return untyped::add(none, untyped::scalar(all, x.element()));
}
template <reduction Number, reduction Truth> void extreme(const call& c) {
    reduce(c, [&](const any_tensor& x, const index_list& axes, bool keep, bool none) {
        if (none) return x;
        for (int i = 0; i < x.rank() && x.element() != element_type::boolean; ++i)
            if (x.extents()[i] == extent(0) &&
                (axes.count == 0 || std::find(axes.begin(), axes.end(), i) != axes.end()))
                return extreme_of_none(x, axes, keep, Number == static_cast<reduction>(untyped::min));
        if (x.element() == element_type::boolean) return Truth(x, axes, keep, caller());
        any_tensor y = x; // beside one of none, where the step may find none
        for (int i = 0; i < x.rank(); ++i)
            if (c.is_found(x, i) && (axes.count == 0 || std::find(axes.begin(), axes.end(), i) != axes.end()))
                y = untyped::concat({y, extreme_of_none(y, {i}, true, Number == static_cast<reduction>(untyped::min))},
                                    i);
        return Number(y, axes, keep, caller());
    });
}

template <reduction F> void arg_extreme(const call& c) {
    const any_tensor x = c.x();
    const int axis = axis_in(c, c.integer("axis", 0), x.rank());
    const bool keep = c.integer("keepdims", 1) != 0;
    if (c.integer("select_last_index", 0) == 0)
        return c.give(untyped::cast(F(x, {axis}, keep, caller()), element_type::int64));
    const std::int64_t n =
        number_of(c, x.extents()[axis], "the size of the axis, of which the last index is asked for,");
    const any_tensor y = untyped::cast(F(untyped::reverse(x, {axis}), {axis}, keep, caller()), element_type::int64);
    c.give(untyped::subtract(untyped::scalar(n - 1, element_type::int64), y));
}

// Before set 13 dimensions from the axis on were one.
template <any_tensor (*F)(const any_tensor&, int, called_from)> void along(const call& c) {
    const any_tensor x = c.x();
    const int axis = axis_in(c, c.integer("axis", c.opset() < 13 ? 1 : -1), x.rank());
    if (c.opset() >= 13 || axis == x.rank() - 1) return c.give(F(x, axis, caller()));
    std::vector<std::int64_t> rows = copied_sizes(0, axis);
    rows.push_back(reshape_op::deduced);
    c.give(untyped::reshape_like(F(reshaped(x, rows), axis, caller()), x));
}
inline any_tensor hardmax_of(const any_tensor& x, int axis, called_from) {
    const std::int64_t n = x.extents()[axis].is_number() ? x.extents()[axis].size : -1;
    if (n < 0) throw unimplemented_error("the size of its axis is known in the step only");
    return untyped::one_hot(untyped::argmax(x, {axis}), n, x.element(), axis);
}

template <any_tensor (*F)(const any_tensor&, int, scan_options, called_from)> void scan(const call& c) {
    const any_tensor x = c.x();
    const std::int64_t axis = c.integer(1, "the axis");
    scan_options o;
    o.exclusive = c.integer("exclusive", 0) != 0;
    o.reversed = c.integer("reverse", 0) != 0;
    c.give(F(x, axis_in(c, axis, x.rank()), o, caller()));
}

inline void top_k(const call& c) {
    const any_tensor x = c.x();
    const int axis = axis_in(c, c.integer("axis", -1), x.rank());
    const bool largest = c.integer("largest", 1) != 0;
    if (c.has(1) && !c.known(1)) { // the first of all in order, as many as a size or a number of the step says
        const any_tensor sorted = untyped::sort(x, axis, {largest}), where({sorted.node(), 1});
        const auto said = c.sizes(1);
        const auto n = said && said->size() == 1 ? sum_of(said->at(0)) : std::nullopt;
        if (n && said->at(0) == x.extents()[axis]) return c.give(sorted, 0), c.give(where, 1);
        any_tensor places = n ? counted_to(c, *n, element_type::int64, {}) : any_tensor();
        if (!places.node())
            places = untyped::squeeze(untyped::nonzero(untyped::less(untyped::arange_like(x, element_type::int64, axis),
                                                                     untyped::cast(c.x(1), element_type::int64))),
                                      {1});
        c.give(untyped::gather(sorted, places, axis), 0);
        return c.give(untyped::gather(where, places, axis), 1);
    }
    const std::int64_t k = c.has(1) ? c.integer(1, "k") : c.integer("k", 0);
    const any_tensor rows = untyped::moveaxis(x, axis, -1);
    if (!largest && !is_floating(x.element()) && !is_signed_integer(x.element()))
        c.refuse("the smallest of numbers without a sign");
    // Of integers -n - 1 turns the order around without leaving their range.
    const auto turned = [&](const any_tensor& v) {
        return largest ? v : is_floating(v.element()) ? untyped::negative(v) : untyped::bit_not(v);
    };
    const std::vector<any_tensor> found = untyped::top_k(turned(rows), k);
    c.give(untyped::moveaxis(turned(found[0]), -1, axis), 0);
    c.give(untyped::moveaxis(untyped::cast(found[1], element_type::int64), -1, axis), 1);
}

TENON_INLINE std::vector<entry> reduction_operators() {
    return {{"ArgMax", arg_extreme<untyped::argmax>},
            {"ArgMin", arg_extreme<untyped::argmin>},
            {"CumProd", scan<untyped::cumprod>},
            {"CumSum", scan<untyped::cumsum>},
            {"Hardmax", along<hardmax_of>},
            {"LogSoftmax", along<untyped::log_softmax>},
            {"ReduceL1", sum_of<untyped::abs, as_it_is>},
            {"ReduceL2", sum_of<untyped::square, root>},
            {"ReduceLogSum", sum_of<as_it_is, untyped::log>},
            {"ReduceLogSumExp",
             [](const call& c) {
                 reduce(c, [](const any_tensor& x, const index_list& axes, bool keep, bool none) {
                     return none ? x : untyped::logsumexp(x, axes, keep);
                 });
             }},
            {"ReduceMax", extreme<untyped::max, untyped::any>},
            {"ReduceMean", plain_reduction<untyped::mean>},
            {"ReduceMin", extreme<untyped::min, untyped::all>},
            {"ReduceProd", plain_reduction<untyped::prod>},
            {"ReduceSum", plain_reduction<untyped::sum>},
            {"ReduceSumSquare", sum_of<untyped::square, as_it_is>},
            {"Softmax", along<untyped::softmax>},
            {"TopK", top_k}};
}

} // namespace tenon::detail::onnx
