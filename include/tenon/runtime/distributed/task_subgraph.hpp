#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tenon/resources/rendezvous.hpp>
#include <tenon/runtime/plan/task_programs.hpp>
#include <tenon/runtime/run/segment.hpp>

/// Parts of steps on other tasks than the caller's, wherever those are.

namespace tenon::runtime {

class steps_in_flight;
struct awaited;

/// What became of a subgraph that has ended, for the error of its step.
struct run_end {
    std::string changed;  ///< its task, where the subgraph has changed variables or queues there
    bool in_part = false; ///< not all that it was to change: it failed in between
    std::string unknown;  ///< its task, where nobody here knows whether it has
    std::string silent;   ///< why its task did not say how the subgraph ended; empty: it did
};

/// The task of these devices, "/job:ps/task:0", where this subgraph of a step changes what outlives it; else empty.
std::string task_changed_by(const program& subgraph, const plan_options& o);

/// A subgraph of one step in flight; then of the next of its plan.
class task_run {
public:
    virtual ~task_run() = default;
    /// Returns at once. ended() is called once, by any thread, and may end this object.
    virtual void start(const run_environment& e, rendezvous& values, steps_in_flight& among,
                       std::function<void()> ended) = 0;
    /// Of a subgraph that has ended: why it failed, or nullptr.
    virtual std::exception_ptr failure() const noexcept = 0;
    virtual run_end end() const = 0; ///< of the same; until it is settled, besides what it took
    // As of a subgraph_run.
    virtual bool took() const noexcept = 0;
    virtual void settle(bool failed, bool others_changed) noexcept = 0;
    virtual void arm() noexcept = 0;
    virtual void stop(const std::exception_ptr& why) noexcept = 0;
    virtual bool waits_itself() = 0; ///< false also where that is not known here
    virtual std::vector<awaited> waits() = 0;
    /// Its time has come: it fails, saying what it waits for, unless it has begun to update; false: it has ended.
    virtual bool expire() noexcept = 0;
    virtual std::vector<const node*> expired() const = 0;
};

/// What of a step's plan is on one such task.
class task_subgraph {
public:
    virtual ~task_subgraph() = default;
    virtual std::unique_ptr<task_run> make_step() = 0;
    virtual plan_summary summary() const = 0; ///< devices are the task's own
    /// Calls it once its summary is what it will be: at once, or when its task has told. On any thread; it throws nothing.
    virtual void when_known(std::function<void()> then) { then(); }
    virtual std::vector<std::string> order() const = 0;
    virtual std::size_t kept_bytes() const = 0;
    virtual recording_counts recordings() const = 0;      ///< that the task has told
    virtual given_sizes last_sizes() const { return {}; } ///< as of a subgraph; none where that is not known here
};

/// Of a subgraph on a task of this process, whose devices are those of o. The pool outlives it.
std::unique_ptr<task_subgraph> make_local_subgraph(program&& subgraph, const plan_options& o, thread_pool& pool);

/// A task of another process. Thread-safe.
class remote_task {
public:
    virtual ~remote_task() = default;
    virtual const std::vector<device_description>& devices() const = 0;
    /// Of a subgraph of a placed program, whose devices are the task's own.
    virtual std::unique_ptr<task_subgraph> plan_subgraph(program&& subgraph, const plan_options& o,
                                                         const std::vector<task_edge>& edges) = 0;
};

/// Where the subgraphs of one step meet, and then those of the next.
class step_rendezvous : public rendezvous {
public:
    /// From here to end() values arrive for the step of this number.
    virtual void begin(std::uint64_t step) = 0;
    virtual void end() noexcept = 0;
};

/// Of subgraphs that are all of this process.
std::unique_ptr<step_rendezvous> make_local_rendezvous(std::size_t edges);

/// Makes them, where some tasks are of other processes. Thread-safe.
class step_exchange {
public:
    virtual ~step_exchange() = default;
    virtual std::unique_ptr<step_rendezvous> make_rendezvous(const std::vector<task_edge>& edges) = 0;
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/distributed/task_subgraph.ipp>
#endif
