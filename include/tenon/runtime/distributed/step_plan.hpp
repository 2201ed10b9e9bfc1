#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tenon/runtime/distributed/distributed_step.hpp>
#include <tenon/runtime/plan/task_programs.hpp>

/// What a session keeps of a request, for the steps that run it.

namespace tenon::runtime {

/// One of the tasks that a step may run on: its devices, and the threads that run its subgraph; or where it is.
struct step_task {
    task_devices devices;
    thread_pool* pool = nullptr;
    remote_task* remote = nullptr; ///< of another process
};

class step_plan {
public:
    /// Of a program that was pruned and placed. The first task is the caller's. `exchange` is there where a task is of another
    /// process. Throws what making plans throws.
    step_plan(program&& placed, const plan_options& o, const std::vector<step_task>& tasks,
              step_exchange* exchange = nullptr);
    step_plan(step_plan&&) = delete;

    bool accepts(const any_array* const* feeds) const { return first_->accepts(feeds); }
    bool is_measured() const noexcept { return first_->is_measured(); }
    std::uint64_t epoch() const noexcept { return first_->epoch(); }
    plan_summary summary() const;                      ///< devices are those of plan_options
    void when_known(std::function<void()> then) const; ///< as of a task_subgraph, of all subgraphs
    std::vector<std::string> order() const;            ///< subgraph by subgraph
    std::size_t kept_bytes() const;
    recording_counts recordings() const; ///< of all tasks, as far as they have told
    /// As of a subgraph, of all subgraphs of this process.
    given_sizes last_sizes() const;

    /// A plan and what one step in flight needs of it; both stay while it lives.
    class lease {
    public:
        explicit lease(std::shared_ptr<step_plan> p) : plan_(std::move(p)) {
            if (plan_->only_) one_segment_.emplace(plan_->only_);
            else several_ = plan_->take_step();
        }
        ~lease() {
            if (several_) plan_->give_step(std::move(several_));
        }
        lease(lease&&) = delete;
        const step_plan* operator->() const noexcept { return plan_.get(); }
        /// One step at a time; other leases of the plan may run at the same time.
        void run(const any_array* const* feeds, any_array* fetched, const run_environment& e,
                 steps_in_flight& among) const {
            if (one_segment_) one_segment_->run(feeds, fetched, e);
            else several_->run(feeds, fetched, e, among);
        }
        /// Where it is one segment.
        const segment::lease* one_segment() const noexcept { return one_segment_ ? &*one_segment_ : nullptr; }
        /// Where it is several segments or subgraphs.
        distributed_step* several() const noexcept { return several_.get(); }

    private:
        std::shared_ptr<step_plan> plan_;
        std::optional<segment::lease> one_segment_;
        std::unique_ptr<distributed_step> several_;
    };

private:
    struct other {
        std::unique_ptr<task_subgraph> plan;
        task_devices task;
    };
    std::unique_ptr<distributed_step> take_step();
    void give_step(std::unique_ptr<distributed_step> s) noexcept;

    std::unique_ptr<subgraph> first_; // the caller's subgraph
    task_devices own_;                // the caller's task
    std::vector<other> others_;
    std::shared_ptr<segment> only_; // where it is one segment on one task
    std::vector<task_edge> edges_;  // between tasks
    std::string own_changes_;       // task_changed_by() of the caller's subgraph
    step_exchange* const exchange_;
    const std::size_t devices_;
    std::mutex guard_; // of what follows
    std::vector<std::unique_ptr<distributed_step>> spare_;
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/distributed/step_plan.ipp>
#endif
