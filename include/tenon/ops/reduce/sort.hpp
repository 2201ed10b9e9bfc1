#pragma once

#include <cstdint>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/axes.hpp>

/// Elements in order along an axis, and where a value belongs among them.
///
///     auto s = tn::sort<1>(x);                            // each row of x, the least first
///     auto d = tn::sort(x, {.descending = true});         // along the last axis, the largest first
///     auto p = tn::argsort<1>(x);                         // int64: s is take_along_axis<1>(x, p)
///     auto i = tn::searchsorted(edges, values);           // int64: how many edges are less than each value
///
/// A NaN is larger than all numbers, as for top_k: it comes last, and first where the largest do. -0 and 0 are equal. Equal elements
/// keep their order (the sort is stable), so that a result is the same to the bit everywhere.

namespace tenon {

struct sort_options {
    bool descending = false; ///< the largest first
};

/// in: x, of numbers. Output 0: x with the elements along the axis in order. Output 1, int64: where each was.
struct sort_op {
    static constexpr const char* name = "sort";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        int axis = -1;
        bool descending = false;
    };
    static constexpr char axis_is_too_long[] = "an axis of 2^32 elements and more cannot be sorted";
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        const int axis = detail::axis_of(a.axis, in[0].extents.rank());
        if (axis < 0) return fault::axis_out_of_range;
        if (const extent& n = in[0].extents[axis]; n.is_number() && n.size > 0xffffffff) return axis_is_too_long;
        return inferred(output == 0 ? in[0].element : element_type::int64, in[0].extents);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(sort, sort);

/// in: sorted, ascending along its last axis; values, of the same element type. How many elements are less than each value (int64), or,
/// with `right`, not larger. sorted is [n], or [.., n] where the values are [.., m].
struct searchsorted_op {
    static constexpr const char* name = "searchsorted";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        bool right = false;
    };
    static constexpr char not_one_row_for_each[] =
        "there must be one sorted row, or one for each row of the values: sizes [n], or [.., n] beside [.., m]";
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        if (in[0].element != in[1].element) return fault::element_types_differ;
        const extents& rows = in[0].extents;
        extents sizes = in[1].extents;
        if (rows.rank() < 1 || (rows.rank() > 1 && rows.rank() != sizes.rank())) return not_one_row_for_each;
        for (int d = 0; d + 1 < rows.rank(); ++d) {
            const merged_extent m = equal_sizes(rows[d], sizes[d]);
            if (m.what != fault::none) return not_one_row_for_each;
            sizes[d] = m.size;
        }
        return inferred(element_type::int64, sizes);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(sort, searchsorted);

struct searchsorted_options {
    bool right = false; ///< behind equal elements, not before them
};

namespace untyped {
any_tensor sort(const any_tensor& x, int axis = -1, sort_options o = {}, called_from here = caller());
any_tensor argsort(const any_tensor& x, int axis = -1, sort_options o = {}, called_from here = caller());
any_tensor searchsorted(const any_tensor& sorted, const any_tensor& values, searchsorted_options o = {},
                        called_from here = caller());
} // namespace untyped

/// x with the elements along Axis in order: ascending, or descending where the options say so; equal ones stay in theirs, and a NaN is
/// larger than all numbers. Of numbers; sizes and element type are x's. The gradient goes back to where each element was.
template <int Axis = -1, OperandOrIllShaped X> auto sort(const X& x, sort_options o = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<sort_op, detail::constant_attributes<sort_op::attributes{Axis, false}>>(
        sort_op::attributes{Axis, o.descending}, x);
}
/// Where the elements of sort<Axis>(x) are in x along Axis: int64, of x's sizes. Both of one x are computed once. No gradient flows.
template <int Axis = -1, OperandOrIllShaped X>
auto argsort(const X& x, sort_options o = {}, called_from here = caller()) {
    const making made(here);
    using how = detail::constant_attributes<sort_op::attributes{Axis, false}>;
    using verdict = detail::verdict_of<sort_op, how, detail::operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::op_result_t<sort_op, how, 1, std::int64_t, detail::operand_of_t<X>>::unchecked(
            untyped::argsort(detail::as_tensor(x), Axis, o));
}
/// How many elements of `sorted`, which is ascending along its last axis, are less than each value, or with {.right = true} not larger:
/// where the value would be inserted. sorted is [n], or has a row [.., n] for each row of the values [.., m]. int64, of the values'
/// sizes; both are of one type of numbers. No gradient flows.
template <OperandOrIllShaped S, OperandOrIllShaped V>
auto searchsorted(const S& sorted, const V& values, searchsorted_options o = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<searchsorted_op, detail::constant_attributes<searchsorted_op::attributes{}>>(
        searchsorted_op::attributes{o.right}, sorted, values);
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_sort)

#include <tenon/ops/control/control.hpp>
#include <tenon/ops/reduce/sort.inl>
#include <tenon/ops/shape/indexed.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor sort(const any_tensor& x, int axis, sort_options o, called_from here) {
    return tenon::add<sort_op>({axis, o.descending}, {x}, here);
}
TENON_INLINE any_tensor argsort(const any_tensor& x, int axis, sort_options o, called_from here) {
    const making made(here);
    return any_tensor({sort(x, axis, o).node(), 1});
}
TENON_INLINE any_tensor searchsorted(const any_tensor& sorted, const any_tensor& values, searchsorted_options o,
                                     called_from here) {
    return tenon::add<searchsorted_op>({o.right}, {sorted, values}, here);
}
} // namespace untyped

TENON_INLINE void sort_op::gradient(gradient_context& g) {
    if (!g.output_gradient(0).node()) return;
    g.set(0, untyped::scatter_add_along_axis(untyped::zeros_like(g.input(0)), g.output(1), g.output_gradient(0),
                                             g.attributes<attributes>().axis));
}

TENON_INLINE kernel_pointer sort_op::prepare(const kernel_setup& s) {
    return detail::kernel_for<detail::sort_kernel>(detail::number_list{}, s.inputs[0].element, s);
}
TENON_INLINE kernel_pointer searchsorted_op::prepare(const kernel_setup& s) {
    return detail::kernel_for<detail::searchsorted_kernel>(detail::number_list{}, s.inputs[0].element, s);
}

} // namespace tenon

#endif
