#pragma once

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <utility>

#include <tenon/concurrency/stop_scope.hpp>
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/runtime/run/frame.hpp>

namespace tenon::runtime {

TENON_INLINE frame::frame(const executable& p, shared_arenas* shared) :
    variables(p.variables), p_(p), shared_(shared), pointed_(p.variables.size()) {
    in.resize(p.in_begin.back());
    out.resize(p.out_begin.back());
    for (std::size_t s = 0; s < p.size(); ++s)
        runs.push_back({in.data() + p.in_begin[s], out.data() + p.out_begin[s], nullptr, nullptr});
    make_arenas();
    try {
        point_into_arenas(true);
        if (!p.has_streams()) return;
        events.resize(p.size());
        told.resize(p.size());
        for (const int number : p.on_streams) {
            const auto s = static_cast<std::size_t>(number);
            const executable::operation& op = p.operations[s];
            if (const std::size_t bytes = op.kernel->told_bytes(); bytes > 0) {
                told[s] = p.device_at(op.device).streams()->told_memory(bytes);
                runs[s].told = told[s].get();
            }
            const bool is_between = p.at_once && p.at_once->given[s];
            if (op.awaited || is_between) events[s] = p.streams_of(op.by).make_event();
        }
        for (const worker& w : p.streams) ends.push_back(p.streams_of(w).make_event());
        if (p.at_once && p.at_once->parts.size() > 1)
            for (std::size_t n = 0; n < p.at_once->parts.size(); ++n)
                part_ends.push_back(p.device_at(p.at_once->devices[0]).streams()->make_event());
    } catch (...) {
        give_arenas();
        throw;
    }
}

TENON_INLINE void frame::make_arenas() {
    const auto make = [&](std::size_t d, const auto& take) {
        try {
            take();
        } catch (const resource_exhausted_error& e) {
            throw resource_exhausted_error("no memory for this step: " + std::string(e.what()) +
                                           "; the largest tensors:" + p_.largest_holders(d) +
                                           "\nfeed smaller batches, or use a device with more memory");
        }
    };
    if (shared_) return make(0, [&] { taken_ = shared_->take(); });
    arenas_.resize(p_.devices.size());
    for (std::size_t d = 0; d < p_.devices.size(); ++d)
        if (const std::size_t bytes = p_.scheduled.memory.devices[d].arena_bytes; bytes > 0)
            make(d, [&] { arenas_[d] = device_memory(*p_.devices[d], bytes); });
}

TENON_INLINE void frame::take_arenas() {
    if (!shared_) return;
    make_arenas();
    point_into_arenas(false);
}
TENON_INLINE void frame::give_arenas() noexcept {
    if (taken_) shared_->give(std::move(taken_));
}

// Where they are others than those that it had before.
TENON_INLINE void frame::point_into_arenas(bool first) {
    const std::vector<device_memory>& arenas = taken_ ? taken_->memory : arenas_;
    arenas_before_.resize(arenas.size());
    bool moved = first;
    for (std::size_t d = 0; d < arenas.size(); ++d)
        moved = std::exchange(arenas_before_[d], arenas[d].data()) != arenas[d].data() || moved;
    if (!moved) return;
    const auto arena = [&](int d) { return static_cast<std::byte*>(arenas[static_cast<std::size_t>(d)].data()); };
    const auto point_to = [&](int v, const void* was) -> const void* {
        const location& p = p_.scheduled.memory.locations[static_cast<std::size_t>(v)];
        const int root = p_.whole.root(v), device = p_.whole.value(root).device;
        const tensor_type& t = p_.whole.value(root).type;
        if (p.where == location::kind::arena && t.element != element_type::string) return arena(device) + p.offset;
        if (!first) return was;
        if (p.where == location::kind::arena)
            return texts_.try_emplace(root, element_type::string, t.extents).first->second.data();
        return p_.fixed_address(v);
    };
    for (std::size_t s = 0, i = 0, o = 0; s < p_.size(); ++s) {
        const program_item& it = p_.item(s);
        for (std::size_t k = 0; k < it.inputs.size(); ++k, ++i)
            if (it.read[k]) in[i] = point_to(it.inputs[k], in[i]);
        for (std::size_t k = 0; k < it.outputs.size(); ++k, ++o)
            if (p_.wanted[o]) out[o] = const_cast<void*>(point_to(it.outputs[k], out[o]));
        runs[s].scratch = arena(p_.operations[s].device) + p_.scheduled.memory.scratch[s];
    }
}

TENON_INLINE void frame::patch(const any_array* const* feeds, any_array* fetched_here) {
    for (const executable::patch& p : p_.feed_in) in[p.slot] = feeds[p.index]->data();
    for (std::size_t f = 0; f < p_.fetch_types.size(); ++f) {
        if (p_.lent[f]) continue;
        const tensor_type& t = p_.fetch_types[f];
        try {
            fetched_here[f] = any_array(t.element, t.extents);
        } catch (const resource_exhausted_error& error) {
            throw resource_exhausted_error("no memory for what is fetched of " +
                                           any_tensor(p_.whole.fetched[f]).name() + ", " + to_string(t) + ": " +
                                           error.what());
        }
    }
    for (const executable::patch& p : p_.fetch_out) out[p.slot] = fetched_here[p.index].data();
    for (const executable::patch& p : p_.fetch_in) in[p.slot] = fetched_here[p.index].data();
    fetched = fetched_here;
}

TENON_INLINE void frame::lend_variables(fetch_taker* taker) {
    for (const executable::loan& l : p_.loans) {
        fetched[l.fetch] = l.shares < 0 ? variables.lend(l.variable, l.lender) : fetched[l.shares].share();
        if (fetched[l.fetch] && taker) taker->fetched(l.fetch);
    }
}

// In most steps values lie where they lay.
TENON_INLINE void frame::point(memory_of which) {
    const auto [reads, updates] = std::pair(which == memory_of::before, which == memory_of::after);
    const auto at = static_cast<std::size_t>(which);
    for (std::size_t v = 0; v < pointed_.size(); ++v) {
        const void* const to = reads ? variables.before(v) : updates ? variables.after(v) : variables.current(v);
        if (pointed_[v][at] != to) point(which, v, to);
    }
}
TENON_INLINE void frame::point(memory_of which, std::size_t variable, const void* to) {
    pointed_[variable][static_cast<std::size_t>(which)] = to;
    const std::vector<std::size_t>& first = p_.pointed[static_cast<std::size_t>(which)];
    for (std::size_t p = first[variable]; p < first[variable + 1]; ++p) {
        const executable::variable_pointer& at = p_.pointers[p];
        if (at.is_output) out[at.slot] = const_cast<void*>(to);
        else in[at.slot] = to;
    }
}

namespace detail {

// Once for each step that is planned, and seldom enough to be read: it costs time alone, of which nobody would know the reason.
inline void say_not_recorded(const executable& p, const std::exception_ptr& why) noexcept {
    constexpr int most = 16;
    static std::atomic<int> said{0};
    if (said.fetch_add(1, std::memory_order_relaxed) >= most) return;
    const auto say = [&](const char* reason) {
        std::fprintf(
            stderr,
            "tenon: the step that ends with \"%s\" on a GPU could not be recorded and runs slower; it is tried "
            "again later, and session::report counts how often: %s\n",
            p.op(p.on_streams.back()).origin->name.c_str(), reason);
    };
    try {
        std::rethrow_exception(why);
    } catch (const std::exception& e) {
        say(e.what());
    } catch (...) {
        say("what a kernel threw is no std::exception");
    }
}

// Large ones by several threads: one alone has a part of what the memory gives.
inline void copy_staged(void* to, const void* from, std::size_t bytes, thread_pool* pool) {
    constexpr std::size_t worth_threads = std::size_t{1} << 20, grain = std::size_t{256} << 10;
    if (!pool || bytes < worth_threads) {
        std::memcpy(to, from, bytes);
        return;
    }
    const auto never = [] { return false; };
    const stop_scope as_a_whole(never); // whoever else wants to stop what this thread does
    pool->parallel_for(static_cast<std::int64_t>(bytes), grain, [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                    static_cast<std::size_t>(end - begin));
    });
}

} // namespace detail

TENON_INLINE const frame::recorded_parts* frame::recording_of(const tenon::step& in_step) noexcept {
    // Libraries make what they keep in the first run; what is made while a stream is recorded would be in its way.
    if (!has_run_) return nullptr;
    ++runs_;
    const recorded_parts* found = nullptr;
    try {
        found = find_or_record(in_step);
    } catch (...) { // it says itself what is wrong when it runs, or is fine there
        failed_to_record(std::current_exception());
    }
    if (!found) recording_counters::count(p_.at_once->recordings.given_again);
    return found;
}

TENON_INLINE const frame::recorded_parts* frame::find_or_record(const tenon::step& in_step) {
    for (const int s : p_.at_once->not_recorded) // some are later, when they have been compiled
        if (!p_.op(s).kernel->may_be_recorded()) return nullptr;
    constexpr std::size_t most_kept = 4;
    constexpr std::uint64_t trials = 8;
    recorded_pointers_.clear();
    for (const auto& [variable, which] : p_.at_once->pointers) {
        const void* const to = pointed_[variable][static_cast<std::size_t>(which)];
        if (!to) return nullptr; // a kernel says that it has no value
        recorded_pointers_.push_back(to);
    }
    const auto found = std::find_if(recordings_.begin(), recordings_.end(),
                                    [&](const auto& r) { return r.pointers == recorded_pointers_; });
    if (found != recordings_.end()) {
        std::rotate(recordings_.begin(), found, found + 1);
        return &recordings_.front().parts;
    }
    if (runs_ < records_from_) return nullptr;
    if (recorded_ > trials && replayed_ < 3 * recorded_) return nullptr; // variables always lie elsewhere
    recorded_parts other;
    if (recordings_.size() == most_kept) {
        other = std::move(recordings_.back().parts);
        recordings_.pop_back();
    }
    recorded_parts made = record(in_step, std::move(other));
    if (made.empty()) { // these streams do not record
        records_from_ = ~std::uint64_t{0};
        return nullptr;
    }
    ++recorded_;
    recording_counters::count(p_.at_once->recordings.recorded);
    recordings_.insert(recordings_.begin(), recording{recorded_pointers_, std::move(made)});
    return &recordings_.front().parts;
}

TENON_INLINE void frame::replayed() noexcept {
    ++replayed_;
    recording_counters::count(p_.at_once->recordings.replayed);
}
TENON_INLINE void frame::failed_to_replay(const std::exception_ptr& why) noexcept {
    recordings_.erase(recordings_.begin());
    recording_counters::count(p_.at_once->recordings.given_again);
    failed_to_record(why);
}

// What was in its way, another thread that waited for the whole device, say, may be gone later. Each trial takes the time of some steps:
// there are fewer and fewer.
TENON_INLINE void frame::failed_to_record(const std::exception_ptr& why) noexcept {
    constexpr std::uint64_t first_distance = 8;
    constexpr int doublings = 12;
    records_from_ = runs_ + (first_distance << std::min(failures_++, doublings));
    recording_counters& all = p_.at_once->recordings;
    if (all.failed.fetch_add(1, std::memory_order_relaxed) == 0) not_recorded_ = why;
}

// A step that fails says itself what is wrong: that the card is lost, say.
TENON_INLINE void frame::ended(bool well) noexcept {
    has_run_ = has_run_ || well;
    if (const std::exception_ptr why = std::exchange(not_recorded_, nullptr); why && well)
        detail::say_not_recorded(p_, why);
}

TENON_INLINE frame::recorded_parts frame::record(const tenon::step& in_step, recorded_parts other) {
    recorded_parts made;
    for (const executable::streams_work::part& p : p_.at_once->parts) {
        if (!p.is_recorded) continue;
        made.push_back(record(in_step, p, made.size() < other.size() ? std::move(other[made.size()]) : nullptr));
        if (!made.back()) return {};
    }
    return made;
}

TENON_INLINE std::unique_ptr<recorded_work> frame::record(const tenon::step& in_step,
                                                          const executable::streams_work::part& part,
                                                          std::unique_ptr<recorded_work> other) {
    const executable::streams_work& all = *p_.at_once;
    std::vector<device_streams*> streams;
    for (const int d : all.devices) streams.push_back(p_.device_at(d).streams());
    if (!staged_ && all.staged_bytes > 0) staged_ = streams[0]->told_memory(all.staged_bytes);
    const auto recorder = streams[0]->begin_recording(streams);
    if (!recorder) return nullptr;
    const std::span<const int> own_operations = std::span(p_.on_streams).subspan(part.first, part.last - part.first);
    const auto staged = [](const std::vector<executable::staged_copy>& copies, std::size_t s) {
        const auto c =
            std::partition_point(copies.begin(), copies.end(), [&](const auto& o) { return o.operation < s; });
        return c != copies.end() && c->operation == s ? c : copies.end(); // they lie in the order of operations
    };
    std::vector<int> before;
    int own = -1; // the last kernel of the program's own: what those share is theirs to know
    for (const int number : own_operations) {
        const auto s = static_cast<std::size_t>(number);
        const executable::operation& op = p_.operations[s];
        const auto stream = static_cast<device_streams::stream>(op.by.stream);
        recorder->at(static_cast<std::size_t>(std::find(all.devices.begin(), all.devices.end(), op.by.device) -
                                              all.devices.begin()));
        before.clear();
        for (const int b : p_.scheduled.waits_for[s])
            if (p_.op(b).line >= 0 && b >= own_operations.front()) before.push_back(b); // parts follow one another
        if (p_.item(s).op->gpu)
            if (const int last = std::exchange(own, number); last >= 0) before.push_back(last);
        recorder->after(before);
        try {
            for (const int w : op.waits)
                if (w >= own_operations.front()) recorder->wait(stream, w);
            if (op.copies) {
                void* to = out[p_.out_begin[s]];
                const void* from = in[p_.in_begin[s]];
                if (const auto c = staged(all.in, s); c != all.in.end()) from = staged_.get() + c->offset;
                if (const auto c = staged(all.out, s); c != all.out.end()) to = staged_.get() + c->offset;
                recorder->copy(stream, to, from, op.bytes, number);
            } else {
                runs[s].step = &in_step;
                recorder->launch(stream, *op.kernel, runs[s], p_.in_begin[s + 1] - p_.in_begin[s],
                                 p_.out_begin[s + 1] - p_.out_begin[s], number);
            }
            if (op.awaited) recorder->mark(stream, number);
        } catch (...) {
            p_.rethrow_with_place(std::current_exception(), s);
        }
    }
    return recorder->end(std::move(other));
}

TENON_INLINE void frame::stage_in(thread_pool* pool) const {
    for (const executable::staged_copy& c : p_.at_once->in)
        detail::copy_staged(staged_.get() + c.offset, in[c.slot], c.bytes, pool);
}
TENON_INLINE void frame::stage_out(thread_pool* pool) const {
    for (const executable::staged_copy& c : p_.at_once->out)
        detail::copy_staged(out[c.slot], staged_.get() + c.offset, c.bytes, pool);
}

} // namespace tenon::runtime
