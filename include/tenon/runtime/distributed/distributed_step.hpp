#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/runtime/distributed/task_subgraph.hpp>
#include <tenon/runtime/run/subgraph_run.hpp>

/// A step on several tasks, in flight.

namespace tenon::runtime {

/// The subgraphs of one step: the first is the caller's, the others are on other tasks. They meet in the step's rendezvous. The first that
/// fails stops the others, and its error is the step's: with the tasks that have changed by then, and those that may have.
class distributed_step {
public:
    /// Without others there is nowhere to meet. `changes`: what task_changed_by() says of the first.
    distributed_step(subgraph& first, std::vector<std::unique_ptr<task_run>> others,
                     std::unique_ptr<step_rendezvous> values, std::string changes = {});
    distributed_step(distributed_step&&) = delete;

    // As of a subgraph_run.
    void run(const any_array* const* feeds, any_array* fetched, const run_environment& e, steps_in_flight& among);
    void start(const any_array* const* feeds, const run_environment& e, steps_in_flight& among, thread_pool& pool,
               std::function<void()> ended);
    void take(any_array* fetched);
    void stop(const std::exception_ptr& why) noexcept;
    void expire() noexcept;
    std::vector<const node*> expired() const;
    std::vector<awaited> waits(); ///< of all subgraphs

private:
    run_environment begin(const run_environment& e);
    void start_others(const run_environment& e, steps_in_flight& among);
    void subgraph_ended(std::exception_ptr why);
    void fail(const std::exception_ptr& why) noexcept;
    void settle(bool failed) noexcept;
    [[noreturn]] void rethrow_first();
    std::string what_became(const std::exception_ptr& first) const;

    subgraph_run first_run_;
    const std::vector<std::unique_ptr<task_run>> others_;
    const std::unique_ptr<step_rendezvous> values_;
    const std::string changes_;
    tenon::step in_;   // what the first subgraph begins with
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::size_t running_ = 0;
    std::exception_ptr first_;
    std::function<void()> ended_;
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/distributed/distributed_step.ipp>
#endif
