#pragma once

// A part of run/executor.ipp: phases whose nodes are done as they become possible, by threads and by streams.

#include <functional>

namespace tenon::runtime {

// By the thread that does the phase before.
TENON_INLINE void executor::open(const executable::phase& of) noexcept {
    const bool at_once = p_.at_once && !e_.traced && !e_.measured;
    const locked lock(guard_);
    is_open_ = true;
    caller_ = std::this_thread::get_id();
    workers_ = coming_ = 1; // this thread
    graph_ = at_once ? &p_.at_once->graph : &p_.graph;
    end_ = static_cast<int>(of.last) + at_once;
    on_host_ = p_.has_streams() ? graph_->on_host : static_cast<int>(of.last - of.first);
    costly_ = 0;
    giving_ = caller_idle_ = staged_ = has_told_ = false;
    ready_.clear();
    givable_.clear();
    std::fill(used_.begin(), used_.end(), char{0});
    std::fill(closed_.begin(), closed_.end(), char{0});
    for (int node = static_cast<int>(of.first); node < end_; ++node) {
        int& left = left_[static_cast<std::size_t>(node)];
        left = graph_->before[static_cast<std::size_t>(node)];
        if (left == 0) make_possible(node);
    }
}

// Heaps of which the first in the executable's order is taken first.
TENON_INLINE void executor::put(std::vector<int>& heap, int node) noexcept {
    heap.push_back(node);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
}
TENON_INLINE int executor::take(std::vector<int>& heap) noexcept {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const int node = heap.back();
    heap.pop_back();
    return node;
}

// What is cheap first: what comes after it may be worth another thread, beside one that does what is not.
TENON_INLINE void executor::make_ready(int node) noexcept {
    const bool costly = !p_.is_cheap(node);
    put(ready_, costly ? node + costly_from() : node);
    costly_ += costly;
}
TENON_INLINE int executor::take_ready() noexcept {
    const int at = take(ready_);
    costly_ -= at >= costly_from();
    return at >= costly_from() ? at - costly_from() : at;
}
// What it waited for is over: a thread does it, or a stream is given it.
TENON_INLINE void executor::make_possible(int node) noexcept {
    if (is_on_host(node)) make_ready(node);
    else put(givable_, node);
}
TENON_INLINE void executor::release(std::span<const int> next) noexcept {
    for (const int n : next)
        if (n < end_ && --left_[static_cast<std::size_t>(n)] == 0) make_possible(n);
}

// One thread at a time gives, so that each stream gets what it does in the executable's order; and says where that ends, where it is stopped.
TENON_INLINE bool executor::may_give() const noexcept {
    if (giving_) return false;
    if (!stopped()) return !givable_.empty();
    for (std::size_t l = 0; l < used_.size(); ++l)
        if (used_[l] && !closed_[l]) return true;
    return false;
}

// Of what nobody works on: all has ended, or, of a step that was stopped, all that was begun.
TENON_INLINE bool executor::is_over() const noexcept {
    return awaited_events_.load(std::memory_order_acquire) == 0 && !has_work() && (on_host_ == 0 || stopped());
}

// True: the phase is over, and this thread goes on with the next; else it has nothing to do, or the caller's thread goes on.
TENON_INLINE bool executor::work_in_graph(bool is_caller) {
    constexpr std::size_t most = 16;
    std::array<int, most> taken;
    locked lock(guard_);
    --coming_;
    for (;;) {
        if (stopped()) {
            ready_.clear();
            costly_ = 0;
        }
        if (may_give()) give(lock);
        else if (ready_.empty()) break;
        if (ready_.empty()) continue;
        std::size_t count = 0;
        do taken[count] = take_ready(); // several that are cheap, of who waits for no stream
        while (++count < most && !p_.has_streams() && !ready_.empty() && ready_.front() < costly_from());
        call_threads(threads_wanted(), lock);
        for (std::size_t n = 0; n < count; ++n) run_node(taken[n]);
        lock.lock();
        for (std::size_t n = 0; n < count; ++n) {
            on_host_ -= is_on_host(taken[n]) || taken[n] == all_streams();
            if (!stopped()) release(graph_->ended[static_cast<std::size_t>(taken[n])]);
        }
    }
    if (--workers_ == 0 && is_over()) {
        if (owner_ || is_caller) return true;
        workers_ = coming_ = 1;
        call_threads(1, lock);
        return false;
    }
    caller_idle_ = caller_idle_ || is_caller;
    return false;
}

TENON_INLINE void executor::run_node(int node) noexcept {
    if (node == all_streams()) {
        check(p_.may_refuse);
        if (staged_ && !stopped()) f_.stage_out(e_.pool());
        return;
    }
    const deferred_flush::running running;
    try {
        if (!wanted(node)) return;
        if (is_on_host(node)) run_operation(static_cast<std::size_t>(node), e_);
        else check_numerics(static_cast<std::size_t>(node));
    } catch (...) {
        failed(node, std::current_exception());
    }
}

// How many threads are to be called: one for each node that is worth it, and one where nobody is there or the caller has
// nothing to do. They count as working from now on.
TENON_INLINE int executor::threads_wanted() noexcept {
    const int most = std::max(p_.side_by_side - workers_, 0);
    int count = std::clamp(costly_ - coming_, 0, most);
    if (count == 0 && (workers_ == 0 ? has_work() || is_over() : caller_idle_ && most > 0 && has_work())) count = 1;
    workers_ += count;
    coming_ += count;
    return count;
}

// Lets go of the lock. Where this thread is not one of those that work, it touches nothing here after its last call.
TENON_INLINE void executor::call_threads(int count, locked& lock) noexcept {
    run_owner* const owner = owner_;
    thread_pool* const pool = e_.pool();
    const bool wakes = count > 0 && caller_idle_;
    if (wakes) {
        caller_idle_ = false;
        called_.store(true, std::memory_order_release);
        --count;
    }
    // Its own thread may be the one that works for the stream or the pool. Streams are woken under the lock, so that they are still there;
    // the pool's own thread is part of it.
    const bool sleeps = wakes && std::this_thread::get_id() != caller_;
    if (sleeps && p_.has_streams()) p_.streams_of(p_.streams.front()).wake();
    const bool of_pool = sleeps && !p_.has_streams();
    lock.unlock();
    if (of_pool) pool->wake();
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

TENON_INLINE void executor::wait_for_call() {
    const auto called = [&] { return called_.load(std::memory_order_acquire); };
    if (p_.has_streams()) p_.streams_of(p_.streams.front()).work_until(called);
    else e_.pool()->work_until(called);
    const std::lock_guard lock(guard_);
    called_.store(false, std::memory_order_relaxed);
}

// Operations that have ended and may have refused what they were given: the first of them is to blame.
TENON_INLINE void executor::check(const std::vector<int>& operations) noexcept {
    for (const int s : operations) {
        if (stopped()) return;
        try {
            p_.op(s).kernel->refuse(f_.told[static_cast<std::size_t>(s)].get());
        } catch (...) {
            failed(s, std::current_exception());
        }
    }
}

// An event that the host waits for.
TENON_INLINE void executor::reached(int node, std::exception_ptr why) noexcept {
    const bool is_one = node >= 0 && node != all_streams();
    if (why) failed(nowhere, std::move(why)); // of what, among all that was given, nobody knows
    else if (is_one) check(p_.op(node).checked);
    else if (node == all_streams() && staged_) require_working_devices();
    locked lock(guard_);
    const bool was_last = awaited_events_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (!stopped()) {
        if (is_one && !p_.check_numerics) release(graph_->ended[static_cast<std::size_t>(node)]);
        else if (is_one) make_ready(node);
        else if (node == all_streams() && was_last) {
            for (const int v : p_.at_once->updates) f_.variables.set_written(static_cast<std::size_t>(v));
            make_ready(node);
        }
    }
    call_threads(threads_wanted(), lock);
}

// A card asks nobody when it comes to what it was given.
TENON_INLINE bool executor::may_be_given(int command) noexcept {
    const operation& op = p_.op(command);
    return goes_on(command, op.writes && !p_.device_at(op.by.device).attributes().simulated);
}
TENON_INLINE bool executor::goes_on(int command, bool writes) noexcept {
    if (stopped()) return false;
    try {
        const auto s = static_cast<std::size_t>(command);
        if (writes) commit(*e_.in, s);
        if (e_.in->stopped()) throw detail::stopped_error(*e_.in);
        if (!e_.in->late()) return true;
        exceed_limit(*e_.in, p_.awaited_in(s));
    } catch (...) {
        failed(command, std::current_exception());
    }
    return false;
}

TENON_INLINE void executor::ended(int command, std::int64_t begin, std::int64_t end) noexcept {
    ended_early(command);
    try {
        record(static_cast<std::size_t>(command), e_, begin, end);
    } catch (...) { // no memory for a note of it
        failed(command, std::current_exception());
    }
}

// Also where the step has failed meanwhile: its error is to say so.
TENON_INLINE void executor::ended_early(int command) noexcept { f_.set_written(p_.op(command)); }

TENON_INLINE void executor::failed(int command, std::exception_ptr why) noexcept {
    if (command != nowhere && e_.in->late()) { // a loop on a stream looks itself whether it is wanted
        try {
            std::rethrow_exception(why);
        } catch (const cancelled_error&) {
            why = failure_of([&]() -> deadline_exceeded_error { exceed_limit(*e_.in, "it was computing"); });
        } catch (...) {
        }
    }
    const std::lock_guard lock(errors_);
    if (!first_) {
        first_ = std::move(why);
        where_ = command;
    }
    stopped_.store(true, std::memory_order_release);
}

TENON_INLINE std::exception_ptr executor::failure() const noexcept {
    const std::lock_guard lock(errors_);
    if (where_ == nowhere) return first_;
    return thrown_by([&] { p_.rethrow_with_place(first_, static_cast<std::size_t>(where_)); });
}

// Lets go of the lock meanwhile.
TENON_INLINE void executor::give(locked& lock) {
    giving_ = true;
    batch_.clear();
    while (!givable_.empty() && !stopped()) {
        batch_.push_back(take(givable_));
        release(graph_->given[static_cast<std::size_t>(batch_.back())]);
    }
    lock.unlock();
    for (const int node : batch_) {
        if (node == all_streams()) give_all();
        else if (may_be_given(node)) give_operation(node);
        else break;
    }
    for (std::size_t l = 0; l < used_.size() && stopped(); ++l)
        if (used_[l] && !closed_[l]) record_end(l, end_report_);
    if (owner_) // nobody works for the streams meanwhile
        for (const worker& w : p_.streams) p_.streams_of(w).flush();
    lock.lock();
    giving_ = false;
}

// One node: the host waits for nothing but the end of it, and is told by every stream that is used.
TENON_INLINE void executor::give_all() noexcept {
    report& all_ended = reports_[static_cast<std::size_t>(all_streams())];
    if (!may_be_given(p_.on_streams.front()) || give_recorded()) return;
    for (const int s : p_.on_streams) {
        if (!may_be_given(s)) break;
        give_operation(s);
    }
    has_told_ = true;
    // Counted before the first is told, which would be taken for the last.
    awaited_events_.fetch_add(1, std::memory_order_relaxed);
    for (std::size_t l = 0; l < used_.size(); ++l)
        if (used_[l]) record_end(l, all_ended);
    all_ended.completed(nullptr);
}

// False where it was not recorded, or cannot be launched: nothing was given.
TENON_INLINE bool executor::give_recorded() noexcept {
    const frame::recorded_parts* const recorded = f_.recording_of(*e_.in);
    if (!recorded) return false;
    const worker first{p_.at_once->devices[0], device_streams::compute};
    const auto kernels =
        static_cast<std::size_t>(std::find(p_.streams.begin(), p_.streams.end(), first) - p_.streams.begin());
    try {
        f_.stage_in(e_.pool());
        for (const int s : p_.at_once->told) p_.op(s).kernel->tell(f_.told[static_cast<std::size_t>(s)].get());
        has_told_ = true;
        staged_ = true;
        for (const int s : p_.on_streams)
            if (!may_be_given(s)) return true;
        give_parts(*recorded, kernels);
    } catch (...) {
        if (used_[kernels]) { // a part of it runs
            failed(nowhere, std::current_exception());
            return true;
        }
        staged_ = false;
        f_.failed_to_replay(std::current_exception());
        return false;
    }
    if (stopped()) return true;
    f_.replayed();
    record_end(kernels, reports_[static_cast<std::size_t>(all_streams())]);
    return true;
}

// Recordings one after another on the first device's stream for kernels, sums beside them on theirs: each after the recording before it.
TENON_INLINE void executor::give_parts(const frame::recorded_parts& recorded, std::size_t kernels) {
    const executable::streams_work& all = *p_.at_once;
    device_streams& first = p_.streams_of(p_.streams[kernels]);
    auto work = recorded.begin();
    for (std::size_t n = 0; n < all.parts.size() && !stopped(); ++n) {
        const executable::streams_work::part& part = all.parts[n];
        if (part.is_recorded) {
            for (const int s : part.sums) first.wait(device_streams::compute, *f_.events[static_cast<std::size_t>(s)]);
            first.replay(**work++, *e_.in, *this);
            used_[kernels] = 1;
            if (n + 1 < all.parts.size()) first.record(device_streams::compute, *f_.part_ends[n]);
            continue;
        }
        for (std::size_t i = part.first; i < part.last && !stopped(); ++i) {
            const auto s = static_cast<std::size_t>(p_.on_streams[i]);
            give_sum(p_.on_streams[i], n > 0 ? f_.part_ends[n - 1].get() : nullptr);
            if (n + 1 == all.parts.size()) first.wait(device_streams::compute, *f_.events[s]);
        }
        used_[kernels] = 1;
    }
}

TENON_INLINE void executor::give_sum(int number, device_event* before) noexcept {
    const operation& op = p_.op(number);
    const auto s = static_cast<std::size_t>(number);
    device_streams& to = p_.streams_of(op.by);
    const auto stream = static_cast<device_streams::stream>(op.by.stream);
    used_[static_cast<std::size_t>(op.line)] = 1;
    try {
        if (before) to.wait(stream, *before);
        for (const int w : op.waits)
            if (p_.at_once->given[static_cast<std::size_t>(w)])
                to.wait(stream, *f_.events[static_cast<std::size_t>(w)]);
        f_.runs[s].step = e_.in;
        to.launch(stream, *op.kernel, f_.runs[s], *this, number);
    } catch (...) {
        failed(number, std::current_exception());
    }
    record_event(op.by, *f_.events[s], nullptr);
}

// Of a recorded step the first device's end is told alone.
TENON_INLINE void executor::require_working_devices() noexcept {
    const std::span<const int> others = std::span(p_.at_once->devices).subspan(1);
    try {
        for (const int d : others) p_.device_at(d).streams()->require_working();
    } catch (...) {
        failed(nowhere, std::current_exception());
    }
}

TENON_INLINE void executor::give_operation(int number) noexcept {
    const auto s = static_cast<std::size_t>(number);
    const operation& op = p_.operations[s];
    device_streams& to = p_.streams_of(op.by);
    const auto stream = static_cast<device_streams::stream>(op.by.stream);
    const bool at_once = graph_ != &p_.graph;
    used_[static_cast<std::size_t>(op.line)] = 1;
    try {
        for (const int w : op.waits) to.wait(stream, *f_.events[static_cast<std::size_t>(w)]);
        if (op.copies) to.copy(stream, f_.out[p_.out_begin[s]], f_.in[p_.in_begin[s]], op.bytes, *this, number);
        else {
            f_.runs[s].step = e_.in;
            if (f_.told[s] && !has_told_) op.kernel->tell(f_.told[s].get());
            to.launch(stream, *op.kernel, f_.runs[s], *this, number);
        }
    } catch (...) {
        failed(number, std::current_exception());
    }
    if (op.awaited) record_event(op.by, *f_.events[s], op.calls_host && !at_once ? &reports_[s] : nullptr);
    if (op.ends_line && !at_once) record_end(static_cast<std::size_t>(op.line), end_report_);
}

// After the last operation of a stream, if nothing else tells its end, or after the last that was given before a stop.
TENON_INLINE void executor::record_end(std::size_t line, report& then) noexcept {
    closed_[line] = 1;
    record_event(p_.streams[line], *f_.ends[line], &then);
}

// Who is told will be, or the step could not end: what there is no memory for ends the program.
TENON_INLINE void executor::record_event(const worker& by, device_event& e, report* then) noexcept {
    if (then) awaited_events_.fetch_add(1, std::memory_order_relaxed);
    try {
        p_.streams_of(by).record(static_cast<device_streams::stream>(by.stream), e, then);
    } catch (...) { // of one that nobody is told of
        failed(nowhere, std::current_exception());
    }
}

} // namespace tenon::runtime
