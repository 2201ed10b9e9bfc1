#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include <tenon/concurrency/deferred_flush.hpp>
#include <tenon/concurrency/denormals.hpp>
#include <tenon/concurrency/failure.hpp>
#include <tenon/concurrency/stop_scope.hpp>
#include <tenon/core/error.hpp>
#include <tenon/runtime/run/executor.hpp>
#include <tenon/runtime/run/step_errors.hpp>

namespace tenon::runtime {

namespace detail {

[[noreturn]] inline void exceed_limit(const run_environment& e, const variable_resource& awaited) {
    runtime::exceed_limit(*e.in, "it was waiting for variable \"" + awaited.name + "\", which another step was using");
}
inline cancelled_error stopped_error(const tenon::step& in) { return cancelled_error(in.why_stopped()); }

} // namespace detail

// Its lists grow no more: what goes on in a step takes no memory.
TENON_INLINE executor::executor(const executable& p, shared_arenas* shared) : p_(p), f_(p, shared) {
    if (!p.has_streams() && p.side_by_side == 1) return;
    const std::size_t nodes = p.size() + 1;
    left_.resize(nodes);
    ready_.reserve(nodes);
    if (!p.has_streams()) return;
    givable_.reserve(nodes);
    batch_.reserve(nodes);
    for (std::size_t s = 0; s < p.size(); ++s)
        if (const auto* const endless = dynamic_cast<const device_loop*>(p.operations[s].kernel); endless && f_.told[s])
            endless_.emplace_back(endless, f_.told[s].get());
    used_.resize(p.streams.size());
    closed_.resize(p.streams.size());
    reports_.resize(nodes);
    for (std::size_t s = 0; s < nodes; ++s) {
        reports_[s].of = this;
        reports_[s].node = static_cast<int>(s);
    }
    end_report_.of = this;
}

TENON_INLINE void executor::run(const any_array* const* feeds, any_array* fetched, const run_environment& e) {
    if (p_.check_numerics) check_sources(feeds);
    f_.patch(feeds, fetched);
    const thread_pool::keep_awake awake(pool_worth_waking(e));
    const executable::phase& first = p_.phases.front();
    if (p_.variables.empty() && !has_graph(first, e)) {
        run_in_order(e, first.first, first.last);
        return;
    }
    if (is_told_to_end()) {
        const locked lock(guard_);
        begin(e, nullptr);
    } else begin(e, nullptr);
    while (!go_on(true)) wait_for_call();
    if (ended_with_) std::rethrow_exception(std::exchange(ended_with_, nullptr));
}

// Under the lock, since who stops a step may look before it has begun.
TENON_INLINE void executor::start(const any_array* const* feeds, any_array* fetched, const run_environment& e,
                                  run_owner& owner) {
    if (p_.check_numerics) check_sources(feeds);
    f_.patch(feeds, fetched);
    {
        const std::lock_guard lock(guard_);
        begin(e, &owner);
    }
    work();
}

TENON_INLINE void executor::begin(const run_environment& e, run_owner* owner) noexcept {
    e_ = e;
    owner_ = owner;
    denormals_ = denormal_mode();
    phase_ = 0;
    is_open_ = all_written_ = changed_ = false;
    refused_ = nullptr;
    stopped_.store(false, std::memory_order_relaxed);
    first_ = nullptr;
    endless_in_ = e.in;
}

TENON_INLINE void executor::work() {
    const denormal_scope mode(denormals_);
    const thread_pool::keep_awake awake(p_.has_streams() ? nullptr : pool_worth_waking(e_));
    (void)go_on(false);
}

// False: it waits, or other threads go on with it, and nothing here is this thread's any more.
TENON_INLINE bool executor::go_on(bool is_caller) {
    std::exception_ptr why;
    try {
        for (; phase_ < p_.phases.size(); ++phase_) {
            const executable::phase& now = p_.phases[phase_];
            if (!is_open_) {
                if (!enter(now.before)) return false;
                if (!has_graph(now, e_)) {
                    run_in_order(e_, now.first, now.last);
                    continue;
                }
                open(now);
            }
            if (!work_in_graph(is_caller)) return false;
            is_open_ = false;
            check(p_.may_refuse);
            if (stopped()) {
                why = failure();
                break;
            }
        }
    } catch (...) {
        why = std::current_exception();
    }
    end(std::move(why));
    return true;
}

// The last that is done with a step. What fails after an update says what has been updated all the same.
TENON_INLINE void executor::end(std::exception_ptr why) {
    if (is_told_to_end()) {
        const locked lock(guard_);
        endless_in_ = nullptr;
    }
    if (!p_.variables.empty()) {
        if (why) {
            if (!all_written_) f_.variables.set_apart_unwritten();
            why = saying_what_was_updated(why);
        } else if (p_.updates) f_.variables.set_all_written();
        f_.variables.end();
    }
    f_.ended(!why);
    if (owner_) owner_->ended(std::move(why));
    else ended_with_ = std::move(why);
}

TENON_INLINE std::exception_ptr executor::saying_what_was_updated(const std::exception_ptr& why) const noexcept {
    try {
        std::vector<std::string> names;
        for (std::size_t v = 0; v < p_.variables.size(); ++v)
            if (all_written_ ? p_.variables[v].updated : f_.variables.is_written(v))
                names.push_back(p_.variables[v].variable->name);
        return after_updates(why, names);
    } catch (...) { // no memory for words
        return why;
    }
}

// False where it waits for a variable.
TENON_INLINE bool executor::enter(gate g) {
    if (refused_) std::rethrow_exception(std::exchange(refused_, nullptr));
    switch (g) {
    case gate::none: break;
    case gate::read: return hold_variables(true, false);
    case gate::updates: return hold_variables(false, true);
    case gate::read_and_updates: return hold_variables(true, true);
    case gate::rows_end: f_.variables.end_reading_rows(); break;
    case gate::check: check_first(); break;
    case gate::commit:
        check_first();
        commit(*e_.in, p_.phases[phase_].first);
        break;
    case gate::written:
        f_.variables.set_all_written();
        all_written_ = true;
        f_.variables.end_updates();
        break;
    }
    return true;
}

TENON_INLINE bool executor::hold_variables(bool read, bool updates) {
    held_variables& v = f_.variables;
    if (owner_) {
        if (!hold([&] { return updates ? v.try_begin_updates(turn_, read) : v.try_read(turn_); })) return false;
    } else if (const variable_resource* const awaited =
                   updates ? v.begin_updates(e_.in->deadline, read) : v.read(e_.in->deadline))
        detail::exceed_limit(e_, *awaited);
    using memory_of = executable::memory_of;
    if (read) f_.point(memory_of::before);
    if (updates) {
        f_.point(memory_of::current);
        f_.point(memory_of::after);
    }
    if (read) f_.lend_variables(e_.taker);
    return true;
}

// False where it waits: then all of this may be another thread's already.
template <class Try> bool executor::hold(const Try& attempt) {
    while (!attempt()) {
        locked lock(guard_);
        if (std::exchange(changed_, false)) continue;
        asking_ = true;
        // Who stopped it, or looked at its deadline, may have come before it asked.
        if (!(e_.in->late() || e_.in->stopped()) || !f_.variables.stop_asking()) return false;
        asking_ = false;
        lock.unlock();
        if (e_.in->stopped()) throw detail::stopped_error(*e_.in);
        detail::exceed_limit(e_, f_.variables.asks_for());
    }
    return true;
}

TENON_INLINE void executor::variables_changed() noexcept {
    locked lock(guard_);
    changed_ = !asking_;
    if (!std::exchange(asking_, false)) return; // the thread that asked is still here
    call_threads(1, lock);
}

TENON_INLINE bool executor::stop_asking(const std::exception_ptr& why, locked& lock) noexcept {
    if (!f_.variables.stop_asking()) return false;
    asking_ = false;
    refused_ = why;
    call_threads(1, lock);
    return true;
}

TENON_INLINE void executor::stop() noexcept {
    {
        locked lock(guard_);
        if (asking_) {
            stop_asking(failure_of([&] { return detail::stopped_error(*e_.in); }), lock);
            return;
        }
    }
    for (const worker& w : p_.streams) p_.streams_of(w).ask_again();
    tell_to_end(false);
}

// What a device goes on with for as long as it finds ends. Its step is stopped, and has failed, before it is told: what is computed of what it
// leaves is nobody's. What has begun to update goes on.
TENON_INLINE void executor::tell_to_end(bool at_deadline) noexcept {
    if (!is_told_to_end()) return;
    const locked lock(guard_);
    if (!endless_in_ || !(at_deadline ? endless_in_->late() && endless_in_->stop() : endless_in_->stopped())) return;
    failed(nowhere, at_deadline ? failure_of([&]() -> deadline_exceeded_error {
               exceed_limit(*endless_in_, "it was computing");
           })
                                : failure_of([&] { return detail::stopped_error(*e_.in); }));
    for (const auto& [kernel, told] : endless_) kernel->tell_to_end(told);
}

TENON_INLINE bool executor::expire() noexcept {
    {
        locked lock(guard_);
        if (asking_) {
            return stop_asking(thrown_by([&] { detail::exceed_limit(e_, f_.variables.asks_for()); }), lock);
        }
    }
    for (const worker& w : p_.streams) p_.streams_of(w).ask_again();
    tell_to_end(true);
    return stopped();
}

// Before the first update, or before streams are given anything: what would fail between the first and the last, of what is known then.
TENON_INLINE void executor::check_first() const {
    const auto check = [&](std::size_t s, auto what) {
        try {
            what(*p_.operations[s].kernel, f_.runs[s]);
        } catch (...) {
            p_.rethrow_with_place(std::current_exception(), s);
        }
    };
    for (const std::size_t s : p_.needed_values)
        if (!f_.out[p_.out_begin[s]]) check(s, [](kernel& k, const kernel_run& r) { k.run(r); }); // which says so
    const auto ask = [](const kernel& k, const kernel_run& r) { k.check(r); };
    for (const std::size_t s : p_.checked_first) check(s, ask);
    for (const std::size_t s : p_.value_checked)
        if (!f_.runs[s].in[0]) check(s, ask);
}

// Before operation s, which writes: from here on nothing stops the step.
TENON_INLINE void executor::commit(const tenon::step& in, std::size_t s) const {
    if (in.committed()) return;
    if (in.late()) exceed_limit(in, p_.awaited_in(s));
    if (!in.commit()) throw detail::stopped_error(in);
}

TENON_INLINE void executor::run_in_order(const run_environment& e, std::size_t first, std::size_t last) {
    if (first == last) return;
    const deferred_flush::running running;
    const bool plain = !e.traced && !p_.check_numerics && !p_.measured && !e.stoppable() && !e.taker;
    std::size_t s = first;
    try {
        if (plain) {
            thread_pool* const pool = e.pool();
            const auto run = [&] {
                kernel_run& r = f_.runs[s];
                r.pool = pool;
                r.step = e.in;
                p_.operations[s].kernel->run(r);
            };
            if (!takes_long()) {
                for (; s < last; ++s) run();
            } else { // it may end with its session; what it has committed it does as a whole
                const auto ended = [&] { return e.in->stopped(); };
                const stop_scope stop(ended);
                try {
                    auto rows = p_.first_row_run(s);
                    for (; s < last; ++s) {
                        if (ended()) throw detail::stopped_error(*e.in);
                        if (pool && rows != p_.row_runs().end() && rows->first == s && rows->end() <= last)
                            run_rows(*rows++, e, s);
                        else run();
                    }
                } catch (const cancelled_error&) {
                    if (ended()) throw detail::stopped_error(*e.in);
                    throw;
                }
            }
        } else {
            for (; s < last; ++s) run_operation(s, e);
        }
    } catch (...) {
        for (std::size_t done = first; done < s; ++done) f_.set_written(p_.operations[done]);
        p_.rethrow_with_place(std::current_exception(), s);
    }
}

// Each thread goes through all of them with its shares. Where some fail, the first operation that does is told of, by the first share.
TENON_INLINE void executor::run_rows(const row_run& rows, const run_environment& e, std::size_t& s) {
    std::mutex mutex;
    std::pair<std::size_t, std::int64_t> failed{rows.end(), 0};
    std::exception_ptr why;
    for (std::size_t at = rows.first; at < rows.end(); ++at) f_.runs[at].step = e.in;
    const auto run_share = [&](std::int64_t share) {
        std::size_t at = rows.first;
        try {
            for (row_kernel* const k : rows.kernels) k->run_share(f_.runs[at++], static_cast<int>(share));
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (std::pair now(at - 1, share); now < failed) {
                failed = now;
                why = std::current_exception();
            }
        }
    };
    try {
        e.pool()->parallel_for(rows.shares, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t share = begin; share < end; ++share) run_share(share);
        });
        if (why) std::rethrow_exception(why);
        for (std::size_t k = 0; k < rows.kernels.size(); ++k) rows.kernels[k]->finish(f_.runs[rows.first + k]);
    } catch (...) {
        for (std::size_t at = rows.first; at < rows.end(); ++at) f_.set_written(p_.operations[at]);
        if (why) s = failed.first;
        throw;
    }
    s = rows.end() - 1;
}

TENON_INLINE void executor::run_operation(std::size_t s, const run_environment& e) {
    const operation& op = p_.operations[s];
    kernel_run& r = f_.runs[s];
    r.pool = e.pool();
    r.step = e.in;
    const auto now = [&] { return e.in->now().time_since_epoch() / std::chrono::nanoseconds(1); };
    const auto over = [&] { return e.in->stopped() || e.in->late(); };
    const auto give_up = [&] {
        if (e.in->stopped()) throw detail::stopped_error(*e.in);
        exceed_limit(*e.in, "it was waiting for");
    };
    const bool timed = e.traced || e.measured;
    const std::int64_t begin = timed ? now() : 0;
    if (e.stoppable()) {
        try {
            const auto wanted_no_more = [&] { return !op.writes && over(); };
            const stop_scope stop(wanted_no_more);
            op.kernel->run(r);
        } catch (const cancelled_error&) {
            if (over()) give_up();
            throw;
        }
    } else op.kernel->run(r);
    f_.set_written(op);
    if (e.stoppable() && over()) give_up();
    if (timed) record(s, e, begin, now());
    if (p_.check_numerics) check_numerics(s);
    if (e.taker)
        for (const int fetch : op.fetches) e.taker->fetched(static_cast<std::size_t>(fetch));
}

TENON_INLINE void executor::record(std::size_t s, const run_environment& e, std::int64_t begin,
                                   std::int64_t end) const {
    const operation& op = p_.operations[s];
    const program_item& it = p_.item(s);
    if (e.traced)
        e.traced->add({.name = op.copies ? any_tensor(p_.whole.value(it.outputs[0]).origin).name() : op.origin->name,
                       .op = p_.op_of(s),
                       .row = p_.row_of(s, *e.traced),
                       .task = tenon::detail::traced_task(p_.device_at(op.device).full_name()),
                       .begin = begin,
                       .end = end,
                       .bytes = op.bytes});
    if (!e.measured || !p_.measured) return;
    const auto kind_of = [&](int device) { return timed_on(p_.device_at(device).attributes()); };
    if (op.copies)
        e.measured->add_transfer(kind_of(p_.whole.value(p_.whole.root(it.inputs[0])).device), kind_of(it.device),
                                 op.bytes, end - begin);
    else e.measured->add_kernel(kind_of(it.device), op.timed, end - begin);
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
TENON_INLINE void executor::check_sources(const any_array* const* feeds) const {
    for (const int s : p_.sources) {
        const program_value& v = p_.whole.value(s);
        const any_array& value = v.feed >= 0 ? *feeds[v.feed] : *v.constant;
        const std::int64_t bad = detail::first_not_finite(v.type, value.data());
        if (bad >= 0)
            throw invalid_argument_error("check_numerics: element " + std::to_string(bad) + " of " +
                                         (v.feed >= 0 ? "what is fed for " : "the constant ") +
                                         any_tensor(v.origin).name() + ", " + to_string(v.type) +
                                         ", is not a finite number");
    }
}

TENON_INLINE void executor::check_numerics(std::size_t s) const {
    const number_list& outputs = p_.item(s).outputs;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        const tensor_type& t = p_.whole.value(outputs[o]).type;
        const void* data = f_.out[p_.out_begin[s] + o];
        if (!data) continue;
        any_array on_host;
        if (p_.operations[s].by.stream >= 0 && t.element != element_type::string) {
            on_host = any_array(t.element, t.extents);
            p_.device_at(p_.operations[s].device).copy_to_host(on_host.data(), data, on_host.bytes());
            data = on_host.data();
        }
        const std::int64_t bad = detail::first_not_finite(t, data);
        if (bad >= 0)
            throw invalid_argument_error("check_numerics: element " + std::to_string(bad) + " of output " +
                                         std::to_string(o) + ", " + to_string(t) +
                                         ", is the first in this step that is not a finite number");
    }
}

} // namespace tenon::runtime

#include <tenon/runtime/run/executor_graph.inl>
