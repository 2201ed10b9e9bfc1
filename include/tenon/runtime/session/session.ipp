#pragma once

#include <algorithm>
#include <cctype>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include <tenon/core/error.hpp>
#include <tenon/kernel/denormals.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/gpu_backend.hpp>
#include <tenon/runtime/place/cost_placer.hpp>
#include <tenon/runtime/plan/prune.hpp>
#include <tenon/runtime/run/step_plan.hpp>
#include <tenon/runtime/session/observed.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/runtime/session/task_state.hpp>

namespace tenon {

namespace detail {

inline void require_options(const session_options& o) {
    const auto require = [](bool good, const char* name, const std::string& value, const char* wanted) {
        if (!good)
            throw invalid_argument_error(std::string("session_options::") + name + " is " + value + "; " + wanted);
    };
    constexpr const char* threads = "give a positive number, or 0 for as many as there are cores";
    require(o.intra_op_threads >= 0, "intra_op_threads", std::to_string(o.intra_op_threads), threads);
    require(o.inter_op_threads >= 0, "inter_op_threads", std::to_string(o.inter_op_threads), threads);
    require(o.operation_timeout >= 0, "operation_timeout", std::to_string(o.operation_timeout),
            "give seconds, or 0 for no limit");
    require(o.kept_plans >= 1, "kept_plans", std::to_string(o.kept_plans), "give a positive number");
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
}

class session_state final : public task_member {
public:
    /// Without a task it has one of its own.
    session_state(const tenon::graph& g, const session_options& o, std::vector<std::shared_ptr<task_state>> t) :
        graph(g), options(o), tasks(std::move(t)) {
        if (!g.state()) moved_from("graph");
        require_options(o);
        if (!tasks.empty()) require_left_to_task(o);
        if (o.use_per_session_threads) own_pool = std::make_unique<thread_pool>(o.intra_op_threads);
        if (tasks.empty())
            tasks.push_back(std::make_shared<task_state>(task_options{.intra_op_threads = o.intra_op_threads,
                                                                      .memory_limit = o.memory_limit,
                                                                      .cpu_devices = o.cpu_devices,
                                                                      .gpus = o.gpus,
                                                                      .gpu_memory = o.gpu_memory},
                                                         own_pool.get(), "session_options"));
        pool = own_pool ? own_pool.get() : tasks[0]->pool;
        for (const auto& task : tasks) {
            runtime::step_task part{{}, task == tasks[0] ? pool : task->pool};
            for (const auto& d : task->devices) {
                part.devices.devices.push_back(static_cast<int>(devices_.size()));
                require_other_name(d->full_name());
                devices_.push_back(d.get());
            }
            parts.push_back(std::move(part));
        }
        step_pool = pool->size() > 1 ? pool : nullptr;
        const auto log = placement_log();
        if (log) tell_devices(log);
        placer = std::make_unique<runtime::placer>(descriptions(), o.allow_soft_placement, log, first_task());
        if (o.cost_measurements) strategy = std::make_unique<runtime::cost_placer>(o.cost_measurements);
        static std::atomic<std::uint64_t> sessions{0};
        container = "session\x1f" + std::to_string(sessions.fetch_add(1) + 1);
        for (const auto& task : tasks) task->enter(*this);
    }
    ~session_state() {
        for (const auto& task : tasks) task->leave(*this);
        for (device* d : devices()) d->resources().clear(container);
        // The last to hold the session may be a step that ends on a thread of its pool.
        if (own_pool && own_pool->has_this_thread())
            std::thread([pool = std::shared_ptr<thread_pool>(std::move(own_pool))]() mutable {
                pool.reset();
            }).detach();
    }
    session_state(const session_state&) = delete;
    session_state& operator=(const session_state&) = delete;

    tenon::graph graph;
    session_options options;
    std::unique_ptr<thread_pool> own_pool;
    thread_pool* pool = nullptr;
    std::vector<std::shared_ptr<task_state>> tasks; // the first is where the session is
    std::vector<runtime::step_task> parts;          // of a step, by task
    std::unique_ptr<runtime::placer> placer;
    std::unique_ptr<runtime::placement_strategy> strategy; // nullptr: the rules decide
    thread_pool* step_pool = nullptr;                      // of kernels: nullptr where they have one thread
    mutable runtime::steps_in_flight in_flight;
    std::string container; // of resources that are this session's alone; no user's has such a name
    std::atomic<bool> closed{false};
    mutable observed<trace> traced{"set_trace"};
    mutable observed<cost_measurements> measured{"set_measurements"};

    struct kept_plan {
        std::shared_ptr<runtime::step_plan> plan;
        std::uint64_t used = 0; // when, in requests for a plan
    };
    std::vector<device*> devices_; // of all tasks
    mutable std::mutex guard;      // of what follows
    std::map<std::vector<std::int64_t>, kept_plan> plans;
    std::uint64_t requests = 0;
    std::set<const node*> started_runners; // of these queues

    const std::vector<device*>& devices() const noexcept { return devices_; }
    // Changes where containers of a task are reset.
    std::uint64_t epoch() const noexcept {
        std::uint64_t sum = 0;
        for (const auto& task : tasks) sum += task->epoch();
        return sum;
    }
    void require_other_name(const device_name& name) const {
        for (const device* d : devices_)
            if (d->full_name() == name)
                throw invalid_argument_error("session: two of its tasks have a device " + to_string(name) +
                                             "; give each its own task_options::job and index");
    }
    // Where resources are that nothing pins to a task (SEMANTICS 3): jobs by name, and of each the lowest number.
    device_name first_task() const {
        const auto before = [](const device* a, const device* b) {
            return std::pair(a->full_name().job.str(), a->full_name().task) <
                   std::pair(b->full_name().job.str(), b->full_name().task);
        };
        return (*std::min_element(devices_.begin(), devices_.end(), before))->full_name();
    }
    std::vector<device_attributes> descriptions() const {
        std::vector<device_attributes> all;
        for (const auto& d : devices()) all.push_back(d->attributes());
        return all;
    }
    shared_function<void(const std::string&)> placement_log() const {
        if (!options.log_device_placement) return {};
        if (options.placement_log) return options.placement_log;
        return [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    }
    void tell_devices(const shared_function<void(const std::string&)>& log) const {
        for (const auto& d : devices()) {
            const device_name& name = d->full_name();
            std::string line = "/";
            for (const char* c = name.type.c_str(); *c; ++c) line += static_cast<char>(std::tolower(*c));
            line += ":" + std::to_string(name.index) + " -> device: " + std::to_string(name.index) +
                    ", name: " + d->attributes().description + ", memory: " + std::to_string(d->attributes().memory) +
                    " bytes";
            log(line);
        }
    }
    device& device_called(const device_name& name) const {
        std::string there_are;
        for (const auto& d : devices()) {
            if (!name.type.empty() && name.allows(d->full_name())) return *d;
            there_are += " " + to_string(d->full_name());
        }
        throw not_found_error("this session has no device \"" + to_string(name) + "\"; it has" + there_are);
    }
    std::size_t variable_bytes() const {
        std::size_t sum = 0;
        for (const auto& d : devices()) sum += d->resources().bytes();
        return sum;
    }

    void require_open() const {
        if (closed.load(std::memory_order_acquire)) throw failed_precondition_error("Session is closed.");
    }

    void require_member(const node* n, const char* kind, std::size_t i, std::size_t count, const char* role) const {
        if (!n)
            throw invalid_argument_error("session: " + std::string(kind) + " " + std::to_string(i + 1) + " of " +
                                         std::to_string(count) + " to be " + role +
                                         " is an empty handle; give one that a function of the library returned");
        if (n->graph != graph.state())
            throw invalid_argument_error("session: " + n->name + " cannot be " + role +
                                         ": it belongs to another graph than this session's");
    }

    void require_request(const std::vector<any_tensor>& feeds, const fetch_request& r) const {
        for (std::size_t i = 0; i < feeds.size(); ++i) {
            require_member(feeds[i].node(), "tensor", i, feeds.size(), "fed");
            for (std::size_t j = 0; j < i; ++j)
                if (feeds[i].output() == feeds[j].output())
                    throw invalid_argument_error("session: " + feeds[i].name() + " is fed twice");
        }
        for (std::size_t i = 0; i < r.fetches.size(); ++i)
            require_member(r.fetches[i].node(), "tensor", i, r.fetches.size(), "fetched");
        for (std::size_t i = 0; i < r.targets.size(); ++i)
            require_member(r.targets[i].node(), "operation", i, r.targets.size(), "run");
    }

    void require_fit(const any_tensor& t, const any_array& value) const {
        const std::string why = misfit(value.type(), t.type());
        if (!why.empty())
            throw invalid_argument_error("feed of " + t.name() + ": it is " + to_string(t.type()) + ", the value is " +
                                         to_string(value.type()) + ": " + why);
    }

    // A request's feeds, which live as long as it, after all of it was checked.
    struct fed_tensors {
        std::vector<any_tensor> tensors;
        std::vector<const any_array*> values;
    };
    fed_tensors checked(const run_request& r) const {
        require_open();
        require_limit(r.timeout);
        fed_tensors fed;
        for (const fed_value& f : r.feeds) {
            fed.tensors.push_back(f.tensor);
            fed.values.push_back(&f.value);
        }
        require_request(fed.tensors, r);
        for (const fed_value& f : r.feeds) require_fit(f.tensor, f.value);
        return fed;
    }

    // The request as the planner reads it.
    runtime::request planned(const std::vector<any_tensor>& feeds, const any_array* const* fed,
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
    runtime::plan_options planning(std::uint64_t seed, bool measure) const {
        runtime::plan_options o;
        o.epoch = epoch();
        o.threads = pool->size();
        o.side_by_side = measure                    ? 1
                         : options.inter_op_threads ? std::min(options.inter_op_threads, o.threads)
                                                    : o.threads;
        // The node that made the first NaN has a name of its own, and each node a time, only while it runs alone.
        o.fold = options.fold_constants && !options.check_numerics && !measure;
        o.fuse = options.fuse && !options.check_numerics && !measure;
        o.measure = measure;
        o.check_numerics = options.check_numerics;
        o.graph_seed = seed;
        o.session_container = container;
        o.kept_stages = options.kept_plans;
        o.devices = devices_;
        return o;
    }

    // Costs are those of sizes: where some are known late, the rules decide.
    runtime::placement_strategy* strategy_for(const runtime::program& p) const {
        const bool known =
            std::all_of(p.values.begin(), p.values.end(), [](const auto& v) { return v.type.extents.is_static(); });
        return known ? strategy.get() : nullptr;
    }
    runtime::program placed(const runtime::request& r, const runtime::plan_options& o) const {
        runtime::program p = runtime::prune(r);
        runtime::place(p, o, *placer, strategy_for(p));
        return p;
    }

    // The plan for these feeds, fetches and sizes, made when it is not there yet.
    std::shared_ptr<runtime::step_plan> plan_for(const std::vector<any_tensor>& feeds, const any_array* const* fed,
                                                 const fetch_request& r) {
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
            const std::lock_guard lock(guard);
            const auto at = plans.find(key);
            if (at != plans.end()) {
                at->second.used = ++requests;
                return at->second.plan;
            }
        }
        std::optional<denormal_scope> flushed; // what is folded is computed as in its steps
        if (options.flush_denormals) flushed.emplace(flushed_denormals);
        std::shared_ptr<runtime::step_plan> made;
        std::vector<std::shared_ptr<runtime::step_plan>> dropped; // end after the lock does
        std::unique_lock lock(guard, std::defer_lock);
        do { // again, where a container was reset meanwhile
            if (lock) lock.unlock();
            const runtime::plan_options o = planning(seed, measure);
            made = std::make_shared<runtime::step_plan>(placed(planned(feeds, fed, r), o), o, parts);
            lock.lock();
        } while (made->epoch() != epoch());
        kept_plan& kept = plans[std::move(key)];
        if (!kept.plan) kept.plan = std::move(made);
        kept.used = ++requests;
        auto result = kept.plan;
        while (too_much_is_kept()) {
            const auto oldest = std::min_element(
                plans.begin(), plans.end(), [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
            dropped.push_back(std::move(oldest->second.plan));
            plans.erase(oldest);
        }
        return result;
    }

    // Forgets the plan whose memory, of those that no step or callable holds, was not used for the longest time.
    bool give_back_memory() override {
        std::shared_ptr<runtime::step_plan> dropped; // ends after the lock does
        const std::lock_guard lock(guard);
        auto oldest = plans.end();
        for (auto at = plans.begin(); at != plans.end(); ++at)
            if (at->second.plan.use_count() == 1 && at->second.plan->kept_bytes() > 0 &&
                (oldest == plans.end() || at->second.used < oldest->second.used))
                oldest = at;
        if (oldest == plans.end()) return false;
        dropped = std::move(oldest->second.plan);
        plans.erase(oldest);
        return true;
    }

    void forget_plans() override {
        std::map<std::vector<std::int64_t>, kept_plan> dropped; // ends after the lock does
        const std::lock_guard lock(guard);
        dropped.swap(plans);
    }

    bool is_measuring() const noexcept { return measured.is_set(); }

    bool too_much_is_kept() const {
        if (plans.size() < 2) return false;
        if (plans.size() > static_cast<std::size_t>(options.kept_plans)) return true;
        std::size_t bytes = 0;
        for (const auto& [key, kept] : plans)
            bytes += std::max(kept.plan->summary().arena_bytes, kept.plan->kept_bytes());
        return bytes > static_cast<std::size_t>(devices().front()->attributes().memory) / 4;
    }

    session_statistics statistics() const {
        session_statistics s{.threads = pool->size(), .variable_bytes = variable_bytes()};
        const std::lock_guard lock(guard);
        s.plans = static_cast<int>(plans.size());
        for (const auto& [key, kept] : plans) s.plan_bytes += kept.plan->kept_bytes();
        return s;
    }

    void run(const runtime::step_plan::lease& p, const any_array* const* fed, any_array* fetched,
             double timeout) const {
        const observed<trace>::use tracing(traced);
        const observed<cost_measurements>::use measuring(measured);
        step in;
        begin(in, timeout);
        const runtime::run_environment e{&in, tracing.get(), measuring.get()};
        std::optional<denormal_scope> flushed;
        if (options.flush_denormals) flushed.emplace(flushed_denormals);
        if (!p.several()) p.run(fed, fetched, e, in_flight);
        else try {
                p.run(fed, fetched, e, in_flight);
            } catch (const deadline_exceeded_error& late) {
                throw deadline_exceeded_error(late.what() + idle_runners(*p.several()));
            }
    }
    // What to do, where a step has waited for queues that nobody fills.
    std::string idle_runners(const runtime::parted_step& s) const {
        const std::vector<any_tensor> collected = graph.collection(queue_runners);
        const std::lock_guard lock(guard);
        for (const node* waited : s.expired()) {
            if (!waited->op->is(op_flags::uses)) continue;
            const node* const queue = waited->inputs[0].node;
            const auto is_it = [&](const any_tensor& t) { return t.node() == queue; };
            if (std::any_of(collected.begin(), collected.end(), is_it) && !started_runners.contains(queue))
                return "; the queue runners of \"" + queue->name +
                       "\" were never started in this session: call start_queue_runners(session, coordinator)";
        }
        return {};
    }
    void begin(step& s, double timeout) const {
        s.pool = step_pool;
        s.limit = timeout > 0 ? timeout : options.operation_timeout;
        if (s.limit > 0) {
            s.deadline = std::chrono::steady_clock::now() +
                         std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(s.limit, 1e9) * 1e9));
            s.limit_source = timeout > 0 ? "run's time limit" : "session's operation_timeout";
        }
    }
    // Whoever waits fails; whoever comes finds the session closed.
    void close() {
        closed.store(true, std::memory_order_release);
        in_flight.close(std::make_exception_ptr(cancelled_error("the step was stopped: its session was closed")),
                        std::make_exception_ptr(failed_precondition_error("Session is closed.")));
    }
    // The same, where callables may go on.
    void stop_waits() noexcept {
        in_flight.close(std::make_exception_ptr(cancelled_error("the step was stopped: its session has ended")),
                        nullptr);
    }

    static void require_limit(double seconds) {
        if (!(seconds >= 0))
            throw invalid_argument_error("run_for: the time limit is " + std::to_string(seconds) +
                                         " s; give a positive number of seconds, or 0 for the session's limit");
    }
};

class callable_state {
public:
    std::shared_ptr<session_state> session;
    std::vector<any_tensor> feeds;
    fetch_request request;
    std::atomic<runtime::step_plan::lease*> last{nullptr}; // of the last call; taken out by the one that uses it
    ~callable_state() { delete last.load(); }
};

TENON_INLINE std::vector<any_array> run_once(session_state& s, run_request&& r) {
    const session_state::fed_tensors fed = s.checked(r);
    const runtime::step_plan::lease p(s.plan_for(fed.tensors, fed.values.data(), r));
    std::vector<any_array> fetched(r.fetches.size() + 1);
    s.run(p, fed.values.data(), fetched.data(), r.timeout);
    fetched.pop_back();
    return fetched;
}

TENON_INLINE std::shared_ptr<callable_state>
make_callable(std::shared_ptr<session_state> s, const std::vector<any_tensor>& feeds, const fetch_request& r) {
    s->require_open();
    s->require_request(feeds, r);
    auto c = std::make_shared<callable_state>();
    c->session = std::move(s);
    c->feeds = feeds;
    c->request.fetches = r.fetches;
    c->request.targets = r.targets;
    return c;
}

TENON_INLINE void run_callable(callable_state& c, const any_array* const* fed, any_array* fetched, double timeout) {
    session_state& s = *c.session;
    s.require_open();
    s.require_limit(timeout);
    std::unique_ptr<runtime::step_plan::lease> p(c.last.exchange(nullptr, std::memory_order_acquire));
    bool fits = p && (*p)->is_measured() == s.is_measuring() && (*p)->epoch() == s.epoch() && (*p)->accepts(fed);
    for (std::size_t i = 0; i < c.feeds.size() && fits; ++i) fits = fed[i]->element() == c.feeds[i].element();
    if (!fits) {
        for (std::size_t i = 0; i < c.feeds.size(); ++i) s.require_fit(c.feeds[i], *fed[i]);
        p = std::make_unique<runtime::step_plan::lease>(s.plan_for(c.feeds, fed, c.request));
    }
    s.run(*p, fed, fetched, timeout);
    runtime::step_plan::lease* none = nullptr;
    if (c.last.compare_exchange_strong(none, p.get(), std::memory_order_release, std::memory_order_relaxed))
        (void)p.release();
}

// A step on the pool's threads. It holds itself until it has ended.
class pending_state final : private runtime::run_owner {
public:
    pending_state(std::shared_ptr<session_state> s, std::shared_ptr<runtime::step_plan> plan,
                  std::vector<any_array> fed, std::size_t fetches) :
        session_(std::move(s)), lease_(std::move(plan)), fed_(std::move(fed)), fetched_(fetches + 1) {
        for (const any_array& a : fed_) pointers_.push_back(&a);
        in_.may_be_stopped = true;
    }

    static void start(const std::shared_ptr<pending_state>& p, double timeout) {
        p->session_->begin(p->in_, timeout);
        const runtime::run_environment e{&p->in_, nullptr, nullptr};
        std::optional<denormal_scope> flushed;
        if (p->session_->options.flush_denormals) flushed.emplace(flushed_denormals);
        thread_pool& pool = *p->session_->pool;
        if (runtime::parted_step* s = p->lease_.several()) {
            s->start(p->pointers_.data(), e, p->session_->in_flight, pool, [p] { p->end(); });
            return;
        }
        p->self_ = p;
        pool.submit([p, e, mode = denormal_mode()] {
            const denormal_scope scope(mode);
            p->begin(e);
        });
    }
    void get(any_array* fetched) {
        std::unique_lock lock(guard_);
        bool late = false;
        const auto ended = [&] { return ended_; };
        if (!in_.limited()) changed_.wait(lock, ended);
        else if (!changed_.wait_until(lock, in_.deadline, ended)) {
            lock.unlock();
            // What computes sees the time itself.
            if (lease_.several()) lease_.several()->expire();
            else (void)lease_.one_stage()->expire();
            lock.lock();
            changed_.wait(lock, ended);
            late = true;
        }
        if (taken_)
            throw failed_precondition_error(
                "pending_step::get: the results of this step were taken before; call it once");
        taken_ = true;
        try {
            if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr)); // from here on the caller's alone
        } catch (const deadline_exceeded_error& e) {
            if (!late || !lease_.several()) throw;
            throw deadline_exceeded_error(e.what() + session_->idle_runners(*lease_.several()));
        }
        for (std::size_t f = 0; f + 1 < fetched_.size(); ++f) fetched[f] = std::move(fetched_[f]);
    }
    bool wait_for(double seconds) {
        std::unique_lock lock(guard_);
        return changed_.wait_for(lock, std::chrono::duration<double>(std::min(seconds, 1e9)), [&] { return ended_; });
    }
    void stop() noexcept {
        in_.set_stopped(true);
        if (lease_.several())
            lease_.several()->stop(
                std::make_exception_ptr(cancelled_error("the step was stopped (pending_step::stop)")));
        else lease_.one_stage()->stop();
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
            session_->pool->submit([p = self_] { p->lease_.one_stage()->work(); });
        } catch (...) { // no memory: this thread does it
            lease_.one_stage()->work();
        }
    }
    void ended(std::exception_ptr failure) noexcept override {
        const std::shared_ptr<pending_state> self = std::move(self_);
        end(std::move(failure));
    }
    void end() {
        std::exception_ptr failure;
        try {
            lease_.several()->take(fetched_.data());
        } catch (...) {
            failure = std::current_exception();
        }
        end(std::move(failure));
    }
    void end(std::exception_ptr failure) {
        const std::lock_guard lock(guard_);
        failure_ = std::move(failure);
        ended_ = true;
        changed_.notify_all();
    }

    std::shared_ptr<session_state> session_;
    runtime::step_plan::lease lease_;
    std::shared_ptr<pending_state> self_; // while a step of one stage is in flight
    std::vector<any_array> fed_;
    std::vector<const any_array*> pointers_;
    step in_;
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::vector<any_array> fetched_; // and one more, so that there is a first
    std::exception_ptr failure_;
    bool ended_ = false, taken_ = false;
};

TENON_INLINE std::shared_ptr<pending_state> start_callable(callable_state& c, std::vector<any_array> fed,
                                                           double timeout) {
    session_state& s = *c.session;
    s.require_open();
    s.require_limit(timeout);
    std::vector<const any_array*> values;
    for (std::size_t i = 0; i < c.feeds.size(); ++i) {
        s.require_fit(c.feeds[i], fed[i]);
        values.push_back(&fed[i]);
    }
    auto p = std::make_shared<pending_state>(c.session, s.plan_for(c.feeds, values.data(), c.request), std::move(fed),
                                             c.request.fetches.size());
    pending_state::start(p, timeout);
    return p;
}
TENON_INLINE void get_results(pending_state& p, any_array* fetched) { p.get(fetched); }
TENON_INLINE bool wait_for_end(pending_state& p, double seconds) { return p.wait_for(seconds); }
TENON_INLINE void stop_pending(pending_state& p) noexcept { p.stop(); }

TENON_INLINE const any_tensor& fed_tensor(const callable_state& c, std::size_t i) { return c.feeds[i]; }

} // namespace detail

TENON_INLINE std::vector<any_array> untyped_callable::run_for(double seconds,
                                                              const std::vector<any_array>& values) const {
    if (!state_) detail::moved_from("callable");
    if (values.size() != state_->feeds.size())
        throw invalid_argument_error("callable: it is fed " + std::to_string(state_->feeds.size()) +
                                     " tensors, and was given " + std::to_string(values.size()) +
                                     " values; give one for each, in the order of the feeds");
    std::vector<const any_array*> fed;
    for (const any_array& v : values) fed.push_back(&v);
    std::vector<any_array> fetched(state_->request.fetches.size());
    detail::run_callable(*state_, fed.data(), fetched.data(), seconds);
    return fetched;
}

TENON_INLINE session::session() : session(session_options{}) {}
TENON_INLINE session::session(const session_options& o) : session(graph::current(), o) {}
TENON_INLINE session::session(const graph& g) : session(g, session_options{}) {}
TENON_INLINE session::session(const graph& g, const session_options& o) :
    state_(std::make_shared<detail::session_state>(g, o, std::vector<std::shared_ptr<detail::task_state>>())) {}
TENON_INLINE session::session(const task& t, const session_options& o) : session(t, graph::current(), o) {}
TENON_INLINE session::session(const task& t, const graph& g, const session_options& o) {
    *this = session(std::vector<task>{t}, g, o);
}
TENON_INLINE session::session(const std::vector<task>& tasks, const graph& g, const session_options& o) {
    if (tasks.empty()) throw invalid_argument_error("session: it is given no task; give at least one");
    std::vector<std::shared_ptr<detail::task_state>> all;
    for (const task& t : tasks) {
        if (!t.state_) detail::moved_from("task");
        all.push_back(t.state_);
    }
    state_ = std::make_shared<detail::session_state>(g, o, std::move(all));
}
TENON_INLINE session::~session() {
    if (state_) state_->stop_waits();
}
TENON_INLINE session& session::operator=(session&& other) noexcept {
    if (state_ && state_ != other.state_) state_->stop_waits();
    state_ = std::move(other.state_);
    return *this;
}

TENON_INLINE std::vector<any_array> session::run_untyped(std::vector<fed_value> feeds,
                                                         const std::vector<any_tensor>& fetches,
                                                         const std::vector<operation>& targets) {
    detail::run_request r;
    r.feeds = std::move(feeds);
    r.fetches = fetches;
    r.targets = targets;
    return detail::run_once(live(), std::move(r));
}

TENON_INLINE untyped_callable session::callable_untyped(const std::vector<any_tensor>& feeds,
                                                        const std::vector<any_tensor>& fetches,
                                                        const std::vector<operation>& targets) {
    (void)live();
    detail::fetch_request r;
    r.fetches = fetches;
    r.targets = targets;
    return untyped_callable(detail::make_callable(state_, feeds, r));
}

TENON_INLINE std::vector<device_attributes> session::list_logical_devices() const {
    std::vector<device_attributes> all;
    for (const auto& d : live().devices()) all.push_back(d->attributes());
    return all;
}
TENON_INLINE tenon::memory_info session::memory_info(const device_name& device) const {
    return live().device_called(device).memory();
}
TENON_INLINE void session::set_trace(trace* t) { live().traced.set(t); }
TENON_INLINE void session::set_measurements(cost_measurements* m) { live().measured.set(m); }
TENON_INLINE session_statistics session::statistics() const { return live().statistics(); }
TENON_INLINE void session::close() { live().close(); }
TENON_INLINE void session::note_started_runner(const any_tensor& queue) {
    const std::lock_guard lock(live().guard);
    live().started_runners.insert(queue.node());
}
TENON_INLINE const graph& session::bound_graph() const { return live().graph; }

TENON_INLINE placement_explanation session::explanation_of(detail::run_request&& asked) {
    const detail::session_state::fed_tensors fed = live().checked(asked);
    const runtime::plan_options o = live().planning(live().graph.seed(), false);
    const runtime::program p = live().placed(live().planned(fed.tensors, fed.values.data(), asked), o);
    return runtime::explain(p, o, *live().placer, live().strategy_for(p));
}

TENON_INLINE step_report session::report_of(detail::run_request&& asked) {
    const detail::session_state::fed_tensors fed = live().checked(asked);
    const auto p = live().plan_for(fed.tensors, fed.values.data(), asked);
    const runtime::plan_summary s = p->summary();
    step_report r{.nodes = s.operations,
                  .folded = s.folded,
                  .fused = s.fused,
                  .transfers = s.transfers,
                  .peak_bytes = s.peak_bytes(),
                  .arena_bytes = s.arena_bytes,
                  .lower_bound = s.lower_bound,
                  .variable_bytes = live().variable_bytes(),
                  .devices = {},
                  .order = p->order()};
    for (std::size_t d = 0; d < s.devices.size(); ++d)
        r.devices.push_back({.device = live().devices()[d]->name(),
                             .peak_bytes = s.devices[d].bytes(),
                             .arena_bytes = s.devices[d].arena_bytes,
                             .lower_bound = s.devices[d].lower_bound,
                             .variable_bytes = live().devices()[d]->resources().bytes()});
    return r;
}

} // namespace tenon
