#pragma once

#include <string>

#include <tenon/graph/tensor.hpp>
#include <tenon/kernel/collective_group.hpp>

/// What the processes of a collective_group compute together, as nodes: each process has the same node, and all run it in the same
/// steps. They hold no thread while they wait.
///
///     auto total = tn::add_collective(group, tn::collective_kind::sum, x);

namespace tenon {

/// in: a tensor; of a mean, maybe another one, the number of whose rows is this process's weight (else 1). A sum or mean of all
/// processes' values, rank 0's value, or all of them by dimension 0. In a step they follow each other in the order of their nodes.
struct collective_op {
    static constexpr const char* name = "collective";
    static constexpr op_flags flags = op_flags::stateful | op_flags::waits;
    static constexpr element_types gpu_types = no_elements;
    struct attributes {
        std::string group; ///< collective_group::name()
        collective_kind kind = collective_kind::sum;
        static constexpr void fields(auto&& field) {
            field("group", &attributes::group);
            field("kind", &attributes::kind);
        }
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

#include <memory>

#include <tenon/core/error.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/kernel/failed_step_listener.hpp>
#include <tenon/kernel/wait.hpp>

namespace tenon {

namespace detail {

class collective_wait final : public wait, public failed_step_listener, private tenon::collective {
public:
    collective_wait(std::shared_ptr<collective_group> g, collective_signature s, const collective_turn& t) :
        group_(std::move(g)), turn_(t) {
        what = std::move(s);
    }
    void start(const step& in, completion& then) override {
        then_ = &then;
        turn_.step = in.id();
        what.type = values[0].type();
        if (what.kind == collective_kind::gather && what.type.extents.rank() > 0) what.type.extents[0] = extent(0);
        weight = values.size() > 1 ? static_cast<double>(values[1].extents()[0].size) : 1;
        // What others still read of it when this step has ended is not to be written or to go meanwhile.
        const bool stays = values[0].is_unique() || (!values[0].is_view() && is_a_sum());
        value = stays ? std::move(values[0]) : values[0].copy();
        values.resize(1);
        group_->begin(*this, turn_);
    }
    bool stop() noexcept override { return group_->stop(*this); }
    std::string awaited() const override { return group_->awaited(*this); }
    void step_failed() noexcept override {
        std::string why;
        try {
            why = group_->member(group_->rank()) + " has failed in a step of group " + group_->name() + " after " +
                  to_string(what) + "; the processes must begin again, from a checkpoint";
        } catch (...) { // no memory for words
        }
        group_->abort(error_code::aborted, why);
    }

private:
    bool is_a_sum() const noexcept { return what.kind == collective_kind::sum || what.kind == collective_kind::mean; }
    void completed(std::exception_ptr failure) noexcept override {
        values.resize(1);
        if (!failure) values[0] = std::move(value);
        value = {};
        then_->completed(std::move(failure)); // the last that it does
    }

    const std::shared_ptr<collective_group> group_;
    collective_turn turn_;
    completion* then_ = nullptr;
};

class collective_kernel final : public waiting_kernel {
public:
    explicit collective_kernel(const kernel_setup& s) :
        a_(decode<collective_op::attributes>(s.attrs)), name_(s.node.name) {
        group_ = collective_group::called(a_.group);
        if (!group_)
            throw failed_precondition_error(
                "this process has no group of processes called \"" + a_.group +
                "\": collectives run in sessions of the processes' own, while the group lives");
    }
    std::unique_ptr<wait> make_wait() const override {
        return std::make_unique<collective_wait>(group_, collective_signature{a_.kind, name_, {}}, turn_);
    }
    bool has_turn() const override { return true; }
    void set_turn(int number, int of) override { turn_ = {0, number, of}; }

private:
    const collective_op::attributes a_;
    const std::string name_;
    std::shared_ptr<collective_group> group_;
    collective_turn turn_;
};

} // namespace detail

TENON_KERNEL(collective, detail::collective_kernel);

TENON_INLINE any_tensor add_collective(const std::shared_ptr<collective_group>& group, collective_kind kind,
                                       const any_tensor& x, const any_tensor& rows, const std::string& node_name) {
    if (!group) throw invalid_argument_error("collective: there is no group of processes");
    detail::require_node(x.node(), "collective: a tensor");
    const graph g(x.node()->graph);
    const detail::home_scope scope{g};
    std::vector<any_tensor> in{x};
    if (rows.node()) in.push_back(rows);
    return on("/device:CPU:0", [&] {
        return tenon::add<collective_op>({group->name(), kind}, in, node_name.empty() ? name_of(kind) : node_name);
    });
}

} // namespace tenon

#endif
