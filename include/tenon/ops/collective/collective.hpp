#pragma once

#include <string>

#include <tenon/graph/tensor.hpp>
#include <tenon/resources/collective/collective_group.hpp>

/// What the processes of a collective_group compute together, as nodes: each process has the same node, and all run it in the same
/// steps. They hold no thread while they wait.
///
///     auto total = tn::add_collective(group, tn::collective_kind::sum, x);

namespace tenon {

/// in: a tensor; of a mean, maybe another one, the number of whose rows is this process's weight (else 1). A sum or mean of all
/// processes' values, rank 0's value, or all of them by dimension 0. In a step they follow each other in the order of their nodes.
struct collective_op {
    static constexpr const char* name = "collective";
    static constexpr op_flags flags = op_flags::stateful | op_flags::waits | op_flags::early;
    static constexpr element_types gpu_types = no_elements;
    struct attributes {
        std::string group; ///< collective_group::name()
        collective_kind kind = collective_kind::sum;
    };
    static constexpr char what_it_takes[] = "a sum is of numbers, a mean of floating numbers, a gather of rows";
    static constexpr char weighs_by_rows[] = "a mean is weighted by the rows of its second operand; a scalar has none";
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() < 1 || in.size() > 2) return fault::expects_more_operands;
        if (in.size() == 2 && in[1].extents.rank() == 0) return weighs_by_rows;
        const bool adds = a.kind == collective_kind::sum || a.kind == collective_kind::mean;
        if (in[0].element == element_type::string || (adds && !is_numeric(in[0].element)) ||
            (a.kind == collective_kind::mean && !is_floating(in[0].element)) ||
            (a.kind == collective_kind::gather && in[0].extents.rank() == 0))
            return what_it_takes;
        tensor_type out = in[0];
        if (a.kind == collective_kind::gather) out.extents[0] = extent{};
        return out;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(collective, collective);

/// Adds the node, on the host; whoever makes it keeps the group. `rows`: of a mean, whose number of rows is the weight; empty: 1. invalid_argument_error in the rule's words.
any_tensor add_collective(const std::shared_ptr<collective_group>& group, collective_kind kind, const any_tensor& x,
                          const any_tensor& rows = {}, const std::string& node_name = {});

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_collective)

#include <tenon/core/error.hpp>
#include <tenon/ops/collective/group_wait_kernel.hpp>

namespace tenon {

namespace detail {

class collective_wait final : public group_wait {
public:
    collective_wait(const std::shared_ptr<collective_group>& g, const collective_op::attributes& a,
                    const std::string& name, const collective_turn& t) :
        group_wait(g, {a.kind, name, {}}, t) {}
    void start(const step& in, completion& then) override {
        what.type = values[0].type();
        if (what.kind == collective_kind::gather && what.type.extents.rank() > 0) what.type.extents[0] = extent(0);
        weight = own_weight();
        // What others still read of it when this step has ended is not to be written or to go meanwhile.
        const bool stays = values[0].is_unique() || (!values[0].is_view() && is_a_sum());
        value = stays ? std::move(values[0]) : values[0].copy();
        values.resize(1);
        begin(in, then);
    }

private:
    bool is_a_sum() const noexcept { return what.kind == collective_kind::sum || what.kind == collective_kind::mean; }
    void completed(std::exception_ptr failure) noexcept override { end(std::move(failure)); }
};

using collective_kernel = group_kernel<collective_op, collective_wait>;

} // namespace detail

TENON_KERNEL(collective, detail::collective_kernel);

TENON_INLINE any_tensor add_collective(const std::shared_ptr<collective_group>& group, collective_kind kind,
                                       const any_tensor& x, const any_tensor& rows, const std::string& node_name) {
    if (!group) throw invalid_argument_error("collective: there is no group of processes");
    detail::require_node(x.node(), "collective: a tensor");
    const graph g(x.node()->graph);
    const detail::home_scope scope{g};
    return detail::add_group_node<collective_op>({group->name(), kind}, x, rows, node_name);
}

} // namespace tenon

#endif
