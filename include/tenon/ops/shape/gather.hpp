#pragma once

#include <optional>
#include <vector>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/axes.hpp>

/// Parts of a tensor that indices name, and the sparse gradients that come of it.
///
///     auto rows = tn::gather<0>(table, ids); // [1000, 64], [batch, 7] -> [batch, 7, 64]

namespace tenon {

/// in: x, indices (int32 or int64). For each index the slice of x that it names along the axis; the indices'
/// sizes take the place of the axis. An index outside 0 .. size - 1 fails the step.
struct gather_op {
    static constexpr const char* name = "gather";
    static constexpr op_flags flags = op_flags::rows;
    struct attributes {
        int axis = 0;
    };
    static constexpr inferred gathered(const attributes& a, const tensor_type& x, const tensor_type& indices) {
        if (indices.element != element_type::int32 && indices.element != element_type::int64)
            return fault::element_type_must_be_integer;
        const int axis = detail::axis_of(a.axis, x.extents.rank());
        if (axis < 0) return fault::axis_out_of_range;
        extents result;
        for (int i = 0; i < x.extents.rank(); ++i) {
            if (i != axis) result.push_back(x.extents[i]);
            else
                for (const extent& e : indices.extents) result.push_back(e);
        }
        return inferred(x.element, result);
    }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return in.size() == 2 ? gathered(a, in[0], in[1]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(gather, gather);

/// in: gradient of a gather, indices, x, whose value does not matter. Zeros of x's sizes to which the
/// gradient's slices are added where they came from. Along axis 0 its inputs are a sparse gradient (sparse_rows below):
/// what asks for that never runs it.
struct gather_gradient_op {
    static constexpr const char* name = "gather_gradient";
    using attributes = gather_op::attributes;
    static constexpr bool needs_value(const attributes&, int input) { return input != 2; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        const inferred r = gather_op::gathered(a, in[2], in[1]);
        if (!r) return r;
        if (const merged_extents m = equal_shapes(r.type.extents, in[0].extents); m.what != fault::none) return m.what;
        return inferred(in[0].element, in[2].extents);
    }
    static void gradient(gradient_context& g);
    /// Of several gathers along axis 0: their indices and gradients one after the other.
    static any_tensor join(const std::vector<any_tensor>& gradients);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(gather, gather_gradient);

/// in: rows, indices: a row for each index, of floating numbers. Rows of equal indices are added up, in their order:
/// each of them is the sum, or with `once` the first is and the others are zero.
struct sum_equal_rows_op {
    static constexpr const char* name = "sum_equal_rows";
    struct attributes {
        bool once = false;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (in[1].element != element_type::int32 && in[1].element != element_type::int64)
            return fault::element_type_must_be_integer;
        if (in[0].extents.rank() < in[1].extents.rank()) return fault::rank_too_low;
        for (int i = 0; i < in[1].extents.rank(); ++i)
            if (const fault f = equal_sizes(in[0].extents[i], in[1].extents[i]).what; f != fault::none) return f;
        return in[0];
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(gather, sum_equal_rows);

/// in: x, indices. Of rows that indices name, the sum or the mean of those along the last `axes` axes of the indices: what the planner makes of a
/// gather along axis 0 that only such a sum reads, on CPUs. No node of a graph is one.
struct gather_sum_op {
    static constexpr const char* name = "gather_sum";
    struct attributes {
        int axes = 1;
        bool keepdims = false;
        bool mean = false;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        inferred r = gather_op::gathered({}, in[0], in[1]);
        const int last = in[1].extents.rank();
        if (!r) return r;
        if (a.axes < 1 || a.axes > last) return fault::axis_out_of_range;
        for (int i = last; i-- > last - a.axes;) {
            if (a.keepdims) r.type.extents[i] = 1;
            else r.type.extents.erase(i);
        }
        return r;
    }
    static const op_definition& definition();
    static kernel_pointer prepare(const kernel_setup& s);
};

namespace untyped {
any_tensor gather(const any_tensor& x, const any_tensor& indices, int axis = 0, called_from here = caller());
} // namespace untyped

/// The slices of x that indices (int32 or int64) name along Axis. An index outside 0 .. size - 1 fails the
/// step with invalid_argument_error; negative ones do too. Of a variable they are read where it is, unless a scope says
/// otherwise, so that they alone cross to others; of one in parts, each where its part is.
template <int Axis = 0, OperandOrIllShaped X, OperandOrIllShaped I>
auto gather(const X& x, const I& indices, called_from here = caller()) {
    const making made(here);
    using axis = detail::constant_attributes<gather_op::attributes{Axis}>;
    using verdict = detail::verdict_of<gather_op, axis, detail::operand_of_t<X>, detail::operand_of_t<I>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::op_result_t<gather_op, axis, 0, void, detail::operand_of_t<X>,
                                   detail::operand_of_t<I>>::unchecked(untyped::gather(detail::as_tensor(x),
                                                                                       detail::as_tensor(indices),
                                                                                       Axis));
}

/// A gradient that is zero but for some rows: values[i] is added to row indices[i]. The values have the sizes of the
/// indices, then those of a row. An index may occur again.
struct row_gradient {
    any_tensor indices;
    any_tensor values;
};

/// The rows of a gradient that comes from gather along axis 0, from one or from several of the same tensor, or that is
/// a sum of such gradients times scalars; nullopt where a gradient is dense. What uses the rows alone needs neither
/// memory nor time for the others. It does not see what is fed for the gradient as a whole; feed its values.
std::optional<row_gradient> sparse_rows(const any_tensor& gradient);
/// The reverse: the gradient of x that is zero but for these rows.
any_tensor gradient_of_rows(const row_gradient& rows, const any_tensor& x);

namespace detail {
/// The sum of gradients of one tensor: their indices one after the other, and their values.
row_gradient join_rows(const std::vector<row_gradient>& parts);

/// sparse_rows() of many gradients, which may be sums of the same: what was found of a node is kept.
class row_gradients {
public:
    row_gradients();
    std::optional<row_gradient> of(const any_tensor& gradient);

private:
    const node* unknown_operand(const node& n) const;
    std::optional<row_gradient> through(const node& n) const;
    struct known;
    std::shared_ptr<known> known_;
};
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_gather)

#include <unordered_map>

#include <tenon/expr/fused.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.inl>
#include <tenon/ops/shape/partition.hpp>
#include <tenon/ops/shape/reshape.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor gather(const any_tensor& x, const any_tensor& indices, int axis, called_from here) {
    const making made(here);
    if (detail::axis_of(axis, x.rank()) == 0)
        if (std::vector<any_tensor> found = parts_of(x); !found.empty()) {
            const std::vector<any_tensor> own = detail::indices_of_parts(x, indices);
            for (std::size_t p = 0; p < found.size(); ++p) found[p] = gather(found[p], own[p]);
            return detail::join_rows_of_parts(x, indices, found);
        }
    const bool of_variable = x.node() && x.node()->op->is(op_flags::variable);
    const detail::follow_scope there(of_variable ? x.node() : nullptr);
    return tenon::add<gather_op>({axis}, {x, indices});
}
} // namespace untyped

TENON_INLINE void gather_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<gather_gradient_op>(g.attributes<attributes>(), {g.output_gradient(), g.input(1), g.input(0)}));
}
TENON_INLINE void gather_gradient_op::gradient(gradient_context& g) {
    g.set(0, untyped::gather(g.output_gradient(), g.input(1), g.attributes<attributes>().axis));
}
namespace detail {

// As [n] and [n, ...].
TENON_INLINE row_gradient join_rows(const std::vector<row_gradient>& parts) {
    if (parts.size() == 1) return parts[0];
    bool wide = false;
    for (const row_gradient& p : parts) wide = wide || p.indices.element() == element_type::int64;
    std::vector<any_tensor> indices, values;
    for (const row_gradient& p : parts) {
        reshape_op::attributes flat, rows;
        flat.sizes.push_back(reshape_op::deduced);
        flat.declared.push_back(extent{});
        rows = flat;
        for (int i = p.indices.rank(); i < p.values.rank(); ++i) {
            rows.sizes.push_back(reshape_op::copied(i));
            rows.declared.push_back(p.values.extents()[i]);
        }
        any_tensor list = p.indices.rank() == 1 ? p.indices : tenon::add<reshape_op>(flat, {p.indices});
        if (wide && list.element() != element_type::int64)
            list = add_instruction(opcode::cast, {list}, element_type::int64);
        indices.push_back(std::move(list));
        values.push_back(p.indices.rank() == 1 ? p.values : tenon::add<reshape_op>(rows, {p.values}));
    }
    return {untyped::concat(indices, 0), untyped::concat(values, 0)};
}

inline bool is_row_gradient(const node& n) {
    return n.op == &gather_gradient_definition &&
           axis_of(decode<gather_op::attributes>(n.attributes).axis, n.input_type(2).extents.rank()) == 0;
}

// True when the tape's one output is a sum of the marked inputs, each times what does not depend on them.
inline bool is_linear(const tape& t, const std::vector<bool>& marked) {
    enum class degree { constant, linear, other };
    using enum degree;
    degree of[max_tape_length];
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        const int n = register_operands(i);
        const auto operand = [&](int k) { return of[operand_of(i, k)]; };
        const auto product = [](degree a, degree b) { return a == constant ? b : b == constant ? a : other; };
        bool all_constant = true;
        for (int k = 0; k < n; ++k) all_constant = all_constant && operand(k) == constant;
        if (i.op == opcode::input) of[r] = marked[static_cast<std::size_t>(i.a)] ? linear : constant;
        else if (all_constant) of[r] = constant;
        else if (i.op == opcode::negative || (i.op == opcode::cast && is_floating(i.type))) of[r] = operand(0);
        else if (i.op == opcode::add || i.op == opcode::subtract) of[r] = operand(0) == operand(1) ? operand(0) : other;
        else if (i.op == opcode::multiply) of[r] = product(operand(0), operand(1));
        else if (i.op == opcode::divide) of[r] = operand(1) == constant ? operand(0) : other;
        else if (i.op == opcode::fma) of[r] = product(operand(0), operand(1)) == operand(2) ? operand(2) : other;
        else of[r] = other;
    }
    return of[t.outputs[0].reg] == linear;
}

struct row_gradients::known {
    std::unordered_map<const node*, std::optional<row_gradient>> of;
};
TENON_INLINE row_gradients::row_gradients() : known_(std::make_shared<known>()) {}

TENON_INLINE std::optional<row_gradient> row_gradients::of(const any_tensor& gradient) {
    if (gradient.rank() == 0) return std::nullopt;
    // Sums may be chains of any length: no recursion.
    std::vector<const node*> open{gradient.node()};
    while (!open.empty()) {
        const node* n = open.back();
        if (known_->of.contains(n)) open.pop_back();
        else if (is_row_gradient(*n)) known_->of[n] = row_gradient{any_tensor(n->inputs[1]), any_tensor(n->inputs[0])};
        else if (const node* operand = unknown_operand(*n)) open.push_back(operand);
        else known_->of[n] = through(*n);
    }
    return known_->of[gradient.node()];
}

// An operand of a sum of scaled gradients of which it is not known yet whether it is sparse; nullptr: there is none, or
// another is dense, and with it the sum.
TENON_INLINE const node* row_gradients::unknown_operand(const node& n) const {
    if (n.op != &fused_definition || n.outputs.size() != 1) return nullptr;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        const tensor_type& t = n.input_type(static_cast<int>(k));
        if (t.extents.rank() == 0) continue;
        if (equal_shapes(t.extents, n.outputs[0].extents).what != fault::none) return nullptr;
        const auto at = known_->of.find(n.inputs[k].node);
        if (at == known_->of.end()) return n.inputs[k].node;
        if (!at->second) return nullptr;
    }
    return nullptr;
}

// The rows of a sum of scaled gradients whose operands are known.
TENON_INLINE std::optional<row_gradient> row_gradients::through(const node& n) const {
    if (n.op != &fused_definition || n.outputs.size() != 1) return std::nullopt;
    // The tape of the rows of one operand at a time, the others' being zero.
    std::vector<std::optional<row_gradient>> rows;
    std::vector<bool> sparse;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        const tensor_type& t = n.input_type(static_cast<int>(k));
        const bool scalar = t.extents.rank() == 0;
        const auto at = known_->of.find(n.inputs[k].node);
        if (!scalar && (at == known_->of.end() || !at->second ||
                        equal_shapes(t.extents, n.outputs[0].extents).what != fault::none))
            return std::nullopt;
        rows.push_back(scalar ? std::nullopt : at->second);
        sparse.push_back(!scalar);
    }
    const auto a = decode<fused_op::attributes>(n.attributes);
    if (a.tape->output_count != 1 || a.tape->outputs[0].like >= 0 || !is_linear(*a.tape, sparse)) return std::nullopt;
    const home_scope scope{graph(n.graph)};
    std::vector<row_gradient> parts;
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const auto at = n.inputs.begin() + static_cast<std::ptrdiff_t>(k);
        if (!sparse[k] || std::find(n.inputs.begin(), at, n.inputs[k]) != at) continue; // or it was an operand before
        std::vector<any_tensor> inputs;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (n.inputs[i] == n.inputs[k]) inputs.push_back(rows[k]->values);
            else if (sparse[i]) inputs.push_back(scalar_constant(0, any_tensor(n.inputs[i]).element()));
            else inputs.emplace_back(n.inputs[i]);
        }
        parts.push_back({rows[k]->indices, tenon::add<fused_op>(a, std::move(inputs))});
    }
    return join_rows(parts);
}

} // namespace detail

TENON_INLINE std::optional<row_gradient> sparse_rows(const any_tensor& gradient) {
    detail::require_node(gradient.node(), "sparse_rows: the gradient");
    return detail::row_gradients().of(gradient);
}

TENON_INLINE any_tensor gather_gradient_op::join(const std::vector<any_tensor>& gradients) {
    std::vector<row_gradient> parts;
    for (const any_tensor& g : gradients) {
        if (!detail::is_row_gradient(*g.node())) return {};
        parts.push_back({any_tensor(g.node()->inputs[1]), any_tensor(g.node()->inputs[0])});
    }
    return gradient_of_rows(detail::join_rows(parts), any_tensor(gradients[0].node()->inputs[2]));
}

TENON_INLINE any_tensor gradient_of_rows(const row_gradient& rows, const any_tensor& x) {
    return tenon::add<gather_gradient_op>({0}, {rows.values, rows.indices, x});
}

} // namespace tenon

#endif
