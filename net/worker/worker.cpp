#include <net/worker/worker.hpp>

#include <algorithm>
#include <optional>

#include <net/worker/answer.hpp>
#include <tenon/kernel/denormals.hpp>
#include <tenon/runtime/run/trace.hpp>

namespace tenon::net {

// Of a master. What does not say otherwise is never changed after it began.
struct worker::session {
    std::uint64_t number = 0;
    link_number master = 0;
    std::string client, container;
    session_settings settings;
    std::shared_ptr<session_tasks> tasks;
    runtime::steps_in_flight in_flight;

    std::mutex guard; // of what follows
    bool ended = false;
    std::size_t program_bytes = 0;
    std::map<std::uint64_t, std::shared_ptr<part>> parts;
    std::map<std::uint64_t, std::shared_ptr<running_part>> steps;
};

// One that was registered. Its plan is made on the pool; what is to run meanwhile waits for that.
struct worker::part {
    std::uint64_t number = 0, graph_seed = 0;
    bool measure = false;
    content_hash hash{};
    packed source; // what arrives is read again where containers were reset
    std::shared_ptr<const edge_routes> routes;
    std::vector<int> partners; // tasks that it sends to or receives from

    std::mutex guard; // of what follows
    bool planned = false;
    std::exception_ptr failed;
    std::uint64_t epoch = 0;
    std::shared_ptr<program_part> program; // the plan's nodes
    std::shared_ptr<runtime::part_plan> plan;
    std::vector<std::unique_ptr<runtime::part_step>> spare; // of the plan
    std::vector<std::shared_ptr<running_part>> waiting;     // for the plan
    std::vector<replier> asked;                             // how it was registered
};

struct worker::running_part {
    std::shared_ptr<void> busy;
    std::shared_ptr<worker::session> session;
    std::shared_ptr<worker::part> part;
    std::uint64_t number = 0; // of the step
    std::shared_ptr<program_part> program;
    std::shared_ptr<runtime::part_plan> plan;
    std::unique_ptr<runtime::part_step> step; // of the plan
    std::shared_ptr<step_meeting> meeting;
    tenon::step in;
    std::string limit_source;
    std::optional<trace> traced;
    std::int64_t began = 0;
    replier answer;
    link_number master = 0;

    std::mutex guard; // of what follows
    std::exception_ptr stopped;
    bool begun = false;
    int users = 0; // that stop it or ask it: it is no other step's meanwhile

    // Calls f(*step) where it has begun and has not ended; a failure that is given is kept for where it has not begun.
    template <class F> void use(const std::exception_ptr& why, F&& f) {
        {
            const std::lock_guard lock(guard);
            if (why && !stopped) stopped = why;
            if (!begun) return;
            ++users;
        }
        f(*step);
        const std::lock_guard lock(guard);
        --users;
    }
};

namespace {

std::int64_t nanoseconds_now() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

} // namespace

worker::worker(std::shared_ptr<tenon::detail::task_state> task, task_identity self, peers& others, users& busy,
               worker_limits limits) :
    task_(std::move(task)),
    self_(std::move(self)),
    others_(others),
    busy_(busy),
    limits_(limits),
    meetings_(limits.early_bytes) {}

worker::~worker() = default;

void worker::called(link_number master, verb v, message&& m, time_point, replier answer) {
    switch (v) {
    case verb::describe_task:
        answer_at_once<describe_task>(m, answer, [&](describe_task&&) { return describe(); });
        break;
    case verb::begin_session:
        answer_at_once<begin_session>(m, answer, [&](begin_session&& c) { begin(master, std::move(c)); });
        break;
    case verb::register_part:
        answer_later<register_part>(m, std::move(answer),
                                    [&](register_part&& c, replier& to) { enter(std::move(c), std::move(to)); });
        break;
    case verb::run_part:
        answer_later<run_part>(m, std::move(answer),
                               [&](run_part&& c, replier& to) { run(master, std::move(c), std::move(to)); });
        break;
    case verb::ask_waits: answer_at_once<ask_waits>(m, answer, [&](ask_waits&& c) { return waits_of(c); }); break;
    case verb::end_session:
        answer_at_once<end_session>(m, answer, [&](end_session&& c) {
            end(c.session, std::make_exception_ptr(cancelled_error("the step was stopped: its session was closed")));
        });
        break;
    case verb::reset_task:
        answer_at_once<reset_task>(m, answer, [&](reset_task&& c) { task_->reset(c.containers); });
        break;
    default: answer.fail(error_code::unimplemented, std::string("a worker is not called ") + name_of(v));
    }
}

void worker::noted(link_number, verb v, message&& m) {
    try {
        if (v == verb::step_values) meetings_.arrived(read<step_values>(m));
        else if (v == verb::stop_step) stop_one(read<stop_step>(m));
        else if (v == verb::forget_part) {
            const forget_part f = read<forget_part>(m);
            std::shared_ptr<part> dropped; // ends after the lock does
            if (const auto s = find(f.session)) {
                const std::lock_guard lock(s->guard);
                if (const auto at = s->parts.find(f.part); at != s->parts.end()) {
                    dropped = std::move(at->second);
                    s->program_bytes -= dropped->source.size();
                    s->parts.erase(at);
                }
            }
        }
    } catch (const error&) { // who sent it is another program, or mistaken: nothing of it is done
    }
}

describe_task::reply worker::describe() const {
    describe_task::reply r;
    r.task = self_.name;
    r.incarnation = self_.incarnation;
    r.version = TENON_VERSION;
    r.threads = task_->pool->size();
    r.cluster = self_.cluster;
    for (const auto& d : task_->devices) r.devices.push_back(d->attributes());
    return r;
}

std::shared_ptr<worker::session> worker::find(std::uint64_t number) const {
    const std::lock_guard lock(guard_);
    const auto at = sessions_.find(number);
    return at == sessions_.end() ? nullptr : at->second;
}

std::shared_ptr<worker::running_part> worker::find(std::uint64_t number, std::uint64_t step) const {
    const auto s = find(number);
    if (!s) return nullptr;
    const std::lock_guard lock(s->guard);
    const auto at = s->steps.find(step);
    return at == s->steps.end() ? nullptr : at->second;
}

void worker::begin(link_number master, begin_session&& m) {
    auto s = std::make_shared<session>();
    s->number = m.session;
    s->master = master;
    s->client = std::move(m.client);
    s->container = std::move(m.container);
    s->settings = std::move(m.settings);
    s->tasks = std::make_shared<session_tasks>();
    s->tasks->session = m.session;
    for (const peer_row& row : m.tasks) {
        session_tasks::task t{row.task, nullptr, row.incarnation};
        if (row.task != self_.name) {
            const device_name name(row.task);
            t.at = others_.to(name.job.str(), name.task);
        }
        s->tasks->tasks.push_back(std::move(t));
    }
    const std::lock_guard lock(guard_);
    if (sessions_.size() >= limits_.sessions)
        throw resource_exhausted_error(self_.name + " holds " + std::to_string(sessions_.size()) +
                                       " sessions, which is as many as it takes; close some");
    if (!sessions_.emplace(m.session, s).second)
        throw already_exists_error("begin_session: " + self_.name + " has this session already");
    meetings_.begin_session(m.session);
}

void worker::end(std::uint64_t number, const std::exception_ptr& why) {
    std::shared_ptr<session> s;
    {
        const std::lock_guard lock(guard_);
        const auto at = sessions_.find(number);
        if (at == sessions_.end()) return;
        s = std::move(at->second);
        sessions_.erase(at);
    }
    std::map<std::uint64_t, std::shared_ptr<part>> dropped;
    std::vector<std::shared_ptr<running_part>> running;
    {
        const std::lock_guard lock(s->guard);
        s->ended = true;
        dropped.swap(s->parts);
        for (auto& [n, r] : s->steps) running.push_back(r);
    }
    for (const auto& r : running) r->use(why, [&](runtime::part_step& step) { step.stop(why); });
    meetings_.end_session(number);
    for (const auto& d : task_->devices) d->resources().clear(s->container);
}

void worker::enter(register_part&& m, replier answer) {
    const auto s = find(m.session);
    if (!s) throw aborted_error(self_.name + " does not know this session; it has ended, or the server was restarted");
    if (!m.has_program) {
        reply<register_part>(answer, {});
        return;
    }
    auto p = std::make_shared<part>();
    p->number = m.part;
    p->hash = m.hash;
    p->graph_seed = m.graph_seed;
    p->measure = m.measure;
    p->source = std::move(m.program);
    constexpr std::int64_t most_edges = std::int64_t{1} << 24;
    if (m.edges < 0 || m.edges > most_edges)
        throw invalid_argument_error("register_part: a step has " + std::to_string(m.edges) + " edges");
    auto routes = std::make_shared<edge_routes>(static_cast<std::size_t>(m.edges), -1);
    for (const edge_row& e : m.routes) {
        if (e.edge < 0 || e.edge >= m.edges || e.task < 0 ||
            e.task >= static_cast<std::int32_t>(s->tasks->tasks.size()))
            throw invalid_argument_error("register_part: edge " + std::to_string(e.edge) + " leads to task " +
                                         std::to_string(e.task) + ", and there are " + std::to_string(m.edges) +
                                         " edges and " + std::to_string(s->tasks->tasks.size()) + " tasks");
        if (e.sends && s->tasks->tasks[static_cast<std::size_t>(e.task)].at)
            (*routes)[static_cast<std::size_t>(e.edge)] = e.task;
        p->partners.push_back(e.task);
    }
    p->routes = std::move(routes);
    std::sort(p->partners.begin(), p->partners.end());
    p->partners.erase(std::unique(p->partners.begin(), p->partners.end()), p->partners.end());
    p->asked.push_back(std::move(answer));
    {
        const std::lock_guard lock(s->guard);
        const std::size_t size = p->source.size();
        if (s->parts.size() >= limits_.parts || size > limits_.program_bytes - s->program_bytes) {
            answer = std::move(p->asked.back());
            answer.fail(error_code::resource_exhausted, self_.name + " holds " + std::to_string(s->parts.size()) +
                                                            " parts of " + std::to_string(s->program_bytes) +
                                                            " bytes of this session; this one of " +
                                                            std::to_string(size) + " bytes is too much");
            return;
        }
        s->program_bytes += size;
        s->parts[m.part] = p;
    }
    task_->pool->submit([this, s, p, token = busy_.enter()] { make_plan(s, p); });
}

// On the pool.
void worker::make_plan(const std::shared_ptr<session>& s, const std::shared_ptr<part>& p) {
    std::shared_ptr<program_part> program;
    std::shared_ptr<runtime::part_plan> plan;
    std::exception_ptr failed;
    std::uint64_t epoch = 0;
    const session_settings& set = s->settings;
    std::optional<denormal_scope> flushed; // what is folded is computed as in its steps
    if (set.flush_denormals) flushed.emplace(flushed_denormals);
    register_part::reply told{true, {}};
    try {
        packed source = p->source.share();
        program = std::make_shared<program_part>(decode_program(source, static_cast<int>(task_->devices.size())));
        runtime::plan_options o;
        epoch = o.epoch = task_->epoch();
        o.threads = task_->pool->size();
        o.side_by_side = p->measure ? 1 : set.inter_op_threads ? std::min(set.inter_op_threads, o.threads) : o.threads;
        o.fold = set.fold_constants && !set.check_numerics && !p->measure;
        o.fuse = set.fuse && !set.check_numerics && !p->measure;
        o.measure = p->measure;
        o.check_numerics = set.check_numerics;
        o.graph_seed = p->graph_seed;
        o.session_container = s->container;
        o.kept_stages = set.kept_plans;
        std::vector<device*> devices;
        for (const auto& d : task_->devices) devices.push_back(d.get());
        o.set_devices(std::move(devices));
        plan = runtime::make_local_part(std::move(program->program), o, *task_->pool);
        const runtime::plan_summary sum = plan->summary();
        told.report.nodes = sum.operations;
        told.report.folded = sum.folded;
        told.report.fused = sum.fused;
        told.report.transfers = sum.transfers;
        told.report.peak_bytes = sum.peak_bytes();
        told.report.arena_bytes = sum.arena_bytes;
        told.report.lower_bound = sum.lower_bound;
        told.report.order = plan->order();
        for (std::size_t d = 0; d < sum.devices.size(); ++d)
            told.report.devices.push_back({to_string(task_->devices[d]->full_name()), sum.devices[d].bytes(),
                                           sum.devices[d].arena_bytes, sum.devices[d].lower_bound,
                                           task_->devices[d]->resources().bytes()});
    } catch (...) {
        failed = std::current_exception();
    }
    std::vector<std::shared_ptr<running_part>> waiting;
    std::vector<replier> asked;
    std::vector<std::unique_ptr<runtime::part_step>> old; // ends after the lock does, before its plan
    std::shared_ptr<runtime::part_plan> old_plan = plan;
    {
        const std::lock_guard lock(p->guard);
        p->planned = true;
        p->failed = failed;
        p->epoch = epoch;
        p->program.swap(program);
        old_plan.swap(p->plan);
        old.swap(p->spare);
        waiting.swap(p->waiting);
        asked.swap(p->asked);
    }
    for (replier& a : asked) {
        if (failed) fail(a, failed);
        else reply<register_part>(a, told);
    }
    for (const auto& r : waiting) start(r);
}

void worker::run(link_number master, run_part&& m, replier answer) {
    const auto s = find(m.session);
    if (!s) throw aborted_error(self_.name + " does not know this session; it has ended, or the server was restarted");
    auto r = std::make_shared<running_part>();
    r->busy = busy_.enter();
    r->session = s;
    r->number = m.step;
    r->master = master;
    r->limit_source = std::move(m.limit_source);
    r->in.limit = m.asked;
    r->in.limit_source = r->limit_source.c_str();
    r->in.may_be_stopped = true;
    if (m.limit > 0)
        r->in.deadline =
            step::clock::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(m.limit, 1e9) * 1e9));
    if (m.traced) r->traced.emplace();
    r->began = nanoseconds_now();
    {
        const std::lock_guard lock(s->guard);
        const auto at = s->parts.find(m.part);
        if (s->ended || at == s->parts.end())
            throw aborted_error(self_.name + " does not know part " + std::to_string(m.part) + " of this session");
        r->part = at->second;
    }
    r->meeting = meetings_.open(s->tasks, m.step, r->part->routes);
    const std::uint64_t request = answer.request();
    r->answer = std::move(answer);
    {
        const std::lock_guard lock(s->guard);
        s->steps.emplace(m.step, r);
    }
    {
        const std::lock_guard lock(guard_);
        by_request_[{master, request}] = r;
    }
    bool plan_again = false;
    {
        const std::lock_guard lock(r->part->guard);
        if (r->part->planned && !r->part->failed && r->part->epoch != task_->epoch()) {
            r->part->planned = false;
            plan_again = true;
        }
        if (!r->part->planned) r->part->waiting.push_back(r);
    }
    if (plan_again) task_->pool->submit([this, s, p = r->part, token = busy_.enter()] { make_plan(s, p); });
    else start(r);
}

// Nothing happens where it is among those that wait for their plan.
void worker::start(const std::shared_ptr<running_part>& r) {
    std::exception_ptr failed;
    {
        const std::lock_guard lock(r->part->guard);
        if (!r->part->planned) return;
        failed = r->part->failed;
        if (!failed) {
            r->program = r->part->program;
            r->plan = r->part->plan;
            if (!r->part->spare.empty()) {
                r->step = std::move(r->part->spare.back());
                r->part->spare.pop_back();
            }
        }
    }
    try {
        if (failed) std::rethrow_exception(failed);
        if (!r->step) r->step = r->plan->make_step();
        r->step->arm(); // a stop that comes from here on holds
        std::exception_ptr stopped;
        {
            const std::lock_guard lock(r->guard);
            r->begun = true;
            stopped = r->stopped;
        }
        if (stopped) r->step->stop(stopped);
        std::optional<denormal_scope> flushed;
        if (r->session->settings.flush_denormals) flushed.emplace(flushed_denormals);
        r->step->start({&r->in, r->traced ? &*r->traced : nullptr, nullptr}, *r->meeting, r->session->in_flight,
                       [this, r] { ended(r); });
    } catch (...) {
        forget(*r);
        fail(r->answer, std::current_exception());
    }
}

// It has ended: nothing arrives for it any more, nobody finds it.
void worker::forget(const running_part& r) {
    meetings_.close(r.session->number, r.number);
    {
        const std::lock_guard lock(r.session->guard);
        r.session->steps.erase(r.number);
    }
    const std::lock_guard lock(guard_);
    by_request_.erase({r.master, r.answer.request()});
}

void worker::ended(const std::shared_ptr<running_part>& r) {
    const std::exception_ptr failed = r->step->failure();
    forget(*r);
    {
        constexpr std::size_t kept = 16;
        const std::lock_guard own(r->guard);
        r->begun = false;
        const std::lock_guard lock(r->part->guard);
        if (r->users == 0 && r->part->plan == r->plan && r->part->spare.size() < kept)
            r->part->spare.push_back(std::move(r->step));
    }
    if (failed) {
        fail(r->answer, failed);
        return;
    }
    run_part::reply told;
    if (r->traced)
        r->traced->each([&](const std::string& name, const std::string& op, const std::string& row, std::int64_t begin,
                            std::int64_t end) {
            told.rows.push_back({name, op, self_.name + " " + row, begin - r->began, end - r->began});
        });
    reply<run_part>(r->answer, told);
}

void worker::stop_one(const stop_step& m) {
    const auto r = find(m.session, m.step);
    if (!r) return;
    const std::exception_ptr why = m.why.exception();
    // Who has a deadline says what it was waiting for.
    r->use(why, [&](runtime::part_step& step) {
        if (m.why.code == error_code::deadline_exceeded) (void)step.expire();
        else step.stop(why);
    });
}

ask_waits::reply worker::waits_of(const ask_waits& m) const {
    ask_waits::reply told;
    const auto r = find(m.session, m.step);
    if (!r) return told;
    r->use(nullptr, [&](runtime::part_step& step) {
        for (const runtime::awaited& a : step.waits())
            told.waits.push_back({a.origin->name, a.origin->op->name, self_.name, a.what, a.seconds,
                                  a.receives ? 0 : -1, r->program->number_of(*a.origin)});
    });
    return told;
}

void worker::cancelled(link_number master, std::uint64_t request) {
    std::shared_ptr<running_part> r;
    {
        const std::lock_guard lock(guard_);
        const auto at = by_request_.find({master, request});
        if (at == by_request_.end()) return;
        r = at->second.lock();
    }
    if (r) stop_one({r->session->number, r->number, {error_code::cancelled, "the step was stopped by its master"}});
}

void worker::peer_lost(link_number master, const std::string& why) {
    std::vector<std::uint64_t> lost;
    {
        const std::lock_guard lock(guard_);
        for (const auto& [number, s] : sessions_)
            if (s->master == master) lost.push_back(number);
    }
    for (const std::uint64_t number : lost)
        end(number, std::make_exception_ptr(unavailable_error("the step was stopped: its master is gone: " + why)));
}

void worker::task_lost(const std::string& task, error_code code, const std::string& why) {
    std::vector<std::shared_ptr<session>> all;
    {
        const std::lock_guard lock(guard_);
        for (const auto& [number, s] : sessions_) all.push_back(s);
    }
    for (const auto& s : all) {
        std::vector<std::uint64_t> steps;
        {
            const std::lock_guard lock(s->guard);
            for (const auto& [number, r] : s->steps)
                if (std::any_of(r->part->partners.begin(), r->part->partners.end(),
                                [&](int t) { return s->tasks->tasks[static_cast<std::size_t>(t)].name == task; }))
                    steps.push_back(number);
        }
        for (const std::uint64_t step : steps) stop_one({s->number, step, {code, why}});
    }
}

std::size_t worker::steps_in_flight() const {
    const std::lock_guard lock(guard_);
    std::size_t sum = 0;
    for (const auto& [number, s] : sessions_) {
        const std::lock_guard own(s->guard);
        sum += s->steps.size();
    }
    return sum;
}

std::vector<step_row> worker::running() const {
    std::vector<std::shared_ptr<running_part>> all;
    {
        const std::lock_guard lock(guard_);
        for (const auto& [number, s] : sessions_) {
            const std::lock_guard own(s->guard);
            for (const auto& [n, r] : s->steps) all.push_back(r);
        }
    }
    std::vector<step_row> rows;
    for (const auto& r : all) {
        step_row row;
        row.session = r->session->number;
        row.step = r->number;
        row.seconds = static_cast<double>(nanoseconds_now() - r->began) * 1e-9;
        row.limit = r->in.limit;
        row.waits = waits_of({row.session, row.step}).waits;
        rows.push_back(std::move(row));
    }
    return rows;
}

void worker::stop(const std::string& why) {
    std::vector<std::uint64_t> all;
    {
        const std::lock_guard lock(guard_);
        for (const auto& [number, s] : sessions_) all.push_back(number);
    }
    for (const std::uint64_t number : all) end(number, std::make_exception_ptr(unavailable_error(why)));
}

} // namespace tenon::net
