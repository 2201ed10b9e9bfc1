#pragma once

#include <algorithm>
#include <map>
#include <mutex>

#include <tenon/core/error.hpp>
#include <tenon/runtime/device.hpp>
#include <tenon/runtime/plan.hpp>
#include <tenon/runtime/session.hpp>

namespace tenon {

namespace detail {

inline thread_pool* process_pool(int threads) {
    // The first session decides; never destroyed, so that sessions in static objects may outlive main.
    static auto* pool = threads == 0 ? &thread_pool::shared() : new thread_pool(threads);
    return pool;
}

class session_state {
public:
    session_state(const tenon::graph& g, const session_options& o)
        : graph(g), options(o), cpu(make_cpu_device()) {
        if (o.use_per_session_threads) {
            own_pool = std::make_unique<thread_pool>(o.intra_op_threads);
            pool = own_pool.get();
        } else pool = process_pool(o.intra_op_threads);
        environment.pool = pool->size() > 1 ? pool : nullptr;
        environment.check_numerics = o.check_numerics;
    }

    tenon::graph graph;
    session_options options;
    std::unique_ptr<device> cpu;
    std::unique_ptr<thread_pool> own_pool;
    thread_pool* pool = nullptr;
    runtime::run_environment environment; // what every run begins with
    std::atomic<bool> closed{false};
    std::atomic<trace*> traced{nullptr};

    std::mutex guard; // of plans
    std::map<std::vector<std::int64_t>, std::shared_ptr<runtime::plan>> plans;

    void require_open() const {
        if (closed.load(std::memory_order_acquire)) throw failed_precondition_error("Session is closed.");
    }

    void require_member(const node* n, const char* role) const {
        if (!n) throw invalid_argument_error(std::string("session: an empty handle cannot be ") + role);
        if (n->graph != graph.state())
            throw invalid_argument_error("session: " + n->name + " cannot be " + role +
                                         ": it belongs to another graph than this session's");
    }

    void require_request(const std::vector<any_tensor>& feeds, const run_request& r) const {
        for (std::size_t i = 0; i < feeds.size(); ++i) {
            require_member(feeds[i].node(), "fed");
            for (std::size_t j = 0; j < i; ++j)
                if (feeds[i].output() == feeds[j].output())
                    throw invalid_argument_error("session: " + feeds[i].name() + " is fed twice");
        }
        for (const any_tensor& t : r.fetches) require_member(t.node(), "fetched");
        for (const operation& o : r.targets) require_member(o.node(), "run");
    }

    void require_fit(const any_tensor& t, const any_array& value) const {
        const std::string why = misfit(value.type(), t.type());
        if (!why.empty())
            throw invalid_argument_error("feed of " + t.name() + ": it is " + to_string(t.type()) + ", the value is " +
                                         to_string(value.type()) + ": " + why);
    }

    // The plan for these feeds, fetches and sizes, made when it is not there yet.
    std::shared_ptr<runtime::plan> plan_for(const std::vector<any_tensor>& feeds, const any_array* const* fed,
                                            const run_request& r) {
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
        {
            const std::lock_guard lock(guard);
            const auto at = plans.find(key);
            if (at != plans.end()) return at->second;
        }
        runtime::request q;
        for (std::size_t i = 0; i < feeds.size(); ++i) {
            require_fit(feeds[i], *fed[i]);
            q.feeds.push_back(feeds[i].output());
            q.feed_types.push_back(fed[i]->type());
        }
        for (const any_tensor& t : r.fetches) q.fetches.push_back(t.output());
        for (const operation& o : r.targets) q.targets.push_back(o.node());
        runtime::plan_options o;
        o.threads = pool->size();
        // The node that made the first NaN has a name of its own only while it runs alone.
        o.fold = options.fold_constants && !options.check_numerics;
        o.fuse = options.fuse && !options.check_numerics;
        o.memory_limit = options.memory_limit;
        o.graph_seed = seed;
        o.resources = &cpu->resources();
        auto made = std::make_shared<runtime::plan>(q, o);
        const std::lock_guard lock(guard);
        return plans.emplace(std::move(key), std::move(made)).first->second;
    }

    void run(runtime::plan& p, const any_array* const* fed, any_array* fetched, double timeout) const {
        runtime::run_environment e = environment;
        e.traced = traced.load(std::memory_order_acquire);
        // Side by side where a good part of the work does not wait for each other and is worth a thread.
        const runtime::plan_summary& s = p.summary();
        e.side_by_side = options.inter_op_threads != 1 && s.cost > 2e5 && s.critical_path < 0.75 * s.cost;
        const double limit = timeout > 0 ? timeout : options.operation_timeout;
        if (limit > 0) {
            e.deadline = std::chrono::steady_clock::now() +
                         std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(limit, 1e9) * 1e9));
            e.deadline_source = timeout > 0 ? "run's time limit" : "session's operation_timeout";
        }
        p.run(fed, fetched, e);
    }
};

class callable_state {
public:
    std::shared_ptr<session_state> session;
    std::vector<any_tensor> feeds;
    run_request request;
    std::atomic<runtime::plan*> last{nullptr};
    std::mutex guard;                                 // of kept
    std::vector<std::shared_ptr<runtime::plan>> kept; // plans that `last` may point to
};

TENON_INLINE void add_fetch(run_request& r, const any_tensor& t) { r.fetches.push_back(t); }
TENON_INLINE void add_fetch(run_request& r, const operation& o) { r.targets.push_back(o); }

TENON_INLINE std::vector<any_array> run_once(session_state& s, run_request&& r) {
    s.require_open();
    std::vector<any_tensor> feeds;
    std::vector<const any_array*> fed;
    for (const fed_value& f : r.feeds) {
        feeds.push_back(f.tensor);
        fed.push_back(&f.value);
    }
    s.require_request(feeds, r);
    for (std::size_t i = 0; i < feeds.size(); ++i) s.require_fit(feeds[i], *fed[i]);
    const std::shared_ptr<runtime::plan> p = s.plan_for(feeds, fed.data(), r);
    std::vector<any_array> fetched(r.fetches.size() + 1);
    s.run(*p, fed.data(), fetched.data(), r.timeout);
    fetched.pop_back();
    return fetched;
}

TENON_INLINE std::shared_ptr<callable_state> make_callable(std::shared_ptr<session_state> s, std::vector<any_tensor> feeds,
                                                           run_request&& r) {
    s->require_open();
    s->require_request(feeds, r);
    auto c = std::make_shared<callable_state>();
    c->session = std::move(s);
    c->feeds = std::move(feeds);
    c->request = std::move(r);
    return c;
}

TENON_INLINE void run_callable(callable_state& c, const any_array* const* fed, any_array* fetched) {
    session_state& s = *c.session;
    s.require_open();
    runtime::plan* p = c.last.load(std::memory_order_acquire);
    bool fits = p != nullptr && p->accepts(fed);
    for (std::size_t i = 0; i < c.feeds.size() && fits; ++i) fits = fed[i]->element() == c.feeds[i].element();
    if (!fits) {
        for (std::size_t i = 0; i < c.feeds.size(); ++i) s.require_fit(c.feeds[i], *fed[i]);
        std::shared_ptr<runtime::plan> made = s.plan_for(c.feeds, fed, c.request);
        p = made.get();
        const std::lock_guard lock(c.guard);
        if (std::find(c.kept.begin(), c.kept.end(), made) == c.kept.end()) c.kept.push_back(std::move(made));
        c.last.store(p, std::memory_order_release);
    }
    s.run(*p, fed, fetched, 0);
}

} // namespace detail

TENON_INLINE session::session(const session_options& o) : session(graph::current(), o) {}
TENON_INLINE session::session(const graph& g, const session_options& o)
    : state_(std::make_shared<detail::session_state>(g, o)) {}
TENON_INLINE session::~session() = default;

TENON_INLINE std::vector<any_array> session::run_untyped(std::vector<fed_value> feeds, const std::vector<any_tensor>& fetches,
                                                         const std::vector<operation>& targets) {
    detail::run_request r;
    r.feeds = std::move(feeds);
    r.fetches = fetches;
    r.targets = targets;
    return detail::run_once(*state_, std::move(r));
}

TENON_INLINE void session::set_trace(trace* t) { state_->traced.store(t, std::memory_order_release); }
TENON_INLINE void session::close() { state_->closed.store(true, std::memory_order_release); }
TENON_INLINE const graph& session::bound_graph() const { return state_->graph; }

TENON_INLINE step_report session::report_of(detail::run_request&& r) {
    state_->require_open();
    std::vector<any_tensor> feeds;
    std::vector<const any_array*> fed;
    for (const fed_value& f : r.feeds) {
        feeds.push_back(f.tensor);
        fed.push_back(&f.value);
    }
    state_->require_request(feeds, r);
    for (std::size_t i = 0; i < feeds.size(); ++i) state_->require_fit(feeds[i], *fed[i]);
    const auto p = state_->plan_for(feeds, fed.data(), r);
    const runtime::plan_summary& s = p->summary();
    return {.nodes = s.steps,
            .folded = s.folded,
            .fused = s.fused,
            .peak_bytes = s.peak_bytes(),
            .arena_bytes = s.arena_bytes,
            .lower_bound = s.lower_bound,
            .variable_bytes = state_->cpu->resources().bytes(),
            .order = s.order};
}

} // namespace tenon
