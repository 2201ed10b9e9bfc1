#pragma once

// A part of run/plan.ipp: how a step runs.

#include <cmath>
#include <exception>
#include <utility>

#include <tenon/concurrency/deferred_flush.hpp>
#include <tenon/concurrency/denormals.hpp>
#include <tenon/concurrency/stop_scope.hpp>
#include <tenon/core/error.hpp>
#include <tenon/ops/state/control.hpp>
#include <tenon/runtime/run/step_errors.hpp>

namespace tenon::runtime {

TENON_INLINE void plan::patch_pointers(frame& f, const any_array* const* feeds, any_array* fetched) const {
    if (check_numerics_) check_sources(feeds);
    for (const patch& p : feed_in_) f.in[p.slot] = feeds[p.index]->data();
    std::size_t made = 0;
    try {
        for (; made < fetch_types_.size(); ++made)
            if (!lent_[made]) fetched[made] = any_array(fetch_types_[made].element, fetch_types_[made].extents);
    } catch (const resource_exhausted_error& error) {
        throw resource_exhausted_error("no memory for what is fetched of " + any_tensor(program_.fetched[made]).name() +
                                       ", " + to_string(fetch_types_[made]) + ": " + error.what());
    }
    for (const patch& p : fetch_out_) f.out[p.slot] = fetched[p.index].data();
    for (const patch& p : fetch_in_) f.in[p.slot] = fetched[p.index].data();
    f.fetched = fetched;
}

// As soon as the values are held. A variable without one fails its step later.
TENON_INLINE void plan::lend_variables(frame& f, const run_environment& e) const {
    for (const loan& l : loans_) {
        f.fetched[l.fetch] = l.shares < 0 ? f.variables.lend(l.variable, l.lender) : f.fetched[l.shares].share();
        if (f.fetched[l.fetch] && e.taker) e.taker->fetched(l.fetch);
    }
}

TENON_INLINE void plan::run(frame& f, const any_array* const* feeds, any_array* fetched, const run_environment& e) {
    patch_pointers(f, feeds, fetched);
    const thread_pool::keep_awake awake(pool_worth_waking(e));
    if (!streams_.empty()) f.in_flight->run(e);
    else if (!variables_.empty()) {
        f.before_updates = true;
        run_with_variables(f, e, nullptr);
    } else run_part(f, e, 0, operations_.size());
}

TENON_INLINE void plan::start(frame& f, const any_array* const* feeds, any_array* fetched, const run_environment& e,
                              run_owner& owner) {
    patch_pointers(f, feeds, fetched);
    f.in_flight->start(e, owner);
}
TENON_INLINE void plan::work(frame& f) { f.in_flight->work(); }
TENON_INLINE void plan::stop(frame& f) noexcept { f.in_flight->stop(); }
TENON_INLINE bool plan::expire(frame& f) noexcept { return f.in_flight->expire(); }

// The values that are read are taken hold of at once. Then the step goes on beside others, but for what stands between its first
// update and its last.
TENON_INLINE bool plan::run_with_variables(frame& f, const run_environment& e, completion* told) {
    struct release {
        held_variables* held;
        ~release() {
            if (held) held->end();
        }
    };
    release whatever_happens{&f.variables};
    const auto waits = [&] {
        whatever_happens.held = nullptr;
        return false;
    };
    const bool apart = end_updates_ == 0 || begin_updates_ > 0; // reads from updates
    std::size_t done = 0;
    if (f.before_updates) {
        if (reads_variables_ && apart && !read_variables(f, e, told)) return waits();
        if (reads_rows_ && end_rows_ < begin_updates_) {
            run_part(f, e, 0, end_rows_);
            f.variables.end_reading_rows();
            done = end_rows_;
        }
        if (end_updates_ > 0) run_part(f, e, done, begin_updates_);
        f.before_updates = false;
    }
    if (end_updates_ > 0) {
        if (!begin_updates(f, e, !apart, told)) return waits();
        run_part(f, e, begin_updates_, first_write_);
        commit(f, e);
        update(f, e);
        return true;
    }
    run_part(f, e, done, operations_.size());
    return true;
}

// Before the first update, or before streams are given anything: what would fail between the first and the last, of what is known then.
TENON_INLINE void plan::check_first(frame& f) const {
    const auto check = [&](std::size_t s, auto what) {
        try {
            what(*operations_[s].kernel, f.runs[s]);
        } catch (...) {
            rethrow_with_place(std::current_exception(), s);
        }
    };
    for (const std::size_t s : needed_values_)
        if (!f.out[out_begin_[s]]) check(s, [](kernel& k, const kernel_run& r) { k.run(r); }); // which says so
    for (const std::size_t s : checked_first_) check(s, [](const kernel& k, const kernel_run& r) { k.check(r); });
}

// From here on nothing stops the step.
TENON_INLINE void plan::commit(frame& f, const run_environment& e) const {
    check_first(f);
    if (e.stoppable()) commit(*e.in, first_write_);
}
TENON_INLINE void plan::commit(const tenon::step& in, std::size_t s) const {
    if (in.committed()) return;
    if (in.late()) exceed_limit(in, awaited_in(s));
    if (!in.commit()) throw cancelled_error("the step was stopped");
}

// The updates, and what comes after them. What fails there says what has been updated all the same.
TENON_INLINE void plan::update(frame& f, const run_environment& e) {
    bool all = false;
    try {
        run_part(f, e, first_write_, end_updates_);
        f.variables.set_all_written();
        all = true;
        if (end_updates_ < operations_.size()) f.variables.end_updates();
        run_part(f, e, end_updates_, operations_.size());
    } catch (...) {
        if (!all) f.variables.set_apart_unwritten();
        std::rethrow_exception(saying_what_was_updated(f, std::current_exception(), all));
    }
}

// `all`: all that it updates, else what was written.
TENON_INLINE std::exception_ptr plan::saying_what_was_updated(const frame& f, const std::exception_ptr& why,
                                                              bool all) const noexcept {
    try {
        std::vector<std::string> names;
        for (std::size_t v = 0; v < variables_.size(); ++v)
            if (all ? variables_[v].updated : f.variables.is_written(v)) names.push_back(variables_[v].variable->name);
        return after_updates(why, names);
    } catch (...) { // no memory for words
        return why;
    }
}

TENON_INLINE bool plan::read_variables(frame& f, const run_environment& e, completion* told) const {
    if (told && !f.variables.try_read(*told)) return false;
    if (!told)
        if (const variable_resource* v = f.variables.read(e.in->deadline)) detail::exceed_limit(e, *v);
    point(f, memory_of::before);
    lend_variables(f, e);
    return true;
}

TENON_INLINE bool plan::begin_updates(frame& f, const run_environment& e, bool and_read, completion* told) const {
    if (told && !f.variables.try_begin_updates(*told, and_read)) return false;
    if (!told)
        if (const variable_resource* v = f.variables.begin_updates(e.in->deadline, and_read))
            detail::exceed_limit(e, *v);
    if (and_read) point(f, memory_of::before);
    point(f, memory_of::current);
    point(f, memory_of::after);
    if (and_read) lend_variables(f, e);
    return true;
}

// In most steps values lie where they lay.
TENON_INLINE void plan::point(frame& f, memory_of which) const {
    const auto [reads, updates] = std::pair(which == memory_of::before, which == memory_of::after);
    const auto at = static_cast<std::size_t>(which);
    for (std::size_t v = 0; v < variables_.size(); ++v) {
        const void* const to = reads ? f.variables.before(v) : updates ? f.variables.after(v) : f.variables.current(v);
        if (f.pointed[v][at] != to) point(f, which, v, to);
    }
}
TENON_INLINE void plan::point(frame& f, memory_of which, std::size_t variable, const void* to) const {
    f.pointed[variable][static_cast<std::size_t>(which)] = to;
    const std::vector<std::size_t>& first = pointed_[static_cast<std::size_t>(which)];
    for (std::size_t p = first[variable]; p < first[variable + 1]; ++p) {
        const variable_pointer& at = pointers_[p];
        if (at.is_output) f.out[at.slot] = const_cast<void*>(to);
        else f.in[at.slot] = to;
    }
}

TENON_INLINE void plan::run_part(frame& f, const run_environment& e, std::size_t first, std::size_t last) {
    if (first == last) return;
    const deferred_flush::running running;
    if (side_by_side_ > 1 && e.pool() && last - first > 1) run_side_by_side(f, e, first, last);
    else run_in_order(f, e, first, last);
}

TENON_INLINE void plan::run_in_order(frame& f, const run_environment& e, std::size_t first, std::size_t last) {
    const bool plain = !e.traced && !check_numerics_ && !measured_ && !e.stoppable() && !e.taker;
    std::size_t s = first;
    try {
        if (plain) {
            thread_pool* const pool = e.pool();
            for (; s < last; ++s) {
                kernel_run& r = f.runs[s];
                r.pool = pool;
                r.step = e.in;
                operations_[s].kernel->run(r);
            }
        } else {
            for (; s < last; ++s) run_operation(s, f, e);
        }
    } catch (...) {
        for (std::size_t done = first; done < s; ++done)
            if (operations_[done].updates >= 0) f.set_updated(operations_[done].updates);
        rethrow_with_place(std::current_exception(), s);
    }
}

TENON_INLINE void plan::run_operation(std::size_t s, frame& f, const run_environment& e) {
    kernel_run& r = f.runs[s];
    r.pool = e.pool();
    r.step = e.in;
    const auto now = [&] { return e.in->now().time_since_epoch() / std::chrono::nanoseconds(1); };
    const bool timed = e.traced || e.measured;
    const std::int64_t begin = timed ? now() : 0;
    if (e.stoppable()) {
        const auto over = [&] { return e.in->stopped() || e.in->late(); };
        const auto give_up = [&] {
            if (e.in->stopped()) throw cancelled_error("the step was stopped");
            exceed_limit(*e.in, "it was waiting for");
        };
        try {
            const auto wanted_no_more = [&] { return !operations_[s].writes && over(); };
            const stop_scope stop(wanted_no_more);
            operations_[s].kernel->run(r);
        } catch (const cancelled_error&) {
            if (over()) give_up();
            throw;
        }
        if (operations_[s].updates >= 0) f.set_updated(operations_[s].updates);
        if (over()) give_up();
    } else {
        operations_[s].kernel->run(r);
        if (operations_[s].updates >= 0) f.set_updated(operations_[s].updates);
    }
    if (timed) record(s, e, begin, now());
    if (check_numerics_) check_numerics(s, f);
    if (e.taker)
        for (const int fetch : operations_[s].fetches) e.taker->fetched(static_cast<std::size_t>(fetch));
}

TENON_INLINE void plan::record(std::size_t s, const run_environment& e, std::int64_t begin, std::int64_t end) const {
    if (e.traced) {
        const program_item& i = program_.item(schedule_.order[s]);
        const bool crosses = i.op == &transfer_definition;
        e.traced->add(
            {.name = crosses ? any_tensor(program_.value(i.outputs[0]).origin).name() : operations_[s].origin->name,
             .op = op_of(s),
             .row = row_of(s, *e.traced),
             .task = tenon::detail::traced_task(devices_[static_cast<std::size_t>(operations_[s].device)]->full_name()),
             .begin = begin,
             .end = end,
             .bytes = crosses ? operations_[s].bytes : 0});
    }
    if (!e.measured || !measured_) return;
    const auto kind_of = [&](int device) { return timed_on(devices_[static_cast<std::size_t>(device)]->attributes()); };
    const program_item& it = program_.item(schedule_.order[s]);
    if (it.op == &transfer_definition)
        e.measured->add_transfer(kind_of(program_.value(program_.root(it.inputs[0])).device), kind_of(it.device),
                                 operations_[s].bytes, end - begin);
    else e.measured->add_kernel(kind_of(it.device), operations_[s].timed, end - begin);
}

// The device's, or, for a transfer, the link's.
TENON_INLINE std::string plan::row_of(std::size_t s, trace& t) const {
    const auto name_of = [&](int device) {
        const device_name& d = devices_[static_cast<std::size_t>(device)]->full_name();
        return d.type.str() + ":" + std::to_string(d.index);
    };
    const program_item& it = program_.item(schedule_.order[s]);
    if (it.op == &transfer_definition)
        return name_of(program_.value(program_.root(it.inputs[0])).device) + " to " + name_of(it.device);
    if (operations_[s].by.stream >= 0) return name_of(it.device);
    return name_of(it.device) + " thread " + std::to_string(t.number_of_this_thread());
}

// What a step that is late in operation s was waiting for.
TENON_INLINE std::string plan::awaited_in(std::size_t s) const {
    const program_item& it = program_.item(schedule_.order[s]);
    if (it.op != &transfer_definition) return "it was waiting for";
    const program_value& from = program_.value(program_.root(it.inputs[0]));
    const auto name_of = [&](int device) {
        return tenon::detail::short_name(devices_[static_cast<std::size_t>(device)]->full_name());
    };
    return "it was waiting for the transfer of " + any_tensor(from.origin).name() + ", " + to_string(from.type) +
           ", from " + name_of(from.device) + " to " + name_of(it.device);
}

TENON_INLINE void plan::run_side_by_side(frame& f, const run_environment& e, std::size_t first, std::size_t last) {
    // A runner runs a node and goes on with what that made ready: cheap nodes itself, others are offered to further
    // runners, of which there are as many at a time as nodes may run. A runner without work takes what was offered in
    // vain. All is owned by this call; nothing of it is touched by a runner whose last node has been counted. Positions from
    // `first` to `last` are run; those before have ended.
    // Nothing is made once it runs: what a runner has to do, and what is offered, are lists of which each node has its link.
    struct state {
        std::vector<std::atomic<int>> waiting; // predecessors that have not ended
        std::vector<int> next;                 // by node, in the one list that it is in
        std::atomic<int> left;
        std::atomic<bool> failed{false};
        std::mutex guard; // of what follows
        int offered = -1, last_offered = -1;
        int runners = 1;
        std::exception_ptr first;
        std::size_t first_step = 0;
        state(std::size_t all, std::size_t n) : waiting(all), next(all, -1), left(static_cast<int>(n)) {}

        // Under the guard.
        void add_offered(int s) noexcept {
            next[static_cast<std::size_t>(s)] = -1;
            (offered < 0 ? offered : next[static_cast<std::size_t>(last_offered)]) = s;
            last_offered = s;
        }
        // Another node for a runner that has none, or -1, and then it is none any more.
        int take_offered() noexcept {
            const std::lock_guard lock(guard);
            const int s = offered;
            if (s < 0) --runners;
            else offered = next[static_cast<std::size_t>(s)];
            return s;
        }
    };
    state st(operations_.size(), last - first);
    for (std::size_t s = first; s < last; ++s) {
        const std::span<const int> before = schedule_.waits_for[s];
        const auto of_part = [&](int w) { return static_cast<std::size_t>(w) >= first; };
        st.waiting[s].store(static_cast<int>(std::count_if(before.begin(), before.end(), of_part)),
                            std::memory_order_relaxed);
    }

    struct runner {
        plan& p;
        frame& f;
        const run_environment& e;
        state& st;
        std::size_t end;
        unsigned denormals = denormal_mode(); // this thread's: others take nodes too

        bool cheap(int s) const { return p.is_cheap(static_cast<std::size_t>(s)); }
        void offer(int s) const noexcept {
            {
                const std::lock_guard lock(st.guard);
                if (st.runners >= p.side_by_side_) return st.add_offered(s);
                ++st.runners;
                st.next[static_cast<std::size_t>(s)] = -1;
            }
            try {
                const runner again = *this;
                e.pool()->submit([again, s] { again(s); });
            } catch (...) { // no memory: one that runs takes it when it has nothing else, as this one
                const std::lock_guard lock(st.guard);
                --st.runners;
                st.add_offered(s);
            }
        }
        // `mine`: the first of a list.
        void operator()(int mine) const noexcept {
            const denormal_scope mode(denormals);
            thread_pool* const pool =
                e.pool(); // the last operation may end the caller's wait, and with it all but this
            while (mine >= 0) {
                const int s = mine;
                mine = st.next[static_cast<std::size_t>(s)];
                if (!st.failed.load(std::memory_order_acquire)) {
                    try {
                        p.run_operation(static_cast<std::size_t>(s), f, e);
                    } catch (...) {
                        const std::lock_guard lock(st.guard);
                        if (!st.first) {
                            st.first = std::current_exception();
                            st.first_step = static_cast<std::size_t>(s);
                        }
                        st.failed.store(true, std::memory_order_release);
                    }
                }
                for (const int n : p.successors_[static_cast<std::size_t>(s)])
                    if (static_cast<std::size_t>(n) < end &&
                        st.waiting[static_cast<std::size_t>(n)].fetch_sub(1, std::memory_order_acq_rel) == 1) {
                        if (mine < 0 || cheap(n)) st.next[static_cast<std::size_t>(n)] = std::exchange(mine, n);
                        else offer(n);
                    }
                if (mine < 0) {
                    mine = st.take_offered();
                    if (mine >= 0) st.next[static_cast<std::size_t>(mine)] = -1;
                }
                if (st.left.fetch_sub(1, std::memory_order_acq_rel) == 1) pool->wake();
            }
        }
    };
    const runner run{*this, f, e, st, last};
    int mine = -1; // those that are ready, in order
    for (std::size_t s = last; s-- > first;)
        if (st.waiting[s].load(std::memory_order_relaxed) == 0) st.next[s] = std::exchange(mine, static_cast<int>(s));
    // The first, and those that are not worth a task, are for this thread.
    for (int kept = mine, n = st.next[static_cast<std::size_t>(mine)], after = -1; n >= 0; n = after) {
        after = st.next[static_cast<std::size_t>(n)];
        if (run.cheap(n)) {
            st.next[static_cast<std::size_t>(std::exchange(kept, n))] = n;
            continue;
        }
        st.next[static_cast<std::size_t>(kept)] = after;
        run.offer(n);
    }
    run(mine);
    e.pool()->work_until([&] { return st.left.load(std::memory_order_acquire) == 0; });
    if (st.first) rethrow_with_place(st.first, st.first_step);
}

namespace detail {

// The place of the first element that is not a finite number, or -1.
inline std::int64_t first_not_finite(const tensor_type& t, const void* data) {
    const std::int64_t n = t.extents.elements();
    const auto look = [&]<class T>(const T* p) {
        for (std::int64_t i = 0; i < n; ++i)
            if (!std::isfinite(static_cast<double>(p[i]))) return i;
        return std::int64_t{-1};
    };
    switch (t.element) {
    case element_type::float32: return look(static_cast<const float*>(data));
    case element_type::float64: return look(static_cast<const double*>(data));
    case element_type::float16: return look(static_cast<const half*>(data));
    case element_type::bfloat16: return look(static_cast<const bfloat16*>(data));
    default: return -1;
    }
}

} // namespace detail

// What the step begins with, so that no node is blamed for it.
TENON_INLINE void plan::check_sources(const any_array* const* feeds) const {
    for (const int s : sources_) {
        const program_value& v = program_.value(s);
        const any_array& value = v.feed >= 0 ? *feeds[v.feed] : *v.constant;
        const std::int64_t bad = detail::first_not_finite(v.type, value.data());
        if (bad >= 0)
            throw invalid_argument_error("check_numerics: element " + std::to_string(bad) + " of " +
                                         (v.feed >= 0 ? "what is fed for " : "the constant ") +
                                         any_tensor(v.origin).name() + ", " + to_string(v.type) +
                                         ", is not a finite number");
    }
}

TENON_INLINE void plan::check_numerics(std::size_t s, const frame& f) const {
    const number_list& outputs = program_.item(schedule_.order[s]).outputs;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        const tensor_type& t = program_.value(outputs[o]).type;
        const void* data = f.out[out_begin_[s] + o];
        if (!data) continue;
        any_array on_host;
        if (operations_[s].by.stream >= 0 && t.element != element_type::string) {
            on_host = any_array(t.element, t.extents);
            devices_[static_cast<std::size_t>(operations_[s].device)]->copy_to_host(on_host.data(), data,
                                                                                    on_host.bytes());
            data = on_host.data();
        }
        const std::int64_t bad = detail::first_not_finite(t, data);
        if (bad >= 0)
            throw invalid_argument_error("check_numerics: element " + std::to_string(bad) + " of output " +
                                         std::to_string(o) + ", " + to_string(t) +
                                         ", is the first in this step that is not a finite number");
    }
}

TENON_INLINE void plan::rethrow_with_place(const std::exception_ptr& what, std::size_t s) const {
    rethrow_at(what, place_of(*operations_[s].origin, *devices_[static_cast<std::size_t>(operations_[s].device)]));
}

} // namespace tenon::runtime
