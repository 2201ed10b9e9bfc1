#pragma once

#include <vector>

#include <tenon/ops/elementwise/fused_reductions.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/control/control.hpp>

/// The gradients of ops/reduce/reduction.hpp.

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor sum_like(const any_tensor& x, const any_tensor& like, const index_list& axes) {
    return tenon::add<sum_like_op>({axes}, {x, like});
}
TENON_INLINE any_tensor divide_by_count(const any_tensor& x, const any_tensor& sizes, const index_list& axes,
                                        int less) {
    // In float for the 16-bit types, which do not hold large counts.
    const element_type e = compute_type(x.element());
    any_tensor count = tenon::add<element_count_op>({axes, e}, {sizes});
    if (less != 0) count = detail::add_instruction(opcode::subtract, {count, detail::scalar_constant(less, e)});
    const any_tensor wide = e == x.element() ? x : detail::add_instruction(opcode::cast, {x}, e);
    const any_tensor quotient = detail::add_instruction(opcode::divide, {wide, count});
    return e == x.element() ? quotient : detail::add_instruction(opcode::cast, {quotient}, x.element());
}
} // namespace untyped

namespace detail {

// What gradients of reductions need: the reduced axes of input 0, and tensors of the reduced sizes with those
// axes put back as 1s, so that they broadcast against it.
struct reduced_input {
    template <class A>
    reduced_input(const gradient_context& g, const A& a) :
        x(g.input(0)), gradient(with_axes(g.output_gradient(), a)), y(with_axes(g.output(), a)) {}

    template <class A> static index_list list_of(const A& a, int rank) {
        index_list list;
        const axis_set set = axes_or_all(a.axes, rank);
        for (int i = 0; i < rank; ++i)
            if (set.has(i)) list.push_back(i);
        return list;
    }
    template <class A> any_tensor with_axes(const any_tensor& t, const A& a) const {
        if (a.keepdims || x.rank() == 0) return t;
        return untyped::expand_dims(t, list_of(a, x.rank()));
    }

    any_tensor x, gradient, y;
};

inline any_tensor zero_of(const any_tensor& x) { return scalar_constant(0, x.element()); }

// flow / y, of y that is a root; 0 where that is, of every order.
inline any_tensor by_root(const any_tensor& flow, const reduced_input& in) {
    const any_tensor nothing = zero_of(in.x), is_zero = add_instruction(opcode::equal, {in.y, nothing});
    const auto unless_zero = [&](const any_tensor& otherwise, const any_tensor& t) {
        return add_instruction(opcode::select, {is_zero, otherwise, t});
    };
    return add_instruction(opcode::divide,
                           {unless_zero(nothing, flow), unless_zero(scalar_constant(1, in.x.element()), in.y)});
}

// The gradient of the elements of `values` that equal y, shared equally among them.
template <class A> any_tensor shared_among(const any_tensor& values, const reduced_input& in, const A& a) {
    const any_tensor chosen =
        add_instruction(opcode::cast, {add_instruction(opcode::equal, {values, in.y})}, in.x.element());
    const any_tensor count = in.with_axes(untyped::sum(chosen, a.axes, a.keepdims), a);
    return add_instruction(opcode::multiply, {chosen, add_instruction(opcode::divide, {in.gradient, count})});
}

// Of rows that are gathered along their indices' last axes.
inline op_and_attributes sum_of_gathered(const reduction_attributes& a, bool is_mean, const op_definition& maker,
                                         const tenon::attributes& of_maker, type_list inputs) {
    constexpr std::int64_t fewest = 8; // elements of a row for which it pays
    if (&maker != &gather_definition) return {};
    const extents &x = inputs[0].extents, &indices = inputs[1].extents;
    const element_type e = inputs[0].element;
    const axis_set axes = axes_or_all(a.axes, indices.rank() + x.rank() - 1);
    int last = 0; // axes of the indices
    while (last < indices.rank() && axes.has(indices.rank() - 1 - last)) ++last;
    const bool are_all = axes.bits == ((1U << last) - 1) << (indices.rank() - last);
    if ((e != element_type::float32 && e != element_type::float64) || last == 0 || !are_all ||
        axis_of(decode<gather_op::attributes>(of_maker).axis, x.rank()) != 0 || x.elements() < fewest * x[0].size ||
        indices.elements() == 0)
        return {};
    return {&gather_sum_op::definition(), encode(gather_sum_op::attributes{last, a.keepdims, is_mean})};
}
} // namespace detail
// Of what an elementwise item makes: combined as it is made.
namespace detail {
inline op_and_attributes of_fused(const op_definition& maker, const tenon::attributes& of_maker, type_list inputs,
                                  const index_list& axes, bool keepdims, const reduction_form& form = {}) {
    if (&maker != &fused_definition) return {};
    const auto of = decode<fused_attributes>(of_maker);
    if (!is_floating(of.tape->outputs[0].type)) return {};
    return reduction_of_fused(of, inputs, form, axes, keepdims);
}
} // namespace detail
TENON_INLINE op_and_attributes sum_op::of_made(const attributes& a, const op_definition& maker,
                                               const tenon::attributes& of_maker, type_list inputs) {
    if (&maker != &fused_definition) return detail::sum_of_gathered(a, false, maker, of_maker, inputs);
    return detail::of_fused(maker, of_maker, inputs, a.axes, a.keepdims);
}
TENON_INLINE op_and_attributes mean_op::of_made(const attributes& a, const op_definition& maker,
                                                const tenon::attributes& of_maker, type_list inputs) {
    if (&maker != &fused_definition) return detail::sum_of_gathered(a, true, maker, of_maker, inputs);
    return detail::of_fused(maker, of_maker, inputs, a.axes, a.keepdims, {.end = detail::combined_end::divided});
}
TENON_INLINE op_and_attributes min_op::of_made(const attributes& a, const op_definition& maker,
                                               const tenon::attributes& of_maker, type_list inputs) {
    return detail::of_fused(maker, of_maker, inputs, a.axes, a.keepdims, {.how = detail::combining::least});
}
TENON_INLINE op_and_attributes max_op::of_made(const attributes& a, const op_definition& maker,
                                               const tenon::attributes& of_maker, type_list inputs) {
    return detail::of_fused(maker, of_maker, inputs, a.axes, a.keepdims, {.how = detail::combining::largest});
}
TENON_INLINE op_and_attributes variance_op::of_made(const attributes& a, const op_definition& maker,
                                                    const tenon::attributes& of_maker, type_list inputs) {
    using detail::combined_end;
    const auto end =
        static_cast<unsigned>(combined_end::divided) | (a.root ? static_cast<unsigned>(combined_end::root) : 0U);
    return detail::of_fused(maker, of_maker, inputs, a.axes, a.keepdims,
                            {.how = detail::combining::squares, .end = static_cast<combined_end>(end), .less = a.ddof});
}
TENON_INLINE op_and_attributes norm_op::of_made(const attributes& a, const op_definition& maker,
                                                const tenon::attributes& of_maker, type_list inputs) {
    using detail::combined_end, detail::combined_of, detail::combining;
    const detail::reduction_form form =
        a.order == 1   ? detail::reduction_form{.what = combined_of::magnitudes}
        : a.order == 2 ? detail::reduction_form{.end = combined_end::root, .what = combined_of::squares}
                       : detail::reduction_form{.how = combining::largest,
                                                .end = combined_end::not_negative,
                                                .what = combined_of::magnitudes};
    return detail::of_fused(maker, of_maker, inputs, a.axes, a.keepdims, form);
}

TENON_INLINE void sum_op::gradient(gradient_context& g) {
    const attributes a = g.attributes<attributes>();
    const any_tensor x = g.input(0);
    g.set(0, untyped::broadcast_like(g.output_gradient(), x,
                                     a.keepdims ? index_list{} : detail::reduced_input::list_of(a, x.rank())));
}
TENON_INLINE void mean_op::gradient(gradient_context& g) {
    const attributes a = g.attributes<attributes>();
    const any_tensor x = g.input(0);
    g.set(0, untyped::broadcast_like(untyped::divide_by_count(g.output_gradient(), x, a.axes), x,
                                     a.keepdims ? index_list{} : detail::reduced_input::list_of(a, x.rank())));
}
TENON_INLINE void prod_op::gradient(gradient_context& g) {
    const attributes a = g.attributes<attributes>();
    const detail::reduced_input in(g, a);
    g.set(0, tenon::add<prod_gradient_op>({a.axes, true}, {in.gradient, in.x}));
}
TENON_INLINE void prod_gradient_op::gradient(gradient_context& g) {
    const attributes a = g.attributes<attributes>();
    const any_tensor h = g.output_gradient();
    std::vector<any_tensor> in;
    for (int i = 0; i < g.inputs(); ++i) in.push_back(g.input(i));
    // What an element gives to those beside it, they give to it: in each direction's place stands h.
    for (int i = 2; i < g.inputs(); ++i) {
        std::vector<any_tensor> turned = in;
        turned[static_cast<std::size_t>(i)] = h;
        g.set(i, tenon::add<prod_gradient_op>(a, std::move(turned)));
    }
    std::vector<any_tensor> further = in;
    further.push_back(h);
    g.set(1, tenon::add<prod_gradient_op>(a, std::move(further)));
    in[0] = untyped::ones_like(in[0]);
    const any_tensor slope = tenon::add<prod_gradient_op>(a, std::move(in));
    g.set(0, untyped::sum(detail::add_instruction(opcode::multiply, {h, slope}), a.axes, true));
}
TENON_INLINE void min_op::gradient(gradient_context& g) {
    const attributes a = g.attributes<attributes>();
    const detail::reduced_input in(g, a);
    g.set(0, detail::shared_among(in.x, in, a));
}
TENON_INLINE void max_op::gradient(gradient_context& g) {
    const attributes a = g.attributes<attributes>();
    const detail::reduced_input in(g, a);
    g.set(0, detail::shared_among(in.x, in, a));
}
TENON_INLINE void logsumexp_op::gradient(gradient_context& g) {
    using detail::add_instruction;
    const detail::reduced_input in(g, g.attributes<attributes>());
    // Where the result is infinite, infinity - infinity must not spoil the other elements.
    const any_tensor finite = add_instruction(opcode::is_finite, {in.y});
    const any_tensor shift = add_instruction(opcode::select, {finite, in.y, detail::zero_of(in.x)});
    const any_tensor weight = add_instruction(opcode::exp, {add_instruction(opcode::subtract, {in.x, shift})});
    g.set(0, add_instruction(opcode::multiply, {in.gradient, weight}));
}
TENON_INLINE void variance_op::gradient(gradient_context& g) {
    using detail::add_instruction;
    const attributes a = g.attributes<attributes>();
    const detail::reduced_input in(g, a);
    const any_tensor deviation =
        add_instruction(opcode::subtract, {in.x, in.with_axes(untyped::mean(in.x, a.axes, a.keepdims), a)});
    any_tensor scale = untyped::divide_by_count(in.gradient, in.x, a.axes, a.ddof);
    // d variance = 2 / (n - ddof) * deviation; d sqrt(variance) = that / (2 sqrt(variance)).
    scale = a.root ? detail::by_root(scale, in) : add_instruction(opcode::add, {scale, scale});
    g.set(0, add_instruction(opcode::multiply, {deviation, scale}));
}
TENON_INLINE void norm_op::gradient(gradient_context& g) {
    using detail::add_instruction;
    const attributes a = g.attributes<attributes>();
    const detail::reduced_input in(g, a);
    if (a.order == 2) {
        g.set(0, add_instruction(opcode::multiply, {in.x, detail::by_root(in.gradient, in)}));
        return;
    }
    const any_tensor sign = add_instruction(opcode::sign, {in.x});
    const any_tensor share =
        a.order == 1 ? in.gradient : detail::shared_among(add_instruction(opcode::abs, {in.x}), in, a);
    g.set(0, add_instruction(opcode::multiply, {sign, share}));
}
TENON_INLINE void sum_like_op::gradient(gradient_context& g) {
    g.set(0, untyped::broadcast_like(g.output_gradient(), g.input(0), g.attributes<attributes>().axes));
}

} // namespace tenon
