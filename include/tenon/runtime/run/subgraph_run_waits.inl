#pragma once

// A part of run/subgraph_run.ipp: ops that wait, from their start to what they give.

#include <chrono>

#include <tenon/resources/rendezvous.hpp>
#include <tenon/runtime/trace/trace.hpp>

namespace tenon::runtime {

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
    std::exception_ptr failure = thrown_by([&] { step_.values->flush(all); });
    lock.lock();
    if (failure) {
        ++undone_; // what was to be sent, whose op had ended well
        fail(std::move(failure), lock);
    }
    --active_;
}

// The thread that starts it counts as one that uses the step, which may end meanwhile.
TENON_INLINE void subgraph_run::start_wait(waiter& w, locked& lock) noexcept {
    const subgraph::unit& unit = subgraph_.units_[static_cast<std::size_t>(w.unit)];
    w.now = waiter::state::begun;
    w.waits = false;
    w.starter = std::this_thread::get_id();
    ++active_;
    lock.unlock();
    if (std::exception_ptr failure = thrown_by([&] { start_op(w); })) completed(w, std::move(failure));
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
    const subgraph::unit& unit = subgraph_.units_[static_cast<std::size_t>(w.unit)];
    std::vector<any_array>& values = w.op->values;
    values.resize(unit.takes.size());
    for (std::size_t k = 0; k < unit.takes.size(); ++k) {
        const subgraph::source& s = unit.takes[k];
        if (s.slot >= 0 && s.last) values[k] = std::move(slots_[static_cast<std::size_t>(s.slot)]);
        else if (s.slot >= 0 || s.feed >= 0) values[k] = found(s).share();
        else values[k].reset();
    }
    if (!unit.taken.empty()) subgraph::check_taken(unit, values);
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
    const subgraph::unit& unit = subgraph_.units_[static_cast<std::size_t>(w.unit)];
    const bool came = !failure; // and is given back where it does not fit
    if (came) {
        failure = thrown_by([&] {
            subgraph::check_given(unit, w.op->values, sizes_);
            if (subgraph_.sizes_matter_) subgraph_.note_sizes(unit, w.op->values);
            if (environment_.traced) record(w, unit);
            for (std::size_t k = 0; k < unit.gives.size(); ++k) {
                const auto slot = static_cast<std::size_t>(unit.gives[k]);
                if (subgraph_.sizes_matter_) last_sizes_[slot] = w.op->values[k].extents();
                slots_[slot] = std::move(w.op->values[k]);
            }
        });
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

TENON_INLINE bool subgraph_run::waits_itself() {
    const std::lock_guard lock(guard_);
    return std::any_of(waiters_.begin(), waiters_.end(), [&](const waiter& w) {
        return w.now == waiter::state::begun && !subgraph_.units_[static_cast<std::size_t>(w.unit)].receives;
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
            const subgraph::unit& unit = subgraph_.units_[static_cast<std::size_t>(w.unit)];
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

} // namespace tenon::runtime
