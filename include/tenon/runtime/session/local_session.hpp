#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/intrusive_list.hpp>
#include <tenon/runtime/distributed/step_plan.hpp>
#include <tenon/runtime/place/place.hpp>
#include <tenon/runtime/session/backend.hpp>
#include <tenon/runtime/session/observed.hpp>
#include <tenon/runtime/session/task_state.hpp>
#include <tenon/runtime/trace/timed_kernel.hpp>

/// A session whose steps are planned in this process, and run on its tasks and, where it is given such, on those of other processes.

namespace tenon::detail {

/// Tasks of other processes that a session's steps may run on.
struct remote_tasks {
    std::vector<std::shared_ptr<runtime::remote_task>> tasks;
    std::shared_ptr<runtime::step_exchange> exchange;
};

struct device_loop_steps;
/// Enters a step that a device goes on with until it is told to end, while it lives; others see themselves that they are to end. Of one
/// segment: the rest is among steps_in_flight.
class device_loop_step {
public:
    device_loop_step(device_loop_steps& all, const runtime::step_plan::lease& s);
    ~device_loop_step();
    device_loop_step(device_loop_step&&) = delete;

    list_links<device_loop_step> links{};

private:
    friend struct device_loop_steps;
    device_loop_steps& all_;
    const runtime::segment::lease* step_;
};
struct device_loop_steps {
    void stop() noexcept;
    std::recursive_mutex guard; // what is told may end within that, where there is no memory
    intrusive_list<device_loop_step, &device_loop_step::links> steps;
};

class local_session final : public session_state,
                            public task_member,
                            public std::enable_shared_from_this<local_session> {
public:
    /// Without a task it has one of its own. The first is where it is. `container`: of resources that are this session's
    /// alone; empty: one that no other session of this process has.
    local_session(const tenon::graph& g, const session_options& o, std::vector<std::shared_ptr<task_state>> t,
                  remote_tasks others = {}, std::string container = {});
    ~local_session() override;

    std::vector<any_array> run(run_request&& r) override;
    std::shared_ptr<callable_state> make_callable(const std::vector<any_tensor>& feeds,
                                                  const fetch_request& r) override;
    step_report report(run_request&& r) override;
    /// The same, when the tasks of other processes have told what is theirs: `then`, which throws nothing, is called once, on any thread,
    /// with what makes the report, or throws.
    void report_later(run_request&& r, std::function<void(function_ref<step_report()>)> then);
    placement_explanation explain(run_request&& r) override;
    std::string emit(run_request&& r) override;
    std::shared_ptr<timed_kernel> kernel_of(run_request&& r) override;
    session_statistics statistics() const override;
    std::vector<device_attributes> list_devices() const override;
    tenon::memory_info memory_info(const device_name& device) const override;
    /// Of the tasks of this process.
    std::vector<run_count> random_runs() const override;
    void set_random_runs(const std::vector<run_count>& counts) override;
    void set_trace(trace* t) override { traced_.set(t); }
    void set_measurements(cost_measurements* m) override { measured_.set(m); }
    void close() override;
    void end() noexcept override;

private:
    friend class local_callable;
    friend class local_pending;
    using step_plan = runtime::step_plan;
    struct kept_plan {
        std::shared_ptr<step_plan> plan;
        std::uint64_t used = 0; // when, in requests for a plan
    };

    bool give_back_memory() override;
    void forget_plans() override;

    void require_other_names() const;
    device_name first_task() const;
    void tell_devices(const shared_function<void(const std::string&)>& log) const;
    device& device_called(const device_name& name) const;
    std::size_t variable_bytes() const;
    // Changes where containers of a task are reset.
    std::uint64_t epoch() const noexcept;
    bool is_measuring() const noexcept { return measured_.is_set(); }

    // Of the node with these operands; on that device of the session, or, -1, where it is placed.
    std::shared_ptr<timed_kernel> timed(node& n, const std::vector<any_tensor>& operands, std::vector<any_array> values,
                                        int device);
    device_peak peak_of(int device, element_type e);

    runtime::request planned(const std::vector<any_tensor>& feeds, const any_array* const* fed,
                             const fetch_request& r) const;
    runtime::plan_options planning(std::uint64_t seed, bool measure) const;
    runtime::placement_strategy* strategy_for(const runtime::program& p) const;
    runtime::program placed(const runtime::request& r, const runtime::plan_options& o) const;
    std::vector<std::int64_t> key_of(const std::vector<any_tensor>& feeds, const any_array* const* fed,
                                     const fetch_request& r, std::uint64_t seed, bool measure) const;
    std::shared_ptr<step_plan> plan_for(const std::vector<any_tensor>& feeds, const any_array* const* fed,
                                        const fetch_request& r);
    bool too_much_is_kept() const;
    placement_explanation explained(const run_request& asked);
    std::shared_ptr<step_plan> reported_plan(const run_request& asked);
    step_report reported(const step_plan& p) const;

    void run(const step_plan::lease& p, const any_array* const* fed, any_array* fetched, double timeout) const;
    void begin(step& s, double timeout) const;
    deadlines& limits() const noexcept { return tasks_[0]->limits; }
    std::string idle_runners(const runtime::distributed_step& s) const;

    std::unique_ptr<thread_pool> own_pool_;
    thread_pool* pool_ = nullptr;
    thread_pool* step_pool_ = nullptr; // of kernels: nullptr where they have one thread
    std::vector<std::shared_ptr<task_state>> tasks_;
    const remote_tasks others_;
    std::vector<runtime::step_task> tasks_of_steps_; // of a step, by task: this process's, then the others
    std::vector<device*> devices_;                   // of all tasks; nullptr: another process's
    std::vector<device_description> described_;      // of the same, when the session was made
    std::unique_ptr<runtime::placer> placer_;
    std::unique_ptr<runtime::placement_strategy> strategy_; // nullptr: the rules decide
    mutable runtime::steps_in_flight in_flight_;
    steps_end ends_;
    mutable device_loop_steps device_loops_;
    std::string container_; // of resources that are this session's alone; no user's has such a name
    mutable observed<trace> traced_{"set_trace"};
    mutable observed<cost_measurements> measured_{"set_measurements"};

    mutable std::mutex guard_; // of what follows
    std::map<std::vector<std::int64_t>, kept_plan> plans_;
    std::uint64_t requests_ = 0;
};

/// One of a local session's, which a server also starts for others.
class local_callable final : public callable_state {
public:
    local_callable(std::shared_ptr<local_session> s, const std::vector<any_tensor>& feeds, const fetch_request& r) :
        callable_state(feeds, r), session_(std::move(s)) {}
    void run(const any_array* const* fed, any_array* fetched, double timeout) override;
    std::shared_ptr<pending_state> start(std::vector<any_array> fed, double timeout) override;

    using completed = std::function<void(std::vector<any_array> fetched, std::exception_ptr failure)>;
    /// Makes the plan that a step with these feeds needs, unless it is there.
    void plan(const std::vector<any_array>& fed);
    /// The same as start(); `then` is called once it has ended, by any thread. Its time is over at `deadline`, which is part of its
    /// limit; that is the task's to keep, or, where the task has a time of its own, whoever's calls expire().
    std::shared_ptr<pending_state> start(std::vector<any_array> fed, double timeout, trace* t, completed then,
                                         step::clock::time_point deadline = step::clock::time_point::max());
    /// What a step that start() gave waits for, on all its tasks as far as it is known here.
    static std::vector<runtime::awaited> waits_of(pending_state& step);

private:
    void run_now(const any_array* const* fed, any_array* fetched, double timeout);
    std::shared_ptr<pending_state> start_now(std::vector<any_array> fed, double timeout, trace* t, completed then,
                                             step::clock::time_point deadline);
    std::shared_ptr<runtime::step_plan> planned_for(const std::vector<any_array>& fed) const;

    const std::shared_ptr<local_session> session_;
    std::atomic<bool> busy_{false};                   // a call uses what follows
    std::optional<runtime::step_plan::lease> last_{}; // of the last such call, where it ended well
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/runtime/session/local_session.ipp>
#endif
