#include <optional>

#include <net/master/master_session.hpp>
#include <net/wire/trace_rows.hpp>
#include <net/worker/answer.hpp>
#include <tenon/kernel/submit_scope.hpp>
#include <tenon/kernel/thread_pool.hpp>

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
        pool_task& kept;
        bool operator()(pool_task& task) const {
            if (kept) return false;
            kept = std::move(task);
            return true;
        }
    };
    pool_task kept_;
    first take_{kept_};
    std::optional<submit_scope> scope_;
};

} // namespace

void master::run(const std::shared_ptr<session>& s, run_step&& c, replier&& answer) {
    auto callable = s->callable(c.callable);
    if (c.feeds.size() != callable->feeds().size())
        throw invalid_argument_error("session: a step that is fed " + std::to_string(callable->feeds().size()) +
                                     " tensors was given " + std::to_string(c.feeds.size()));
    auto r = std::make_shared<session::running>();
    const std::uint64_t request = answer.request();
    {
        const std::lock_guard lock(s->guard);
        s->runs[request] = r;
        s->used = transport_.now();
        ++s->begun;
    }
    const double limit = c.timeout > 0 ? c.timeout : s->settings.operation_timeout;
    if (limit > 0) {
        const auto at = transport_.now() + seconds_of(limit);
        r->timer = transport_.call_at(at, [s, weak = std::weak_ptr(r)] {
            const auto late = weak.lock();
            if (!late) return;
            std::shared_ptr<tenon::detail::pending_state> step;
            {
                const std::lock_guard lock(s->guard);
                step = late->step.lock();
            }
            if (step) step->expire();
        });
    }
    auto traced = c.traced ? std::make_shared<trace>() : nullptr;
    const std::int64_t began = nanoseconds_now();
    auto to = std::make_shared<replier>(std::move(answer));
    auto ended = [this, token = busy_.enter(), s, r, request, traced, began, to](std::vector<any_array> fetched,
                                                                                 std::exception_ptr failed) {
        if (r->timer) (void)transport_.cancel(r->timer);
        {
            const std::lock_guard lock(s->guard);
            s->runs.erase(request);
        }
        if (failed) {
            fail(*to, failed);
            return;
        }
        run_step::reply told;
        told.fetched = std::move(fetched);
        if (traced) told.rows = rows_of(*traced, began);
        if (s->settings.log_device_placement) told.placed = s->take_placed();
        reply<run_step>(*to, told);
    };
    // What is not planned yet is planned first, which takes long: it is the pool's.
    // Whoever is the last to hold the session, the server stays until that has ended: `busy` goes after all else.
    task_->pool->submit([busy = busy_.enter(), s, r, callable, pool = task_->pool,
                         feeds = std::make_shared<std::vector<any_array>>(std::move(c.feeds)), timeout = c.timeout,
                         traced, ended = std::move(ended)]() mutable {
        try {
            {
                const std::lock_guard lock(s->guard);
                if (r->cancelled || s->closed) throw cancelled_error("the step was stopped before it began");
            }
            const done_here rest(*pool);
            const auto step = callable->start(std::move(*feeds), timeout, traced.get(), ended);
            bool cancelled = false;
            {
                const std::lock_guard lock(s->guard);
                r->step = step;
                cancelled = r->cancelled;
            }
            if (cancelled) step->stop();
        } catch (...) {
            ended({}, std::current_exception());
        }
    });
}

} // namespace tenon::net
