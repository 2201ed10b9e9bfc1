#pragma once

// A part of run/subgraph_run.ipp: how a step ends, early or not, and what becomes of what it took.

#include <tenon/core/error.hpp>

namespace tenon::runtime {

TENON_INLINE void steps_in_flight::close(const std::exception_ptr& why, const std::exception_ptr& later) noexcept {
    // Stopping calls what may end steps of the list: one after another is kept from ending, and stopped unlocked. Nothing is made: it is
    // done where there is no memory.
    std::uint64_t last = 0;
    {
        const std::lock_guard lock(guard_);
        closed_ = later;
        is_closed_.store(true, std::memory_order_release);
        last = begun_;
    }
    for (subgraph_run* at = nullptr;;) {
        subgraph_run* next = nullptr;
        {
            const std::lock_guard lock(guard_);
            for (subgraph_run* s = at ? at->after_ : first_; s && !next; s = s->after_) {
                const std::lock_guard of_step(s->guard_);
                if (s->number_ > last || s->active_ == 0 || s->first_ || s->too_late_)
                    continue; // began later, or was told already
                ++s->active_;
                next = s;
            }
        }
        if (at) { // it was in the list as long as it was needed to go on from there
            subgraph_run::locked lock(at->guard_);
            at->one_less(lock);
        }
        if (!next) return;
        at = next;
        subgraph_run::locked lock(at->guard_);
        at->end_early(why, lock);
    }
}

// By a thread that is counted in active_. The lock is let go of meanwhile.
TENON_INLINE void subgraph_run::fail(std::exception_ptr why, locked& lock) noexcept {
    if (!first_) first_ = std::move(why);
    (void)step_.stop();
    active_ -= static_cast<int>(ready_.size() + to_start_.size());
    ready_.clear();
    to_start_.clear();
    stop_what_is_begun(lock);
}

// What has begun to update goes on, unless it waits, or will.
TENON_INLINE void subgraph_run::end_early(const std::exception_ptr& why, locked& lock) noexcept {
    if (step_.stop() || waits_for_any()) fail(why, lock);
    else if (!too_late_) too_late_ = why;
}

TENON_INLINE bool subgraph_run::waits_for_any() const noexcept {
    return std::any_of(waiters_.begin(), waiters_.end(),
                       [](const waiter& w) { return w.now == waiter::state::begun && w.waits; });
}

// All of it has ended; where it failed its error says what is changed all the same. The segment that failed has said what is its own.
TENON_INLINE void subgraph_run::say_what_was_changed() noexcept {
    if (undone_ == 0 || !first_) return;
    try {
        std::vector<std::string> variables, others;
        const auto add = [&](std::vector<std::string>& to, const std::vector<std::string>& names) {
            for (const std::string& n : names)
                if (std::find(to.begin(), to.end(), n) == to.end()) to.push_back(n);
        };
        for (const segment_run& s : segments_) {
            const subgraph::unit& u = subgraph_.units_[static_cast<std::size_t>(s.unit)];
            if (s.ran && s.unit != failed_unit_ && step_.committed()) add(variables, u.updated);
            if (s.well) add(others, u.changed);
        }
        for (const waiter& w : waiters_)
            if (w.well) add(others, subgraph_.units_[static_cast<std::size_t>(w.unit)].changed);
        first_ = after_updates(first_, variables, others);
    } catch (...) { // no memory for words
    }
}

TENON_INLINE void subgraph_run::stop_what_is_begun(locked& lock) noexcept {
    for (waiter& w : waiters_) {
        if (w.now != waiter::state::begun) continue;
        lock.unlock();
        const bool stopped = w.op->stop();
        lock.lock();
        if (!stopped) continue;
        w.now = waiter::state::ended;
        --active_; // not the last: who calls is counted
    }
    ++stopping_;
    for (segment_run& s : segments_) {
        if (!s.begun) continue;
        lock.unlock();
        s.run->stop();
        lock.lock();
    }
    --stopping_;
}

TENON_INLINE void subgraph_run::stop(const std::exception_ptr& why) noexcept {
    locked lock(guard_);
    if (active_ == 0) {
        if (armed_ && !first_) first_ = why;
        return;
    }
    ++active_;
    end_early(why, lock);
    one_less(lock);
}

TENON_INLINE bool subgraph_run::expire() noexcept {
    locked lock(guard_);
    if (active_ == 0) return false;
    ++active_;
    try {
        std::string text;
        int first = -1, others = 0; // units
        for (waiter& w : waiters_) {
            if (w.now != waiter::state::begun || !w.waits) continue;
            expired_.push_back(subgraph_.units_[static_cast<std::size_t>(w.unit)].origin);
            if (first >= 0) {
                ++others;
                continue;
            }
            first = w.unit;
            lock.unlock();
            text = "it was waiting for " + w.op->awaited();
            lock.lock();
        }
        if (text.empty() && expire_segments(lock)) {
            one_less(lock);
            return true;
        }
        if (text.empty()) text = "it was computing";
        if (others > 0) text += ", and for " + std::to_string(others) + (others > 1 ? " others" : " other");
        const std::exception_ptr why = thrown_by([&] { exceed_limit(step_, text); });
        end_early(first >= 0 ? placed(why, first) : why, lock);
    } catch (...) { // no memory for words
        if (!lock) lock.lock();
        end_early(std::current_exception(), lock);
    }
    one_less(lock);
    return true;
}

// What other subgraphs send may still come; whatever else it waits for has no time any more.
TENON_INLINE void subgraph_run::expire_later() noexcept {
    locked lock(guard_);
    if (active_ == 0 || first_ || too_late_) return;
    ++active_;
    if (!expire_segments(lock) && !too_late_) too_late_ = thrown_by([&] { exceed_limit(step_, "it was computing"); });
    one_less(lock);
}

// Whether a segment fails with what it waits for.
TENON_INLINE bool subgraph_run::expire_segments(locked& lock) noexcept {
    bool any = false;
    ++stopping_;
    for (segment_run& s : segments_) {
        if (!s.begun) continue;
        lock.unlock();
        const bool fails = s.run->expire();
        lock.lock();
        any = any || fails;
    }
    --stopping_;
    return any;
}

TENON_INLINE bool subgraph_run::changed_in_part() const noexcept {
    const auto changes = [](const subgraph::unit& u) { return u.changes; };
    return undone_ > 0 && changes_ > 0 &&
           changes_ < std::count_if(subgraph_.units_.begin(), subgraph_.units_.end(), changes);
}

// Nobody uses the step any more.
TENON_INLINE void subgraph_run::settle(bool failed, bool others_changed) noexcept {
    if (failed)
        for (waiter& w : waiters_)
            if (w.well) w.op->step_failed();
    if (!last_taken_) return;
    if (failed) find_used(others_changed);
    for (waiter* w = std::exchange(last_taken_, nullptr); w; w = w->taken_before) // the last first
        if (failed && !used_[static_cast<std::size_t>(w->unit)]) w->op->give_back();
        else {
            note_change(w->unit);
            w->op->let_go();
        }
}

// What was given to who changed something by it, by way of others too; and all that a segment came after which failed.
TENON_INLINE void subgraph_run::find_used(bool others_changed) noexcept {
    const auto unit = [&](std::size_t u) -> const subgraph::unit& { return subgraph_.units_[u]; };
    std::fill(used_.begin(), used_.end(), char{0});
    for (const waiter& w : waiters_) {
        const auto u = static_cast<std::size_t>(w.unit);
        used_[u] = w.well && unit(u).uses_values && (others_changed || !unit(u).sends);
    }
    for (const segment_run& s : segments_) {
        const auto u = static_cast<std::size_t>(s.unit);
        used_[u] = s.ran && (unit(u).has_effects || (step_.committed() && !unit(u).updated.empty()));
    }
    const auto spread = [&](auto&& from_one) {
        for (bool more = true; more;) {
            more = false;
            for (std::size_t u = used_.size(); u-- > 0;) more = from_one(u) || more;
        }
    };
    spread([&](std::size_t u) {
        bool any = false;
        for (const subgraph::source& s : unit(u).takes)
            if (used_[u] && s.slot >= 0)
                any = !std::exchange(
                          used_[static_cast<std::size_t>(subgraph_.given_by_[static_cast<std::size_t>(s.slot)])],
                          char{1}) ||
                      any;
        return any;
    });
    if (failed_unit_ < 0 || !failed_over_values_) return;
    constexpr char failed = 2;
    used_[static_cast<std::size_t>(failed_unit_)] = failed;
    spread([&](std::size_t u) {
        const std::vector<int>& then = unit(u).cut.then;
        return used_[u] != failed &&
               std::any_of(then.begin(), then.end(),
                           [&](int next) { return used_[static_cast<std::size_t>(next)] == failed; }) &&
               (used_[u] = failed);
    });
}

TENON_INLINE void subgraph_run::forget() noexcept {
    for (any_array& a : slots_) a.reset();
    for (waiter& w : waiters_) w.op->values.clear();
    for (segment_run& s : segments_) s.run.reset();
}

TENON_INLINE void subgraph_run::take(any_array* fetched) {
    if (undone_ > 0) {
        const std::exception_ptr why = std::exchange(first_, nullptr);
        forget();
        std::rethrow_exception(why);
    }
    try {
        for (std::size_t f = 0; f < subgraph_.fetches_.size(); ++f) {
            const subgraph::source& s = subgraph_.fetches_[f];
            any_array* const own = s.slot >= 0 && s.last ? &slots_[static_cast<std::size_t>(s.slot)] : nullptr;
            fetched[f] = own && own->is_unique() ? std::move(*own) : found(s).copy();
        }
    } catch (...) {
        forget();
        throw;
    }
    forget();
}

} // namespace tenon::runtime
