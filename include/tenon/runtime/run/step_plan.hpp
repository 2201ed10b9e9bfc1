#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <tenon/runtime/run/staged_step.hpp>

/// What a session keeps of a request, for the steps that run it.

namespace tenon::runtime {

class step_plan {
public:
    /// Of a program that was pruned and placed.
    step_plan(program&& placed, const plan_options& o) : stages_(std::move(placed), o) {}
    step_plan(const step_plan&) = delete;
    step_plan& operator=(const step_plan&) = delete;

    const staged_plan* operator->() const noexcept { return &stages_; }

    /// A plan and what one step in flight needs of it; both stay while it lives.
    class lease {
    public:
        explicit lease(std::shared_ptr<step_plan> p) : plan_(std::move(p)) {
            if (plan_->stages_.only()) one_stage_.emplace(plan_->stages_.only());
            else several_ = plan_->take_step();
        }
        ~lease() {
            if (several_) plan_->give_step(std::move(several_));
        }
        lease(const lease&) = delete;
        lease& operator=(const lease&) = delete;
        const staged_plan* operator->() const noexcept { return &plan_->stages_; }
        /// One step at a time; other leases of the plan may run at the same time.
        void run(const any_array* const* feeds, any_array* fetched, const run_environment& e,
                 steps_in_flight& among) const {
            if (one_stage_) one_stage_->run(feeds, fetched, e);
            else several_->run(feeds, fetched, e, among);
        }
        /// Where it is several stages.
        staged_step* several() const noexcept { return several_.get(); }

    private:
        std::shared_ptr<step_plan> plan_;
        std::optional<plan::lease> one_stage_;
        std::unique_ptr<staged_step> several_;
    };

private:
    std::unique_ptr<staged_step> take_step();
    void give_step(std::unique_ptr<staged_step> s) noexcept;

    staged_plan stages_;
    std::mutex guard_; // of what follows
    std::vector<std::unique_ptr<staged_step>> spare_;
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/step_plan.ipp>
#endif
