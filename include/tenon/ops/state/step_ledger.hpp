#pragma once

#include <cstdint>
#include <string>

#include <tenon/op/resource_op.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/resources/step_number.hpp>

/// Step ledgers of a task (resources/step_ledger.hpp), as ops see them: which gradients of a step that replicas take together are complete,
/// and who applies them. What tn::sync_replicas (train/replicated/sync_replicas.hpp) is made of.

namespace tenon {

/// A step ledger. Its output stands for it; the value of that nobody needs. It is shared by all sessions of a task, by its name in
/// its container.
struct step_ledger_op {
    static constexpr const char* name = "step_ledger";
    static constexpr op_flags flags = op_flags::source | op_flags::stateful | op_flags::resource;
    static constexpr element_types gpu_types = no_elements; // it lies in the host's memory
    struct attributes {
        std::int64_t aggregate = 0;
        std::int64_t total = 1;
        std::string parts;
        std::string shared_name;
    };
    static constexpr char total_out_of_range[] = "total must be 1 to 100000";
    static constexpr char aggregate_out_of_range[] = "aggregate must be 0 to total";
    static inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 0) return fault::components_differ;
        if (a.total < 1 || a.total > most_replicas) return total_out_of_range;
        if (a.aggregate < 0 || a.aggregate > a.total) return aggregate_out_of_range;
        return inferred(element_type::int64, {});
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(step_ledger, step_ledger);

namespace detail {

/// Of a use by a replica of a process.
struct ledger_replica {
    std::int64_t replica = 0;
    std::int64_t process = 0;
    static constexpr char replica_out_of_range[] = "replica must be 0 to 99999";
    static constexpr char no_process[] = "process must not be 0, which is nobody's number";
    constexpr const char* misfit() const {
        return replica < 0 || replica >= most_replicas ? replica_out_of_range : process == 0 ? no_process : nullptr;
    }
};

// Rank: of input 1, an int64, where there is one.
template <int Rank = -1> struct ledger_use : resource_use {
    static constexpr const char* of_kind = "ledger_";
    static constexpr inferred misfit(const auto& a, type_list in) {
        if constexpr (requires { a.misfit(); })
            if (const char* const own = a.misfit()) return own;
        if (in.size() != (Rank < 0 ? 1 : 2)) return fault::expects_more_operands;
        if constexpr (Rank >= 0) {
            if (in[1].element != element_type::int64) return fault::element_type_must_be_integer;
            if (in[1].extents.rank() != Rank) return fault::ranks_differ;
        }
        return fault::none;
    }
};

} // namespace detail

/// in: the ledger; a step that has begun. The replica's turn: a gradient that it computes now, as replica, ticket, step: int64[3].
struct ledger_begin_op : detail::ledger_use<0> {
    static constexpr const char* name = "ledger_begin";
    using attributes = detail::ledger_replica;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        const inferred f = misfit(a, in);
        return f ? inferred(element_type::int64, {3}) : f;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(step_ledger, ledger_begin);

/// in: the ledger; a step that has begun. The replica takes part, and has read no variables that it goes on with.
struct ledger_join_op : detail::ledger_use<0> {
    static constexpr const char* name = "ledger_join";
    using attributes = detail::ledger_replica;
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) { return misfit(a, in); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(step_ledger, ledger_join);

/// in: the ledger. The replica, which has joined, takes part until the step that runs this has ended, on all tasks: with its process. No
/// outputs.
struct ledger_attend_op : detail::waiting<detail::ledger_use<>> {
    static constexpr const char* name = "ledger_attend";
    using attributes = detail::ledger_replica;
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) { return misfit(a, in); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(step_ledger, ledger_attend);

/// in: the ledger; a turn, whose gradient is deposited.
struct ledger_commit_op : detail::ledger_use<1> {
    static constexpr const char* name = "ledger_commit";
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) { return misfit(a, in); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(step_ledger, ledger_commit);

/// in: the ledger. Waits for the replica's next token: its step, and whether the replica's last gradient was in one.
struct ledger_await_op : detail::waiting<detail::ledger_use<>> {
    static constexpr const char* name = "ledger_await";
    using attributes = detail::ledger_replica;
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        const inferred f = misfit(a, in);
        return f ? inferred(output == 0 ? element_type::int64 : element_type::boolean, {}) : f;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(step_ledger, ledger_await);

/// in: the ledger; a step that has begun. Waits for the gradients of a step, which this step applies: its number, and their tickets.
/// Where this step ends, well or not, and none of its ledger_advance has ended that one, the next who asks is given the same.
struct ledger_apply_op : detail::waiting<detail::ledger_use<0>> {
    static constexpr const char* name = "ledger_apply";
    struct attributes {
        detail::ledger_replica by;
        std::int64_t most = 1; ///< tickets
        static constexpr char most_out_of_range[] = "most must be 1 to 100000";
        constexpr const char* misfit() const {
            return most < 1 || most > most_replicas ? most_out_of_range : by.misfit();
        }
    };
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        const inferred f = misfit(a, in);
        return f ? inferred(element_type::int64, output == 0 ? extents() : extents(extent())) : f;
    }
    static extents at_most(const attributes& a, type_list, int output) {
        return output == 0 ? extents() : extents(extent(a.most));
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(step_ledger, ledger_apply);

/// in: the ledger; a step. Those before it are over.
struct ledger_advance_op : detail::ledger_use<0> {
    static constexpr const char* name = "ledger_advance";
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) { return misfit(a, in); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(step_ledger, ledger_advance);

/// in: the ledger; why, a text: "" for no reason. The replica takes part no more; where there is a reason, what it waits for fails.
struct ledger_leave_op : detail::ledger_use<0> {
    static constexpr const char* name = "ledger_leave";
    struct attributes {
        detail::ledger_replica by;
        bool finished = false; ///< and will not come again
    };
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (const char* const own = a.by.misfit()) return own;
        if (in.size() != 2) return fault::expects_more_operands;
        return in[1].element == element_type::string && in[1].extents.rank() == 0 ? fault::none
                                                                                  : fault::path_must_be_text;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(step_ledger, ledger_leave);

/// in: the ledger. Waits for the time between two steps; from then on nobody applies until the step that runs this has ended, on all
/// tasks. No outputs.
struct ledger_pause_op : detail::waiting<detail::ledger_use<>> {
    static constexpr const char* name = "ledger_pause";
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) { return misfit(a, in); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(step_ledger, ledger_pause);

/// in: the ledger; the step that is taken next, as when variables were restored, or -1. All gradients that are being computed, or wait,
/// are void.
struct ledger_discard_op : detail::ledger_use<0> {
    static constexpr const char* name = "ledger_discard";
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) { return misfit(a, in); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(step_ledger, ledger_discard);

/// in: the ledger. out: its step; how many replicas take part; how many gradients were counted; and how many dropped, by replica.
struct ledger_state_op : detail::ledger_use<> {
    static constexpr const char* name = "ledger_state";
    struct attributes {
        std::int64_t total = 1;
        constexpr const char* misfit() const {
            return total < 1 || total > most_replicas ? step_ledger_op::total_out_of_range : nullptr;
        }
    };
    static constexpr int outputs(const attributes&, int) { return 4; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        const inferred f = misfit(a, in);
        return f ? inferred(element_type::int64, output < 3 ? extents() : extents(extent(a.total))) : f;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(step_ledger, ledger_state);

namespace untyped {

/// A handle on a step ledger's node, for one replica. What does not fit is an invalid_argument_error with the rule's words.
class step_ledger {
public:
    /// Made in the current scopes.
    step_ledger(const step_ledger_op::attributes& of, std::int64_t replica, std::int64_t process);

    // `known`: a step that has begun.
    operation join(const any_tensor& known) const;
    operation attend() const;
    any_tensor begin(const any_tensor& known) const;
    operation commit(const any_tensor& turn) const;
    struct token {
        any_tensor step, counted;
    };
    token await() const;
    struct tickets {
        any_tensor step, numbers;
    };
    tickets apply(const any_tensor& known) const;
    operation advance(const any_tensor& step) const;
    operation leave(const any_tensor& why, bool finished = false) const;
    operation pause() const;
    operation discard(const any_tensor& next) const;
    struct standing {
        any_tensor step, present, counted, dropped;
    };
    standing state() const;
    const any_tensor& handle() const noexcept { return handle_; }

private:
    any_tensor handle_;
    detail::ledger_replica by_;
    std::int64_t total_;
};

} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_step_ledger)

#include <tenon/ops/state/step_ledger.inl>

namespace tenon {

namespace untyped {

TENON_INLINE step_ledger::step_ledger(const step_ledger_op::attributes& of, std::int64_t replica,
                                      std::int64_t process) :
    by_{replica, process}, total_(of.total) {
    (void)tenon::step_ledger(of.shared_name, {of.aggregate, of.total, of.parts}); // which says what is wrong with it
    const detail::no_controls apart;
    handle_ = tenon::add<step_ledger_op>(of, {}, "step_ledger");
}
TENON_INLINE operation step_ledger::join(const any_tensor& known) const {
    return operation(detail::add_use<ledger_join_op>(handle_, {known}, by_));
}
TENON_INLINE operation step_ledger::attend() const {
    return operation(detail::add_use<ledger_attend_op>(handle_, {}, by_));
}
TENON_INLINE any_tensor step_ledger::begin(const any_tensor& known) const {
    return any_tensor({detail::add_use<ledger_begin_op>(handle_, {known}, by_), 0});
}
TENON_INLINE operation step_ledger::commit(const any_tensor& turn) const {
    return operation(detail::add_use<ledger_commit_op>(handle_, {turn}, {}));
}
TENON_INLINE step_ledger::token step_ledger::await() const {
    node* const n = detail::add_use<ledger_await_op>(handle_, {}, by_);
    return {any_tensor({n, 0}), any_tensor({n, 1})};
}
TENON_INLINE step_ledger::tickets step_ledger::apply(const any_tensor& known) const {
    node* const n = detail::add_use<ledger_apply_op>(handle_, {known}, {by_, total_});
    return {any_tensor({n, 0}), any_tensor({n, 1})};
}
TENON_INLINE operation step_ledger::advance(const any_tensor& step) const {
    return operation(detail::add_use<ledger_advance_op>(handle_, {step}, {}));
}
TENON_INLINE operation step_ledger::leave(const any_tensor& why, bool finished) const {
    return operation(detail::add_use<ledger_leave_op>(handle_, {why}, {by_, finished}));
}
TENON_INLINE operation step_ledger::pause() const {
    return operation(detail::add_use<ledger_pause_op>(handle_, {}, {}));
}
TENON_INLINE operation step_ledger::discard(const any_tensor& next) const {
    return operation(detail::add_use<ledger_discard_op>(handle_, {next}, {}));
}
TENON_INLINE step_ledger::standing step_ledger::state() const {
    node* const n = detail::add_use<ledger_state_op>(handle_, {}, {total_});
    return {any_tensor({n, 0}), any_tensor({n, 1}), any_tensor({n, 2}), any_tensor({n, 3})};
}

} // namespace untyped

TENON_KERNEL(step_ledger, detail::step_ledger_kernel);
TENON_KERNEL(ledger_begin, detail::ledger_begin_kernel);
TENON_KERNEL(ledger_join, detail::ledger_join_kernel);
TENON_KERNEL(ledger_attend, detail::ledger_attend_kernel);
TENON_KERNEL(ledger_commit, detail::ledger_commit_kernel);
TENON_KERNEL(ledger_await, detail::ledger_await_kernel);
TENON_KERNEL(ledger_apply, detail::ledger_apply_kernel);
TENON_KERNEL(ledger_advance, detail::ledger_advance_kernel);
TENON_KERNEL(ledger_leave, detail::ledger_leave_kernel);
TENON_KERNEL(ledger_pause, detail::ledger_pause_kernel);
TENON_KERNEL(ledger_discard, detail::ledger_discard_kernel);
TENON_KERNEL(ledger_state, detail::ledger_state_kernel);

} // namespace tenon

#endif
