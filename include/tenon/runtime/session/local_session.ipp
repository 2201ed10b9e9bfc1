#pragma once

#include <algorithm>
#include <cctype>
#include <thread>

#include <tenon/concurrency/denormals.hpp>
#include <tenon/concurrency/failure.hpp>
#include <tenon/core/array/out_of_memory.hpp>
#include <tenon/core/error.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/place/cost_placer.hpp>
#include <tenon/runtime/plan/rewrite/prune.hpp>
#include <tenon/runtime/run/step_errors.hpp>
#include <tenon/runtime/session/local_session.hpp>
#include <tenon/runtime/session/planning.hpp>

#include <tenon/runtime/session/local_pending.inl>

namespace tenon::detail {

// "the step of \"loss\" and 2 others": what it was asked for.
inline std::string step_of(const fetch_request& r) {
    const std::size_t all = r.fetches.size() + r.targets.size();
    if (all == 0) return "the step";
    const node* const first = r.fetches.empty() ? r.targets[0].node() : r.fetches[0].node();
    std::string text = "the step of \"" + first->name + "\"";
    if (all > 1) text += " and " + std::to_string(all - 1) + (all > 2 ? " others" : " other");
    return text;
}

// Of a session of a task.
inline void require_left_to_task(const session_options& o) {
    const auto require = [](bool left, const char* name) {
        if (!left)
            throw invalid_argument_error(
                std::string("session_options::") + name +
                " is set for a session of a task, which has what its task_options say; set it there");
    };
    require(o.intra_op_threads == 0 || o.use_per_session_threads, "intra_op_threads");
    require(o.memory_limit == 0, "memory_limit");
    require(o.cpu_devices == 1, "cpu_devices");
    require(!o.gpus, "gpus");
    require(o.gpu_memory == memory_policy{}, "gpu_memory");
    require(o.gpu_devices == gpu_selection{}, "gpu_devices");
}

TENON_INLINE local_session::local_session(const tenon::graph& g, const session_options& o,
                                          std::vector<std::shared_ptr<task_state>> t, remote_tasks others,
                                          std::string container) :
    session_state(g, o), tasks_(std::move(t)), others_(std::move(others)), container_(std::move(container)) {
    if (!tasks_.empty()) require_left_to_task(o);
    if (o.use_per_session_threads) own_pool_ = std::make_unique<thread_pool>(o.intra_op_threads);
    if (tasks_.empty())
        tasks_.push_back(std::make_shared<task_state>(task_options{.intra_op_threads = o.intra_op_threads,
                                                                   .memory_limit = o.memory_limit,
                                                                   .cpu_devices = o.cpu_devices,
                                                                   .gpus = o.gpus,
                                                                   .gpu_memory = o.gpu_memory,
                                                                   .gpu_devices = o.gpu_devices,
                                                                   .placement_log = o.placement_log},
                                                      own_pool_.get(), "session_options"));
    pool_ = own_pool_ ? own_pool_.get() : tasks_[0]->pool;
    step_pool_ = pool_->size() > 1 ? pool_ : nullptr;
    const auto add = [&](runtime::step_task& part, device* d, device_description known) {
        part.devices.devices.push_back(static_cast<int>(devices_.size()));
        devices_.push_back(d);
        described_.push_back(std::move(known));
    };
    for (const auto& task : tasks_) {
        runtime::step_task part{{}, task == tasks_[0] ? pool_ : task->pool};
        for (const auto& d : task->devices) add(part, d.get(), describe(*d));
        tasks_of_steps_.push_back(std::move(part));
    }
    for (const auto& task : others_.tasks) {
        runtime::step_task part{{}, nullptr, task.get()};
        for (const device_description& d : task->devices()) add(part, nullptr, d);
        tasks_of_steps_.push_back(std::move(part));
    }
    require_other_names();
    const auto log = placement_log();
    if (log) tell_devices(log);
    placer_ = std::make_unique<runtime::placer>(list_devices(), o.allow_soft_placement, log, first_task());
    if (o.cost_measurements) strategy_ = std::make_unique<runtime::cost_placer>(o.cost_measurements);
    static std::atomic<std::uint64_t> sessions{0};
    if (container_.empty()) container_ = "session\x1f" + std::to_string(sessions.fetch_add(1) + 1);
    std::size_t entered = 0;
    try {
        for (; entered < tasks_.size(); ++entered) tasks_[entered]->enter(*this);
    } catch (...) { // no memory
        while (entered > 0) tasks_[--entered]->leave(*this);
        throw;
    }
}

TENON_INLINE local_session::~local_session() {
    for (const auto& task : tasks_) task->leave(*this);
    for (device* d : devices_)
        if (d) d->resources().clear(container_);
    // The last to hold the session may be a step that ends on a thread of its pool_.
    if (own_pool_ && own_pool_->has_this_thread()) {
        thread_pool* const pool = own_pool_.release();
        try {
            std::thread([pool] { delete pool; }).detach();
        } catch (...) { // no thread can be had that is none of its own: they stay asleep
        }
    }
}

TENON_INLINE std::uint64_t local_session::epoch() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& task : tasks_) sum += task->epoch();
    return sum;
}

TENON_INLINE void local_session::require_other_names() const {
    for (std::size_t a = 0; a < described_.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (described_[a].attributes.name == described_[b].attributes.name)
                throw invalid_argument_error("session: two of its tasks have a device " +
                                             to_string(described_[a].attributes.name) +
                                             "; give each its own task_options::job and index");
}

// Where resources are that nothing pins to a task (SEMANTICS 3): jobs by name, and of each the lowest number.
TENON_INLINE device_name local_session::first_task() const {
    const auto before = [](const device_description& x, const device_description& y) {
        const device_name &a = x.attributes.name, &b = y.attributes.name;
        return std::pair(a.job.str(), a.task) < std::pair(b.job.str(), b.task);
    };
    return std::min_element(described_.begin(), described_.end(), before)->attributes.name;
}

TENON_INLINE std::vector<device_attributes> local_session::list_devices() const {
    std::vector<device_attributes> all;
    for (const device_description& d : described_) all.push_back(d.attributes);
    return all;
}

TENON_INLINE void local_session::tell_devices(const shared_function<void(const std::string&)>& log) const {
    for (const device_description& d : described_) {
        const device_name& name = d.attributes.name;
        std::string line = "/";
        for (const char* c = name.type.c_str(); *c; ++c) line += static_cast<char>(std::tolower(*c));
        line += ":" + std::to_string(name.index) + " -> device: " + std::to_string(name.index) +
                ", name: " + d.attributes.description + ", memory: " + std::to_string(d.attributes.memory) + " bytes";
        log(line);
    }
}

TENON_INLINE device& local_session::device_called(const device_name& name) const {
    std::string there_are;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
        const device_name& own = described_[d].attributes.name;
        if (!name.type.empty() && name.allows(own)) {
            if (devices_[d]) return *devices_[d];
            throw unimplemented_error("session: how much memory of " + to_string(own) +
                                      " is in use is known to its own task; ask a session on that");
        }
        there_are += " " + to_string(own);
    }
    throw not_found_error("this session has no device \"" + to_string(name) + "\"; it has" + there_are);
}

TENON_INLINE std::size_t local_session::variable_bytes() const {
    std::size_t sum = 0;
    for (device* d : devices_)
        if (d) sum += d->resources().bytes();
    return sum;
}

// The request as the planner reads it.
TENON_INLINE runtime::request local_session::planned(const std::vector<any_tensor>& feeds, const any_array* const* fed,
                                                     const fetch_request& r) const {
    runtime::request q;
    for (std::size_t i = 0; i < feeds.size(); ++i) {
        q.feeds.push_back(feeds[i].output());
        q.feed_types.push_back(fed[i]->type());
    }
    for (const any_tensor& t : r.fetches) q.fetches.push_back(t.output());
    for (const operation& o : r.targets) q.targets.push_back(o.node());
    return q;
}

TENON_INLINE runtime::plan_options local_session::planning(std::uint64_t seed, bool measure) const {
    runtime::plan_options o = runtime::planning_of(options, pool_->size(), measure);
    o.epoch = epoch();
    o.graph_seed = seed;
    o.session_container = container_;
    if (others_.exchange && tasks_.size() == 1) o.lender = tasks_[0];
    o.devices = devices_;
    o.described = described_;
    for (std::size_t d = 0; d < devices_.size(); ++d)
        if (devices_[d]) o.described[d] = describe(*devices_[d]);
    return o;
}

// Costs are those of sizes: where some are known late, the rules decide.
TENON_INLINE runtime::placement_strategy* local_session::strategy_for(const runtime::program& p) const {
    const bool known =
        std::all_of(p.values.begin(), p.values.end(), [](const auto& v) { return v.type.extents.is_static(); });
    return known ? strategy_.get() : nullptr;
}

TENON_INLINE runtime::program local_session::placed(const runtime::request& r, const runtime::plan_options& o) const {
    runtime::program p = runtime::prune(r);
    runtime::place(p, o, *placer_, strategy_for(p));
    return p;
}

// What tells plans apart: feeds, fetches and sizes, and how they are planned.
TENON_INLINE std::vector<std::int64_t> local_session::key_of(const std::vector<any_tensor>& feeds,
                                                             const any_array* const* fed, const fetch_request& r,
                                                             std::uint64_t seed, bool measure) const {
    std::vector<std::int64_t> key;
    const auto add = [&](const node* n, int index) {
        key.push_back(n->number);
        key.push_back(index);
    };
    for (std::size_t i = 0; i < feeds.size(); ++i) {
        add(feeds[i].node(), feeds[i].index());
        key.push_back(fed[i]->rank());
        for (const extent& e : fed[i]->extents()) key.push_back(e.size);
    }
    key.push_back(-1);
    for (const any_tensor& t : r.fetches) add(t.node(), t.index());
    key.push_back(-1);
    for (const operation& o : r.targets) add(o.node(), 0);
    key.push_back(static_cast<std::int64_t>(seed));
    key.push_back(measure);
    return key;
}

// The plan for these feeds, fetches and sizes, made when it is not there yet.
TENON_INLINE std::shared_ptr<runtime::step_plan>
local_session::plan_for(const std::vector<any_tensor>& feeds, const any_array* const* fed, const fetch_request& r) {
    const std::uint64_t seed = graph.seed();
    const bool measure = is_measuring();
    std::vector<std::int64_t> key = key_of(feeds, fed, r, seed, measure);
    {
        const std::lock_guard lock(guard_);
        if (const auto at = plans_.find(key); at != plans_.end()) {
            at->second.used = ++requests_;
            return at->second.plan;
        }
    }
    std::optional<denormal_scope> flushed; // what is folded is computed as in its steps
    if (options.flush_denormals) flushed.emplace(flushed_denormals);
    std::shared_ptr<runtime::step_plan> made;
    std::vector<std::shared_ptr<runtime::step_plan>> dropped; // end after the lock does
    std::unique_lock lock(guard_, std::defer_lock);
    do { // again, where a container was reset meanwhile
        if (lock) lock.unlock();
        const runtime::plan_options o = planning(seed, measure);
        made = std::make_shared<runtime::step_plan>(placed(planned(feeds, fed, r), o), o, tasks_of_steps_,
                                                    others_.exchange.get());
        lock.lock();
    } while (made->epoch() != epoch());
    kept_plan& kept = plans_[std::move(key)];
    if (!kept.plan) kept.plan = std::move(made);
    kept.used = ++requests_;
    auto result = kept.plan;
    while (too_much_is_kept()) {
        const auto oldest = std::min_element(
            plans_.begin(), plans_.end(), [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
        dropped.push_back(std::move(oldest->second.plan));
        plans_.erase(oldest);
    }
    return result;
}

// Forgets the plan whose memory, of those that no step or callable holds, was not used for the longest time.
TENON_INLINE bool local_session::give_back_memory() {
    std::shared_ptr<runtime::step_plan> dropped; // ends after the lock does
    const std::lock_guard lock(guard_);
    auto oldest = plans_.end();
    for (auto at = plans_.begin(); at != plans_.end(); ++at)
        if (at->second.plan.use_count() == 1 && at->second.plan->kept_bytes() > 0 &&
            (oldest == plans_.end() || at->second.used < oldest->second.used))
            oldest = at;
    if (oldest == plans_.end()) return false;
    dropped = std::move(oldest->second.plan);
    plans_.erase(oldest);
    return true;
}

TENON_INLINE void local_session::forget_plans() {
    std::map<std::vector<std::int64_t>, kept_plan> dropped; // ends after the lock does
    const std::lock_guard lock(guard_);
    dropped.swap(plans_);
}

TENON_INLINE bool local_session::too_much_is_kept() const {
    if (plans_.size() < 2) return false;
    if (plans_.size() > static_cast<std::size_t>(options.kept_plans)) return true;
    std::size_t bytes = 0;
    for (const auto& [key, kept] : plans_) bytes += std::max(kept.plan->summary().arena_bytes, kept.plan->kept_bytes());
    return bytes > static_cast<std::size_t>(described_.front().attributes.memory) / 4;
}

TENON_INLINE session_statistics local_session::statistics() const {
    session_statistics s{.threads = pool_->size(), .variable_bytes = variable_bytes()};
    const std::lock_guard lock(guard_);
    s.plans = static_cast<int>(plans_.size());
    for (const auto& [key, kept] : plans_) s.plan_bytes += kept.plan->kept_bytes();
    return s;
}

TENON_INLINE void local_session::run(const runtime::step_plan::lease& p, const any_array* const* fed,
                                     any_array* fetched, double timeout) const {
    const observed<trace>::use tracing(traced_);
    const observed<cost_measurements>::use measuring(measured_);
    step in;
    begin(in, timeout);
    const runtime::run_environment e{&in, tracing.get(), measuring.get()};
    std::optional<denormal_scope> flushed;
    if (options.flush_denormals) flushed.emplace(flushed_denormals);
    try {
        const step_limit limit(p, in, limits());
        const device_loop_step looping(device_loops_, p);
        p.run(fed, fetched, e, in_flight_);
    } catch (const deadline_exceeded_error& late) {
        if (!p.several()) throw;
        throw deadline_exceeded_error(late.what() + idle_runners(*p.several()));
    }
}

// What to do, where a step has waited for queues that nobody fills. A queue has as many handles in a graph as were made for its
// shared name: whichever has the runners, or is waited at.
TENON_INLINE std::string local_session::idle_runners(const runtime::distributed_step& s) const {
    const std::vector<any_tensor> collected = graph.collection(queue_runners);
    const auto shared_name = [](const node& queue) -> std::string {
        const auto* const name = queue.attributes.find("shared_name");
        return name ? queue.attributes.get<std::string>("shared_name") : std::string();
    };
    const auto are_one = [&](const node& a, const node& b) {
        return &a == &b || (a.op == b.op && a.container == b.container && !shared_name(a).empty() &&
                            shared_name(a) == shared_name(b));
    };
    for (const node* waited : s.expired()) {
        if (!waited->op->is(op_flags::uses)) continue;
        for (const node_output& i : waited->inputs) { // a reader's queue of names is its input 1
            bool any = false, started = false;
            for (const any_tensor& t : collected)
                if (are_one(*t.node(), *i.node)) {
                    any = true;
                    started = started || has_started_runner(t.node());
                }
            if (any && !started)
                return "; the queue runners of \"" + i.node->name +
                       "\" were never started in this session: call start_queue_runners(session, coordinator)";
        }
    }
    return {};
}

TENON_INLINE void local_session::begin(step& s, double timeout) const {
    s.pool = step_pool_;
    s.time = tasks_[0]->time;
    runtime::set_limit(s, timeout, options.operation_timeout);
    s.ends_with(ends_);
    require_open(); // it may have been closed since it was asked
}

// Whoever waits or computes fails; whoever comes finds the session closed.
TENON_INLINE void local_session::close() {
    set_closed();
    ends_.stop("its session was closed");
    device_loops_.stop();
    in_flight_.close(failure_of([] { return cancelled_error("the step was stopped: its session was closed"); }),
                     failure_of([] { return failed_precondition_error("Session is closed."); }));
}

// The same, where callables may go on.
TENON_INLINE void local_session::end() noexcept {
    ends_.stop("its session has ended");
    device_loops_.stop();
    in_flight_.close(failure_of([] { return cancelled_error("the step was stopped: its session has ended"); }),
                     nullptr);
}

TENON_INLINE std::vector<any_array> local_session::run(run_request&& r) {
    return naming_out_of_memory([&] { return step_of(r); },
                                [&] {
                                    const fed_tensors fed = checked(r);
                                    const step_plan::lease p(plan_for(fed.tensors, fed.values.data(), r));
                                    std::vector<any_array> fetched(r.fetches.size() + 1);
                                    run(p, fed.values.data(), fetched.data(), r.timeout);
                                    fetched.pop_back();
                                    return fetched;
                                });
}

TENON_INLINE std::shared_ptr<callable_state> local_session::make_callable(const std::vector<any_tensor>& feeds,
                                                                          const fetch_request& r) {
    return naming_out_of_memory([&] { return "a callable for " + step_of(r); },
                                [&] {
                                    require_open();
                                    require_request(feeds, r);
                                    return std::make_shared<local_callable>(shared_from_this(), feeds, r);
                                });
}

TENON_INLINE tenon::memory_info local_session::memory_info(const device_name& device) const {
    return device_called(device).allocated();
}

// A node runs on one device; what was set is known on all.
TENON_INLINE std::vector<run_count> local_session::random_runs() const {
    std::map<std::string, std::uint64_t> most;
    for (device* d : devices_)
        if (d)
            for (const run_count& c : d->resources().counters(container_)->counts()) {
                std::uint64_t& runs = most[c.node];
                runs = std::max(runs, c.runs);
            }
    std::vector<run_count> all;
    for (const auto& [node, runs] : most) all.push_back({node, runs});
    return all;
}
TENON_INLINE void local_session::set_random_runs(const std::vector<run_count>& counts) {
    for (device* d : devices_)
        if (d) d->resources().counters(container_)->go_on_from(counts);
}

TENON_INLINE placement_explanation local_session::explain(run_request&& asked) {
    return naming_out_of_memory([&] { return "the placement of " + step_of(asked); }, [&] { return explained(asked); });
}
TENON_INLINE placement_explanation local_session::explained(const run_request& asked) {
    const fed_tensors fed = checked(asked);
    const runtime::plan_options o = planning(graph.seed(), false);
    const runtime::program p = placed(planned(fed.tensors, fed.values.data(), asked), o);
    runtime::given_sizes told; // by the last step of this request
    {
        const auto key = key_of(fed.tensors, fed.values.data(), asked, graph.seed(), is_measuring());
        const std::lock_guard lock(guard_);
        if (const auto at = plans_.find(key); at != plans_.end()) told = at->second.plan->last_sizes();
    }
    return runtime::explain(p, o, *placer_, strategy_for(p), told);
}

TENON_INLINE step_report local_session::report(run_request&& asked) { return reported(*reported_plan(asked)); }
TENON_INLINE void local_session::report_later(run_request&& asked,
                                              std::function<void(function_ref<step_report()>)> then) {
    const auto p = reported_plan(asked);
    p->when_known([self = shared_from_this(), p, then = std::move(then)] { then([&] { return self->reported(*p); }); });
}
TENON_INLINE std::shared_ptr<runtime::step_plan> local_session::reported_plan(const run_request& asked) {
    return naming_out_of_memory([&] { return "the report of " + step_of(asked); },
                                [&] {
                                    const fed_tensors fed = checked(asked);
                                    return plan_for(fed.tensors, fed.values.data(), asked);
                                });
}
TENON_INLINE step_report local_session::reported(const step_plan& p) const {
    const runtime::plan_summary s = p.summary();
    step_report r{.nodes = s.operations,
                  .folded = s.folded,
                  .fused = s.fused,
                  .transfers = s.transfers,
                  .peak_bytes = s.peak_bytes(),
                  .arena_bytes = s.arena_bytes,
                  .lower_bound = s.lower_bound,
                  .variable_bytes = variable_bytes(),
                  .recordings = p.recordings(),
                  .devices = {},
                  .order = p.order()};
    for (std::size_t d = 0; d < s.devices.size(); ++d)
        r.devices.push_back({.device = tasks_of_steps_.size() > 1 ? to_string(described_[d].attributes.name)
                                                                  : short_name(described_[d].attributes.name),
                             .peak_bytes = s.devices[d].bytes(),
                             .arena_bytes = s.devices[d].arena_bytes,
                             .lower_bound = s.devices[d].lower_bound,
                             .variable_bytes = devices_[d] ? devices_[d]->resources().bytes() : 0});
    return r;
}

} // namespace tenon::detail

#include <tenon/runtime/session/local_callable.inl>

#include <tenon/runtime/session/local_kernel.inl>
