#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <tenon/concurrency/denormals.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/runtime/device/simulated_streams.hpp>

namespace tenon::detail {

TENON_INLINE simulated_machine::~simulated_machine() {
    {
        const std::lock_guard lock(guard_);
        ending_ = true;
    }
    alarm_.notify_all();
    if (!clock_.joinable()) return;
    if (clock_.get_id() != std::this_thread::get_id()) {
        clock_.join();
        return;
    }
    *ended_by_clock_ = true; // it has ended the last step, and with it the last session
    clock_.detach();
}

TENON_INLINE simulated_machine::stream* simulated_machine::add_streams(bool timed) {
    const std::lock_guard held(guard_);
    stream* const added = streams_.emplace_back().data();
    if (timed && !clock_.joinable()) clock_ = std::thread([this] { run_clock(); });
    return added;
}

TENON_INLINE void simulated_machine::give(std::span<command> all) noexcept {
    const std::lock_guard lock(guard_);
    for (command& c : all) add(*c.on, c);
}
TENON_INLINE void simulated_machine::give(std::unique_ptr<command> c) noexcept {
    const std::lock_guard lock(guard_);
    stream& l = *c->on;
    add(l, *c.release());
}

// The caller holds the guard, here and below.
TENON_INLINE void simulated_machine::add(stream& l, command& c) noexcept {
    if (c.what == command::kind::record) c.point->reached = false;
    c.next = nullptr;
    (l.first ? l.last->next : l.first) = &c;
    l.last = &c;
    l.cost += c.cost;
    if (l.is == stream::state::idle) make_ready(l);
    else if (l.is == stream::state::ready) offer(l);
}

TENON_INLINE void simulated_machine::make_ready(stream& l) noexcept {
    l.is = stream::state::ready;
    l.offered = false;
    l.next = nullptr;
    stream** end = &ready_;
    while (*end) end = &(*end)->next;
    *end = &l;
    ready_count_.fetch_add(1, std::memory_order_release);
    tell_waiting();
    offer(l);
}

// What is worth waking a thread for is the pool's, and what nobody waits for; the rest is for who waits, or runs another stream, unless that
// is about to run something long.
TENON_INLINE void simulated_machine::offer(stream& l, bool others_are_busy) noexcept {
    if (!pool_ || l.offered || (l.cost < worth_a_task && !l.left && !others_are_busy)) return;
    try {
        pool_->submit([self = shared_from_this()] { self->work(); });
        l.offered = true;
    } catch (const std::bad_alloc&) { // it is for who waits, or leaves it to others
    }
}

TENON_INLINE void simulated_machine::tell_waiting() {
    if (waiting_ == 0) return;
    if (pool_) pool_->wake();
    else changed_.notify_all();
}

TENON_INLINE void simulated_machine::wake() noexcept {
    const std::lock_guard held(guard_);
    tell_waiting();
}

TENON_INLINE void simulated_machine::work() {
    locked held(guard_);
    while (ready_) drain(*ready_, held);
}

// Where there is no pool that could be asked, or no memory to ask it.
TENON_INLINE void simulated_machine::work_on_what_is_left(locked& held) {
    for (;;) {
        stream* first = ready_;
        while (first && (!first->left || first->offered)) first = first->next;
        if (!first) return;
        drain(*first, held);
    }
}

TENON_INLINE void simulated_machine::leave(std::span<stream, count> streams) {
    locked held(guard_);
    for (stream& l : streams) {
        if (l.is == stream::state::idle) continue;
        l.left = true;
        if (l.is == stream::state::ready) offer(l);
    }
    work_on_what_is_left(held);
}

TENON_INLINE void simulated_machine::drain(stream& l, locked& held, const function_ref<bool()>* enough) {
    stream** at = &ready_;
    while (*at != &l) at = &(*at)->next;
    *at = l.next;
    ready_count_.fetch_sub(1, std::memory_order_relaxed);
    l.is = stream::state::running;
    while (command* const c = l.first) {
        if (c->what == command::kind::wait && !c->point->reached) {
            l.next = std::exchange(c->point->waiting, &l);
            l.is = stream::state::blocked;
            return;
        }
        l.first = c->next;
        l.cost -= c->cost;
        if (c->cost >= worth_a_task && waiting_ == 0)
            for (stream* other = ready_; other; other = other->next) offer(*other, true);
        if (!perform(l, c, held)) return;
        if (enough && l.first && (*enough)()) {
            make_ready(l);
            return;
        }
    }
    l.is = stream::state::idle;
    l.left = false;
}

// False when the stream sleeps for the time that is left of it: it is still the command's then.
TENON_INLINE bool simulated_machine::perform(stream& l, command* done, locked& held) {
    std::unique_ptr<command> ends(done->owned ? done : nullptr);
    const command c = *done;
    if (c.what == command::kind::wait) return true;
    if (c.what == command::kind::record) {
        c.point->reached = true;
        for (stream *w = std::exchange(c.point->waiting, nullptr), *next = nullptr; w; w = next) {
            next = w->next;
            make_ready(*w);
        }
        if (c.then) {
            held.unlock();
            c.then->completed(nullptr); // from here on the event, and with it the command, may be gone
            held.lock();
        }
        return true;
    }
    held.unlock();
    const bool timed = c.duration > 0 || c.monitor->is_timed();
    const auto now = [&] { return timed ? clock::now().time_since_epoch() / std::chrono::nanoseconds(1) : 0; };
    bool sleeps = false, failed = false;
    const std::int64_t begin = now();
    if (c.monitor->wanted(c.number)) {
        try {
            const denormal_scope mode(c.denormals);
            if (c.what == command::kind::launch) c.kernel->run(*c.run);
            else if (c.bytes > 0) std::memcpy(c.to, c.from, c.bytes);
        } catch (...) {
            failed = true;
            c.monitor->failed(c.number, std::current_exception());
        }
        const std::int64_t end = now();
        sleeps = !failed && static_cast<double>(end - begin) < c.duration;
        if (!sleeps && !failed) c.monitor->ended(c.number, begin, end);
    }
    held.lock();
    if (!sleeps) return true;
    l.is = stream::state::sleeping;
    (void)ends.release(); // its end is still to be told
    done->next = l.first;
    if (!l.first) l.last = done;
    l.first = done;
    l.began = begin;
    // All has been copied: a step that is late may leave at once.
    l.due = std::min(end_of(l, c), c.monitor->deadline());
    alarm_.notify_one();
    return false;
}

// The stream that wakes first; nullptr: none sleeps.
TENON_INLINE simulated_machine::stream* simulated_machine::sleeping() noexcept {
    stream* first = nullptr;
    for (std::array<stream, count>& of : streams_)
        for (stream& l : of)
            if (l.is == stream::state::sleeping && (!first || l.due < first->due)) first = &l;
    return first;
}

TENON_INLINE simulated_machine::clock::time_point simulated_machine::end_of(const stream& l, const command& c) {
    constexpr double most = 1e18; // ns
    return clock::time_point(std::chrono::nanoseconds(l.began + static_cast<std::int64_t>(std::min(c.duration, most))));
}

TENON_INLINE void simulated_machine::run_clock() {
    locked held(guard_);
    const std::shared_ptr<bool> ended = ended_by_clock_;
    while (!ending_) {
        stream* const first = sleeping();
        if (!first) alarm_.wait(held);
        else if (const auto due = first->due; clock::now() < due) alarm_.wait_until(held, due);
        else {
            stream& l = *first;
            const std::unique_ptr<command> ends(l.first->owned ? l.first : nullptr);
            const command c = *l.first;
            l.first = c.next;
            const auto now = clock::now();
            // Ended early it is what the step is late for.
            if (now >= end_of(l, c) || c.monitor->wanted(c.number))
                c.monitor->ended(c.number, l.began, now.time_since_epoch() / std::chrono::nanoseconds(1));
            else c.monitor->ended_early(c.number);
            make_ready(l);
            // Nobody else may be there to do what became ready.
            std::shared_ptr<simulated_machine> self = weak_from_this().lock();
            while (waiting_ == 0 && ready_ && !ready_->offered) drain(*ready_, held);
            held.unlock();
            self.reset();
            if (*ended) return;
            held.lock();
        }
    }
}

TENON_INLINE void simulated_machine::ask_again() noexcept {
    const std::lock_guard held(guard_);
    for (std::array<stream, count>& of : streams_)
        for (stream& l : of)
            if (l.is == stream::state::sleeping && !l.first->monitor->wanted(l.first->number))
                l.due = clock::time_point::min();
    alarm_.notify_one();
}

TENON_INLINE void simulated_machine::work_until(function_ref<bool()> done) {
    locked held(guard_);
    while (!done()) {
        if (ready_) {
            drain(*ready_, held, &done);
            continue;
        }
        ++waiting_;
        if (pool_) {
            held.unlock();
            pool_->work_until([&] { return done() || ready_count_.load(std::memory_order_acquire) > 0; });
            held.lock();
        } else changed_.wait(held);
        --waiting_;
    }
    work_on_what_is_left(held);
}

TENON_INLINE simulated_machine::command simulated_streams::of_launch(stream l, kernel& k, const kernel_run& r,
                                                                     int number) const {
    return {.what = command::kind::launch,
            .on = on(l),
            .kernel = &k,
            .run = &r,
            .number = number,
            .cost = k.cost(),
            .denormals = denormal_mode()};
}

TENON_INLINE simulated_machine::command simulated_streams::of_copy(stream l, void* to, const void* from,
                                                                   std::size_t bytes, int number) const {
    const double seconds = latency_ + (bandwidth_ > 0 ? static_cast<double>(bytes) / bandwidth_ : 0);
    return {.what = command::kind::copy,
            .on = on(l),
            .to = to,
            .from = from,
            .bytes = bytes,
            .number = number,
            .cost = static_cast<double>(bytes) * 0.05,
            .duration = seconds * 1e9};
}

TENON_INLINE void simulated_streams::launch(stream l, kernel& k, const kernel_run& r, step_monitor& m, int number) {
    command c = of_launch(l, k, r, number);
    c.monitor = &m;
    give(c);
}

TENON_INLINE void simulated_streams::copy(stream l, void* to, const void* from, std::size_t bytes, step_monitor& m,
                                          int number) {
    command c = of_copy(l, to, from, bytes, number);
    c.monitor = &m;
    give(c);
}

TENON_INLINE void simulated_streams::record(stream l, device_event& e, completion* then) {
    auto& point = static_cast<simulated_machine::event&>(e);
    point.mark = {.what = command::kind::record, .on = on(l), .point = &point, .then = then};
    machine_->give(std::span(&point.mark, 1));
}

TENON_INLINE void simulated_streams::wait(stream l, device_event& e) {
    give({.what = command::kind::wait, .on = on(l), .point = &static_cast<simulated_machine::event&>(e)});
}

// Commands with events and pointers of their own.
class simulated_recording final : public recorded_work {
public:
    struct launched {
        kernel_run run{};
        std::vector<const void*> in;
        std::vector<void*> out;
    };
    std::vector<simulated_machine::command> commands;
    std::list<launched> launches;
    std::map<int, simulated_machine::event> events; // by command
    std::list<simulated_machine::event> ends;       // of streams
};

class simulated_recorder final : public stream_recorder {
public:
    explicit simulated_recorder(std::span<device_streams* const> all) {
        for (device_streams* const s : all) of_.push_back(static_cast<const simulated_streams*>(s));
    }

    void at(std::size_t device) override { device_ = device; }
    void launch(stream l, kernel& k, const kernel_run& r, std::size_t inputs, std::size_t outputs,
                int number) override {
        auto& made = made_->launches.emplace_back();
        made.run = r;
        made.in.assign(r.in, r.in + inputs);
        made.out.assign(r.out, r.out + outputs);
        made.run.in = made.in.data();
        made.run.out = made.out.data();
        add(of_[device_]->of_launch(l, k, made.run, number));
    }
    void copy(stream l, void* to, const void* from, std::size_t bytes, int number) override {
        add(of_[device_]->of_copy(l, to, from, bytes, number));
    }
    void mark(stream l, int number) override { add(kind::record, of_[device_]->on(l), made_->events[number]); }
    void wait(stream l, int number) override { add(kind::wait, of_[device_]->on(l), made_->events[number]); }
    std::unique_ptr<recorded_work> end(std::unique_ptr<recorded_work>) override {
        simulated_machine::stream* const compute = of_[0]->on(device_streams::compute);
        for (simulated_machine::stream* const l : used_) { // others may work there for long
            if (l == compute) continue;
            simulated_machine::event& ended = made_->ends.emplace_back();
            add(kind::record, l, ended);
            add(kind::wait, compute, ended);
        }
        return std::move(made_);
    }

private:
    using kind = simulated_machine::command::kind;
    void add(const simulated_machine::command& c) {
        made_->commands.push_back(c);
        if (std::find(used_.begin(), used_.end(), c.on) == used_.end()) used_.push_back(c.on);
    }
    void add(kind what, simulated_machine::stream* on, simulated_machine::event& point) {
        made_->commands.push_back({.what = what, .on = on, .point = &point});
    }

    std::vector<const simulated_streams*> of_;
    std::size_t device_ = 0;
    std::vector<simulated_machine::stream*> used_;
    std::unique_ptr<simulated_recording> made_ = std::make_unique<simulated_recording>();
};

TENON_INLINE std::unique_ptr<stream_recorder> simulated_streams::begin_recording(std::span<device_streams* const> all) {
    return std::make_unique<simulated_recorder>(all);
}

TENON_INLINE void simulated_streams::replay(recorded_work& w, const step& in, step_monitor& m) {
    auto& r = static_cast<simulated_recording&>(w);
    for (auto& l : r.launches) l.run.step = &in;
    for (command& c : r.commands) {
        c.monitor = &m;
        c.denormals = denormal_mode();
    }
    machine_->give(r.commands);
}

} // namespace tenon::detail
