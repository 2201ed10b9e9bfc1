#include <net/worker/worker_state.hpp>

#include <algorithm>

#include <net/worker/all_answers.hpp>
#include <net/wire/trace_rows.hpp>
#include <net/worker/answer.hpp>
#include <tenon/kernel/denormals.hpp>

/// A worker's steps in flight.

namespace tenon::net {

void worker::run(link_number master, run_part&& m, replier&& answer) {
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
    r->in.time = task_->time;
    r->since = r->in.now();
    if (m.limit > 0)
        r->in.deadline =
            r->in.now() + std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(m.limit, 1e9) * 1e9));
    if (m.traced) r->traced.emplace();
    r->began = nanoseconds_now();
    {
        const std::lock_guard lock(s->guard);
        const auto at = s->parts.find(m.part);
        if (s->ended || at == s->parts.end())
            throw aborted_error(self_.name + " does not know part " + std::to_string(m.part) + " of this session");
        r->part = at->second;
    }
    r->meeting = meetings_.open(s->tasks, m.step, r->part->edges);
    const std::uint64_t request = answer.request();
    {
        const std::lock_guard lock(s->guard);
        if (s->ended) throw aborted_error("the session of this step has ended on " + self_.name); // meanwhile
        s->steps.emplace(m.step, r);
    }
    r->answer = std::move(answer);
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
    if (plan_again) task_->pool->submit([this, s, p = r->part, token = busy_.enter()] { make_plan(s, p, false); });
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
        if (r->session->options.flush_denormals) flushed.emplace(flushed_denormals);
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
    if (r->traced) told.rows = rows_of(*r->traced, r->began, self_.name + " ");
    answer_when_sent(r, std::move(told));
}

// What was sent to a task that no link has reached yet waits for one, and is lost where none comes. Who is to receive it would wait
// for ever: the step is not said to have ended well before.
void worker::answer_when_sent(const std::shared_ptr<running_part>& r, run_part::reply&& told) {
    const auto has_link = [&](int t) {
        const peer_state s = r->session->tasks->tasks[static_cast<std::size_t>(t)].at->state();
        return s == peer_state::ready || s == peer_state::resuming;
    };
    const std::vector<int>& to = r->part->receivers;
    if (std::all_of(to.begin(), to.end(), has_link)) {
        reply<run_part>(r->answer, told);
        return;
    }
    const auto all = std::make_shared<all_answers>([this, r, told = std::move(told)](const auto& missing) {
        if (missing.empty()) reply<run_part>(r->answer, told);
        else r->answer.fail(error_code::unavailable, self_.name + " cannot send to:" + in_lines(missing));
    });
    for (const int t : to) {
        const std::shared_ptr<peer> at = r->session->tasks->tasks[static_cast<std::size_t>(t)].at;
        all->expect();
        others_.reach(*at, [all, at](const net::answer& a) { all->came(*at, a); });
    }
    all->came();
}

void worker::stop_one(const stop_step& m) {
    const auto r = find(m.session, m.step);
    if (!r) return meetings_.close(m.session, m.step); // it will not begin, or has ended: what came for it is not kept
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

} // namespace tenon::net
