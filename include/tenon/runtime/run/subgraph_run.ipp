#pragma once

#include <algorithm>
#include <utility>

#include <tenon/concurrency/denormals.hpp>
#include <tenon/concurrency/failure.hpp>
#include <tenon/runtime/run/step_errors.hpp>
#include <tenon/runtime/run/subgraph_run.hpp>

namespace tenon::runtime {

TENON_INLINE subgraph_run::subgraph_run(subgraph& p) :
    subgraph_(p),
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
        if (!w.op)
            throw invalid_argument_error(
                "its kernel's make_wait has returned nothing; return what the step starts [node " + unit.place + "]");
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
    if (subgraph_.sizes_matter_) sizes_ = subgraph_.sizes_;
    feeds_ = feeds;
    environment_.traced = e.traced;
    environment_.measured = e.measured;
    environment_.traced_as = e.traced_as;
    step_.pool = e.in->pool;
    step_.take_ends_of(*e.in);
    step_.values = e.in->values;
    step_.renew();
    undone_ = static_cast<int>(subgraph_.units_.size());
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
    for (std::size_t u = 0; u < left_.size(); ++u) left_[u] = subgraph_.units_[u].cut.before;
    std::size_t next = 0;
    if (begun) {
        for (; static_cast<int>(next) < begun->unit; ++next)
            for (const int then : subgraph_.units_[next].cut.then) --left_[static_cast<std::size_t>(then)];
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
    if (!first_ && step_.late()) // expire() may have found nothing that had begun
        first_ = thrown_by([&] { exceed_limit(step_, "it had not begun"); });
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
    if (subgraph_.at_once_ && !e.traced && !e.in->limited() && !armed_ &&
        !among.is_closed_.load(std::memory_order_acquire)) {
        begun = run_at_once();
        if (!begun) return;
    }
    {
        locked lock = begin(among, begun);
        if (begun &&
            begun->at_once.exchange(waiter::start::in_earnest, std::memory_order_acq_rel) == waiter::start::done) {
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
        subgraph::unit& unit = subgraph_.units_[static_cast<std::size_t>(s.unit)];
        for (std::size_t k = 0; k < unit.takes.size(); ++k) s.fed[k] = &found(unit.takes[k]);
        s.run.emplace(subgraph_.segment_of(unit, last_sizes_));
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
    const subgraph::unit& unit = subgraph_.units_[static_cast<std::size_t>(s.unit)];
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
    const subgraph::unit& unit = subgraph_.units_[static_cast<std::size_t>(s.unit)];
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

TENON_INLINE void subgraph_run::make_ready(int unit) {
    (subgraph_.units_[static_cast<std::size_t>(unit)].cut.waits < 0 ? ready_ : to_start_).push_back(unit);
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
    const subgraph::unit& of = subgraph_.units_[static_cast<std::size_t>(unit)];
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

TENON_INLINE std::exception_ptr subgraph_run::placed(const std::exception_ptr& what, int unit) const noexcept {
    return thrown_by([&] { rethrow_at(what, subgraph_.units_[static_cast<std::size_t>(unit)].place); });
}

} // namespace tenon::runtime

#include <tenon/runtime/run/subgraph_run_ends.inl>
#include <tenon/runtime/run/subgraph_run_waits.inl>
