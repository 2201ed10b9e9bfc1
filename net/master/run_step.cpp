#include <optional>

#include <net/master/master_session.hpp>
#include <net/rpc/answer.hpp>
#include <net/wire/trace_rows.hpp>
#include <tenon/concurrency/failure.hpp>
#include <tenon/concurrency/submit_scope.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/runtime/run/step_errors.hpp>

/// A step of a session.

namespace tenon::net {

namespace {

// The first task that this thread gives to the pool while one exists is done by this thread, as it ends.
class done_here {
public:
    explicit done_here(thread_pool& pool) : scope_(std::in_place, pool, take_) {}
    done_here(const done_here&) = delete;
    ~done_here() {
        scope_.reset();
        if (kept_) kept_();
    }

private:
    struct first {
        work_item& kept;
        bool operator()(work_item& task) const {
            if (kept) return false;
            kept = std::move(task);
            return true;
        }
    };
    work_item kept_;
    first take_{kept_};
    std::optional<submit_scope> scope_;
};

std::exception_ptr not_begun(const std::string& master, double limit, const char* source) {
    step in;
    in.limit = limit;
    in.limit_source = source;
    return thrown_by(
        [&] { runtime::exceed_limit(in, master + " had not begun it: it was being planned, or waited for a thread"); });
}

} // namespace

// One that a client has asked for, until it has begun.
struct master::step_asked {
    std::shared_ptr<void>
        busy; // goes last: whoever is the last to hold the session, the server stays until that has ended
    std::shared_ptr<session::running> run;
    run_step call;
    time_point deadline = never;
    std::shared_ptr<trace> traced;
    tenon::detail::local_callable::completed ended;

    // Under the session's guard. False where its client was told that it is late; throws where it was stopped.
    bool is_wanted(const session& s) const {
        if (run->over) return false;
        if (run->cancelled || s.closed) throw cancelled_error("the step was stopped before it began");
        return true;
    }
    void fail(session& s, const std::exception_ptr& why) const {
        {
            const std::lock_guard lock(s.guard);
            if (std::exchange(run->over, true)) return;
        }
        ended({}, why);
    }
};

void master::run(const std::shared_ptr<session>& s, run_step&& c, time_point deadline, replier&& answer) {
    auto a = std::make_shared<step_asked>();
    a->busy = busy_.enter();
    auto r = a->run = std::make_shared<session::running>();
    r->own = memory_charge(s->memory.get(), bytes_of_step);
    if (s->under_way.fetch_add(1) >= limits_.steps) {
        --s->under_way;
        throw resource_exhausted_error("session: " + std::to_string(limits_.steps) +
                                       " of its steps are under way, which is as many as " + self_.name +
                                       " takes; wait until some have ended");
    }
    const std::uint64_t request = answer.request();
    const auto to = r->to = std::make_shared<replier>();
    {
        const std::lock_guard lock(s->guard);
        s->runs[request] = r;
        *to = std::move(answer);
        s->used = r->since = transport_.now();
        r->number = ++s->begun;
        r->limit = c.timeout > 0 ? c.timeout : s->settings.operation_timeout;
    }
    a->traced = c.traced ? std::make_shared<trace>(trace_of_step) : nullptr;
    const std::int64_t began = trace_time(transport_.now());
    a->ended = [this, token = busy_.enter(), s, r, request, traced = a->traced, began,
                to](std::vector<any_array> fetched, std::exception_ptr failed) {
        if (r->timer) (void)transport_.cancel(r->timer);
        {
            const std::lock_guard lock(s->guard);
            r->over = true;
            s->runs.erase(request);
        }
        --s->under_way;
        ended_->add(failed ? outcome_of(failure::of(failed)) : step_outcome::ok, transport_.now() - r->since);
        if (failed) {
            net::fail(*to, failed);
            return;
        }
        if (r->called)
            for (const std::size_t f : r->called->stale) stale_.add(*fetched[f].data<std::int64_t>());
        run_step::reply told{.fetched = std::move(fetched)};
        if (traced) told.traces.push_back(traced->record(began, trace_time(transport_.now())));
        if (s->settings.log_device_placement) told.placed = s->take_placed();
        reply<run_step>(*to, told);
    };
    a->call = std::move(c);
    // Its time began where it was called. One whose plan is not there when it is over is not begun.
    step time;
    time.time = &transport_;
    runtime::set_limit(time, a->call.timeout, s->settings.operation_timeout);
    try {
        if (time.limited()) {
            a->deadline = std::min(deadline, time.deadline);
            r->timer = transport_.call_at(a->deadline, [s, weak = std::weak_ptr(r), to, request, counts = ended_,
                                                        time_of_all = &transport_, limit = time.limit,
                                                        source = time.limit_source, name = self_.name] {
                const auto late = weak.lock();
                if (!late) return;
                std::shared_ptr<tenon::detail::pending_state> step;
                {
                    const std::lock_guard lock(s->guard);
                    late->late = true;
                    if (!late->begun && !std::exchange(late->over, true)) s->runs.erase(request);
                    else if (!(step = late->step.lock())) return;
                }
                if (step) return step->expire();
                --s->under_way;
                counts->add(step_outcome::late, time_of_all->now() - late->since);
                net::fail(*to, not_begun(name, limit, source));
            });
        }
        in_order(s, false, [this, s, a] { start(s, a); });
    } catch (...) { // no memory
        a->fail(*s, std::current_exception());
    }
}

// Its callable is there, if it ever is.
void master::start(const std::shared_ptr<session>& s, const std::shared_ptr<step_asked>& a) {
    std::shared_ptr<session::callable> called;
    try {
        called = s->find_callable(a->call.callable);
        const std::size_t feeds = called->steps->feeds().size();
        if (a->call.feeds.size() != feeds)
            throw invalid_argument_error("session: a step that is fed " + std::to_string(feeds) +
                                         " tensors was given " + std::to_string(a->call.feeds.size()));
    } catch (...) {
        a->fail(*s, std::current_exception());
        return;
    }
    // What is not planned yet is planned first.
    turns_.submit(s->number, called->is_long, [busy = a->busy, s, a, called, pool = task_->pool] {
        const payer_scope pays(s->memory.get());
        const auto began = std::chrono::steady_clock::now();
        try {
            {
                const std::lock_guard lock(s->guard);
                if (!a->is_wanted(*s)) return;
            }
            const done_here rest(*pool);
            called->steps->plan(a->call.feeds);
            {
                const std::lock_guard lock(s->guard);
                if (!a->is_wanted(*s)) return;
                a->run->begun = true;
                a->run->called = called;
            }
            const auto step =
                called->steps->start(std::move(a->call.feeds), a->call.timeout, a->traced.get(), a->ended, a->deadline);
            bool cancelled = false, late = false;
            {
                const std::lock_guard lock(s->guard);
                a->run->step = step;
                cancelled = a->run->cancelled;
                late = a->run->late;
            }
            if (cancelled) step->stop();
            else if (late) step->expire();
        } catch (...) {
            a->fail(*s, std::current_exception());
        }
        called->is_long = std::chrono::steady_clock::now() - began > fair_scheduler::slice;
    });
}

} // namespace tenon::net
