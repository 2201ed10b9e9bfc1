#pragma once

#include <tenon/graph/tensor.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Ops that put elements in another order, and repeat them.
///
///     auto t = tn::transpose(w);                                // [784, 300] -> [300, 784]
///     auto c = tn::transpose<0, 3, 1, 2>(images);               // [batch, 28, 28, 3] -> [batch, 3, 28, 28]
///     auto m = tn::broadcast_to<tn::shape<4, 300>>(b);          // [300] -> [4, 300]
///     auto l = tn::broadcast_like(tn::expand_dims<1>(rows), x); // [batch] -> x's [batch, 10]

namespace tenon {

/// in: x. Dimension i of the result is dimension axes[i] of x; no axes: reversed.
struct transpose_op {
    static constexpr const char* name = "transpose";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = squeeze_op::attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        const extents& x = in[0].extents;
        const index_list order = complete(a.axes, x.rank());
        if (order.count != x.rank() || detail::axes_of(order, x.rank()).what != fault::none)
            return fault::axes_are_not_a_permutation;
        extents result;
        for (const std::int64_t axis : order) result.push_back(x[detail::axis_of(axis, x.rank())]);
        return inferred(in[0].element, result);
    }
    static regular_part part(const attributes& a, const extents& x, const extents&);
    /// The permutation that no axes stand for.
    static constexpr index_list complete(const index_list& axes, int rank) {
        if (axes.count > 0) return axes;
        index_list reversed;
        for (int i = rank; i-- > 0;) reversed.push_back(i);
        return reversed;
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(movement, transpose);

/// in: x. x repeated along dimensions that it lacks or that have size 1, aligned at the last dimension.
struct broadcast_to_op {
    static constexpr const char* name = "broadcast_to";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = reshape_op::attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (a.declared.overfull()) return fault::too_many_dimensions;
        const extents& x = in[0].extents;
        if (x.rank() > a.sizes.count) return fault::rank_too_low;
        extents result;
        for (int i = 0; i < a.sizes.count; ++i) {
            const std::int64_t size = a.sizes[i];
            const int axis = i - (a.sizes.count - x.rank());
            if (size < 0 && (axis < 0 || size != reshape_op::copied(axis))) return fault::size_must_be_known;
            const extent wanted = size < 0 ? x[axis] : extent(size);
            const merged_extent m = axis < 0 ? merged_extent{fault::none, wanted} : broadcast_sizes(x[axis], wanted);
            if (m.what != fault::none) return m.what;
            // A 1 is repeated, but nothing becomes a 1.
            if (axis >= 0 && wanted == extent(1) && !(m.size == wanted) && x[axis].is_number())
                return fault::sizes_do_not_broadcast;
            result.push_back(wanted);
        }
        return inferred(in[0].element, result);
    }
    static constexpr extents repeated(const attributes&, const extents& x, const extents&) { return x; }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(movement, broadcast_to);

/// in: x, like. x repeated to the sizes of `like`, whose value does not matter. x lacks the dimensions `axes`
/// of `like`; the others are aligned at the last dimension.
struct broadcast_like_op {
    static constexpr const char* name = "broadcast_like";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = squeeze_op::attributes;
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    /// x's sizes with a 1 for each dimension that it lacks.
    static constexpr extents repeated(const attributes& a, const extents& x, const extents& like) {
        const detail::axis_set axes = detail::axes_of(a.axes, like.rank());
        extents result;
        int from = 0;
        const int missing = like.rank() - x.rank() - a.axes.count;
        for (int i = 0; i < like.rank(); ++i)
            result.push_back(i < missing || axes.has(i) || from >= x.rank() ? extent(1) : x[from++]);
        return result;
    }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        const extents &x = in[0].extents, &like = in[1].extents;
        const detail::axis_set axes = detail::axes_of(a.axes, like.rank());
        if (axes.what != fault::none) return axes.what;
        if (x.rank() + a.axes.count > like.rank()) return fault::rank_too_high;
        const extents sizes = repeated(a, x, like);
        if (const merged_extents m = broadcast(sizes, like); m.what != fault::none) return m.what;
        for (int i = 0; i < like.rank(); ++i)
            if (like[i] == extent(1) && sizes[i].is_number() && sizes[i].size != 1)
                return fault::sizes_do_not_broadcast;
        return inferred(in[0].element, like);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(movement, broadcast_like);

/// x with its dimensions in another order: dimension i of the result is dimension Axes[i] of x. Without axes:
/// reversed.
template <int... Axes, OperandOrIllShaped X> auto transpose(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<transpose_op, transpose_op::attributes{index_list(Axes...)}>(x);
}

namespace detail {
// The order of `rank` dimensions of which `from` is put at `to`; what is no permutation where one of them is none.
constexpr index_list moved_axis(int from, int to, int rank) {
    const int a = axis_of(from, rank), b = axis_of(to, rank);
    if (a < 0 || b < 0) return index_list(from, to);
    index_list order;
    for (int i = 0, next = 0; i < rank; ++i) {
        if (next == a) ++next;
        order.push_back(i == b ? a : next++);
    }
    return order;
}
constexpr index_list swapped_axes(int first, int second, int rank) {
    const int a = axis_of(first, rank), b = axis_of(second, rank);
    if (a < 0 || b < 0) return index_list(first, second);
    index_list order;
    for (int i = 0; i < rank; ++i) order.push_back(i == a ? b : i == b ? a : i);
    return order;
}
} // namespace detail

/// x with the dimensions A and B in each other's place.
template <int A, int B, Operand X> auto swapaxes(const X& x, called_from here = caller()) {
    const making made(here);
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else return apply_op<transpose_op, transpose_op::attributes{detail::swapped_axes(A, B, X::rank())}>(x);
}
/// x with the dimension From as dimension To of the result; the others keep their order.
template <int From, int To, Operand X> auto moveaxis(const X& x, called_from here = caller()) {
    const making made(here);
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else return apply_op<transpose_op, transpose_op::attributes{detail::moved_axis(From, To, X::rank())}>(x);
}

/// x repeated to the sizes of Target: numbers, or sizes that x has at the same place (counted from the last).
template <Shape Target, OperandOrIllShaped X> auto broadcast_to(const X& x, called_from here = caller()) {
    const making made(here);
    return detail::apply_to_shape<broadcast_to_op, Target>(x);
}

/// x repeated to the sizes of `like`.
template <OperandOrIllShaped X, OperandOrIllShaped L>
auto broadcast_like(const X& x, const L& like, called_from here = caller()) {
    const making made(here);
    return apply_op<broadcast_like_op, broadcast_like_op::attributes{}>(x, like);
}

namespace untyped {
any_tensor transpose(const any_tensor& x, const index_list& axes = {}, called_from here = caller());
any_tensor swapaxes(const any_tensor& x, int a, int b, called_from here = caller());
any_tensor moveaxis(const any_tensor& x, int from, int to, called_from here = caller());
any_tensor broadcast_to(const any_tensor& x, const extents& target, called_from here = caller());
/// x lacks the dimensions `axes` of `like`.
any_tensor broadcast_like(const any_tensor& x, const any_tensor& like, const index_list& axes = {},
                          called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_movement)

#include <tenon/dense/strided_copy.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/ops/shape/copied_view.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor transpose(const any_tensor& x, const index_list& axes, called_from here) {
    return tenon::add<transpose_op>({axes}, {x}, here);
}
TENON_INLINE any_tensor swapaxes(const any_tensor& x, int a, int b, called_from here) {
    return transpose(x, detail::swapped_axes(a, b, x.rank()), here);
}
TENON_INLINE any_tensor moveaxis(const any_tensor& x, int from, int to, called_from here) {
    return transpose(x, detail::moved_axis(from, to, x.rank()), here);
}
TENON_INLINE any_tensor broadcast_to(const any_tensor& x, const extents& target, called_from here) {
    const making made(here);
    broadcast_to_op::attributes a;
    if (target.overfull()) a.declared = target; // which the rule complains of
    for (int i = 0; i < target.rank() && !target.overfull(); ++i) {
        a.sizes.push_back(target[i].is_number() ? target[i].size : reshape_op::copied(i - (target.rank() - x.rank())));
        a.declared.push_back(target[i]);
    }
    return tenon::add<broadcast_to_op>(a, {x});
}
TENON_INLINE any_tensor broadcast_like(const any_tensor& x, const any_tensor& like, const index_list& axes,
                                       called_from here) {
    return tenon::add<broadcast_like_op>({axes}, {x, like}, here);
}
} // namespace untyped

TENON_INLINE void transpose_op::gradient(gradient_context& g) {
    const int rank = g.node().input_type(0).extents.rank();
    const index_list axes = complete(g.attributes<attributes>().axes, rank);
    index_list inverse = axes;
    for (int i = 0; i < rank; ++i) inverse.values[detail::axis_of(axes[i], rank)] = i;
    g.set(0, untyped::transpose(g.output_gradient(), inverse));
}
TENON_INLINE void broadcast_to_op::gradient(gradient_context& g) {
    g.set(0, detail::add_sum_to(g.output_gradient(), g.input(0)));
}
TENON_INLINE void broadcast_like_op::gradient(gradient_context& g) {
    const index_list axes = g.attributes<attributes>().axes;
    if (axes.count == 0) return g.set(0, detail::add_sum_to(g.output_gradient(), g.input(0)));
    const any_tensor with_axes = untyped::expand_dims(g.input(0), axes);
    g.set(0, untyped::squeeze(detail::add_sum_to(g.output_gradient(), with_axes), axes));
}

namespace detail {

struct strided_copy_kernel final : kernel {
    explicit strided_copy_kernel(strided_copy c) : copy(c) {}
    void run(const kernel_run& r) override {
        if (r.out[0] && r.in[0] != r.out[0]) copy.run(r.in[0], r.out[0], r.pool);
    }
    double cost() const override { return 30 + static_cast<double>(copy.elements()) * 0.2; }
    bool may_share(int i, int) const override { return i == 0 && copy.is_plain(); }
    strided_copy copy;
};

inline kernel_pointer prepare_copy(const copied_view& v, const kernel_setup& s) {
    return std::make_unique<strided_copy_kernel>(strided_copy(v.dims, v.rank, size_of(s.inputs[0].element)));
}

} // namespace detail

TENON_INLINE regular_part transpose_op::part(const attributes& a, const extents& x, const extents&) {
    const detail::row_major_steps steps(x);
    regular_part p;
    for (const std::int64_t axis : complete(a.axes, x.rank()))
        p.strides.push_back(steps[detail::axis_of(axis, x.rank())]);
    return p;
}
TENON_INLINE kernel_pointer transpose_op::prepare(const kernel_setup& s) {
    const extents& out = s.outputs[0].extents;
    return detail::prepare_copy(detail::part_view(part(decode<attributes>(s.attrs), s.inputs[0].extents, out), out), s);
}
TENON_INLINE kernel_pointer broadcast_to_op::prepare(const kernel_setup& s) {
    return detail::prepare_copy(detail::repeated_view(s.inputs[0].extents, s.outputs[0].extents), s);
}
TENON_INLINE kernel_pointer broadcast_like_op::prepare(const kernel_setup& s) {
    const extents x = repeated(decode<attributes>(s.attrs), s.inputs[0].extents, s.inputs[1].extents);
    return detail::prepare_copy(detail::repeated_view(x, s.inputs[1].extents), s);
}

} // namespace tenon

#endif
