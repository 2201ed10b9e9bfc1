#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>

/// The largest elements along the last axis, and where they are.
///
///     auto [values, places] = tn::top_k<5>(logits);   // float[batch, 1000] -> float[batch, 5], int32[batch, 5]

namespace tenon {

namespace detail {

// Of the ops below: x's sizes but for the last, which is `last`.
constexpr extents with_last(const extents& x, const extent& last) {
    extents sizes;
    for (int d = 0; d + 1 < x.rank(); ++d) sizes.push_back(x[d]);
    sizes.push_back(last);
    return sizes;
}
// What is wrong with places along the last axis of x, which are int32 and have x's sizes but for the last.
constexpr fault fault_of_places(const tensor_type& places, const tensor_type& x) {
    if (places.element != element_type::int32) return fault::element_type_must_be_integer;
    if (x.extents.rank() < 1 || places.extents.rank() < x.extents.rank()) return fault::rank_too_low;
    if (places.extents.rank() > x.extents.rank()) return fault::rank_too_high;
    for (int d = 0; d + 1 < x.extents.rank(); ++d)
        if (const fault f = equal_sizes(x.extents[d], places.extents[d]).what; f != fault::none) return f;
    return fault::none;
}

// What is said of a place that is not in its row.
std::string refused_place(const std::string& node, std::int64_t place, std::int64_t row, std::int64_t length);

} // namespace detail

/// in: x, of numbers, [.., n]. Output 0: the k largest elements of each row, the largest first. Output 1, int32: where they are in
/// the row. Of equal ones the one of the lower index comes first; a NaN is larger than all numbers.
struct top_k_op {
    static constexpr const char* name = "top_k";
    struct attributes {
        std::int64_t k = 1;
    };
    static constexpr char k_is_not_positive[] = "k must be 1 or more";
    static constexpr char fewer_than_k[] = "there are fewer elements along the last axis than k";
    static constexpr char places_are_int32[] = "places are int32, and the last axis is longer than those";
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        const extents& x = in[0].extents;
        if (x.rank() < 1) return fault::rank_too_low;
        if (a.k < 1) return k_is_not_positive;
        const extent& last = x[x.rank() - 1];
        if (last.is_number() && last.size < a.k) return fewer_than_k;
        if (last.is_number() && last.size > 0x7fffffff) return places_are_int32;
        return inferred(output == 0 ? in[0].element : element_type::int32, detail::with_last(x, extent(a.k)));
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(top_k, top_k);

/// in: x, places (int32), as top_k gives them. The elements of each row of x that its places name. A place outside the row fails the
/// step.
struct take_places_op {
    static constexpr const char* name = "take_places";
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        if (const fault f = detail::fault_of_places(in[1], in[0]); f != fault::none) return f;
        return inferred(in[0].element, detail::with_last(in[0].extents, in[1].extents[in[1].extents.rank() - 1]));
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(top_k, take_places);

/// in: values, places (int32) of the same sizes, x, whose value does not matter. Zeros of x's sizes, to which the values are added
/// where their places are: the gradient of top_k and of take_places.
struct put_places_op {
    static constexpr const char* name = "put_places";
    using attributes = no_attributes;
    static constexpr bool needs_value(const attributes&, int input) { return input != 2; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        if (const fault f = detail::fault_of_places(in[1], in[2]); f != fault::none) return f;
        if (const fault f = equal_shapes(in[0].extents, in[1].extents).what; f != fault::none) return f;
        return inferred(in[0].element, in[2].extents);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(top_k, put_places);

namespace untyped {
/// The values, and their places.
std::vector<any_tensor> top_k(const any_tensor& x, std::int64_t k, called_from here = caller());
} // namespace untyped

/// The K largest elements of x along its last axis, the largest first, and their places, int32, as std::tuple. Of equal ones the one
/// of the lower index comes first; a NaN is larger than all numbers. Where the size of the axis is known in the step only, one that
/// is less than K is an invalid_argument_error then. Gradients flow to the elements that were chosen.
template <std::int64_t K, OperandOrIllShaped X> auto top_k(const X& x, called_from here = caller()) {
    const making made(here);
    using how = detail::constant_attributes<top_k_op::attributes{K}>;
    using verdict = detail::verdict_of<top_k_op, how, detail::operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return std::tuple<ill_shaped, ill_shaped>{};
    else {
        const std::vector<any_tensor> both = untyped::top_k(detail::as_tensor(x), K);
        return std::tuple(
            detail::op_result_t<top_k_op, how, 0, void, detail::operand_of_t<X>>::unchecked(both[0]),
            detail::op_result_t<top_k_op, how, 1, std::int32_t, detail::operand_of_t<X>>::unchecked(both[1]));
    }
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_top_k)

#include <tenon/ops/reduce/top_k.inl>

namespace tenon {

namespace untyped {
TENON_INLINE std::vector<any_tensor> top_k(const any_tensor& x, std::int64_t k, called_from here) {
    const making made(here);
    node* n = add_node(definition_of<top_k_op>(), {x}, encode(top_k_op::attributes{k}));
    return {any_tensor({n, 0}), any_tensor({n, 1})};
}
} // namespace untyped

TENON_INLINE std::string detail::refused_place(const std::string& node, std::int64_t place, std::int64_t row,
                                               std::int64_t length) {
    return node + ": place " + std::to_string(place) + " of row " + std::to_string(row) +
           " is out of range for a last axis of size " + std::to_string(length);
}
TENON_INLINE void top_k_op::gradient(gradient_context& g) {
    if (g.output_gradient(0).node())
        g.set(0, tenon::add<put_places_op>({}, {g.output_gradient(0), g.output(1), g.input(0)}));
}
TENON_INLINE void take_places_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<put_places_op>({}, {g.output_gradient(), g.input(1), g.input(0)}));
}
TENON_INLINE void put_places_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<take_places_op>({}, {g.output_gradient(), g.input(1)}));
}

TENON_INLINE kernel_pointer top_k_op::prepare(const kernel_setup& s) {
    using namespace detail;
    return kernel_for<top_k_kernel>(number_list{}, s.inputs[0].element, s);
}
TENON_INLINE kernel_pointer take_places_op::prepare(const kernel_setup& s) {
    using namespace detail;
    return kernel_for<take_places_kernel>(number_list{}, s.inputs[0].element, s);
}
TENON_INLINE kernel_pointer put_places_op::prepare(const kernel_setup& s) {
    using namespace detail;
    return kernel_for<put_places_kernel>(number_list{}, s.inputs[0].element, s);
}

} // namespace tenon

#endif
