#pragma once

#include <algorithm>
#include <cstring>

#include <tenon/kernel/denormals.hpp>
#include <tenon/kernel/thread_pool.hpp>
#include <tenon/runtime/device/simulated_streams.hpp>

namespace tenon::detail {

TENON_INLINE simulated_machine::~simulated_machine() {
    {
        const std::lock_guard lock(guard_);
        ending_ = true;
    }
    alarm_.notify_all();
    if (clock_.joinable()) clock_.join();
}

TENON_INLINE void simulated_machine::give(stream& l, const command& c) {
    const std::lock_guard lock(guard_);
    if (c.what == command::kind::record) c.point->reached.store(false, std::memory_order_relaxed);
    l.commands.push_back(c);
    l.cost += c.cost;
    if (l.is == stream::state::idle) make_ready(l);
    else if (l.is == stream::state::ready) offer(l);
}

// The caller holds the guard, here and below.
TENON_INLINE void simulated_machine::make_ready(stream& l) {
    l.is = stream::state::ready;
    l.offered = false;
    ready_.push_back(&l);
    ready_count_.fetch_add(1, std::memory_order_release);
    tell_waiting();
    offer(l);
}

// What is worth waking a thread for is the pool's; the rest is for who waits, or runs another stream.
TENON_INLINE void simulated_machine::offer(stream& l) {
    constexpr double worth_a_task = 2e4; // ns
    if (!pool_ || l.offered || l.cost < worth_a_task) return;
    l.offered = true;
    pool_->submit([self = shared_from_this()] { self->work(); });
}

TENON_INLINE void simulated_machine::tell_waiting() {
    if (waiting_ == 0) return;
    if (pool_) pool_->wake();
    else changed_.notify_all();
}

TENON_INLINE void simulated_machine::work() {
    std::unique_lock held(guard_);
    while (!ready_.empty()) drain(*ready_.front(), held);
}

TENON_INLINE void simulated_machine::drain(stream& l, std::unique_lock<std::mutex>& held) {
    ready_.erase(std::find(ready_.begin(), ready_.end(), &l));
    ready_count_.fetch_sub(1, std::memory_order_relaxed);
    l.is = stream::state::running;
    while (!l.commands.empty()) {
        const command c = l.commands.front();
        if (c.what == command::kind::wait && !c.point->reached.load(std::memory_order_relaxed)) {
            c.point->waiting.push_back(&l);
            l.is = stream::state::blocked;
            return;
        }
        l.commands.pop_front();
        l.cost -= c.cost;
        if (!perform(l, c, held)) return;
    }
    l.is = stream::state::idle;
}

// False when the stream sleeps for the time that is left of it.
TENON_INLINE bool simulated_machine::perform(stream& l, const command& c, std::unique_lock<std::mutex>& held) {
    if (c.what == command::kind::wait) return true;
    if (c.what == command::kind::record) {
        c.point->reached.store(true, std::memory_order_release);
        for (stream* w : c.point->waiting) make_ready(*w);
        c.point->waiting.clear();
        tell_waiting();
        return true;
    }
    held.unlock();
    const auto now = [] { return clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
    bool sleeps = false;
    const std::int64_t begin = now();
    if (c.monitor->wanted(c.number)) {
        try {
            const denormal_scope mode(c.denormals);
            if (c.what == command::kind::launch) c.kernel->run(*c.run);
            else if (c.bytes > 0) std::memcpy(c.to, c.from, c.bytes);
        } catch (...) {
            c.monitor->failed(c.number, std::current_exception());
        }
        const std::int64_t end = now();
        sleeps = static_cast<double>(end - begin) < c.duration;
        if (!sleeps) c.monitor->ended(c.number, begin, end);
    }
    held.lock();
    if (!sleeps) return true;
    l.is = stream::state::sleeping;
    l.commands.push_front(c); // its end is still to be told
    l.began = begin;
    // All has been copied: a step that is late may leave at once, and what it copied to is nobody's but its own.
    sleeping_.emplace(std::min(end_of(l, c), c.monitor->deadline()), &l);
    if (!clock_.joinable()) clock_ = std::thread([this] { run_clock(); });
    alarm_.notify_one();
    return false;
}

TENON_INLINE simulated_machine::clock::time_point simulated_machine::end_of(const stream& l, const command& c) {
    constexpr double most = 1e18; // ns
    return clock::time_point(std::chrono::nanoseconds(l.began + static_cast<std::int64_t>(std::min(c.duration, most))));
}

TENON_INLINE void simulated_machine::run_clock() {
    std::unique_lock held(guard_);
    while (!ending_) {
        if (sleeping_.empty()) alarm_.wait(held);
        else if (const auto due = sleeping_.begin()->first; clock::now() < due) alarm_.wait_until(held, due);
        else {
            stream& l = *sleeping_.begin()->second;
            sleeping_.erase(sleeping_.begin());
            const command c = l.commands.front();
            l.commands.pop_front();
            const auto now = clock::now();
            // Ended early it is what the step is late for.
            if (now >= end_of(l, c) || c.monitor->wanted(c.number))
                c.monitor->ended(c.number, l.began, now.time_since_epoch() / std::chrono::nanoseconds(1));
            make_ready(l);
            // Nobody else may be there to do what became ready.
            while (waiting_ == 0 && !ready_.empty() && !ready_.front()->offered) drain(*ready_.front(), held);
        }
    }
}

TENON_INLINE void simulated_machine::wait(event& e) {
    std::unique_lock held(guard_);
    while (!e.reached.load(std::memory_order_acquire)) {
        if (!ready_.empty()) {
            drain(*ready_.front(), held);
            continue;
        }
        ++waiting_;
        if (pool_) {
            held.unlock();
            pool_->work_until([&] {
                return e.reached.load(std::memory_order_acquire) || ready_count_.load(std::memory_order_acquire) > 0;
            });
            held.lock();
        } else changed_.wait(held);
        --waiting_;
    }
}

TENON_INLINE void simulated_streams::launch(kernel& k, const kernel_run& r, step_monitor& m, int number) {
    machine_->give(streams_[compute], {.what = simulated_machine::command::kind::launch,
                                       .kernel = &k,
                                       .run = &r,
                                       .monitor = &m,
                                       .number = number,
                                       .cost = k.cost(),
                                       .denormals = denormal_mode()});
}

TENON_INLINE void simulated_streams::copy(stream l, void* to, const void* from, std::size_t bytes, step_monitor& m,
                                          int number) {
    const double seconds = latency_ + (bandwidth_ > 0 ? static_cast<double>(bytes) / bandwidth_ : 0);
    machine_->give(streams_[l], {.what = simulated_machine::command::kind::copy,
                                 .to = to,
                                 .from = from,
                                 .bytes = bytes,
                                 .monitor = &m,
                                 .number = number,
                                 .cost = static_cast<double>(bytes) * 0.05,
                                 .duration = seconds * 1e9});
}

TENON_INLINE void simulated_streams::record(stream l, device_event& e) {
    machine_->give(streams_[l], {.what = simulated_machine::command::kind::record,
                                 .point = &static_cast<simulated_machine::event&>(e)});
}

TENON_INLINE void simulated_streams::wait(stream l, device_event& e) {
    machine_->give(streams_[l], {.what = simulated_machine::command::kind::wait,
                                 .point = &static_cast<simulated_machine::event&>(e)});
}

} // namespace tenon::detail
