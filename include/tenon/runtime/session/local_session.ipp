#pragma once

#include <algorithm>
#include <cctype>
#include <condition_variable>
#include <thread>

#include <tenon/core/error.hpp>
#include <tenon/kernel/denormals.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/place/cost_placer.hpp>
#include <tenon/runtime/plan/prune.hpp>
#include <tenon/runtime/session/local_session.hpp>
#include <tenon/runtime/session/planning.hpp>

namespace tenon::detail {

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
        parts_.push_back(std::move(part));
    }
    for (const auto& task : others_.tasks) {
        runtime::step_task part{{}, nullptr, task.get()};
        for (const device_description& d : task->devices()) add(part, nullptr, d);
        parts_.push_back(std::move(part));
    }
    require_other_names();
    const auto log = placement_log();
    if (log) tell_devices(log);
    placer_ = std::make_unique<runtime::placer>(list_devices(), o.allow_soft_placement, log, first_task());
    if (o.cost_measurements) strategy_ = std::make_unique<runtime::cost_placer>(o.cost_measurements);
    static std::atomic<std::uint64_t> sessions{0};
    if (container_.empty()) container_ = "session\x1f" + std::to_string(sessions.fetch_add(1) + 1);
    for (const auto& task : tasks_) task->enter(*this);
}

TENON_INLINE local_session::~local_session() {
    for (const auto& task : tasks_) task->leave(*this);
    for (device* d : devices_)
        if (d) d->resources().clear(container_);
    // The last to hold the session may be a step that ends on a thread of its pool_.
    if (own_pool_ && own_pool_->has_this_thread())
        std::thread([pool_ = std::shared_ptr<thread_pool>(std::move(own_pool_))]() mutable { pool_.reset(); }).detach();
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
                throw invalid_argument_error("session: two of its tasks_ have a device " +
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

// The plan for these feeds, fetches and sizes, made when it is not there yet.
TENON_INLINE std::shared_ptr<runtime::step_plan>
local_session::plan_for(const std::vector<any_tensor>& feeds, const any_array* const* fed, const fetch_request& r) {
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
    const std::uint64_t seed = graph.seed();
    key.push_back(static_cast<std::int64_t>(seed));
    const bool measure = is_measuring();
    key.push_back(measure);
    {
        const std::lock_guard lock(guard_);
        const auto at = plans_.find(key);
        if (at != plans_.end()) {
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
        made =
            std::make_shared<runtime::step_plan>(placed(planned(feeds, fed, r), o), o, parts_, others_.exchange.get());
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
    if (!p.several()) p.run(fed, fetched, e, in_flight_);
    else try {
            p.run(fed, fetched, e, in_flight_);
        } catch (const deadline_exceeded_error& late) {
            throw deadline_exceeded_error(late.what() + idle_runners(*p.several()));
        }
}

// What to do, where a step has waited for queues that nobody fills.
TENON_INLINE std::string local_session::idle_runners(const runtime::parted_step& s) const {
    const std::vector<any_tensor> collected = graph.collection(queue_runners);
    for (const node* waited : s.expired()) {
        if (!waited->op->is(op_flags::uses)) continue;
        for (const node_output& i : waited->inputs) { // a reader's queue of names is its input 1
            const node* const queue = i.node;
            const auto is_it = [&](const any_tensor& t) { return t.node() == queue; };
            if (std::any_of(collected.begin(), collected.end(), is_it) && !has_started_runner(queue))
                return "; the queue runners of \"" + queue->name +
                       "\" were never started in this session: call start_queue_runners(session, coordinator)";
        }
    }
    return {};
}

TENON_INLINE void local_session::begin(step& s, double timeout) const {
    s.pool = step_pool_;
    s.time = tasks_[0]->time;
    s.limit = timeout > 0 ? timeout : options.operation_timeout;
    if (s.limit > 0) {
        s.deadline = s.now() + std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(s.limit, 1e9) * 1e9));
        s.limit_source = timeout > 0 ? "run's time limit" : "session's operation_timeout";
    }
}

// Whoever waits fails; whoever comes finds the session closed.
TENON_INLINE void local_session::close() {
    set_closed();
    in_flight_.close(std::make_exception_ptr(cancelled_error("the step was stopped: its session was closed")),
                     std::make_exception_ptr(failed_precondition_error("Session is closed.")));
}

// The same, where callables may go on.
TENON_INLINE void local_session::end() noexcept {
    in_flight_.close(std::make_exception_ptr(cancelled_error("the step was stopped: its session has ended")), nullptr);
}

// A step on the pool's threads. It holds itself until it has ended.
class local_pending final : public pending_state, private runtime::run_owner {
public:
    local_pending(std::shared_ptr<local_session> s, std::shared_ptr<runtime::step_plan> plan,
                  std::vector<any_array> fed, std::size_t fetches, local_callable::completed then) :
        then_(std::move(then)),
        session_(std::move(s)),
        lease_(std::move(plan)),
        fed_(std::move(fed)),
        fetched_(fetches + 1) {
        for (const any_array& a : fed_) pointers_.push_back(&a);
        in_.may_be_stopped = true;
    }

    static void start(const std::shared_ptr<local_pending>& p, double timeout, trace* t) {
        p->session_->begin(p->in_, timeout);
        const runtime::run_environment e{&p->in_, t, nullptr};
        std::optional<denormal_scope> flushed;
        if (p->session_->options.flush_denormals) flushed.emplace(flushed_denormals);
        thread_pool& pool = *p->session_->pool_;
        if (runtime::parted_step* s = p->lease_.several()) {
            s->start(p->pointers_.data(), e, p->session_->in_flight_, pool, [p] { p->end(); });
            return;
        }
        p->self_ = p;
        pool.submit([p, e, mode = denormal_mode()] {
            const denormal_scope scope(mode);
            p->begin(e);
        });
    }
    void get(any_array* fetched) override {
        std::unique_lock lock(guard_);
        const auto ended = [&] { return ended_; };
        if (!in_.limited()) changed_.wait(lock, ended);
        else if (!changed_.wait_until(lock, in_.deadline, ended)) {
            lock.unlock();
            expire();
            lock.lock();
            changed_.wait(lock, ended);
        }
        if (taken_)
            throw failed_precondition_error(
                "pending_step::get: the results of this step were taken before; call it once");
        taken_ = true;
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr)); // from here on the caller's alone
        for (std::size_t f = 0; f + 1 < fetched_.size(); ++f) fetched[f] = std::move(fetched_[f]);
    }
    bool wait_for(double seconds) override {
        std::unique_lock lock(guard_);
        return changed_.wait_for(lock, std::chrono::duration<double>(std::min(seconds, 1e9)), [&] { return ended_; });
    }
    void stop() noexcept override {
        in_.set_stopped(true);
        if (lease_.several())
            lease_.several()->stop(
                std::make_exception_ptr(cancelled_error("the step was stopped (pending_step::stop)")));
        else lease_.one_stage()->stop();
    }
    // What computes sees itself that its time has come.
    void expire() noexcept override {
        if (!lease_.several()) {
            (void)lease_.one_stage()->expire();
            return;
        }
        late_.store(true, std::memory_order_relaxed);
        lease_.several()->expire();
    }

private:
    void begin(const runtime::run_environment& e) {
        try {
            lease_.one_stage()->start(pointers_.data(), fetched_.data(), e, *this);
        } catch (...) {
            ended(std::current_exception());
        }
    }
    void go_on() noexcept override {
        try {
            session_->pool_->submit([p = self_] { p->lease_.one_stage()->work(); });
        } catch (...) { // no memory: this thread does it
            lease_.one_stage()->work();
        }
    }
    void ended(std::exception_ptr failure) noexcept override {
        const std::shared_ptr<local_pending> self = std::move(self_);
        end(std::move(failure));
    }
    void end() {
        std::exception_ptr failure;
        try {
            try {
                lease_.several()->take(fetched_.data());
            } catch (const deadline_exceeded_error& e) {
                if (!late_.load(std::memory_order_relaxed)) throw;
                throw deadline_exceeded_error(e.what() + session_->idle_runners(*lease_.several()));
            }
        } catch (...) {
            failure = std::current_exception();
        }
        end(std::move(failure));
    }
    void end(std::exception_ptr failure) {
        if (then_) {
            fetched_.pop_back();
            then_(std::move(fetched_), std::move(failure));
            return;
        }
        const std::lock_guard lock(guard_);
        failure_ = std::move(failure);
        ended_ = true;
        changed_.notify_all();
    }

    // Who is told, in place of get(). It ends last: what it holds may be what the session's own end needs.
    const local_callable::completed then_;
    std::shared_ptr<local_session> session_;
    runtime::step_plan::lease lease_;
    std::shared_ptr<local_pending> self_; // while a step of one stage is in flight
    std::vector<any_array> fed_;
    std::vector<const any_array*> pointers_;
    step in_;
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::vector<any_array> fetched_; // and one more, so that there is a first
    std::exception_ptr failure_;
    bool ended_ = false, taken_ = false;
    std::atomic<bool> late_{false};
};

TENON_INLINE std::vector<any_array> local_session::run(run_request&& r) {
    const fed_tensors fed = checked(r);
    const step_plan::lease p(plan_for(fed.tensors, fed.values.data(), r));
    std::vector<any_array> fetched(r.fetches.size() + 1);
    run(p, fed.values.data(), fetched.data(), r.timeout);
    fetched.pop_back();
    return fetched;
}

TENON_INLINE std::shared_ptr<callable_state> local_session::make_callable(const std::vector<any_tensor>& feeds,
                                                                          const fetch_request& r) {
    require_open();
    require_request(feeds, r);
    return std::make_shared<local_callable>(shared_from_this(), feeds, r);
}

TENON_INLINE void local_callable::run(const any_array* const* fed, any_array* fetched, double timeout) {
    local_session& s = *session_;
    s.require_open();
    s.require_limit(timeout);
    std::unique_ptr<runtime::step_plan::lease> p(last_.exchange(nullptr, std::memory_order_acquire));
    bool fits = p && (*p)->is_measured() == s.is_measuring() && (*p)->epoch() == s.epoch() && (*p)->accepts(fed);
    for (std::size_t i = 0; i < feeds().size() && fits; ++i) fits = fed[i]->element() == feeds()[i].element();
    if (!fits) {
        for (std::size_t i = 0; i < feeds().size(); ++i) s.require_fit(feeds()[i], *fed[i]);
        p = std::make_unique<runtime::step_plan::lease>(s.plan_for(feeds(), fed, request()));
    }
    s.run(*p, fed, fetched, timeout);
    runtime::step_plan::lease* none = nullptr;
    if (last_.compare_exchange_strong(none, p.get(), std::memory_order_release, std::memory_order_relaxed))
        (void)p.release();
}

TENON_INLINE std::shared_ptr<pending_state> local_callable::start(std::vector<any_array> fed, double timeout) {
    return start(std::move(fed), timeout, nullptr, {});
}

TENON_INLINE std::shared_ptr<pending_state> local_callable::start(std::vector<any_array> fed, double timeout, trace* t,
                                                                  completed then) {
    local_session& s = *session_;
    s.require_open();
    s.require_limit(timeout);
    std::vector<const any_array*> values;
    for (std::size_t i = 0; i < feeds().size(); ++i) {
        s.require_fit(feeds()[i], fed[i]);
        values.push_back(&fed[i]);
    }
    auto p = std::make_shared<local_pending>(session_, s.plan_for(feeds(), values.data(), request()), std::move(fed),
                                             request().fetches.size(), std::move(then));
    local_pending::start(p, timeout, t);
    return p;
}

TENON_INLINE tenon::memory_info local_session::memory_info(const device_name& device) const {
    return device_called(device).memory();
}

TENON_INLINE placement_explanation local_session::explain(run_request&& asked) {
    const fed_tensors fed = checked(asked);
    const runtime::plan_options o = planning(graph.seed(), false);
    const runtime::program p = placed(planned(fed.tensors, fed.values.data(), asked), o);
    return runtime::explain(p, o, *placer_, strategy_for(p));
}

TENON_INLINE step_report local_session::report(run_request&& asked) {
    const fed_tensors fed = checked(asked);
    const auto p = plan_for(fed.tensors, fed.values.data(), asked);
    const runtime::plan_summary s = p->summary();
    step_report r{.nodes = s.operations,
                  .folded = s.folded,
                  .fused = s.fused,
                  .transfers = s.transfers,
                  .peak_bytes = s.peak_bytes(),
                  .arena_bytes = s.arena_bytes,
                  .lower_bound = s.lower_bound,
                  .variable_bytes = variable_bytes(),
                  .devices = {},
                  .order = p->order()};
    for (std::size_t d = 0; d < s.devices.size(); ++d)
        r.devices.push_back({.device = short_name(described_[d].attributes.name),
                             .peak_bytes = s.devices[d].bytes(),
                             .arena_bytes = s.devices[d].arena_bytes,
                             .lower_bound = s.devices[d].lower_bound,
                             .variable_bytes = devices_[d] ? devices_[d]->resources().bytes() : 0});
    return r;
}

} // namespace tenon::detail
