#pragma once

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/core/device_name.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/runtime/trace/trace.hpp>
#include <tenon/runtime/trace/trace_clocks.hpp>
#include <tenon/runtime/trace/trace_record.hpp>

namespace tenon {

namespace detail {

/// The numbers of threads, as they come. Thread-safe.
class thread_numbers {
public:
    int of_this_thread() {
        const std::lock_guard lock(guard_);
        return all_.try_emplace(std::this_thread::get_id(), static_cast<int>(all_.size())).first->second;
    }

private:
    std::mutex guard_; // of what follows
    std::map<std::thread::id, int> all_;
};

inline thread_numbers& numbers_of_process() {
    static auto& all = *new thread_numbers;
    return all;
}

} // namespace detail

struct trace::state {
    // An event, and its step.
    struct kept {
        detail::trace_record::event e;
        std::uint64_t step = 0;
    };
    struct kept_order {
        detail::trace_record::order o;
        std::uint64_t step = 0;
    };
    // The same by this process's clock.
    struct shown {
        const kept* of = nullptr;
        std::int64_t begin = 0, end = 0;
        std::int64_t error = 0; // of these times
    };

    explicit state(const trace_options& o) : options(o) { (void)number_of({}); }

    const trace_options options;
    detail::thread_numbers own_threads;
    mutable std::mutex guard; // of what follows
    std::vector<kept> events;
    std::vector<kept_order> orders;
    std::vector<std::string> texts;
    std::unordered_map<std::string, std::uint32_t> numbers; // of texts
    std::size_t text_bytes = 0;
    std::uint64_t dropped = 0;

    // The caller holds the guard here and below.
    bool has_room_for(const std::string& text) const {
        return text_bytes + text.size() <= options.most_text_bytes || numbers.contains(text);
    }
    std::uint32_t number_of(const std::string& text) {
        const auto [at, is_new] = numbers.try_emplace(text, static_cast<std::uint32_t>(texts.size()));
        if (is_new) {
            texts.push_back(text);
            text_bytes += text.size();
        }
        return at->second;
    }
    template <class... Texts> bool take_room(const Texts&... of_event) {
        if (events.size() < options.most_events && (has_room_for(of_event) && ...)) return true;
        ++dropped;
        return false;
    }
    const std::string& text(std::uint32_t number) const { return texts[number]; }
    bool has_several_tasks() const {
        return std::any_of(events.begin(), events.end(),
                           [&](const kept& k) { return k.e.task != events.front().e.task; });
    }

    // A value's send and receive, as places in `events`; -1: there is none.
    struct crossing {
        std::int64_t send = -1, receive = -1;
    };
    std::map<std::pair<std::uint64_t, std::int64_t>, crossing> crossings() const {
        std::map<std::pair<std::uint64_t, std::int64_t>, crossing> all;
        for (std::size_t i = 0; i < events.size(); ++i) {
            const kept& k = events[i];
            if (k.e.goes == trace_event::way::none) continue;
            crossing& c = all[{k.step, k.e.edge}];
            (k.e.goes == trace_event::way::send ? c.send : c.receive) = static_cast<std::int64_t>(i);
        }
        return all;
    }
    std::vector<shown> aligned(const std::map<std::pair<std::uint64_t, std::int64_t>, crossing>& values) const {
        detail::trace_clocks clocks;
        for (const kept_order& k : orders)
            clocks.before(k.step, k.o.earlier_clock, k.o.earlier, k.o.later_clock, k.o.later);
        for (const auto& [which, c] : values) {
            if (c.send < 0 || c.receive < 0) continue;
            const auto &s = events[static_cast<std::size_t>(c.send)].e,
                       &r = events[static_cast<std::size_t>(c.receive)].e;
            clocks.before(which.first, s.clock, s.begin, r.clock, r.end);
        }
        clocks.solve();
        std::vector<shown> all;
        all.reserve(events.size());
        for (const kept& k : events) {
            const detail::clock_offset by = clocks.of(k.step, k.e.clock);
            all.push_back({&k, k.e.begin - by.ahead, k.e.end - by.ahead, by.error});
        }
        return all;
    }

    class drawing; // in trace_json.inl, as is
    std::string picture() const;
};

TENON_INLINE trace::trace() : trace(trace_options{}) {}
TENON_INLINE trace::trace(const trace_options& o) : state_(new state(o)) {}
TENON_INLINE trace::~trace() = default;

TENON_INLINE int trace::number_of_this_thread() {
    return (state_->options.threads_of_process ? detail::numbers_of_process() : state_->own_threads).of_this_thread();
}

TENON_INLINE void trace::add(const trace_event& e) {
    const std::lock_guard lock(state_->guard);
    state& s = *state_;
    if (!s.take_room(e.name, e.op, e.row, e.task)) return;
    s.events.push_back({{s.number_of(e.name), s.number_of(e.op), s.number_of(e.row), s.number_of(e.task), 0, e.begin,
                         e.end, e.goes, e.edge, e.bytes},
                        e.step});
}

TENON_INLINE std::size_t trace::size() const {
    const std::lock_guard lock(state_->guard);
    return state_->events.size();
}

TENON_INLINE std::uint64_t trace::dropped() const {
    const std::lock_guard lock(state_->guard);
    return state_->dropped;
}

TENON_INLINE void trace::each(function_ref<void(const trace_event&)> f) const {
    const std::lock_guard lock(state_->guard);
    const state& s = *state_;
    for (const state::shown& a : s.aligned(s.crossings())) {
        const detail::trace_record::event& e = a.of->e;
        f({s.text(e.name), s.text(e.op), s.text(e.row), s.text(e.task), a.begin, a.end, e.goes, a.of->step, e.edge,
           e.bytes});
    }
}

TENON_INLINE detail::trace_record trace::record(std::int64_t began, std::int64_t ended) const {
    const std::lock_guard lock(state_->guard);
    detail::trace_record r{.texts = state_->texts};
    for (const state::kept& k : state_->events) r.events.push_back(k.e);
    for (const state::kept_order& k : state_->orders) r.orders.push_back(k.o);
    r.began = began;
    r.ended = ended;
    r.dropped = state_->dropped;
    return r;
}

TENON_INLINE void trace::add(const detail::trace_record& r, const std::string& own_clock, std::uint64_t step,
                             std::int64_t asked, std::int64_t came) {
    check(r);
    const std::lock_guard lock(state_->guard);
    state& s = *state_;
    s.dropped += r.dropped;
    // Events that no clock is known of would stand anywhere.
    bool has_room = s.orders.size() + r.orders.size() + 2 <= s.options.most_events && s.has_room_for(own_clock);
    const auto clock_of = [&](std::uint32_t clock) -> const std::string& {
        return r.texts[clock].empty() ? own_clock : r.texts[clock];
    };
    for (const detail::trace_record::order& o : r.orders)
        has_room = has_room && s.has_room_for(clock_of(o.earlier_clock)) && s.has_room_for(clock_of(o.later_clock));
    if (!has_room) {
        s.dropped += r.events.size();
        return;
    }
    const std::uint32_t there = s.number_of(own_clock);
    s.orders.push_back({{0, there, asked, r.began}, step});
    s.orders.push_back({{there, 0, r.ended, came}, step});
    for (const detail::trace_record::order& o : r.orders)
        s.orders.push_back(
            {{s.number_of(clock_of(o.earlier_clock)), s.number_of(clock_of(o.later_clock)), o.earlier, o.later}, step});
    for (const detail::trace_record::event& e : r.events) {
        const std::string &name = r.texts[e.name], &op = r.texts[e.op], &row = r.texts[e.row], &task = r.texts[e.task],
                          &clock = clock_of(e.clock);
        if (!s.take_room(name, op, row, task, clock)) continue;
        s.events.push_back({{s.number_of(name), s.number_of(op), s.number_of(row), s.number_of(task),
                             s.number_of(clock), e.begin, e.end, e.goes, e.edge, e.bytes},
                            step});
    }
}

TENON_INLINE std::string trace::to_text() const {
    const std::lock_guard lock(state_->guard);
    const state& s = *state_;
    std::vector<state::shown> sorted = s.aligned(s.crossings());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    const bool several = s.has_several_tasks();
    const auto row_of = [&](const state::shown& a) {
        const std::string& task = s.text(a.of->e.task);
        return (several && !task.empty() ? task + " " : "") + s.text(a.of->e.row);
    };
    std::size_t width = 3;
    for (const auto& a : sorted) width = std::max(width, row_of(a).size());
    const auto padded = [&](const std::string& row) { return row + std::string(width - row.size() + 2, ' '); };
    std::string text = "     begins       takes  " + padded("row") + "node (op)\n";
    for (const auto& a : sorted) {
        char times[64];
        std::snprintf(times, sizeof times, "%11.2f %11.2f  ",
                      static_cast<double>(a.begin - sorted.front().begin) / 1000,
                      static_cast<double>(a.end - a.begin) / 1000);
        text += times + padded(row_of(a)) + s.text(a.of->e.name) + " (" + s.text(a.of->e.op) + ")\n";
    }
    if (s.dropped > 0) text += std::to_string(s.dropped) + " more events were not kept\n";
    return text;
}

TENON_INLINE std::string trace::to_json() const {
    const std::lock_guard lock(state_->guard);
    return state_->picture();
}

TENON_INLINE void trace::save(const std::string& path) const { detail::text_to_file("trace::save", path, to_json()); }

TENON_INLINE std::string detail::traced_task(const device_name& full) {
    if (full.job.empty() || full.task < 0 || (full.job == "localhost" && full.task == 0)) return {};
    return "/job:" + full.job.str() + "/task:" + std::to_string(full.task);
}

} // namespace tenon

#include <tenon/runtime/trace/trace_json.inl>
