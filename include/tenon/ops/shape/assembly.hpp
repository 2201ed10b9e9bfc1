#pragma once

#include <array>
#include <tuple>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/axes.hpp>

/// Joining tensors, and taking them apart.
///
///     auto both = tn::concat<1>(a, b);             // [batch, 3] and [batch, 5] -> [batch, 8]
///     auto [p, q] = tn::split_sizes<1, 3, 5>(both);
///     auto [u, v, w] = tn::split<3>(x);            // [6, 10] -> three of [2, 10]
///     auto [m, n] = tn::split_evenly<2>(x);        // [7, 10] -> [4, 10] and [3, 10]
///     auto s = tn::stack<0>(u, v, w);              // three of [2, 10] -> [3, 2, 10]

namespace tenon {

struct axis_attributes {
    int axis = 0;
};

/// in: x0, x1, ... One after the other along the axis; the other sizes are equal.
struct concat_op {
    static constexpr const char* name = "concat";
    static constexpr op_flags flags = op_flags::joins;
    using attributes = axis_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() < 1) return fault::expects_more_operands;
        const int axis = detail::axis_of(a.axis, in[0].extents.rank());
        if (axis < 0) return fault::axis_out_of_range;
        extents sizes = in[0].extents;
        extent along = sizes[axis];
        for (int i = 1; i < in.size(); ++i) {
            if (in[i].element != in[0].element) return fault::element_types_differ;
            extents next = in[i].extents;
            if (next.rank() != sizes.rank()) return fault::ranks_differ;
            const merged_extent longer = add_sizes(along, next[axis]);
            if (longer.what != fault::none) return longer.what;
            along = longer.size;
            next[axis] = sizes[axis];
            const merged_extents m = equal_shapes(sizes, next);
            if (m.what != fault::none) return m.what;
            sizes = m.extents;
        }
        sizes[axis] = along;
        return inferred(in[0].element, sizes);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(assembly, concat);

/// in: x, like0, like1, ... x taken apart along the axis into parts of the sizes of the others, whose values
/// do not matter.
struct split_like_op {
    static constexpr const char* name = "split_like";
    using attributes = axis_attributes;
    static constexpr int outputs(const attributes&, int inputs) { return inputs - 1; }
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() < 2) return fault::expects_more_operands;
        const int axis = detail::axis_of(a.axis, in[0].extents.rank());
        if (axis < 0) return fault::axis_out_of_range;
        // All of them are judged with the first, which every graph asks for: the time is linear in the parts.
        if (output > 0) return inferred(in[0].element, in[output + 1].extents);
        extent along = 0;
        for (int i = 1; i < in.size(); ++i) {
            extents part = in[i].extents;
            if (part.rank() != in[0].extents.rank()) return fault::ranks_differ;
            const merged_extent longer = add_sizes(along, part[axis]);
            if (longer.what != fault::none) return longer.what;
            along = longer.size;
            part[axis] = in[0].extents[axis];
            if (const merged_extents m = equal_shapes(part, in[0].extents); m.what != fault::none) return m.what;
        }
        if (along.is_number() && in[0].extents[axis].is_number() && !(in[0].extents[axis] == along))
            return fault::sizes_sum_differs;
        return inferred(in[0].element, in[output + 1].extents);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(assembly, split_like);

/// in: x. x taken apart along the axis: into `parts` equal parts, or into parts of the given sizes.
struct split_op {
    static constexpr const char* name = "split";
    struct attributes {
        int axis = 0;
        int parts = 0;
        index_list sizes;
    };
    static constexpr int outputs(const attributes& a, int) { return a.sizes.count > 0 ? a.sizes.count : a.parts; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 1) return fault::expects_more_operands;
        const int axis = detail::axis_of(a.axis, in[0].extents.rank());
        if (axis < 0) return fault::axis_out_of_range;
        extents sizes = in[0].extents;
        const extent whole = sizes[axis];
        if (a.sizes.count > 0) {
            checked_size sum = 0;
            for (const std::int64_t s : a.sizes) {
                if (s < 0) return fault::sizes_sum_differs;
                sum += s;
            }
            if (!sum.fits()) return fault::sizes_overflow;
            if (whole.is_number() && whole.size != sum.value()) return fault::sizes_sum_differs;
            sizes[axis] = a.sizes[output];
        } else {
            if (a.parts < 1 || (whole.is_number() && whole.size % a.parts != 0)) return fault::size_not_divisible;
            if (a.parts > 1) sizes[axis] = whole.is_number() ? extent(whole.size / a.parts) : extent{};
        }
        return inferred(in[0].element, sizes);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(assembly, split);

/// in: x. x taken apart along the axis into `parts` parts whose sizes differ by 1 at most: the first ones are larger.
struct split_evenly_op {
    static constexpr const char* name = "split_evenly";
    struct attributes {
        int axis = 0;
        int parts = 0;
    };
    static constexpr int outputs(const attributes& a, int) { return a.parts; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 1) return fault::expects_more_operands;
        const int axis = detail::axis_of(a.axis, in[0].extents.rank());
        if (axis < 0) return fault::axis_out_of_range;
        if (a.parts < 1) return fault::size_not_divisible;
        extents sizes = in[0].extents;
        const extent whole = sizes[axis];
        if (whole.is_number()) sizes[axis] = whole.size / a.parts + (output < whole.size % a.parts ? 1 : 0);
        else if (a.parts > 1) sizes[axis] = extent{};
        return inferred(in[0].element, sizes);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(assembly, split_evenly);

/// in: x0, x1, ... of equal sizes. Side by side along a new dimension, which is `axis` of the result.
struct stack_op {
    static constexpr const char* name = "stack";
    using attributes = axis_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() < 1) return fault::expects_more_operands;
        const inferred one = equal_types(in);
        if (!one) return one;
        extents sizes = one.type.extents;
        if (sizes.rank() == max_rank) return fault::too_many_dimensions;
        const int axis = detail::axis_of(a.axis, sizes.rank() + 1);
        if (axis < 0) return fault::axis_out_of_range;
        sizes.insert(axis, in.size());
        return inferred(in[0].element, sizes);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(assembly, stack);

/// in: x. The reverse of stack: `parts` tensors without the axis, which has that size.
struct unstack_op {
    static constexpr const char* name = "unstack";
    struct attributes {
        int axis = 0;
        int parts = 0;
    };
    static constexpr int outputs(const attributes& a, int) { return a.parts; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        extents sizes = in[0].extents;
        const int axis = detail::axis_of(a.axis, sizes.rank());
        if (axis < 0) return fault::axis_out_of_range;
        if (equal_sizes(sizes[axis], extent(a.parts)).what != fault::none) return fault::sizes_differ;
        sizes.erase(axis);
        return inferred(in[0].element, sizes);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(assembly, unstack);

namespace detail {

// The typed results of an op with several outputs: a tuple, of ill_shaped where there is a mistake.
template <class Op, class Static, class X, std::size_t... O> auto apply_parts(const X& x, std::index_sequence<O...>) {
    using verdict = verdict_of<Op, Static, operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return std::tuple<ill_shaped_for<std::integral_constant<std::size_t, O>>...>{};
    else {
        node* n = add_node(definition_of<Op>(), {as_tensor(x)}, encode(Static::value));
        return std::tuple(op_result_t<Op, Static, static_cast<int>(O), void, operand_of_t<X>>::unchecked(
            any_tensor(node_output{n, static_cast<int>(O)}))...);
    }
}
template <class Tuple> auto as_array(const Tuple& parts) {
    return std::apply([](const auto&... p) { return std::array{p...}; }, parts);
}

} // namespace detail

/// xs one after the other along Axis.
template <int Axis, class... Xs> auto concat(const Xs&... xs) {
    static_assert(sizeof...(Xs) > 0, "tenon::concat: at least one tensor is needed");
    if constexpr (sizeof...(Xs) == 0) return ill_shaped{};
    else return apply_op<concat_op, axis_attributes{Axis}>(xs...);
}
template <int Axis, OperandOrIllShaped A, detail::OperandIfGiven B = detail::not_given,
          detail::OperandIfGiven C = detail::not_given, detail::OperandIfGiven D = detail::not_given>
auto concat(const A& a, const B& b = {}, const C& c = {}, const D& d = {}, called_from here = caller()) {
    const making made(here);
    if constexpr (!detail::is_given<B>) return apply_op<concat_op, axis_attributes{Axis}>(a);
    else if constexpr (!detail::is_given<C>) return apply_op<concat_op, axis_attributes{Axis}>(a, b);
    else if constexpr (!detail::is_given<D>) return apply_op<concat_op, axis_attributes{Axis}>(a, b, c);
    else return apply_op<concat_op, axis_attributes{Axis}>(a, b, c, d);
}
/// x in N equal parts along Axis, as a std::array.
template <int N, int Axis = 0, OperandOrIllShaped X> auto split(const X& x, called_from here = caller()) {
    const making made(here);
    static_assert(N > 0, "tenon::split: at least one part is needed");
    if constexpr (N <= 0) return ill_shaped{};
    else
        return detail::as_array(
            detail::apply_parts<split_op, detail::constant_attributes<split_op::attributes{Axis, N, {}}>>(
                x, std::make_index_sequence<static_cast<std::size_t>(N)>{}));
}
/// x in N parts along Axis whose sizes differ by 1 at most, the larger first, as a std::tuple.
template <int N, int Axis = 0, OperandOrIllShaped X> auto split_evenly(const X& x, called_from here = caller()) {
    const making made(here);
    static_assert(N > 0, "tenon::split_evenly: at least one part is needed");
    return detail::apply_parts<split_evenly_op, detail::constant_attributes<split_evenly_op::attributes{Axis, N}>>(
        x, std::make_index_sequence<static_cast<std::size_t>(N)>{});
}
/// x in parts of the given sizes along Axis, as a std::tuple.
template <int Axis, int... Sizes, OperandOrIllShaped X> auto split_sizes(const X& x, called_from here = caller()) {
    const making made(here);
    static_assert(sizeof...(Sizes) > 0 && sizeof...(Sizes) <= max_rank, "tenon::split_sizes: 1 to 8 sizes are needed");
    return detail::apply_parts<split_op,
                               detail::constant_attributes<split_op::attributes{Axis, 0, index_list(Sizes...)}>>(
        x, std::make_index_sequence<sizeof...(Sizes)>{});
}
/// xs, of equal sizes, along a new dimension Axis.
template <int Axis, class... Xs> auto stack(const Xs&... xs) {
    static_assert(sizeof...(Xs) > 0, "tenon::stack: at least one tensor is needed");
    if constexpr (sizeof...(Xs) == 0) return ill_shaped{};
    else return apply_op<stack_op, axis_attributes{Axis}>(xs...);
}
template <int Axis, OperandOrIllShaped A, detail::OperandIfGiven B = detail::not_given,
          detail::OperandIfGiven C = detail::not_given, detail::OperandIfGiven D = detail::not_given>
auto stack(const A& a, const B& b = {}, const C& c = {}, const D& d = {}, called_from here = caller()) {
    const making made(here);
    if constexpr (!detail::is_given<B>) return apply_op<stack_op, axis_attributes{Axis}>(a);
    else if constexpr (!detail::is_given<C>) return apply_op<stack_op, axis_attributes{Axis}>(a, b);
    else if constexpr (!detail::is_given<D>) return apply_op<stack_op, axis_attributes{Axis}>(a, b, c);
    else return apply_op<stack_op, axis_attributes{Axis}>(a, b, c, d);
}
/// The N tensors that x has along Axis, as a std::array.
template <int N, int Axis = 0, OperandOrIllShaped X> auto unstack(const X& x, called_from here = caller()) {
    const making made(here);
    static_assert(N > 0, "tenon::unstack: at least one part is needed");
    return detail::as_array(
        detail::apply_parts<unstack_op, detail::constant_attributes<unstack_op::attributes{Axis, N}>>(
            x, std::make_index_sequence<static_cast<std::size_t>(N)>{}));
}

namespace detail {
/// All outputs of a node.
std::vector<any_tensor> outputs_of(node* n);
/// What flows into them; zeros where nothing does.
std::vector<any_tensor> output_gradients(const gradient_context& g);
} // namespace detail

namespace untyped {
any_tensor concat(const std::vector<any_tensor>& xs, int axis, called_from here = caller());
std::vector<any_tensor> split(const any_tensor& x, int parts, int axis = 0, called_from here = caller());
std::vector<any_tensor> split_evenly(const any_tensor& x, int parts, int axis = 0, called_from here = caller());
std::vector<any_tensor> split_sizes(const any_tensor& x, const index_list& sizes, int axis = 0,
                                    called_from here = caller());
std::vector<any_tensor> split_like(const any_tensor& x, const std::vector<any_tensor>& like, int axis,
                                   called_from here = caller());
any_tensor stack(const std::vector<any_tensor>& xs, int axis = 0, called_from here = caller());
std::vector<any_tensor> unstack(const any_tensor& x, int parts, int axis = 0, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_assembly)

#include <tenon/dense/strided_copy.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/control/control.hpp>

namespace tenon {

namespace detail {
TENON_INLINE std::vector<any_tensor> outputs_of(node* n) {
    std::vector<any_tensor> parts;
    for (std::size_t o = 0; o < n->outputs.size(); ++o)
        parts.push_back(any_tensor(node_output{n, static_cast<int>(o)}));
    return parts;
}
TENON_INLINE std::vector<any_tensor> output_gradients(const gradient_context& g) {
    std::vector<any_tensor> parts;
    for (int o = 0; o < g.outputs(); ++o)
        parts.push_back(g.output_gradient(o).node() ? g.output_gradient(o) : untyped::zeros_like(g.output(o)));
    return parts;
}
inline void set_gradients(gradient_context& g, const std::vector<any_tensor>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) g.set(static_cast<int>(i), parts[i]);
}
} // namespace detail

namespace untyped {
TENON_INLINE any_tensor concat(const std::vector<any_tensor>& xs, int axis, called_from here) {
    return tenon::add<concat_op>({axis}, xs, here);
}
TENON_INLINE std::vector<any_tensor> split(const any_tensor& x, int parts, int axis, called_from here) {
    const making made(here);
    return detail::outputs_of(add_node(split_definition, {x}, encode(split_op::attributes{axis, parts, {}})));
}
TENON_INLINE std::vector<any_tensor> split_evenly(const any_tensor& x, int parts, int axis, called_from here) {
    const making made(here);
    return detail::outputs_of(add_node(split_evenly_definition, {x}, encode(split_evenly_op::attributes{axis, parts})));
}
TENON_INLINE std::vector<any_tensor> split_sizes(const any_tensor& x, const index_list& sizes, int axis,
                                                 called_from here) {
    const making made(here);
    return detail::outputs_of(add_node(split_definition, {x}, encode(split_op::attributes{axis, 0, sizes})));
}
TENON_INLINE std::vector<any_tensor> split_like(const any_tensor& x, const std::vector<any_tensor>& like, int axis,
                                                called_from here) {
    const making made(here);
    std::vector<any_tensor> inputs{x};
    inputs.insert(inputs.end(), like.begin(), like.end());
    return detail::outputs_of(add_node(split_like_definition, std::move(inputs), encode(axis_attributes{axis})));
}
TENON_INLINE any_tensor stack(const std::vector<any_tensor>& xs, int axis, called_from here) {
    return tenon::add<stack_op>({axis}, xs, here);
}
TENON_INLINE std::vector<any_tensor> unstack(const any_tensor& x, int parts, int axis, called_from here) {
    const making made(here);
    return detail::outputs_of(add_node(unstack_definition, {x}, encode(unstack_op::attributes{axis, parts})));
}
} // namespace untyped

TENON_INLINE void concat_op::gradient(gradient_context& g) {
    std::vector<any_tensor> like;
    for (int i = 0; i < g.inputs(); ++i) like.push_back(g.input(i));
    detail::set_gradients(g, untyped::split_like(g.output_gradient(), like, g.attributes<attributes>().axis));
}
TENON_INLINE void split_like_op::gradient(gradient_context& g) {
    g.set(0, untyped::concat(detail::output_gradients(g), g.attributes<attributes>().axis));
}
TENON_INLINE void split_op::gradient(gradient_context& g) {
    const any_tensor joined = untyped::concat(detail::output_gradients(g), g.attributes<attributes>().axis);
    // Parts of given sizes add up to a number, where x has a name for it.
    g.set(0, joined.extents() == g.input(0).extents() ? joined : untyped::reshape_like(joined, g.input(0)));
}
TENON_INLINE void split_evenly_op::gradient(gradient_context& g) {
    g.set(0, untyped::concat(detail::output_gradients(g), g.attributes<attributes>().axis));
}
TENON_INLINE void stack_op::gradient(gradient_context& g) {
    detail::set_gradients(g, untyped::unstack(g.output_gradient(), g.inputs(), g.attributes<attributes>().axis));
}
TENON_INLINE void unstack_op::gradient(gradient_context& g) {
    g.set(0, untyped::stack(detail::output_gradients(g), g.attributes<attributes>().axis));
}

namespace detail {

// One tensor seen as rows, each of which holds a row of every part, one after the other.
class parts_kernel final : public kernel {
public:
    // `parts` of the tensor `whole`, joined into it or taken from it, along `axis` of whole.
    parts_kernel(const tensor_type& whole, type_list parts, int axis, bool join) :
        join_(join), bytes_(size_of(whole.element)) {
        std::int64_t rows = 1;
        for (int i = 0; i < axis; ++i) rows *= whole.extents[i].size;
        elements_ = whole.extents.elements();
        const std::int64_t row = rows == 0 ? 0 : elements_ / rows;
        std::int64_t at = 0;
        for (int i = 0; i < parts.size(); ++i) {
            const std::int64_t width = rows == 0 ? 0 : parts[i].extents.elements() / rows;
            const copied_dimension to_whole[] = {{rows, width, row}, {width, 1, 1}};
            const copied_dimension from_whole[] = {{rows, row, width}, {width, 1, 1}};
            copies_.push_back({strided_copy(join ? to_whole : from_whole, 2, bytes_), at});
            at += width;
        }
    }
    void run(const kernel_run& r) override {
        for (std::size_t i = 0; i < copies_.size(); ++i) {
            const std::size_t offset = static_cast<std::size_t>(copies_[i].offset) * bytes_;
            if (join_) {
                if (r.out[0]) copies_[i].copy.run(r.in[i], r.output<std::byte>(0) + offset, r.pool);
            } else if (r.out[i]) {
                copies_[i].copy.run(r.input<std::byte>(0) + offset, r.out[i], r.pool);
            }
        }
    }
    double cost() const override { return 50 + 0.1 * static_cast<double>(elements_); }

private:
    struct part {
        strided_copy copy;
        std::int64_t offset; // in a row of the whole
    };
    std::vector<part> copies_;
    std::int64_t elements_ = 0;
    bool join_;
    std::size_t bytes_;
};

// The kernel of a tensor that is joined of parts along the attribute `axis`, or parted.
inline kernel_pointer prepare_parts(const kernel_setup& s, bool joined) {
    const tensor_type& whole = joined ? s.outputs[0] : s.inputs[0];
    const int axis = axis_of(s.attrs.get<std::int64_t>("axis"), whole.extents.rank());
    return std::make_unique<parts_kernel>(whole, joined ? s.inputs : s.outputs, axis, joined);
}
} // namespace detail

TENON_INLINE kernel_pointer concat_op::prepare(const kernel_setup& s) { return detail::prepare_parts(s, true); }
TENON_INLINE kernel_pointer stack_op::prepare(const kernel_setup& s) { return detail::prepare_parts(s, true); }
TENON_INLINE kernel_pointer split_like_op::prepare(const kernel_setup& s) { return detail::prepare_parts(s, false); }
TENON_INLINE kernel_pointer split_op::prepare(const kernel_setup& s) { return detail::prepare_parts(s, false); }
TENON_INLINE kernel_pointer split_evenly_op::prepare(const kernel_setup& s) { return detail::prepare_parts(s, false); }
TENON_INLINE kernel_pointer unstack_op::prepare(const kernel_setup& s) { return detail::prepare_parts(s, false); }

} // namespace tenon

#endif
