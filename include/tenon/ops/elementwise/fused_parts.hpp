#pragma once

#include <memory>
#include <vector>

#include <tenon/expr/fused.hpp>
#include <tenon/expr/fused_layout.hpp>
#include <tenon/op/kernel.hpp>

/// A tape that reads parts of tensors where they lie. The planner makes it (runtime/plan/rewrite/rewrite_parts.inl).

namespace tenon {

/// in: a tape's operands, or, of some, a tensor that they are a part of. out: what `fused` gives of the operands.
struct fused_parts_op {
    static constexpr const char* name = "fused_parts";
    static constexpr op_flags flags = op_flags::none;
    struct attributes {
        std::shared_ptr<const tenon::tape> tape;
        std::vector<std::int64_t> constants, merge; ///< as of fused
        std::vector<tensor_type> types = {};        ///< of the operands, whose sizes are numbers
        /// By operand: 0, or 1, then the first element and a stride for each dimension.
        std::vector<std::int64_t> places = {};

        fused_attributes fused() const { return {tape, constants, merge}; }
    };
    static constexpr char parts_lie_in_their_tensors[] = "the parts that it reads lie in the tensors that it is given";
    static int outputs(const attributes& a, int inputs);
    static inferred infer(const attributes& a, type_list inputs, int output);
    static bool needs_value(const tenon::attributes& a, int input);
    static double operations(const attributes& a, type_list inputs, type_list outputs);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(fused_parts, fused_parts);

namespace detail {
/// What `places` says, by operand; empty where it says nothing that makes sense.
std::vector<operand_part> parts_in(const fused_parts_op::attributes& a);
std::vector<std::int64_t> places_of(const std::vector<operand_part>& parts);
/// The setup of the fused node on the operands: `types` has theirs, and outlives it.
inline kernel_setup setup_of_operands(const kernel_setup& s, const std::vector<tensor_type>& types) {
    kernel_setup of = s;
    of.inputs = {types.data(), static_cast<int>(types.size())};
    return of;
}
} // namespace detail
} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_fused_parts)

#include <tenon/expr/fused_kernel.hpp>

namespace tenon {

namespace detail {
TENON_INLINE std::vector<operand_part> parts_in(const fused_parts_op::attributes& a) {
    std::vector<operand_part> parts;
    std::size_t at = 0;
    for (const tensor_type& t : a.types) {
        operand_part& p = parts.emplace_back();
        const auto rank = static_cast<std::size_t>(t.extents.rank());
        if (at == a.places.size()) return {};
        p.is_part = a.places[at++] != 0;
        if (!p.is_part) continue;
        if (a.places.size() - at < rank + 1) return {};
        p.at.first = a.places[at++];
        for (std::size_t d = 0; d < rank; ++d) p.at.strides.push_back(a.places[at++]);
    }
    return at == a.places.size() ? parts : std::vector<operand_part>{};
}
TENON_INLINE std::vector<std::int64_t> places_of(const std::vector<operand_part>& parts) {
    std::vector<std::int64_t> places;
    for (const operand_part& p : parts) {
        places.push_back(p.is_part);
        if (!p.is_part) continue;
        places.push_back(p.at.first);
        for (const std::int64_t s : p.at.strides) places.push_back(s);
    }
    return places;
}

// Graphs and programs come from elsewhere.
inline bool lies_in(const operand_part& p, const tensor_type& operand, const tensor_type& whole) {
    if (operand.element != whole.element || !operand.extents.is_static() || !whole.extents.is_static()) return false;
    if (!p.is_part) return operand.extents == whole.extents;
    const std::int64_t n = whole.extents.elements();
    std::int64_t least = p.at.first, most = p.at.first;
    if (operand.extents.elements() == 0) return true;
    for (int d = 0; d < operand.extents.rank(); ++d) {
        const std::int64_t last = operand.extents[d].size - 1, stride = p.at.strides[d];
        if (last == 0) continue;
        if (stride > n / last || stride < -(n / last)) return false;
        (stride < 0 ? least : most) += stride * last;
    }
    return p.at.first >= 0 && p.at.first < n && least >= 0 && most < n;
}
} // namespace detail

TENON_INLINE int fused_parts_op::outputs(const attributes& a, int inputs) {
    return fused_op::outputs(a.fused(), inputs);
}

TENON_INLINE inferred fused_parts_op::infer(const attributes& a, type_list in, int output) {
    const std::vector<detail::operand_part> parts = detail::parts_in(a);
    if (parts.empty() || parts.size() != static_cast<std::size_t>(in.size())) return fault::expects_more_operands;
    for (std::size_t k = 0; k < parts.size(); ++k)
        if (!detail::lies_in(parts[k], a.types[k], in[static_cast<int>(k)])) return parts_lie_in_their_tensors;
    // Along the fastest dimension a part is read as what is dense.
    const type_list types(a.types.data(), static_cast<int>(a.types.size()));
    const inferred r = fused_op::infer(a.fused(), types, output);
    if (!r) return r;
    return detail::may_be_read_in_place(detail::make_layout(types, parts)) ? r : inferred(parts_lie_in_their_tensors);
}

TENON_INLINE bool fused_parts_op::needs_value(const tenon::attributes& a, int input) {
    return fused_op::needs_value(a, input);
}
TENON_INLINE double fused_parts_op::operations(const attributes& a, type_list, type_list outputs) {
    return fused_op::operations(a.fused(), {a.types.data(), static_cast<int>(a.types.size())}, outputs);
}

TENON_INLINE kernel_pointer fused_parts_op::prepare(const kernel_setup& s) {
    const auto a = decode<attributes>(s.attrs);
    return std::make_unique<detail::fused_kernel>(detail::setup_of_operands(s, a.types), a.fused(), true,
                                                  detail::parts_in(a));
}

} // namespace tenon

#endif
