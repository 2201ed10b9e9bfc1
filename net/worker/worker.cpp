#include <net/worker/worker_state.hpp>

#include <algorithm>

#include <net/link/handshake.hpp>
#include <net/rpc/answer.hpp>

/// A worker's sessions, and what it is asked.

namespace tenon::net {

worker::worker(std::shared_ptr<tenon::detail::task_state> task, std::shared_ptr<memory_budget> memory,
               task_identity self, peers& others, fair_scheduler& on, work_counter& busy, worker_limits limits) :
    task_(std::move(task)),
    memory_(std::move(memory)),
    self_(std::move(self)),
    others_(others),
    turns_(on),
    busy_(busy),
    limits_(limits),
    exchange_(limits.early_bytes),
    programs_(limits.kept_program_bytes) {
    task_->enter(*this);
}

worker::~worker() { task_->leave(*this); }

void worker::handle(dispatcher& calls) {
    using in = const call_context&;
    calls.on<describe_task>([this](in, describe_task&&) { return describe(); });
    calls.on<begin_session>(
        [this](in c, begin_session&& m, replier& to) { begin(c.link, std::move(m), c.deadline, std::move(to)); });
    calls.on<register_part>([this](in, register_part&& m, replier& to) { enter(std::move(m), std::move(to)); });
    calls.on<run_part>(
        [this](in c, run_part&& m, replier& to) { run(c.link, std::move(m), c.deadline, std::move(to)); });
    calls.on<ask_waits>([this](in, ask_waits&& m) { return waits_of(m); });
    calls.on<end_session>([this](in, end_session&& m, replier& to) {
        end_later(m.session, std::make_exception_ptr(cancelled_error("the step was stopped: its session was closed")),
                  std::move(to));
    });
    calls.on<reset_task>([this](in, reset_task&& m) { task_->reset(m.containers); });
    calls.on<step_values>([this](in, step_values&& m) { exchange_.arrived(std::move(m)); });
    calls.on<stop_step>([this](in, stop_step&& m) { stop_one(std::move(m)); });
    calls.on<settle_step>([this](in, settle_step&& m) { settle_one(std::move(m)); });
    calls.on<forget_part>([this](in, forget_part&& m) { forget_one(std::move(m)); });
    calls.on<go_on_from_runs>([this](in, go_on_from_runs&& m) {
        if (const auto s = find(m.session))
            for (const auto& d : task_->devices) d->resources().counters(s->container)->go_on_from(m.counts);
    });
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

// Its values will not come.
void worker::refused(verb v, message&& m, const std::string& why) {
    if (v != verb::step_values) return;
    try {
        const awaited_values of = awaited_by(m);
        if (!exchange_.refuse(of.session, of.step, why))
            stop_one({of.session,
                      of.step,
                      {error_code::resource_exhausted, self_.name + " has no room for a value: " + why}});
    } catch (const error&) { // who sent it is another program
    }
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

void worker::begin(link_number master, begin_session&& m, time_point deadline, replier&& answer) {
    auto s = std::make_shared<session>();
    s->number = m.session;
    s->master = master;
    s->client = std::move(m.client);
    s->container = std::move(m.container);
    s->memory = memory_->client(s->client);
    s->options = options_of(m.settings);
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
    {
        const std::lock_guard lock(guard_);
        if (sessions_.size() >= limits_.sessions)
            throw resource_exhausted_error(self_.name + " holds " + std::to_string(sessions_.size()) +
                                           " sessions, which is as many as it takes; close some");
        if (!sessions_.emplace(m.session, s).second)
            throw already_exists_error("begin_session: " + self_.name + " has this session already");
        exchange_.begin_session(m.session, s->memory);
    }
    turns_.enter(m.session, s->client);
    // Its values go to the master by a link of this task's own: that there is a way is known before steps wait for them.
    const std::shared_ptr<peer> back = s->tasks->tasks.empty() ? nullptr : s->tasks->tasks[0].at;
    if (!back) {
        reply<begin_session>(answer, {});
        return;
    }
    back->connect(deadline, [this, number = m.session, name = back->name(), token = busy_.enter(),
                             to = std::make_shared<replier>(std::move(answer))](const net::answer& a) {
        if (!a.failed) {
            reply<begin_session>(*to, {});
            return;
        }
        const std::string why = self_.name + " cannot connect to " + name + ", whose session this is: " + a.message;
        end(number, failure{error_code::unavailable, why, error_reason::lost_task}.exception());
        to->fail(a.code, why, a.reason);
    });
}

// Nobody finds it from here on.
std::shared_ptr<worker::session> worker::take_out(std::uint64_t number) {
    std::shared_ptr<session> s;
    {
        const std::lock_guard lock(guard_);
        const auto at = sessions_.find(number);
        if (at == sessions_.end()) return s;
        s = std::move(at->second);
        sessions_.erase(at);
    }
    turns_.forget(number);
    const std::lock_guard lock(s->guard);
    s->ended = true;
    return s;
}

void worker::end(const std::shared_ptr<session>& s, const std::exception_ptr& why) {
    std::map<std::uint64_t, std::shared_ptr<part>> dropped;
    std::vector<std::shared_ptr<running_part>> running;
    std::map<std::uint64_t, std::shared_ptr<running_part>> unsettled;
    {
        const std::lock_guard lock(s->guard);
        unsettled.swap(s->unsettled);
        dropped.swap(s->parts);
        for (auto& [n, r] : s->steps) running.push_back(r);
    }
    for (const auto& [n, p] : dropped) drop(*p, why);
    for (const auto& r : running) r->use(why, [&](runtime::task_run& step) { step.stop(why); });
    for (const auto& [n, r] : unsettled)
        r->step->settle(true, true); // whose step has not ended, or nobody has heard of that
    exchange_.end_session(s->number);
    for (const auto& d : task_->devices) d->resources().clear(s->container);
}

void worker::end(std::uint64_t number, const std::exception_ptr& why) {
    if (const auto s = take_out(number)) end(s, why);
}

// Where there is much to end, that takes long.
void worker::end_later(std::uint64_t number, const std::exception_ptr& why, replier&& answer) {
    const auto to = std::make_shared<replier>(std::move(answer));
    const auto tell = [to] {
        if (*to) reply<end_session>(*to, {});
    };
    auto s = take_out(number);
    if (!s) return tell();
    const bool is_long = [&] {
        const std::lock_guard lock(s->guard);
        return s->program_bytes > long_program || s->steps.size() > 64;
    }();
    turns_.submit(fair_scheduler::of_server, is_long, [this, token = busy_.enter(), s = std::move(s), why, tell] {
        end(s, why);
        tell();
    });
}

void worker::peer_lost(link_number master, const std::string& why) {
    std::vector<std::uint64_t> lost;
    {
        const std::lock_guard lock(guard_);
        for (const auto& [number, s] : sessions_)
            if (s->master == master) lost.push_back(number);
    }
    for (const std::uint64_t number : lost)
        end_later(number, failure{error_code::unavailable, "the step was stopped: its master is gone: " + why,
                                  error_reason::lost_task}
                              .exception());
}

void worker::task_lost(const std::string& task, std::uint64_t incarnation, error_code code, const std::string& why) {
    std::vector<std::shared_ptr<session>> all;
    {
        const std::lock_guard lock(guard_);
        for (const auto& [number, s] : sessions_) all.push_back(s);
    }
    for (const auto& s : all) {
        std::vector<std::uint64_t> steps;
        {
            const std::lock_guard lock(s->guard);
            for (std::size_t t = 0; t < s->tasks->tasks.size(); ++t)
                if (s->tasks->tasks[t].name == task && s->tasks->tasks[t].incarnation == incarnation)
                    s->lost[static_cast<int>(t)] = {++s->losses, why};
            for (const auto& [number, r] : s->steps)
                if (std::any_of(r->part->partners.begin(), r->part->partners.end(), [&](int t) {
                        const session_tasks::task& other = s->tasks->tasks[static_cast<std::size_t>(t)];
                        return other.name == task && other.incarnation == incarnation;
                    }))
                    steps.push_back(number);
        }
        for (const std::uint64_t step : steps) stop_one({s->number, step, {code, why, reason_of_end(code)}});
    }
    std::vector<std::pair<std::pair<link_number, std::uint64_t>, std::shared_ptr<running_part>>> unsent;
    {
        const std::lock_guard lock(guard_);
        for (const auto& [which, a] : unsent_) unsent.emplace_back(which, a.part);
    }
    for (const auto& [which, r] : unsent)
        if (std::string lost = loss_since(*r); !lost.empty()) answer_unsent(which, std::move(lost));
}

worker::counts worker::count() const {
    counts c{.exchanged = exchange_.count()};
    const std::lock_guard lock(guard_);
    c.sessions = sessions_.size();
    c.requests = by_request_.size();
    for (const auto& [number, s] : sessions_) {
        const std::lock_guard own(s->guard);
        c.parts += s->parts.size();
        c.steps += s->steps.size();
    }
    return c;
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
        row.seconds = std::chrono::duration<double>(r->in.now() - r->since).count();
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
    for (const std::uint64_t number : all)
        end(number, failure{error_code::unavailable, why, error_reason::lost_task}.exception());
}

} // namespace tenon::net
