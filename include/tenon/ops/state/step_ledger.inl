#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <tenon/concurrency/failure.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/graph/resource_use.hpp>
#include <tenon/resources/step_ledger.hpp>

/// The kernels of ops/state/step_ledger.hpp, and what ledger a node stands for.

namespace tenon::detail {

// The ledger that a node stands for, on the device that `s` is for.
inline std::shared_ptr<step_ledger> ledger_of(const node& n, const kernel_setup& s) {
    require_made_by<step_ledger_op>(n, s, "step ledger");
    const auto a = decode<step_ledger_op::attributes>(n.attributes);
    const resource_identity id(n, a.shared_name, s);
    const step_ledger_description d{a.aggregate, a.total, a.parts};
    auto found = s.resources->find_or_make<step_ledger>(id.container, id.name,
                                                        [&] { return std::make_shared<step_ledger>(id.name, d); });
    if (!(found->description() == d))
        throw invalid_argument_error("step ledger " + id.shown() +
                                     ": replicas do not train the same: " + difference(found->description(), d) +
                                     "; give all replicas what the first one had. To train by something else from here "
                                     "on, end all of them and reset the container (tenon reset" +
                                     (id.container.empty() ? "" : " --container " + id.container) +
                                     ", session::reset): the variables of a checkpoint are restored then");
    return found;
}

// Of each: the ledger, and who asks.
template <class Op> struct ledger_kernel : kernel {
    explicit ledger_kernel(const kernel_setup& s) :
        of(ledger_of(*s.node.inputs[0].node, s)), a(decode<typename Op::attributes>(s.attrs)) {}
    double cost() const override { return 2; }
    const std::shared_ptr<step_ledger> of;
    const typename Op::attributes a;
};

struct step_ledger_kernel final : kernel {
    explicit step_ledger_kernel(const kernel_setup& s) : of(ledger_of(s.node, s)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) *r.output<std::int64_t>(0) = of->state().step;
    }
    double cost() const override { return 2; }
    const std::shared_ptr<step_ledger> of;
};

struct ledger_begin_kernel final : ledger_kernel<ledger_begin_op> {
    using ledger_kernel::ledger_kernel;
    void run(const kernel_run& r) override {
        const replica_turn turn = of->begin(a.replica, a.process, *r.input<std::int64_t>(1));
        if (!r.out[0]) return;
        std::int64_t* const to = r.output<std::int64_t>(0);
        to[0] = turn.replica;
        to[1] = turn.ticket;
        to[2] = turn.step;
    }
};

struct ledger_join_kernel final : ledger_kernel<ledger_join_op> {
    using ledger_kernel::ledger_kernel;
    void run(const kernel_run& r) override { of->join(a.replica, a.process, *r.input<std::int64_t>(1)); }
};

struct ledger_commit_kernel final : ledger_kernel<ledger_commit_op> {
    explicit ledger_commit_kernel(const kernel_setup& s) : ledger_kernel(s) {
        if (s.inputs[1].extents[0] != extent(3))
            throw invalid_argument_error(s.node.name + ": a turn is a replica, its ticket and its step, not " +
                                         to_string(s.inputs[1]));
    }
    void run(const kernel_run& r) override {
        const std::int64_t* const turn = r.input<std::int64_t>(1);
        of->commit({turn[0], turn[1], turn[2]});
    }
};

struct ledger_advance_kernel final : ledger_kernel<ledger_advance_op> {
    using ledger_kernel::ledger_kernel;
    void run(const kernel_run& r) override { of->advance(*r.input<std::int64_t>(1)); }
};

struct ledger_leave_kernel final : ledger_kernel<ledger_leave_op> {
    using ledger_kernel::ledger_kernel;
    void run(const kernel_run& r) override {
        of->leave(a.by.replica, a.by.process, *r.input<std::string>(1), a.finished);
    }
};

struct ledger_discard_kernel final : ledger_kernel<ledger_discard_op> {
    using ledger_kernel::ledger_kernel;
    void run(const kernel_run& r) override { of->discard(*r.input<std::int64_t>(1)); }
};

struct ledger_state_kernel final : ledger_kernel<ledger_state_op> {
    explicit ledger_state_kernel(const kernel_setup& s) : ledger_kernel(s) {
        if (a.total != of->description().total)
            throw invalid_argument_error(s.node.name + ": of " + std::to_string(a.total) + " replicas is asked what " +
                                         std::to_string(of->description().total) + " have done");
    }
    void run(const kernel_run& r) override {
        const step_ledger::standing is = of->state();
        const std::int64_t all[] = {is.step, is.present, is.counted};
        for (int i = 0; i < 3; ++i)
            if (r.out[i]) *r.output<std::int64_t>(i) = all[i];
        if (!r.out[3]) return;
        const std::vector<std::int64_t> dropped = of->dropped();
        std::copy(dropped.begin(), dropped.end(), r.output<std::int64_t>(3));
    }
};

// A replica that waits for its token, or for a step to apply, or attends; or somebody who waits for a pause.
template <class Op> class ledger_wait final : public wait, private ledger_attempt {
    static constexpr bool applies = std::is_same_v<Op, ledger_apply_op>, pauses = std::is_same_v<Op, ledger_pause_op>,
                          attends = std::is_same_v<Op, ledger_attend_op>;

public:
    static constexpr bool holds = applies || pauses || attends; // the ledger, until its step has ended on all tasks

    ledger_wait(std::shared_ptr<step_ledger> of, const typename Op::attributes& a) : of_(std::move(of)), a_(a) {}

    void start(const tenon::step&, completion& then) override {
        then_ = &then;
        if constexpr (applies) {
            const std::int64_t known = *values[1].template data<std::int64_t>();
            values.clear();
            of_->apply(*this, a_.by.replica, a_.by.process, known);
        } else {
            values.clear();
            if constexpr (pauses) of_->pause(*this);
            else if constexpr (attends) of_->attend(*this, a_.replica, a_.process);
            else of_->await(*this, a_.replica, a_.process);
        }
    }
    bool stop() noexcept override { return of_->stop(*this); }
    void give_back() noexcept override { of_->abandon(*this); }
    void let_go() noexcept override { of_->abandon(*this); } // nothing, where the step has been ended
    std::string awaited() const override { return of_->awaited(*this); }

private:
    void completed(std::exception_ptr failure) noexcept override {
        if (!failure) failure = thrown_by([&] { fill(); }); // no memory
        if constexpr (holds)
            if (failure || !keeps) of_->abandon(*this);
        then_->completed(std::move(failure)); // whoever is told may start it anew
    }
    void fill() {
        values.clear();
        if constexpr (pauses || attends) return;
        *values.emplace_back(element_type::int64, extents()).template data<std::int64_t>() = ledger_attempt::step;
        if constexpr (applies) {
            const auto n = static_cast<std::int64_t>(tickets.size());
            any_array& numbers = values.emplace_back(element_type::int64, extents(extent(n)));
            std::copy(tickets.begin(), tickets.end(), numbers.template data<std::int64_t>());
        } else *values.emplace_back(element_type::boolean, extents()).template data<bool>() = counted;
    }
    const std::shared_ptr<step_ledger> of_;
    const typename Op::attributes a_;
    completion* then_ = nullptr;
};

template <class Op> class waiting_ledger_kernel final : public waiting_kernel {
public:
    explicit waiting_ledger_kernel(const kernel_setup& s) :
        of_(ledger_of(*s.node.inputs[0].node, s)), a_(decode<typename Op::attributes>(s.attrs)) {}
    std::unique_ptr<wait> make_wait() const override { return std::make_unique<ledger_wait<Op>>(of_, a_); }
    bool takes() const override { return ledger_wait<Op>::holds; }
    bool uses_values() const override { return false; }

private:
    const std::shared_ptr<step_ledger> of_;
    const typename Op::attributes a_;
};
using ledger_await_kernel = waiting_ledger_kernel<ledger_await_op>;
using ledger_apply_kernel = waiting_ledger_kernel<ledger_apply_op>;
using ledger_pause_kernel = waiting_ledger_kernel<ledger_pause_op>;
using ledger_attend_kernel = waiting_ledger_kernel<ledger_attend_op>;

} // namespace tenon::detail
