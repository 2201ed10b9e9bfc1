#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <tenon/concurrency/denormals.hpp>
#include <tenon/core/error.hpp>
#include <tenon/resources/rendezvous.hpp>
#include <tenon/runtime/run/step_errors.hpp>
#include <tenon/runtime/run/subgraph_run.hpp>
#include <tenon/runtime/trace/trace.hpp>

namespace tenon::runtime {

TENON_INLINE subgraph_run::subgraph_run(subgraph& p) :
    plan_(p),
    slots_(static_cast<std::size_t>(p.slots_)),
    last_sizes_(p.sizes_matter_ ? slots_.size() : 0),
    waiters_(p.waits_.size()),
    segments_(p.units_.size() - p.waits_.size()) {
    std::size_t waits = 0, segments = 0;
    for (std::size_t u = 0; u < p.units_.size(); ++u) {
        const subgraph::unit& unit = p.units_[u];
        if (unit.cut.waits < 0) {
            place_.push_back(static_cast<int>(segments));
            segment_run& s = segments_[segments++];
            s.of = this;
            s.unit = static_cast<int>(u);
            s.fed.resize(unit.takes.size());
            s.given.resize(unit.gives.size());
            s.taken.resize(unit.gives.size());
            continue;
        }
        place_.push_back(static_cast<int>(waits));
        waiter& w = waiters_[waits++];
        w.of = this;
        w.unit = static_cast<int>(u);
        w.op = static_cast<waiting_kernel&>(*unit.kernel).make_wait();
        w.op->keeps = p.takes_ && unit.only_takes;
    }
    if (p.takes_) used_.resize(p.units_.size());
    left_.resize(p.units_.size()); // these lists grow no more: what goes on in a step takes no memory
    ready_.reserve(p.units_.size());
    to_start_.reserve(p.units_.size());
    going_on_.reserve(p.units_.size() * static_cast<std::size_t>(std::max(p.options_.side_by_side, 1)));
    environment_.in = &step_;
    step_.may_be_stopped = true;
}

// What may throw comes first: of what follows nothing may be left undone, or the next step would do it twice.
TENON_INLINE void subgraph_run::renew(const any_array* const* feeds, const run_environment& e) {
    if (plan_.sizes_matter_) sizes_ = plan_.sizes_;
    feeds_ = feeds;
    environment_.traced = e.traced;
    environment_.measured = e.measured;
    environment_.traced_as = e.traced_as;
    step_.pool = e.in->pool;
    step_.take_time_of(*e.in);
    step_.values = e.in->values;
    step_.renew();
    undone_ = static_cast<int>(plan_.units_.size());
    failed_unit_ = -1;
    for (waiter& w : waiters_) {
        w.now = waiter::state::idle;
        w.well = false;
    }
}

// `begun`: what a step that ran at once waits for; the units before it have ended.
TENON_INLINE subgraph_run::locked subgraph_run::begin(steps_in_flight& among, waiter* begun) {
    denormals_ = denormal_mode();
    payer_ = current_payer();
    among_ = &among;
    const std::lock_guard lock(among.guard_);
    locked mine(guard_);
    active_ = 1; // this thread
    for (std::size_t u = 0; u < left_.size(); ++u) left_[u] = plan_.units_[u].cut.before;
    std::size_t next = 0;
    if (begun) {
        for (; static_cast<int>(next) < begun->unit; ++next)
            for (const int then : plan_.units_[next].cut.then) --left_[static_cast<std::size_t>(then)];
        ++next;
        begun->now = waiter::state::begun;
        begun->waits = true;
        begun->since = step_.now();
        ++active_;
    }
    for (; next < left_.size(); ++next)
        if (left_[next] == 0) make_ready(static_cast<int>(next));
    for (segment_run& s : segments_) s.ran = s.well = false;
    too_late_ = nullptr;
    unsent_ = false;
    if (!std::exchange(armed_, false)) first_ = nullptr;
    expired_.clear();
    number_ = ++among.begun_;
    before_ = nullptr;
    after_ = among.first_;
    if (after_) after_->before_ = this;
    among.first_ = this;
    if (among.closed_ && !first_) first_ = among.closed_;
    if (!first_ && step_.late()) { // expire() may have found nothing that had begun
        try {
            exceed_limit(step_, "it had not begun");
        } catch (...) {
            first_ = std::current_exception();
        }
    }
    if (!first_) return mine;
    (void)step_.stop();
    active_ -= static_cast<int>(ready_.size() + to_start_.size());
    ready_.clear();
    to_start_.clear();
    return mine;
}

// It has ended, so that nobody uses it but who finds it in the list.
TENON_INLINE void subgraph_run::leave() {
    const std::lock_guard lock(among_->guard_);
    (before_ ? before_->after_ : among_->first_) = after_;
    if (after_) after_->before_ = before_;
}

TENON_INLINE void subgraph_run::run(const any_array* const* feeds, const run_environment& e, steps_in_flight& among) {
    caller_ = true;
    runners_ = 1;
    background_ = e.in->pool;
    renew(feeds, e);
    waiter* begun = nullptr;
    if (plan_.at_once_ && !e.traced && !e.in->limited() && !armed_ && !among.is_closed_.load(std::memory_order_acquire)) {
        begun = run_at_once();
        if (!begun) return;
    }
    {
        locked lock = begin(among, begun);
        if (begun && begun->at_once.exchange(waiter::start::in_earnest, std::memory_order_acq_rel) == waiter::start::done) {
            lock.unlock();
            completed(*begun, std::move(begun->failure));
            lock.lock();
        } else if (begun && first_) stop_what_is_begun(lock);
        --active_; // it counts itself no more: it looks itself whether all has ended
        for (;;) {
            work(lock);
            if (active_ == 0) break;
            asleep_ = true;
            changed_.wait(lock);
            asleep_ = false;
        }
        say_what_was_changed();
    }
    leave();
}

TENON_INLINE void subgraph_run::start(const any_array* const* feeds, const run_environment& e, steps_in_flight& among,
                                      thread_pool& pool, std::function<void()> ended) {
    caller_ = false;
    runners_ = 0;
    background_ = &pool;
    renew(feeds, e);
    locked lock = begin(among);
    ended_ = std::move(ended); // which keeps this alive, and is let go of when it has ended
    if (has_work()) offer(lock);
    one_less(lock);
}

// Ops that are done when they are started, as of a queue that has room: nobody else need know of the step, which takes no lock. Returns the one
// that waits; nullptr: the step has ended.
TENON_INLINE subgraph_run::waiter* subgraph_run::run_at_once() noexcept {
    first_ = nullptr;
    expired_.clear();
    for (waiter& w : waiters_) {
        std::exception_ptr failure;
        try {
            w.starter = std::this_thread::get_id();
            w.at_once.store(waiter::start::starting, std::memory_order_relaxed);
            start_op(w);
            if (w.at_once.load(std::memory_order_acquire) != waiter::start::done) return &w;
            failure = std::move(w.failure);
        } catch (...) {
            failure = std::current_exception();
        }
        first_ = end_wait(w, std::move(failure));
        if (first_) {
            say_what_was_changed();
            return nullptr;
        }
        count_end(w.unit);
    }
    return nullptr;
}

// While it is started by run_at_once(), which sees to what follows.
TENON_INLINE bool subgraph_run::waiter::is_done_at_once(std::exception_ptr& why) noexcept {
    start was = start::starting;
    if (at_once.load(std::memory_order_relaxed) != was) return false;
    failure = std::move(why);
    if (starter == std::this_thread::get_id()) { // from within start(): nobody else looks
        at_once.store(start::done, std::memory_order_relaxed);
        return true;
    }
    if (at_once.compare_exchange_strong(was, start::done, std::memory_order_acq_rel)) return true;
    why = std::move(failure);
    return false;
}

// Runs what is ready, as long as there is any. Ops that wait take no time to begin, and others may be waiting for them.
TENON_INLINE void subgraph_run::work(locked& lock) {
    while (has_work()) {
        if (!to_start_.empty() && !starting_) {
            if (!ready_.empty() || !going_on_.empty()) offer(lock);
            if (!to_start_.empty() && !starting_) start_waits(true, lock);
            continue;
        }
        std::vector<int>& from = going_on_.empty() ? ready_ : going_on_;
        const bool begun = &from == &going_on_;
        const int u = from.back();
        from.pop_back();
        if (has_work()) offer(lock);
        const auto place = static_cast<std::size_t>(place_[static_cast<std::size_t>(u)]);
        if (!begun) start_segment(segments_[place], lock);
        else {
            lock.unlock();
            segments_[place].run->work();
            lock.lock();
        }
    }
}

// All that are ready, on one thread: so that what they send to one task goes together.
TENON_INLINE void subgraph_run::start_waits(bool all, locked& lock) noexcept {
    starting_ = true;
    do {
        while (!to_start_.empty()) {
            const int u = to_start_.back();
            to_start_.pop_back();
            start_wait(waiters_[static_cast<std::size_t>(place_[static_cast<std::size_t>(u)])], lock);
        }
        flush(all, lock);
    } while (!to_start_.empty());
    starting_ = false;
}

// The lock is let go of meanwhile; the thread counts as one that uses the step.
TENON_INLINE void subgraph_run::flush(bool all, locked& lock) noexcept {
    if (!step_.values) return;
    unsent_ = !all;
    ++active_;
    lock.unlock();
    std::exception_ptr failure;
    try {
        step_.values->flush(all);
    } catch (...) {
        failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
        ++undone_; // what was to be sent, whose op had ended well
        fail(std::move(failure), lock);
    }
    --active_;
}

TENON_INLINE const any_array& subgraph_run::found(const subgraph::source& s) const {
    return s.feed >= 0 ? *feeds_[s.feed] : slots_[static_cast<std::size_t>(s.slot)];
}

// The thread that starts it counts as one that uses the step, which may end meanwhile.
TENON_INLINE void subgraph_run::start_segment(segment_run& s, locked& lock) noexcept {
    s.starter = std::this_thread::get_id();
    ++active_;
    lock.unlock();
    std::exception_ptr failure;
    try {
        subgraph::unit& unit = plan_.units_[static_cast<std::size_t>(s.unit)];
        for (std::size_t k = 0; k < unit.takes.size(); ++k) s.fed[k] = &found(unit.takes[k]);
        s.run.emplace(plan_.segment_of(unit, last_sizes_));
        run_environment e = environment_;
        if (unit.gives_early) e.taker = &s;
        {
            const std::lock_guard mine(guard_);
            s.begun = s.ran = true;
            std::fill(s.taken.begin(), s.taken.end(), char{0});
        }
        s.run->start(s.fed.data(), s.given.data(), e, s);
    } catch (const std::bad_alloc&) {
        failure = placed(std::current_exception(), s.unit);
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure) ended(s, std::move(failure));
    lock.lock();
    s.starter = {};
    // Whoever stopped the step may have come before it was begun.
    if (first_) stop_what_is_begun(lock);
    --active_;
}

// Of a segment that has begun, by whoever has made it possible.
TENON_INLINE void subgraph_run::go_on(int unit) noexcept {
    locked lock(guard_);
    ++active_;
    going_on_.push_back(unit);
    find_worker(false, lock);
    one_less(lock);
}

TENON_INLINE void subgraph_run::ended(segment_run& s, std::exception_ptr failure) noexcept {
    const subgraph::unit& unit = plan_.units_[static_cast<std::size_t>(s.unit)];
    if (!failure)
        for (std::size_t k = 0; k < unit.gives.size(); ++k) {
            any_array given = std::move(s.given[k]);
            if (!s.taken[k]) slots_[static_cast<std::size_t>(unit.gives[k])] = std::move(given);
        }
    locked lock(guard_);
    if (failure && !first_ && s.begun && !step_.stopped() && !step_.late()) {
        failed_unit_ = s.unit;
        failed_over_values_ = !is_shortage(failure);
    }
    s.begun = false;
    s.well = !failure;
    if (stopping_ == 0) s.run.reset();
    if (failure) fail(std::move(failure), lock);
    else {
        release(s.unit, &s);
        if (unsent_ && to_start_.empty()) flush(true, lock);
        find_worker(s.starter == std::this_thread::get_id(), lock);
    }
    one_less(lock);
}

// The thread that computes goes on when it has sent what is large; it is not the step's last.
TENON_INLINE void subgraph_run::fetched(segment_run& s, std::size_t fetch) noexcept {
    const subgraph::unit& unit = plan_.units_[static_cast<std::size_t>(s.unit)];
    const auto is = [&](int by) { return by == static_cast<int>(fetch); };
    if (std::none_of(unit.then_by.begin(), unit.then_by.end(), is)) return;
    slots_[static_cast<std::size_t>(unit.gives[fetch])] = s.given[fetch].share();
    locked lock(guard_);
    s.taken[fetch] = 1;
    if (first_) return;
    for (std::size_t n = 0; n < unit.then_by.size(); ++n)
        if (is(unit.then_by[n]) && --left_[static_cast<std::size_t>(unit.cut.then[n])] == 0)
            make_ready(unit.cut.then[n]);
    if (!to_start_.empty() && !starting_) start_waits(false, lock);
}

// Whoever is to do what there is. `here`: this thread goes on with it itself.
TENON_INLINE void subgraph_run::find_worker(bool here, locked& lock) {
    if (!has_work()) return;
    if (caller_ && asleep_) changed_.notify_one();
    else if (!here) offer(lock);
}

// The thread that starts it counts as one that uses the step, which may end meanwhile.
TENON_INLINE void subgraph_run::start_wait(waiter& w, locked& lock) noexcept {
    const subgraph::unit& unit = plan_.units_[static_cast<std::size_t>(w.unit)];
    w.now = waiter::state::begun;
    w.waits = false;
    w.starter = std::this_thread::get_id();
    ++active_;
    lock.unlock();
    std::exception_ptr failure;
    try {
        start_op(w);
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure) completed(w, std::move(failure));
    lock.lock();
    w.waits = w.now == waiter::state::begun;
    if (w.waits) w.since = step_.now();
    // What another subgraph sends is not waited for without an end: that subgraph has a limit, too.
    if (w.waits && too_late_ && !first_ && !unit.receives) fail(too_late_, lock);
    // Whoever stopped the step may have come before it was begun.
    else if (first_) stop_what_is_begun(lock);
    --active_;
}

TENON_INLINE void subgraph_run::start_op(waiter& w) {
    const subgraph::unit& unit = plan_.units_[static_cast<std::size_t>(w.unit)];
    std::vector<any_array>& values = w.op->values;
    values.resize(unit.takes.size());
    for (std::size_t k = 0; k < unit.takes.size(); ++k) {
        const subgraph::source& s = unit.takes[k];
        if (s.slot >= 0 && s.last) values[k] = std::move(slots_[static_cast<std::size_t>(s.slot)]);
        else if (s.slot >= 0 || s.feed >= 0) values[k] = found(s).share();
        else values[k].reset();
    }
    if (environment_.traced) {
        w.began = step_.now().time_since_epoch() / std::chrono::nanoseconds(1);
        w.bytes = 0;
        for (const any_array& v : values) w.bytes += v.bytes();
    }
    w.op->start(step_, w);
}

TENON_INLINE void subgraph_run::completed(waiter& w, std::exception_ptr failure) noexcept {
    locked lock(guard_);
    failure = end_wait(w, std::move(failure));
    if (failure) fail(std::move(failure), lock);
    else {
        release(w.unit);
        find_worker(!w.waits && w.starter == std::this_thread::get_id(), lock); // who just starts it goes on
    }
    one_less(lock);
}

// What it gave, where it is asked for; or why it failed. Under the lock, but of a step that runs at once.
TENON_INLINE std::exception_ptr subgraph_run::end_wait(waiter& w, std::exception_ptr failure) noexcept {
    const subgraph::unit& unit = plan_.units_[static_cast<std::size_t>(w.unit)];
    const bool came = !failure; // and is given back where it does not fit
    if (came) {
        try {
            subgraph::check_given(unit, w.op->values, sizes_);
            if (plan_.sizes_matter_) plan_.note_sizes(unit, w.op->values);
            if (environment_.traced) record(w, unit);
            for (std::size_t k = 0; k < unit.gives.size(); ++k) {
                const auto slot = static_cast<std::size_t>(unit.gives[k]);
                if (plan_.sizes_matter_) last_sizes_[slot] = w.op->values[k].extents();
                slots_[slot] = std::move(w.op->values[k]);
            }
        } catch (...) {
            failure = std::current_exception();
        }
    }
    w.now = waiter::state::ended;
    w.well = !failure;
    if (came && w.op->keeps) w.taken_before = std::exchange(last_taken_, &w);
    return failure ? placed(failure, w.unit) : nullptr;
}

// When it has ended, and what it gives is still there.
TENON_INLINE void subgraph_run::record(const waiter& w, const subgraph::unit& unit) {
    trace_event e{.name = unit.name, .op = unit.op, .row = unit.row, .task = unit.task, .begin = w.began};
    e.end = step_.now().time_since_epoch() / std::chrono::nanoseconds(1);
    if (unit.edge >= 0) {
        e.goes = unit.sends ? trace_event::way::send : trace_event::way::receive;
        e.step = environment_.traced_as;
        e.edge = unit.edge;
        e.bytes = w.bytes;
        if (unit.receives)
            for (const any_array& v : w.op->values) e.bytes += v.bytes();
    }
    environment_.traced->add(e);
}

TENON_INLINE void subgraph_run::make_ready(int unit) {
    (plan_.units_[static_cast<std::size_t>(unit)].cut.waits < 0 ? ready_ : to_start_).push_back(unit);
    ++active_;
}

// A unit has ended well. What it took may be given back: settle() knows.
TENON_INLINE void subgraph_run::count_end(int unit) noexcept {
    --undone_;
    if (!last_taken_ || last_taken_->unit != unit) note_change(unit);
}

// Who needed only what was taken of a segment before has been released then.
TENON_INLINE void subgraph_run::release(int unit, const segment_run* s) {
    count_end(unit);
    if (first_) return;
    const subgraph::unit& of = plan_.units_[static_cast<std::size_t>(unit)];
    for (std::size_t n = 0; n < of.cut.then.size(); ++n) {
        const int next = of.cut.then[n], by = of.then_by[n];
        if (s && by >= 0 && s->taken[static_cast<std::size_t>(by)]) continue;
        if (--left_[static_cast<std::size_t>(next)] == 0) make_ready(next);
    }
}

// To be the last that a thread does with the step, unless it is the caller's.
TENON_INLINE void subgraph_run::one_less(locked& lock) noexcept {
    if (--active_ > 0) return;
    if (caller_) {
        changed_.notify_one();
        return;
    }
    const std::function<void()> ended = std::move(ended_);
    say_what_was_changed();
    lock.unlock();
    leave();
    ended();
}

// Lets a thread of the pool work too. One that is about to finds what there is, and offers the rest.
TENON_INLINE void subgraph_run::offer(locked& lock) {
    if (!background_ || coming_ || runners_ >= background_->size()) return;
    coming_ = true;
    ++runners_;
    ++active_;
    thread_pool* const pool = background_;
    lock.unlock();
    bool submitted = false;
    try {
        pool->submit([this] {
            const denormal_scope mode(denormals_);
            const payer_scope pays(payer_);
            locked mine(guard_);
            coming_ = false;
            work(mine);
            --runners_;
            one_less(mine);
        });
        submitted = true;
    } catch (...) { // no memory: this thread does it, where nobody else will
    }
    lock.lock();
    if (submitted) return;
    coming_ = false;
    if (!caller_ && runners_ == 1) work(lock);
    --runners_;
    --active_;
}

TENON_INLINE void subgraph_run::arm() noexcept {
    const std::lock_guard lock(guard_);
    first_ = nullptr;
    changes_ = 0;
    armed_ = true;
}

TENON_INLINE bool subgraph_run::waits_itself() {
    const std::lock_guard lock(guard_);
    return std::any_of(waiters_.begin(), waiters_.end(), [&](const waiter& w) {
        return w.now == waiter::state::begun && !plan_.units_[static_cast<std::size_t>(w.unit)].receives;
    });
}

// Who asks counts as one that uses the step, which may end meanwhile.
TENON_INLINE std::vector<awaited> subgraph_run::waits() {
    std::vector<awaited> all;
    locked lock(guard_);
    if (active_ == 0) return all;
    ++active_;
    try {
        const auto now = step_.now();
        for (waiter& w : waiters_) {
            if (w.now != waiter::state::begun || !w.waits) continue;
            const subgraph::unit& unit = plan_.units_[static_cast<std::size_t>(w.unit)];
            const std::chrono::duration<double> waited = now - w.since;
            lock.unlock();
            all.push_back({unit.origin, unit.place, w.op->awaited(), waited.count(), unit.receives});
            lock.lock();
        }
    } catch (...) { // no memory: what was found
        if (!lock) lock.lock();
    }
    one_less(lock);
    return all;
}

TENON_INLINE std::exception_ptr subgraph_run::placed(const std::exception_ptr& what, int unit) const noexcept {
    try {
        rethrow_at(what, plan_.units_[static_cast<std::size_t>(unit)].place);
    } catch (...) {
        return std::current_exception();
    }
}

} // namespace tenon::runtime

#include <tenon/runtime/run/subgraph_run_ends.inl>
