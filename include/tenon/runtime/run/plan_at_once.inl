#pragma once

// A part of run/plan.ipp: steps that give one device's streams all they do at once, and what of that is recorded and given again.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>

#include <tenon/concurrency/stop_scope.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/memory/memory_pool.hpp>
#include <tenon/ops/state/control.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::runtime {

// Streams of one device, kernels among what they do, and none of it that the host waits for in the middle.
TENON_INLINE bool plan::may_be_at_once() const {
    constexpr std::size_t worth_it = 2; // operations
    if (check_numerics_ || on_streams_.size() < worth_it) return false;
    const int device = streams_.front().by.device;
    const auto is_elsewhere = [&](int d) { return d != device && devices_[static_cast<std::size_t>(d)]->streams(); };
    bool any_kernel = false;
    for (const int s : on_streams_) {
        const operation& op = operations_[static_cast<std::size_t>(s)];
        const program_item& it = program_.item(schedule_.order[static_cast<std::size_t>(s)]);
        const auto is_on_stream = [&](int n) { return operations_[static_cast<std::size_t>(n)].line >= 0; };
        if (op.by.device != device || is_elsewhere(it.device) ||
            std::any_of(op.then.begin(), op.then.end(), is_on_stream))
            return false;
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            if (it.read[k] && is_elsewhere(program_.value(program_.root(it.inputs[k])).device)) return false;
        any_kernel = any_kernel || op.by.stream == device_streams::compute;
    }
    // What the host does before or after must be short: otherwise it would do it beside the streams.
    constexpr double is_short = 5e4; // ns
    double cost = 0;
    std::vector<char> after(operations_.size()), before(operations_.size());
    for (std::size_t s = 0; s < operations_.size(); ++s)
        for (const int b : schedule_.waits_for[s])
            after[s] =
                after[s] || after[static_cast<std::size_t>(b)] || operations_[static_cast<std::size_t>(b)].line >= 0;
    for (std::size_t s = operations_.size(); s-- > 0;)
        for (const int b : schedule_.waits_for[s])
            if (before[s] || operations_[s].line >= 0) before[static_cast<std::size_t>(b)] = 1;
    for (std::size_t s = 0; s < operations_.size(); ++s) {
        if (operations_[s].line >= 0) continue;
        if (before[s] && after[s]) return false;
        if (before[s] || after[s]) cost += operations_[s].cost;
    }
    return any_kernel && cost < is_short;
}

TENON_INLINE void plan::plan_work_at_once() {
    if (streams_.empty() || !may_be_at_once()) return;
    constexpr std::size_t most_staged = std::size_t{64} << 20;
    auto all = std::make_unique<streams_work>();
    for (std::size_t s = 0; s < operations_.size(); ++s) {
        operation& op = operations_[s];
        const program_item& it = program_.item(schedule_.order[s]);
        if (op.line >= 0) {
            if (op.kernel->told_bytes() > 0) all->told.push_back(static_cast<int>(s));
            if (!op.kernel->may_be_recorded()) all->not_recorded.push_back(static_cast<int>(s));
            if (it.op != &transfer_definition || op.bytes == 0) continue;
            const bool in = op.by.stream == device_streams::copies_in;
            const int from = program_.value(program_.root(it.inputs[0])).producer;
            if (in && from >= 0) { // what the streams have made is copied after the host has staged what they read
                const auto at = std::find(schedule_.order.begin(), schedule_.order.end(), from);
                if (at != schedule_.order.end() &&
                    operations_[static_cast<std::size_t>(at - schedule_.order.begin())].line >= 0)
                    return;
            }
            (in ? all->in : all->out).push_back({s, in ? in_begin_[s] : out_begin_[s], op.bytes, all->staged_bytes});
            all->staged_bytes +=
                (op.bytes + memory_pool::alignment - 1) / memory_pool::alignment * memory_pool::alignment;
            continue;
        }
        all->host.push_back(static_cast<int>(s));
        for (const int b : schedule_.waits_for[s]) op.host_before += operations_[static_cast<std::size_t>(b)].line < 0;
        const auto is_on_stream = [&](int b) { return operations_[static_cast<std::size_t>(b)].line >= 0; };
        const std::span<const int> waits = schedule_.waits_for[s];
        if (std::any_of(waits.begin(), waits.end(), is_on_stream)) {
            ++op.host_before;
            all->after.push_back(static_cast<int>(s));
        }
    }
    if (all->staged_bytes > most_staged) return;
    for (std::size_t s = 0; s < operations_.size(); ++s)
        for (const int b : schedule_.waits_for[s]) {
            operation& from = operations_[static_cast<std::size_t>(b)];
            if (from.line >= 0) continue;
            if (operations_[s].line < 0) from.host_then.push_back(static_cast<int>(s));
            else if (!std::exchange(from.before_streams, true)) ++all->before;
        }
    at_once_ = std::move(all);
    records_.store(true, std::memory_order_relaxed);
}

// After find_variables().
TENON_INLINE void plan::find_recorded_pointers() {
    if (!at_once_) return;
    const auto operation_of = [](const std::vector<std::size_t>& begins, std::size_t slot) {
        return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), slot) - begins.begin() - 1);
    };
    const auto is_staged = [](const std::vector<staged_copy>& all, std::size_t slot) {
        return std::any_of(all.begin(), all.end(), [&](const staged_copy& c) { return c.slot == slot; });
    };
    auto& pointers = at_once_->pointers;
    for (const variable_pointer& p : pointers_) { // by variable and which
        const std::size_t s = operation_of(p.is_output ? out_begin_ : in_begin_, p.slot);
        if (operations_[s].line < 0 || is_staged(p.is_output ? at_once_->out : at_once_->in, p.slot)) continue;
        if (const std::pair of(p.variable, p.which); pointers.empty() || pointers.back() != of) pointers.push_back(of);
    }
    for (const int s : on_streams_)
        if (const int v = operations_[static_cast<std::size_t>(s)].updates; v >= 0) at_once_->updates.push_back(v);
}

namespace detail {

// Once in the process: it costs time alone, of which nobody would know the reason.
inline void say_not_recorded(const char* why) noexcept {
    static std::atomic<bool> said{false};
    if (!said.exchange(true))
        std::fprintf(stderr, "tenon: a step on a GPU could not be recorded, and runs slower: %s\n", why);
}

} // namespace detail

// What was recorded with the pointers that the step has now: earlier, or now. nullptr: it is given as it is.
TENON_INLINE recorded_work* plan::recording_of(frame& f, const tenon::step& in) noexcept {
    // Libraries make what they keep in the first run; what is made while a stream is recorded would be in its way.
    if (!f.has_run || !records_.load(std::memory_order_relaxed)) return nullptr;
    for (const int s : at_once_->not_recorded) // some are later, when they have been compiled
        if (!operations_[static_cast<std::size_t>(s)].kernel->may_be_recorded()) return nullptr;
    constexpr std::size_t most_kept = 4;
    constexpr int trials = 8;
    auto& all = f.recordings;
    try {
        f.recorded_pointers.clear();
        for (const auto& [variable, which] : at_once_->pointers) {
            const void* const to = f.pointed[variable][static_cast<std::size_t>(which)];
            if (!to) return nullptr; // a kernel says that it has no value
            f.recorded_pointers.push_back(to);
        }
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const auto& r) { return r.pointers == f.recorded_pointers; });
        if (found != all.end()) {
            ++f.given_again;
            std::rotate(all.begin(), found, found + 1);
            return all.front().work.get();
        }
        if (f.recorded > trials && f.given_again < 2 * f.recorded) return nullptr; // variables always lie elsewhere
        ++f.recorded;
        std::unique_ptr<recorded_work> other;
        if (all.size() == most_kept) {
            other = std::move(all.back().work);
            all.pop_back();
        }
        auto made = record(f, in, std::move(other));
        if (made) {
            all.insert(all.begin(), {f.recorded_pointers, std::move(made)});
            return all.front().work.get();
        }
    } catch (const std::exception& e) { // it says itself what is wrong when it runs, or is fine there
        detail::say_not_recorded(e.what());
    } catch (...) {
        detail::say_not_recorded("what a kernel threw is no std::exception");
    }
    records_.store(false, std::memory_order_relaxed);
    return nullptr;
}

TENON_INLINE std::unique_ptr<recorded_work> plan::record(frame& f, const tenon::step& in,
                                                         std::unique_ptr<recorded_work> other) const {
    const line& first = streams_.front();
    device_streams& streams = *devices_[static_cast<std::size_t>(first.by.device)]->streams();
    if (!f.staged && at_once_->staged_bytes > 0) f.staged = streams.told_memory(at_once_->staged_bytes);
    const auto recorder = streams.begin_recording();
    if (!recorder) return nullptr;
    auto copy_in = at_once_->in.begin(), copy_out = at_once_->out.begin();
    std::vector<int> before;
    int own = -1; // the last kernel of the program's own: what those share is theirs to know
    for (const int number : on_streams_) {
        const auto s = static_cast<std::size_t>(number);
        const operation& op = operations_[s];
        const auto stream = static_cast<device_streams::stream>(op.by.stream);
        before.clear();
        for (const int b : schedule_.waits_for[s])
            if (operations_[static_cast<std::size_t>(b)].line >= 0) before.push_back(b);
        if (program_.item(schedule_.order[s]).op->gpu)
            if (const int last = std::exchange(own, number); last >= 0) before.push_back(last);
        recorder->after(before);
        for (const int w : op.waits) recorder->wait(stream, w);
        if (program_.item(schedule_.order[s]).op == &transfer_definition) {
            void* to = f.out[out_begin_[s]];
            const void* from = f.in[in_begin_[s]];
            if (copy_in != at_once_->in.end() && copy_in->operation == s) from = f.staged.get() + (copy_in++)->offset;
            if (copy_out != at_once_->out.end() && copy_out->operation == s) to = f.staged.get() + (copy_out++)->offset;
            recorder->copy(stream, to, from, op.bytes, number);
        } else {
            f.runs[s].step = &in;
            recorder->launch(*op.kernel, f.runs[s], in_begin_[s + 1] - in_begin_[s], out_begin_[s + 1] - out_begin_[s],
                             number);
        }
        if (op.awaited) recorder->mark(stream, number);
    }
    return recorder->end(std::move(other));
}

namespace detail {

// Large ones by several threads: one alone has a part of what the memory gives.
inline void copy_staged(void* to, const void* from, std::size_t bytes, thread_pool* pool) {
    constexpr std::size_t worth_threads = std::size_t{1} << 20, grain = std::size_t{256} << 10;
    if (!pool || bytes < worth_threads) {
        std::memcpy(to, from, bytes);
        return;
    }
    const auto never = [] { return false; };
    const stop_scope whole(never); // whoever else wants to stop what this thread does
    pool->parallel_for(static_cast<std::int64_t>(bytes), grain, [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                    static_cast<std::size_t>(end - begin));
    });
}

} // namespace detail

TENON_INLINE void plan::stage_in(frame& f, thread_pool* pool) const {
    for (const staged_copy& c : at_once_->in)
        detail::copy_staged(f.staged.get() + c.offset, f.in[c.slot], c.bytes, pool);
}
TENON_INLINE void plan::stage_out(frame& f, thread_pool* pool) const {
    for (const staged_copy& c : at_once_->out)
        detail::copy_staged(f.out[c.slot], f.staged.get() + c.offset, c.bytes, pool);
}

} // namespace tenon::runtime
