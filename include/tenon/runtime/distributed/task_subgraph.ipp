#pragma once

#include <algorithm>
#include <utility>

#include <tenon/runtime/distributed/task_subgraph.hpp>
#include <tenon/runtime/run/subgraph_run.hpp>

namespace tenon::runtime {

namespace detail {

// Where all subgraphs are of this process.
class local_step_rendezvous final : public step_rendezvous {
public:
    explicit local_step_rendezvous(std::size_t edges) : values_(static_cast<std::int64_t>(edges)) {}
    void begin(std::uint64_t) override { values_.clear(); }
    void end() noexcept override {}
    void send(std::int64_t edge, any_array value) override { values_.send(edge, std::move(value)); }
    void receive(std::int64_t edge, arrival& a) override { values_.receive(edge, a); }
    bool stop(std::int64_t edge, arrival& a) noexcept override { return values_.stop(edge, a); }

private:
    local_rendezvous values_;
};

// A subgraph on another task of this process.
class local_task_run final : public task_run {
public:
    local_task_run(subgraph& p, thread_pool& pool, std::string changes) :
        step_(p), pool_(pool), changes_(std::move(changes)) {}
    void start(const run_environment& e, rendezvous& values, steps_in_flight& among,
               std::function<void()> ended) override {
        in_.pool = pool_.size() > 1 ? &pool_ : nullptr;
        in_.take_ends_of(*e.in);
        in_.values = &values;
        step_.start(nullptr, {&in_, e.traced, e.measured, nullptr, e.traced ? e.in->id() : 0}, among, pool_,
                    std::move(ended));
    }
    std::exception_ptr failure() const noexcept override { return step_.failure(); }
    run_end end() const override {
        return {step_.has_changed() ? changes_ : std::string(), step_.changed_in_part(), {}, {}};
    }
    bool took() const noexcept override { return step_.took(); }
    void settle(bool failed, bool others_changed) noexcept override {
        step_.settle(failed, others_changed);
        step_.forget();
    }
    void arm() noexcept override { step_.arm(); }
    void stop(const std::exception_ptr& why) noexcept override { step_.stop(why); }
    bool expire() noexcept override { return step_.expire(); }
    std::vector<awaited> waits() override { return step_.waits(); }
    bool waits_itself() override { return step_.waits_itself(); }
    std::vector<const node*> expired() const override { return step_.expired(); }

private:
    subgraph_run step_;
    thread_pool& pool_;
    const std::string changes_; // its task, where it changes something there
    tenon::step in_;            // what the subgraph begins with
};

class local_subgraph final : public task_subgraph {
public:
    local_subgraph(program&& p, const plan_options& o, thread_pool& pool) :
        changes_(task_changed_by(p, o)), plan_(std::move(p), o, true), pool_(pool) {}
    std::unique_ptr<task_run> make_step() override { return std::make_unique<local_task_run>(plan_, pool_, changes_); }
    plan_summary summary() const override { return plan_.summary(); }
    std::vector<std::string> order() const override { return plan_.order(); }
    std::size_t kept_bytes() const override { return plan_.kept_bytes(); }
    recording_counts recordings() const override { return plan_.recordings(); }
    given_sizes last_sizes() const override { return plan_.last_sizes(); }

private:
    const std::string changes_;
    subgraph plan_;
    thread_pool& pool_;
};

} // namespace detail

TENON_INLINE std::string task_changed_by(const program& subgraph, const plan_options& o) {
    const bool any = std::any_of(subgraph.items.begin(), subgraph.items.end(),
                                 [](const program_item& i) { return !i.removed && changes_resources(i); });
    if (!any || o.described.empty()) return {};
    const device_name& on = o.name_of(0);
    return "/job:" + on.job.str() + "/task:" + std::to_string(on.task);
}

TENON_INLINE std::unique_ptr<step_rendezvous> make_local_rendezvous(std::size_t edges) {
    return std::make_unique<detail::local_step_rendezvous>(edges);
}

TENON_INLINE std::unique_ptr<task_subgraph> make_local_subgraph(program&& subgraph, const plan_options& o,
                                                                thread_pool& pool) {
    return std::make_unique<detail::local_subgraph>(std::move(subgraph), o, pool);
}

} // namespace tenon::runtime
