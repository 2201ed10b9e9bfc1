#pragma once

// A part of run/plan.ipp: how a step runs that waits for streams, or holds no thread.

#include <algorithm>
#include <functional>
#include <utility>

#include <tenon/concurrency/deferred_flush.hpp>
#include <tenon/concurrency/denormals.hpp>
#include <tenon/concurrency/failure.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/runtime/run/step_errors.hpp>

namespace tenon::runtime {

namespace detail {

[[noreturn]] inline void exceed_limit(const run_environment& e, const variable_resource& awaited) {
    runtime::exceed_limit(*e.in, "it was waiting for variable \"" + awaited.name + "\", which another step was using");
}

} // namespace detail

// Its lists grow no more: what goes on in a step takes no memory.
TENON_INLINE plan::executor::executor(plan& p, frame& f) : p_(p), f_(f) {
    end_report_.of = this;
    if (p.streams_.empty()) return;
    left_.resize(p.operations_.size());
    ready_.reserve(p.operations_.size() + 1); // after_streams() too
    batch_.reserve(p.on_streams_.size());
    used_.resize(p.streams_.size());
    closed_.resize(p.streams_.size());
    given_.resize(p.streams_.size());
    reports_.resize(p.operations_.size());
    for (std::size_t s = 0; s < reports_.size(); ++s) {
        reports_[s].of = this;
        reports_[s].operation = static_cast<int>(s);
    }
}

// Under the lock, since who stops a step may look before it has begun.
TENON_INLINE void plan::executor::begin(const run_environment& e, run_owner* owner) {
    e_ = e;
    owner_ = owner;
    caller_ = std::this_thread::get_id();
    denormals_ = denormal_mode();
    holds_variables_ = !owner || p_.variables_.empty();
    refused_ = nullptr;
    f_.before_updates = true;
    workers_ = coming_ = 1; // this thread
    changed_ = false;
    if (p_.streams_.empty()) return;
    stopped_.store(false, std::memory_order_relaxed);
    first_ = nullptr;
    has_ended_ = caller_idle_ = false;
    on_host_ = p_.on_host_;
    costly_ = 0;
    ready_.clear();
    std::fill(used_.begin(), used_.end(), char{0});
    std::fill(closed_.begin(), closed_.end(), char{0});
    at_once_ = p_.at_once_ && !e.traced && !e.measured;
    all_given_ = all_ended_ = staged_ = has_told_ = false;
    if (at_once_) {
        before_streams_ = p_.at_once_->before;
        ++on_host_; // after_streams()
        for (const int s : p_.at_once_->host) {
            left_[static_cast<std::size_t>(s)] = p_.operations_[static_cast<std::size_t>(s)].host_before;
            if (left_[static_cast<std::size_t>(s)] == 0) make_ready(s);
        }
        return;
    }
    for (std::size_t s = 0; s < p_.operations_.size(); ++s) {
        left_[s] = p_.operations_[s].before;
        if (left_[s] == 0 && p_.operations_[s].line < 0) make_ready(static_cast<int>(s));
    }
    next_ = 0;
    std::fill(given_.begin(), given_.end(), std::size_t{0});
}

TENON_INLINE void plan::executor::run(const run_environment& e) {
    try {
        if (p_.end_updates_ > 0) p_.begin_updates(f_, e, true, nullptr);
        else if (p_.reads_variables_) p_.read_variables(f_, e, nullptr);
        p_.check_first(f_);
    } catch (...) {
        f_.variables.end();
        throw;
    }
    device_streams& streams = streams_of(p_.streams_.front());
    locked lock(guard_);
    for (begin(e, nullptr);;) {
        --coming_;
        work_on_streams(lock);
        leave(lock, true);
        if (has_ended_) break;
        streams.work_until([&] { return called_.load(std::memory_order_acquire); });
        lock.lock();
        called_.store(false, std::memory_order_relaxed);
    }
    if (ended_with_) std::rethrow_exception(std::exchange(ended_with_, nullptr));
}

TENON_INLINE void plan::executor::start(const run_environment& e, run_owner& owner) {
    {
        const std::lock_guard lock(guard_);
        begin(e, &owner);
    }
    work();
}

TENON_INLINE void plan::executor::work() {
    const denormal_scope mode(denormals_);
    if (p_.streams_.empty()) {
        work_in_order();
        return;
    }
    if (!holds_variables_) {
        try {
            if (refused_) std::rethrow_exception(refused_);
            const auto attempt = [&] {
                return p_.end_updates_ > 0   ? p_.begin_updates(f_, e_, true, &turn_)
                       : p_.reads_variables_ ? p_.read_variables(f_, e_, &turn_)
                                             : true;
            };
            if (!hold(attempt)) return;
            p_.check_first(f_);
            holds_variables_ = true;
        } catch (...) {
            f_.variables.end();
            owner_->ended(std::current_exception());
            return;
        }
    }
    locked lock(guard_);
    --coming_;
    work_on_streams(lock);
    leave(lock, false);
}

// The operations one after another, or side by side, on this thread, up to where it waits for a variable.
TENON_INLINE void plan::executor::work_in_order() {
    const thread_pool::keep_awake awake(p_.pool_worth_waking(e_));
    std::exception_ptr failure;
    try {
        if (refused_) std::rethrow_exception(refused_);
        if (p_.variables_.empty()) p_.run_part(f_, e_, 0, p_.operations_.size());
        else if (!hold([&] { return p_.run_with_variables(f_, e_, &turn_); })) return;
    } catch (...) {
        failure = std::current_exception();
        f_.variables.end();
    }
    owner_->ended(std::move(failure));
}

// False where it waits: then all of this may be another thread's already.
template <class Attempt> bool plan::executor::hold(const Attempt& attempt) {
    while (!attempt()) {
        locked lock(guard_);
        if (std::exchange(changed_, false)) continue;
        asking_ = true;
        workers_ = coming_ = 0;
        // Who stopped it, or looked at its deadline, may have come before it asked.
        if (!(e_.in->late() || e_.in->stopped()) || !f_.variables.stop_asking()) return false;
        asking_ = false;
        lock.unlock();
        if (e_.in->stopped()) throw cancelled_error("the step was stopped");
        detail::exceed_limit(e_, f_.variables.asks_for());
    }
    return true;
}

TENON_INLINE void plan::executor::variables_changed() noexcept {
    locked lock(guard_);
    changed_ = !asking_;
    if (!std::exchange(asking_, false)) return; // the thread that asked is still here
    workers_ = coming_ = 1;
    call_threads(1, lock);
}

TENON_INLINE bool plan::executor::stop_asking(const std::exception_ptr& why, locked& lock) noexcept {
    if (!asking_ || !f_.variables.stop_asking()) return false;
    asking_ = false;
    refused_ = why;
    workers_ = coming_ = 1;
    call_threads(1, lock);
    return true;
}

TENON_INLINE void plan::executor::stop() noexcept {
    {
        locked lock(guard_);
        if (asking_) {
            stop_asking(failure_of([] { return cancelled_error("the step was stopped"); }), lock);
            return;
        }
    }
    for (const line& l : p_.streams_) streams_of(l).ask_again();
}

TENON_INLINE bool plan::executor::expire() noexcept {
    {
        locked lock(guard_);
        if (asking_) {
            std::exception_ptr why;
            try {
                detail::exceed_limit(e_, f_.variables.asks_for());
            } catch (...) {
                why = std::current_exception();
            }
            return stop_asking(why, lock);
        }
    }
    for (const line& l : p_.streams_) streams_of(l).ask_again();
    return stopped();
}

TENON_INLINE void plan::executor::make_ready(int s) {
    ready_.push_back(s);
    std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
    costly_ += !p_.is_cheap(static_cast<std::size_t>(s));
}
TENON_INLINE int plan::executor::take_ready() {
    std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
    const int s = ready_.back();
    ready_.pop_back();
    costly_ -= !p_.is_cheap(static_cast<std::size_t>(s));
    return s;
}

// What waits for one thing less.
TENON_INLINE void plan::executor::release(const std::vector<int>& next) {
    for (const int n : next)
        if (--left_[static_cast<std::size_t>(n)] == 0 && p_.operations_[static_cast<std::size_t>(n)].line < 0)
            make_ready(n);
}

// Of a step that gives its streams all at once.
TENON_INLINE void plan::executor::go_on_after(std::size_t s) {
    if (s == p_.operations_.size()) {
        release_host(p_.at_once_->after);
        return;
    }
    release_host(p_.operations_[s].host_then);
    before_streams_ -= p_.operations_[s].before_streams;
}
TENON_INLINE void plan::executor::release_host(const std::vector<int>& next) {
    for (const int n : next)
        if (--left_[static_cast<std::size_t>(n)] == 0) make_ready(n);
}

// Something for a thread that comes now.
TENON_INLINE bool plan::executor::has_work() noexcept {
    if (!ready_.empty()) return true;
    if (giving_) return false;
    if (!stopped()) return may_give();
    for (std::size_t l = 0; l < used_.size(); ++l)
        if (used_[l] && !closed_[l]) return true;
    return false;
}

// Of what nobody works on: all has ended, or, of a step that was stopped, all that was begun.
TENON_INLINE bool plan::executor::is_over() noexcept {
    return untold_.load(std::memory_order_acquire) == 0 && !has_work() && (on_host_ == 0 || stopped());
}

TENON_INLINE void plan::executor::work_on_streams(locked& lock) {
    for (;;) {
        if (stopped()) {
            ready_.clear();
            costly_ = 0;
        }
        if (!has_work()) return;
        if (!giving_) give(lock);
        if (ready_.empty()) continue;
        const auto s = static_cast<std::size_t>(take_ready());
        const int others = threads_wanted();
        call_threads(others, lock);
        run_operation(s);
        lock.lock();
        if (at_once_) {
            --on_host_;
            if (!stopped()) go_on_after(s);
            continue;
        }
        on_host_ -= p_.operations_[s].line < 0;
        if (!stopped()) release(p_.operations_[s].then);
    }
}

TENON_INLINE void plan::executor::run_operation(std::size_t s) noexcept {
    const int number = static_cast<int>(s);
    if (number == after_streams()) {
        check(p_.may_refuse_);
        if (staged_ && !stopped()) p_.stage_out(f_, e_.pool());
        return;
    }
    const deferred_flush::running running;
    try {
        if (!wanted(number)) return;
        if (p_.operations_[s].line < 0) p_.run_operation(s, f_, e_);
        else p_.check_numerics(s, f_);
    } catch (...) {
        failed(number, std::current_exception());
    }
}

// How many threads are to be called: one for each operation that is worth it, and one where nobody is there or the caller has
// nothing to do. They count as working from now on.
TENON_INLINE int plan::executor::threads_wanted() noexcept {
    const int most = std::max(p_.side_by_side_ - workers_, 0);
    int count = std::clamp(costly_ - coming_, 0, most);
    if (count == 0 && (workers_ == 0 ? has_work() || is_over() : caller_idle_ && most > 0 && has_work())) count = 1;
    workers_ += count;
    coming_ += count;
    return count;
}

// Lets go of the lock. Where this thread is not one of those that work, it touches nothing here after its last call.
TENON_INLINE void plan::executor::call_threads(int count, locked& lock) noexcept {
    run_owner* const owner = owner_;
    thread_pool* const pool = e_.pool();
    if (count > 0 && caller_idle_) {
        caller_idle_ = false;
        called_.store(true, std::memory_order_release);
        // Under the lock, so that the caller is still there. Its own thread may be the one that works for the stream.
        if (std::this_thread::get_id() != caller_) streams_of(p_.streams_.front()).wake();
        --count;
    }
    lock.unlock();
    for (; count > 0; --count) {
        if (owner) {
            owner->go_on();
            continue;
        }
        try {
            pool->submit([this] { work(); });
        } catch (...) { // no memory: this thread does it
            work();
        }
    }
}

// Operations that have ended and may have refused what they were given: the first of them is to blame.
TENON_INLINE void plan::executor::check(const std::vector<int>& operations) noexcept {
    for (const int s : operations) {
        if (stopped()) return;
        try {
            p_.operations_[static_cast<std::size_t>(s)].kernel->refuse(f_.told[static_cast<std::size_t>(s)].get());
        } catch (...) {
            failed(s, std::current_exception());
        }
    }
}

// An event that the host waits for.
TENON_INLINE void plan::executor::reached(int operation, std::exception_ptr why) noexcept {
    if (why) failed(nowhere, std::move(why)); // of what, among all that was given, nobody knows
    else if (operation >= 0) check(p_.operations_[static_cast<std::size_t>(operation)].checked);
    locked lock(guard_);
    const bool was_last = untold_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (at_once_ && was_last && !stopped()) {
        all_ended_ = true;
        make_ready(after_streams());
    }
    if (operation >= 0 && !stopped()) {
        if (p_.check_numerics_) make_ready(operation);
        else release(p_.operations_[static_cast<std::size_t>(operation)].then);
    }
    call_threads(threads_wanted(), lock);
}

// The last thread ends it, but for the caller's.
TENON_INLINE void plan::executor::leave(locked& lock, bool is_caller) noexcept {
    if (--workers_ == 0 && is_over()) {
        if (owner_ || is_caller) {
            lock.unlock();
            end();
            return;
        }
        workers_ = coming_ = 1;
        call_threads(1, lock);
        return;
    }
    caller_idle_ = caller_idle_ || is_caller;
    lock.unlock();
}

TENON_INLINE void plan::executor::end() {
    if (!p_.streams_.empty()) check(p_.may_refuse_);
    std::exception_ptr why = failure();
    if (!why && p_.end_updates_ > 0) f_.variables.set_all_written();
    if (why && all_ended_) // something of the host failed
        for (const int v : p_.at_once_->updates) f_.set_updated(v);
    if (why) {
        f_.variables.set_apart_unwritten();
        why = p_.saying_what_was_updated(f_, why, false);
    }
    f_.has_run = f_.has_run || !why;
    f_.variables.end();
    has_ended_ = true;
    if (owner_) owner_->ended(std::move(why));
    else ended_with_ = std::move(why);
}

TENON_INLINE bool plan::executor::wanted(int command) noexcept {
    return goes_on(command, p_.operations_[static_cast<std::size_t>(command)].writes);
}
// A card asks nobody when it comes to what it was given.
TENON_INLINE bool plan::executor::may_be_given(int command) noexcept {
    const operation& op = p_.operations_[static_cast<std::size_t>(command)];
    return goes_on(command, op.writes && !p_.devices_[static_cast<std::size_t>(op.by.device)]->attributes().simulated);
}
TENON_INLINE bool plan::executor::goes_on(int command, bool writes) noexcept {
    if (stopped()) return false;
    try {
        const auto s = static_cast<std::size_t>(command);
        if (writes) p_.commit(*e_.in, s);
        if (e_.in->stopped()) throw cancelled_error("the step was stopped");
        if (!e_.in->late()) return true;
        exceed_limit(*e_.in, p_.awaited_in(s));
    } catch (...) {
        failed(command, std::current_exception());
    }
    return false;
}

TENON_INLINE void plan::executor::ended(int command, std::int64_t begin, std::int64_t end) noexcept {
    // One that failed has ended too.
    const int v = p_.operations_[static_cast<std::size_t>(command)].updates;
    if (v >= 0 && !stopped()) f_.set_updated(v);
    try {
        p_.record(static_cast<std::size_t>(command), e_, begin, end);
    } catch (...) { // no memory for a note of it
        failed(command, std::current_exception());
    }
}

TENON_INLINE void plan::executor::failed(int command, std::exception_ptr why) noexcept {
    const std::lock_guard lock(errors_);
    if (!first_) {
        first_ = std::move(why);
        where_ = command;
    }
    stopped_.store(true, std::memory_order_release);
}

TENON_INLINE std::exception_ptr plan::executor::failure() const noexcept {
    if (!stopped()) return nullptr;
    const std::lock_guard lock(errors_);
    if (where_ == nowhere) return first_;
    try {
        p_.rethrow_with_place(first_, static_cast<std::size_t>(where_));
    } catch (...) {
        return std::current_exception();
    }
}

} // namespace tenon::runtime
