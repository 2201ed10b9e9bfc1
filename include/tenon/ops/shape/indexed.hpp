#pragma once

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/axes.hpp>

/// Elements, or rows, of which an index of its own says where each comes from or goes to: one along an axis, or a tuple.
///
///     auto best  = tn::take_along_axis<1>(scores, tn::argsort<1>(scores));  // float[batch, 10], int64[batch, 10] -> [batch, 10]
///     auto sums  = tn::scatter_add_along_axis<0>(x, indices, updates);      // x with updates[i, j] added at [indices[i, j], j]
///     auto rows  = tn::gather_nd(x, tuples);                                // [4, 5, 64], int32[n, 2] -> [n, 64]
///     auto other = tn::scatter_nd(x, tuples, rows);                         // x with rows in the places of these
///
/// Indices are int32 or int64. One outside 0 .. size - 1 fails the step with invalid_argument_error, which names the node, the index
/// and its place; negative ones do too. (gather, of ops/shape/gather.hpp, takes whole slices, by one list for all.)

namespace tenon {

namespace detail {

constexpr bool can_index(element_type e) { return e == element_type::int32 || e == element_type::int64; }

// What x and the indices along an axis of it, which have its other sizes, give.
constexpr inferred taken_along(int given_axis, const tensor_type& x, const tensor_type& indices) {
    if (x.element == element_type::string) return fault::element_type_not_supported;
    if (!can_index(indices.element)) return fault::element_type_must_be_integer;
    const int axis = axis_of(given_axis, x.extents.rank());
    if (axis < 0) return fault::axis_out_of_range;
    if (indices.extents.rank() != x.extents.rank()) return fault::ranks_differ;
    extents sizes = indices.extents;
    for (int d = 0; d < sizes.rank(); ++d) {
        if (d == axis) continue;
        const merged_extent m = equal_sizes(x.extents[d], sizes[d]);
        if (m.what != fault::none) return m.what;
        sizes[d] = m.size;
    }
    return inferred(x.element, sizes);
}

inline constexpr char tuples_are_too_long[] =
    "the last size of the indices, an index for each of x's dimensions after batch_dims, is more than there are";

// What x and tuples of indices give: [batch.., .., depth] and [batch.., .., inner..].
constexpr inferred gathered_nd(int batch_dims, const tensor_type& x, const tensor_type& indices) {
    if (x.element == element_type::string) return fault::element_type_not_supported;
    if (!can_index(indices.element)) return fault::element_type_must_be_integer;
    const int tuple = indices.extents.rank() - 1;
    if (batch_dims < 0 || tuple < batch_dims || x.extents.rank() < batch_dims) return fault::rank_too_low;
    const extent& depth = indices.extents[tuple];
    if (!depth.is_number()) return fault::size_must_be_known;
    if (depth.size > x.extents.rank() - batch_dims) return tuples_are_too_long;
    extents sizes;
    for (int d = 0; d < tuple; ++d) {
        const merged_extent m = d < batch_dims ? equal_sizes(x.extents[d], indices.extents[d])
                                               : merged_extent{fault::none, indices.extents[d]};
        if (m.what != fault::none) return m.what;
        sizes.push_back(m.size);
    }
    for (int d = batch_dims + static_cast<int>(depth.size); d < x.extents.rank(); ++d) sizes.push_back(x.extents[d]);
    return inferred(x.element, sizes);
}

// x, where updates of these sizes can be put into it.
constexpr inferred scattered(const tensor_type& x, const inferred& part, const tensor_type& updates, bool add) {
    if (!part) return part;
    if (updates.element != x.element) return fault::element_types_differ;
    if (add && !is_numeric(x.element)) return fault::element_type_must_be_numeric;
    const merged_extents m = equal_shapes(part.type.extents, updates.extents);
    return m.what == fault::none ? inferred(x) : inferred(m.what);
}

} // namespace detail

/// in: x, indices of x's sizes but for the axis. The element of x at each index along the axis.
struct take_along_axis_op {
    static constexpr const char* name = "take_along_axis";
    struct attributes {
        int axis = 0;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return in.size() == 2 ? detail::taken_along(a.axis, in[0], in[1]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(indexed, take_along_axis);

/// in: x, indices, updates, of which both have x's sizes but for the axis. x, to which the updates are added at their indices along the
/// axis, one after the other; or, with add = false, which they replace: of those of one place the last stays.
struct scatter_along_axis_op {
    static constexpr const char* name = "scatter_along_axis";
    struct attributes {
        int axis = 0;
        bool add = false;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        return detail::scattered(in[0], detail::taken_along(a.axis, in[0], in[1]), in[2], a.add);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(indexed, scatter_along_axis);

/// in: x, indices. Each tuple of indices, along the indices' last dimension, names an element of x, or the rest of x's dimensions
/// where it is shorter. The first `batch_dims` dimensions of both are the same: tuples name something in their own.
struct gather_nd_op {
    static constexpr const char* name = "gather_nd";
    struct attributes {
        int batch_dims = 0;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return in.size() == 2 ? detail::gathered_nd(a.batch_dims, in[0], in[1])
                              : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(indexed, gather_nd);

/// in: x, indices as gather_nd has them, updates, of the sizes that it would give. x, where the updates replace what the tuples name, or
/// are added to it, as scatter_along_axis has it.
struct scatter_nd_op {
    static constexpr const char* name = "scatter_nd";
    struct attributes {
        int batch_dims = 0;
        bool add = false;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        return detail::scattered(in[0], detail::gathered_nd(a.batch_dims, in[0], in[1]), in[2], a.add);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(indexed, scatter_nd);

/// y[.., j, ..] = x[.., indices[.., j, ..], ..], along Axis: NumPy's take_along_axis, PyTorch's gather. The indices have x's sizes but
/// for Axis, and y theirs. Of any element type but strings; the gradient is added up at the indices.
template <int Axis, OperandOrIllShaped X, OperandOrIllShaped I>
auto take_along_axis(const X& x, const I& indices, called_from here = caller()) {
    const making made(here);
    return apply_op<take_along_axis_op, take_along_axis_op::attributes{Axis}>(x, indices);
}
/// x with updates[.., j, ..] at [.., indices[.., j, ..], ..], along Axis: NumPy's put_along_axis, PyTorch's scatter. Of updates of one
/// place the last stays, and the gradient flows to that one. The indices and the updates have x's sizes but for Axis.
template <int Axis, OperandOrIllShaped X, OperandOrIllShaped I, OperandOrIllShaped U>
auto scatter_along_axis(const X& x, const I& indices, const U& updates, called_from here = caller()) {
    const making made(here);
    return apply_op<scatter_along_axis_op, scatter_along_axis_op::attributes{Axis, false}>(x, indices, updates);
}
/// The same, where updates are added to what x has: all those of one place, in their order. Of numbers.
template <int Axis, OperandOrIllShaped X, OperandOrIllShaped I, OperandOrIllShaped U>
auto scatter_add_along_axis(const X& x, const I& indices, const U& updates, called_from here = caller()) {
    const making made(here);
    return apply_op<scatter_along_axis_op, scatter_along_axis_op::attributes{Axis, true}>(x, indices, updates);
}

/// y[i..] = x[indices[i.., 0], indices[i.., 1], ..], of x's dimensions after BatchDims, which x and the indices begin with: [batch..,
/// n.., inner..] and [batch.., i.., depth] give [batch.., i.., inner..]. The depth is a number. Of any element type but strings; the
/// gradient is added up at the indices.
template <int BatchDims = 0, OperandOrIllShaped X, OperandOrIllShaped I>
auto gather_nd(const X& x, const I& indices, called_from here = caller()) {
    const making made(here);
    return apply_op<gather_nd_op, gather_nd_op::attributes{BatchDims}>(x, indices);
}
/// x with updates[i..] at [indices[i.., 0], indices[i.., 1], ..]; sizes as gather_nd has them. Of updates of one place the last stays, and
/// the gradient flows to that one.
template <int BatchDims = 0, OperandOrIllShaped X, OperandOrIllShaped I, OperandOrIllShaped U>
auto scatter_nd(const X& x, const I& indices, const U& updates, called_from here = caller()) {
    const making made(here);
    return apply_op<scatter_nd_op, scatter_nd_op::attributes{BatchDims, false}>(x, indices, updates);
}
/// The same, where updates are added to what x has: all those of one place, in their order. Of numbers.
template <int BatchDims = 0, OperandOrIllShaped X, OperandOrIllShaped I, OperandOrIllShaped U>
auto scatter_nd_add(const X& x, const I& indices, const U& updates, called_from here = caller()) {
    const making made(here);
    return apply_op<scatter_nd_op, scatter_nd_op::attributes{BatchDims, true}>(x, indices, updates);
}

namespace untyped {
any_tensor take_along_axis(const any_tensor& x, const any_tensor& indices, int axis, called_from here = caller());
any_tensor scatter_along_axis(const any_tensor& x, const any_tensor& indices, const any_tensor& updates, int axis,
                              called_from here = caller());
any_tensor scatter_add_along_axis(const any_tensor& x, const any_tensor& indices, const any_tensor& updates, int axis,
                                  called_from here = caller());
any_tensor gather_nd(const any_tensor& x, const any_tensor& indices, int batch_dims = 0, called_from here = caller());
any_tensor scatter_nd(const any_tensor& x, const any_tensor& indices, const any_tensor& updates, int batch_dims = 0,
                      called_from here = caller());
any_tensor scatter_nd_add(const any_tensor& x, const any_tensor& indices, const any_tensor& updates, int batch_dims = 0,
                          called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_indexed)

#include <tenon/expr/fused.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/shape/indexed.inl>
#include <tenon/ops/shape/reshape.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor take_along_axis(const any_tensor& x, const any_tensor& indices, int axis, called_from here) {
    return tenon::add<take_along_axis_op>({axis}, {x, indices}, here);
}
TENON_INLINE any_tensor scatter_along_axis(const any_tensor& x, const any_tensor& indices, const any_tensor& updates,
                                           int axis, called_from here) {
    return tenon::add<scatter_along_axis_op>({axis, false}, {x, indices, updates}, here);
}
TENON_INLINE any_tensor scatter_add_along_axis(const any_tensor& x, const any_tensor& indices,
                                               const any_tensor& updates, int axis, called_from here) {
    return tenon::add<scatter_along_axis_op>({axis, true}, {x, indices, updates}, here);
}
TENON_INLINE any_tensor gather_nd(const any_tensor& x, const any_tensor& indices, int batch_dims, called_from here) {
    return tenon::add<gather_nd_op>({batch_dims}, {x, indices}, here);
}
TENON_INLINE any_tensor scatter_nd(const any_tensor& x, const any_tensor& indices, const any_tensor& updates,
                                   int batch_dims, called_from here) {
    return tenon::add<scatter_nd_op>({batch_dims, false}, {x, indices, updates}, here);
}
TENON_INLINE any_tensor scatter_nd_add(const any_tensor& x, const any_tensor& indices, const any_tensor& updates,
                                       int batch_dims, called_from here) {
    return tenon::add<scatter_nd_op>({batch_dims, true}, {x, indices, updates}, here);
}
} // namespace untyped

namespace detail {

// Of a scatter that Take, which reads what it writes, belongs to.
template <class Scatter, class Take>
void set_scatter_gradient(gradient_context& g, const typename Scatter::attributes& a,
                          const typename Take::attributes& take) {
    const any_tensor &d = g.output_gradient(), indices = g.input(1), updates = g.input(2);
    const any_tensor taken = tenon::add<Take>(take, {d, indices});
    if (a.add) {
        g.set(0, d);
        g.set(2, taken);
        return;
    }
    g.set(0, tenon::add<Scatter>(a, {d, indices, untyped::zeros_like(updates)}));
    // Which updates stay is seen where the numbers of their elements are put in their places.
    const any_tensor numbers =
        untyped::reshape_like(untyped::arange_like(untyped::flatten(updates), element_type::int64), updates);
    const any_tensor put =
        tenon::add<Scatter>(a, {untyped::cast(untyped::zeros_like(g.input(0)), element_type::int64), indices, numbers});
    const any_tensor stays = untyped::equal(tenon::add<Take>(take, {put, indices}), numbers);
    g.set(2, untyped::select(stays, taken, untyped::zeros_like(updates)));
}

} // namespace detail

TENON_INLINE void take_along_axis_op::gradient(gradient_context& g) {
    g.set(0, untyped::scatter_add_along_axis(untyped::zeros_like(g.input(0)), g.input(1), g.output_gradient(),
                                             g.attributes<attributes>().axis));
}
TENON_INLINE void scatter_along_axis_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    detail::set_scatter_gradient<scatter_along_axis_op, take_along_axis_op>(g, a, {a.axis});
}
TENON_INLINE void gather_nd_op::gradient(gradient_context& g) {
    g.set(0, untyped::scatter_nd_add(untyped::zeros_like(g.input(0)), g.input(1), g.output_gradient(),
                                     g.attributes<attributes>().batch_dims));
}
TENON_INLINE void scatter_nd_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    detail::set_scatter_gradient<scatter_nd_op, gather_nd_op>(g, a, {a.batch_dims});
}

TENON_INLINE kernel_pointer take_along_axis_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::take_indexed_kernel>(s, detail::rows_along_axis(s));
}
TENON_INLINE kernel_pointer gather_nd_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::take_indexed_kernel>(s, detail::rows_of_tuples(s));
}
TENON_INLINE kernel_pointer scatter_along_axis_op::prepare(const kernel_setup& s) {
    return detail::prepare_scatter(s, detail::rows_along_axis(s), decode<attributes>(s.attrs).add);
}
TENON_INLINE kernel_pointer scatter_nd_op::prepare(const kernel_setup& s) {
    return detail::prepare_scatter(s, detail::rows_of_tuples(s), decode<attributes>(s.attrs).add);
}

} // namespace tenon

#endif
