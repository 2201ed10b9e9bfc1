#include <net/worker/worker_state.hpp>

#include <algorithm>

#include <net/rpc/all_answers.hpp>
#include <net/rpc/answer.hpp>
#include <net/wire/trace_rows.hpp>
#include <tenon/concurrency/denormals.hpp>
#include <tenon/runtime/run/step_errors.hpp>

/// A worker's steps in flight.

namespace tenon::net {

void worker::run(link_number master, run_part&& m, time_point deadline, replier&& answer) {
    const std::uint64_t of = m.session, step = m.step;
    std::shared_ptr<running_part> r;
    try {
        r = enter(master, std::move(m), deadline, answer);
    } catch (const internal_error&) { // there is one of this number already
        throw;
    } catch (...) {
        exchange_.close(of, step); // what came for it, and will, is not kept
        throw;
    }
    bool plan_again = false;
    {
        const std::lock_guard lock(r->part->guard);
        if (r->part->planned && (r->part->was_short || (!r->part->failed && r->part->epoch != task_->epoch()))) {
            r->part->planned = false;
            r->part->waiting.push_back(r);
            plan_again = true;
        }
    }
    if (plan_again) plan_later(r);
    else start(r);
    std::exception_ptr stopped; // before it waited for its plan
    {
        const std::lock_guard lock(r->guard);
        stopped = r->stopped;
    }
    if (stopped) end_unplanned(r, stopped);
}

// It is found from here on. The answer is its own then.
std::shared_ptr<worker::running_part> worker::enter(link_number master, run_part&& m, time_point deadline,
                                                    replier& answer) {
    const auto s = find(m.session);
    if (!s)
        throw_lost_task(error_code::aborted,
                        self_.name + " does not know this session; it has ended, or the server was restarted");
    auto r = std::make_shared<running_part>();
    r->busy = busy_.enter();
    r->session = s;
    r->memory = s->memory;
    r->own = memory_charge(s->memory.get(), bytes_of_step);
    r->number = m.step;
    r->master = master;
    r->limit_source = std::move(m.limit_source);
    r->in.limit = m.limit;
    r->in.deadline = deadline;
    r->in.limit_source = r->limit_source.c_str();
    r->in.may_be_stopped = true;
    r->in.time = task_->time;
    r->since = r->in.now();
    if (m.traced) r->traced.emplace(trace_of_part);
    {
        const std::lock_guard lock(s->guard);
        if (s->ended) throw_lost_task(error_code::aborted, "the session of this step has ended on " + self_.name);
        const auto at = s->parts.find(m.part);
        if (at == s->parts.end())
            throw aborted_error(self_.name + " does not know part " + std::to_string(m.part) + " of this session");
        r->part = at->second;
        if (s->steps.size() >= limits_.steps)
            throw resource_exhausted_error(self_.name + " has " + std::to_string(s->steps.size()) +
                                           " steps of this session under way, which is as many as it takes");
    }
    r->rendezvous = exchange_.open(s->tasks, m.step, r->part->edges);
    const std::pair called{master, answer.request()};
    {
        const std::lock_guard lock(guard_);
        by_request_[called] = r;
    }
    try {
        const std::lock_guard lock(s->guard);
        if (s->ended)
            throw_lost_task(error_code::aborted, "the session of this step has ended on " + self_.name); // meanwhile
        s->steps.emplace(m.step, r);
        r->losses_before = s->losses;
    } catch (...) {
        const std::lock_guard lock(guard_);
        by_request_.erase(called);
        throw;
    }
    r->answer = std::move(answer);
    return r;
}

void worker::plan_later(const std::shared_ptr<running_part>& r) {
    turns_.submit(r->session->number, true,
                  [this, token = busy_.enter(), s = r->session, p = r->part] { make_plan(s, p, false); });
}

// Now, or when its plan is there, by who makes that.
void worker::start(const std::shared_ptr<running_part>& r) {
    std::exception_ptr failed;
    bool again = false;
    {
        const std::lock_guard lock(r->part->guard);
        if (!r->part->planned) return r->part->waiting.push_back(r);
        failed = r->part->failed;
        if (!failed && !r->part->plan) { // its memory was given back
            r->part->planned = false;
            r->part->waiting.push_back(r);
            again = true;
        } else if (!failed) {
            r->program = r->part->program;
            r->plan = r->part->plan;
            if (!r->part->spare.empty()) {
                r->step = std::move(r->part->spare.back());
                r->part->spare.pop_back();
            }
        }
    }
    if (again) return plan_later(r);
    const payer_scope pays(r->memory.get());
    try {
        if (failed) std::rethrow_exception(failed);
        if (r->in.late()) runtime::exceed_limit(r->in, self_.name + " did not begin its part in time");
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
        if (r->session->options.flush_denormals) flushed.emplace(flushed_denormals);
        r->step->start({&r->in, r->traced ? &*r->traced : nullptr, nullptr}, *r->rendezvous, r->session->in_flight,
                       [this, r] { ended(r); });
    } catch (...) {
        count(*r, std::current_exception());
        forget(*r);
        fail(r->answer, std::current_exception());
    }
}

void worker::count(const running_part& r, const std::exception_ptr& failed) {
    ended_.add(failed ? outcome_of(failure::of(failed)) : step_outcome::ok, r.in.now() - r.since);
}

// It has ended: nothing arrives for it any more, nobody finds it.
void worker::forget(const running_part& r) {
    exchange_.close(r.session->number, r.number);
    {
        const std::lock_guard lock(r.session->guard);
        r.session->steps.erase(r.number);
    }
    const std::lock_guard lock(guard_);
    by_request_.erase({r.master, r.answer.request()});
}

void worker::ended(const std::shared_ptr<running_part>& r) {
    const std::exception_ptr failed = r->step->failure();
    count(*r, failed);
    r->was_short = failed && failure::of(failed).code == error_code::resource_exhausted;
    run_part::reply told{.took = r->step->took()};
    const runtime::run_end became = r->step->end();
    told.changed = !became.changed.empty();
    told.in_part = became.in_part;
    told.recordings = r->plan->recordings();
    {
        const std::lock_guard own(r->guard);
        r->begun = false;
    }
    // What it took is given back or not when the step has ended on all tasks.
    std::optional<settle_step> now;
    {
        const std::lock_guard lock(r->session->guard);
        if (r->settled || r->session->ended || !told.took)
            now = r->settled.value_or(settle_step{r->session->number, r->number, failed != nullptr || r->session->ended,
                                                  true}); // as worker::end
        else r->session->unsettled.emplace(r->number, r);
    }
    if (now) settle(*r, *now);
    forget(*r);
    if (failed) {
        told.failed = true;
        told.why = failure::of(failed);
        reply<run_part>(r->answer, told);
        return;
    }
    if (r->traced) told.traces.push_back(r->traced->record(trace_time(r->since), trace_time(r->in.now())));
    answer_when_sent(r, std::move(told));
}

// Then it is another step's.
void worker::settle(running_part& r, const settle_step& m) {
    constexpr std::size_t kept = 16;
    r.step->settle(m.failed, m.others_changed);
    worker::part::kept_memory dropped;
    const std::lock_guard own(r.guard);
    const std::lock_guard lock(r.part->guard);
    if (r.was_short && r.part->plan == r.plan)
        r.part->give_up_plan(dropped); // planned anew it keeps nothing for the sizes of earlier steps
    else if (r.users == 0 && r.part->plan == r.plan && r.part->spare.size() < kept)
        r.part->spare.push_back(std::move(r.step));
}

void worker::settle_one(const settle_step& m) {
    const auto s = find(m.session);
    if (!s) return;
    std::shared_ptr<running_part> r;
    {
        const std::lock_guard lock(s->guard);
        if (const auto runs = s->steps.find(m.step); runs != s->steps.end()) runs->second->settled = m;
        const auto at = s->unsettled.find(m.step);
        if (at == s->unsettled.end()) return;
        r = std::move(at->second);
        s->unsettled.erase(at);
    }
    settle(*r, m);
}

// What was sent to a task that no link has reached yet waits for one, and is lost where none comes. Who is to receive it would wait
// for ever: the step is not said to have ended well before. Unless it is not wanted any more.
void worker::answer_when_sent(const std::shared_ptr<running_part>& r, run_part::reply&& told) {
    const auto has_link = [&](int t) {
        const peer_state s = r->session->tasks->tasks[static_cast<std::size_t>(t)].at->state();
        return s == peer_state::ready || s == peer_state::resuming;
    };
    const std::vector<int>& to = r->part->receivers;
    told.unsent = loss_since(*r);
    if (!told.unsent.empty() || std::all_of(to.begin(), to.end(), has_link)) {
        reply<run_part>(r->answer, told);
        return;
    }
    const std::pair which{r->master, r->answer.request()};
    {
        const std::lock_guard lock(guard_);
        unsent_.emplace(which, unsent_answer{r, std::move(told)});
    }
    if (std::string lost = loss_since(*r); !lost.empty()) return answer_unsent(which, std::move(lost)); // meanwhile
    const auto all = std::make_shared<all_answers>([this, which](const auto& missing) {
        answer_unsent(which, missing.empty() ? "" : self_.name + " cannot send to:" + in_lines(missing));
    });
    for (const int t : to) {
        const std::shared_ptr<peer> at = r->session->tasks->tasks[static_cast<std::size_t>(t)].at;
        all->expect();
        others_.reach(*at, [all, at](const net::answer& a) { all->came(*at, a); });
    }
    all->came();
}

// Why what it sent may not arrive, though another link comes; empty: nothing was lost.
std::string worker::loss_since(const running_part& r) {
    const std::lock_guard lock(r.session->guard);
    for (const int t : r.part->receivers)
        if (const auto at = r.session->lost.find(t); at != r.session->lost.end() && at->second.number > r.losses_before)
            return at->second.why;
    return {};
}

void worker::answer_unsent(const std::pair<link_number, std::uint64_t>& which, std::string&& why) {
    unsent_answer a;
    {
        const std::lock_guard lock(guard_);
        const auto at = unsent_.find(which);
        if (at == unsent_.end()) return;
        a = std::move(at->second);
        unsent_.erase(at);
    }
    a.told.unsent = std::move(why);
    reply<run_part>(a.part->answer, a.told);
}

void worker::stop_one(const stop_step& m) {
    const auto r = find(m.session, m.step);
    if (!r) return exchange_.close(m.session, m.step); // it will not begin, or has ended: what came for it is not kept
    const std::exception_ptr why = m.why.exception();
    // Who has a deadline says what it was waiting for.
    r->use(why, [&](runtime::task_run& step) {
        if (m.why.code == error_code::deadline_exceeded) (void)step.expire();
        else step.stop(why);
    });
    end_unplanned(r, why);
}

// One that waits for its plan does not begin any more.
void worker::end_unplanned(const std::shared_ptr<running_part>& r, const std::exception_ptr& why) {
    {
        const std::lock_guard lock(r->part->guard);
        if (std::erase(r->part->waiting, r) == 0) return;
    }
    count(*r, why);
    forget(*r);
    try {
        if (r->in.late()) runtime::exceed_limit(r->in, self_.name + " had not begun its part: it was being planned");
        fail(r->answer, why);
    } catch (...) {
        fail(r->answer, std::current_exception());
    }
}

ask_waits::reply worker::waits_of(const ask_waits& m) const {
    ask_waits::reply told;
    const auto r = find(m.session, m.step);
    if (!r) return told;
    r->use(nullptr, [&](runtime::task_run& step) {
        for (const runtime::awaited& a : step.waits())
            told.waits.push_back({a.origin->name, a.origin->op->name, self_.name, a.what, a.seconds,
                                  a.receives ? 0 : -1, r->program->number_of(*a.origin)});
    });
    return told;
}

void worker::cancelled(link_number master, std::uint64_t request) {
    answer_unsent({master, request},
                  "the step was stopped before " + self_.name + " had a link to all that it sends to");
    std::shared_ptr<running_part> r;
    {
        const std::lock_guard lock(guard_);
        const auto at = by_request_.find({master, request});
        if (at == by_request_.end()) return;
        r = at->second.lock();
    }
    if (r) stop_one({r->session->number, r->number, {error_code::cancelled, "the step was stopped by its master", {}}});
}

} // namespace tenon::net
