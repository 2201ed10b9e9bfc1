#pragma once

#include <tenon/graph/tensor.hpp>

/// Updates of some rows of a variable: what its scatter_update, scatter_add, ... (ops/state/state.hpp) are made of.

namespace tenon {

/// in: variable, indices (int32 or int64), updates. Row indices[i] of the variable is changed by updates[i], one i
/// after the other: the updates have the sizes of the indices, then those of a row, or are one number for all. Its
/// output is the variable after that. An index outside 0 .. size - 1 fails the step, and the variable stays as it was.
/// Where another step reads the variable as a whole meanwhile, it is copied before it is changed; rows that another step
/// gathers are waited for.
/// What is fed for the variable does not matter.
struct scatter_op {
    static constexpr const char* name = "scatter";
    static constexpr op_flags flags = op_flags::stateful | op_flags::updates;
    enum class way { update, add, subtract, multiply, divide, minimum, maximum, count_ };
    struct attributes {
        way how = way::update;
    };
    static int outputs(const attributes& a, int inputs);
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        const tensor_type &variable = in[0], &indices = in[1], &updates = in[2];
        if (variable.element == element_type::string) return fault::element_type_not_supported;
        if (a.how != way::update && !is_numeric(variable.element)) return fault::element_type_must_be_numeric;
        if (indices.element != element_type::int32 && indices.element != element_type::int64)
            return fault::element_type_must_be_integer;
        if (variable.element != updates.element) return fault::element_types_differ;
        if (variable.extents.rank() == 0) return fault::rank_too_low;
        if (updates.extents.rank() == 0) return variable;
        extents rows = indices.extents;
        for (int i = 1; i < variable.extents.rank(); ++i) rows.push_back(variable.extents[i]);
        if (rows.overfull()) return fault::too_many_dimensions;
        return equal_shapes(rows, updates.extents).what == fault::none ? inferred(variable)
                                                                       : inferred(fault::value_does_not_fit_variable);
    }
    static constexpr bool needs_value(const attributes&, int input) { return input > 0; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(scatter, scatter);

namespace detail {
const char* name_of(scatter_op::way how); ///< of the function: "scatter_add"
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_scatter)

#include <algorithm>
#include <cstring>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/ops/shape/row_indices.hpp>

namespace tenon {

namespace detail {

TENON_INLINE const char* name_of(scatter_op::way how) {
    constexpr const char* names[] = {"scatter_update", "scatter_add", "scatter_sub", "scatter_mul",
                                     "scatter_div",    "scatter_min", "scatter_max"};
    return names[static_cast<int>(how)];
}

/// Each row is one thread's, which looks at all indices: the updates of a row keep their order.
class scatter_kernel final : public kernel {
public:
    explicit scatter_kernel(const kernel_setup& s) :
        how_(decode<scatter_op::attributes>(s.attrs).how),
        name_(std::string(name_of(how_)) + " (" + s.node.name + ")"),
        variable_(s.node.inputs[0].node->name),
        variable_bytes_(static_cast<std::size_t>(bytes_of(s.inputs[0]))),
        indices_(s.inputs[1]),
        size_(s.inputs[0].extents[0].size),
        inner_(size_ == 0 ? 0 : s.inputs[0].extents.elements() / size_),
        one_for_all_(s.inputs[2].extents.rank() == 0),
        bytes_(size_of(s.inputs[0].element)),
        compute_(s.inputs[0].element, opcode_of(how_)) {}
    void check(const kernel_run& r) const override {
        if (!r.in[0]) throw failed_precondition_error(changed_without_value(name_, variable_));
        if (const std::int64_t i = indices_.first_outside(r.in[1], size_); i >= 0)
            throw invalid_argument_error(outside_variable(name_, indices_.shown(r.in[1], i), size_, variable_));
    }
    void run(const kernel_run& r) override {
        check(r);
        if (r.out[0] != r.in[0] && variable_bytes_ > 0) std::memcpy(r.out[0], r.in[0], variable_bytes_);
        const std::byte* updates = r.input<std::byte>(2);
        if (one_for_all_) {
            fill_elements(r.scratch, updates, bytes_, inner_);
            updates = r.scratch;
        }
        const std::size_t row_bytes = bytes_ * static_cast<std::size_t>(inner_);
        std::byte* const rows = r.output<std::byte>(0);
        const auto parts = static_cast<std::uint64_t>(r.pool ? std::min<std::int64_t>(parts_, r.pool->size()) : 1);
        const auto change = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = 0; i < indices_.count; ++i) {
                const std::int64_t row = indices_.at(r.in[1], i);
                if (parts > 1) {
                    const auto part = static_cast<std::int64_t>((row_indices::hash(row) >> 32) * parts >> 32);
                    if (part < begin || part >= end) continue;
                }
                std::byte* to = rows + static_cast<std::size_t>(row) * row_bytes;
                const std::byte* from = one_for_all_ ? updates : updates + static_cast<std::size_t>(i) * row_bytes;
                if (how_ == scatter_op::way::update) std::memcpy(to, from, row_bytes);
                else compute_.apply(to, from, inner_);
            }
        };
        if (parts > 1) r.pool->parallel_for(static_cast<std::int64_t>(parts), 1, change);
        else change(0, 1);
    }
    std::size_t scratch_bytes() const override { return one_for_all_ ? bytes_ * static_cast<std::size_t>(inner_) : 0; }
    double cost() const override { return 30 + static_cast<double>(indices_.count) * (4 + 0.2 * row_bytes()); }

private:
    static opcode opcode_of(scatter_op::way how) {
        constexpr opcode ops[] = {opcode::input,  opcode::add,     opcode::subtract, opcode::multiply,
                                  opcode::divide, opcode::minimum, opcode::maximum};
        return ops[static_cast<int>(how)];
    }
    double row_bytes() const { return static_cast<double>(inner_) * static_cast<double>(bytes_); }

    scatter_op::way how_;
    std::string name_;
    std::string variable_;
    std::size_t variable_bytes_;
    row_indices indices_;
    std::int64_t size_, inner_;
    bool one_for_all_;
    std::size_t bytes_;
    row_instruction compute_;
    std::int64_t parts_ = 1 + static_cast<std::int64_t>(cost() / 20000); // worth about 20 us each
};

} // namespace detail

TENON_INLINE int scatter_op::outputs(const attributes& a, int) {
    if (a.how < way::update || a.how >= way::count_)
        detail::number_out_of_range("how", static_cast<std::int64_t>(a.how));
    return 1;
}
TENON_KERNEL(scatter, detail::scatter_kernel);

} // namespace tenon

#endif
