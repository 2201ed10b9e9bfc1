#pragma once

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/json_value.hpp>
#include <tenon/runtime/run/trace.hpp>

namespace tenon {

struct trace::state {
    struct event {
        std::string name, op, row;
        std::int64_t begin, end;
    };
    mutable std::mutex guard;
    std::vector<event> events;
    std::map<std::thread::id, int> threads;

    // When the first began; the caller holds the guard.
    std::int64_t start() const {
        std::int64_t first = events.empty() ? 0 : events.front().begin;
        for (const event& e : events) first = std::min(first, e.begin);
        return first;
    }
};

TENON_INLINE trace::trace() : state_(new state) {}
TENON_INLINE trace::~trace() = default;

TENON_INLINE int trace::number_of_this_thread() {
    const std::lock_guard lock(state_->guard);
    return state_->threads.try_emplace(std::this_thread::get_id(), static_cast<int>(state_->threads.size()))
        .first->second;
}

TENON_INLINE void trace::add(const std::string& name, const std::string& op, const std::string& row, std::int64_t begin,
                             std::int64_t end) {
    const std::lock_guard lock(state_->guard);
    state_->events.push_back({name, op, row, begin, end});
}

TENON_INLINE std::size_t trace::size() const {
    const std::lock_guard lock(state_->guard);
    return state_->events.size();
}

TENON_INLINE void trace::each(
    function_ref<void(const std::string&, const std::string&, const std::string&, std::int64_t, std::int64_t)> f)
    const {
    const std::lock_guard lock(state_->guard);
    for (const state::event& e : state_->events) f(e.name, e.op, e.row, e.begin, e.end);
}

TENON_INLINE std::string trace::to_text() const {
    const std::lock_guard lock(state_->guard);
    std::vector<state::event> sorted = state_->events;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    std::size_t width = 3;
    for (const auto& e : sorted) width = std::max(width, e.row.size());
    const auto padded = [&](const std::string& row) { return row + std::string(width - row.size() + 2, ' '); };
    std::string text = "     begins       takes  " + padded("row") + "node (op)\n";
    const std::int64_t start = state_->start();
    for (const auto& e : sorted) {
        char times[64];
        std::snprintf(times, sizeof times, "%11.2f %11.2f  ", static_cast<double>(e.begin - start) / 1000,
                      static_cast<double>(e.end - e.begin) / 1000);
        text += times + padded(e.row) + e.name + " (" + e.op + ")\n";
    }
    return text;
}

TENON_INLINE std::string trace::to_json() const {
    const std::lock_guard lock(state_->guard);
    using object = detail::json_value::object;
    detail::json_value::list events;
    const std::int64_t start = state_->start();
    std::map<std::string, int> rows; // in the order of their names
    for (const auto& e : state_->events) rows.emplace(e.row, 0);
    int number = 0;
    for (auto& [name, row] : rows) {
        row = number++;
        events.push_back(
            object{{"name", "thread_name"}, {"ph", "M"}, {"pid", 0}, {"tid", row}, {"args", object{{"name", name}}}});
    }
    for (const auto& e : state_->events) {
        events.push_back(object{{"name", e.name},
                                {"cat", e.op},
                                {"ph", "X"},
                                {"ts", static_cast<double>(e.begin - start) / 1000},
                                {"dur", static_cast<double>(e.end - e.begin) / 1000},
                                {"pid", 0},
                                {"tid", rows.at(e.row)},
                                {"args", object{{"op", e.op}}}});
    }
    return detail::json_text(object{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}}, 1);
}

TENON_INLINE void trace::save(const std::string& path) const {
    const std::string text = to_json();
    std::FILE* f = std::fopen(path.c_str(), "wb");
    const bool good = f && std::fwrite(text.data(), 1, text.size(), f) == text.size();
    if ((f && std::fclose(f) != 0) || !good) throw unavailable_error("trace: cannot write " + path);
}

} // namespace tenon
