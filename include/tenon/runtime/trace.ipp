#pragma once

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/runtime/trace.hpp>

namespace tenon {

struct trace::state {
    struct event {
        std::string name, op;
        int row;
        std::int64_t begin, end;
    };
    mutable std::mutex guard;
    std::vector<event> events;
    std::map<std::thread::id, int> rows;
};

TENON_INLINE trace::trace() : state_(new state) {}
TENON_INLINE trace::~trace() = default;

TENON_INLINE int trace::row_of_this_thread() {
    const std::lock_guard lock(state_->guard);
    return state_->rows.try_emplace(std::this_thread::get_id(), static_cast<int>(state_->rows.size())).first->second;
}

TENON_INLINE void trace::add(const std::string& name, const std::string& op, int row, std::int64_t begin,
                             std::int64_t end) {
    const std::lock_guard lock(state_->guard);
    state_->events.push_back({name, op, row, begin, end});
}

TENON_INLINE std::size_t trace::size() const {
    const std::lock_guard lock(state_->guard);
    return state_->events.size();
}

TENON_INLINE std::string trace::to_json() const {
    const std::lock_guard lock(state_->guard);
    nlohmann::json events = nlohmann::json::array();
    std::int64_t start = 0;
    for (const auto& e : state_->events) start = start == 0 ? e.begin : std::min(start, e.begin);
    std::map<int, bool> rows;
    for (const auto& e : state_->events) {
        if (!rows[e.row]) {
            rows[e.row] = true;
            events.push_back({{"name", "thread_name"},
                              {"ph", "M"},
                              {"pid", 0},
                              {"tid", e.row},
                              {"args", {{"name", "CPU:0 thread " + std::to_string(e.row)}}}});
        }
        events.push_back({{"name", e.name},
                          {"cat", e.op},
                          {"ph", "X"},
                          {"ts", static_cast<double>(e.begin - start) / 1000},
                          {"dur", static_cast<double>(e.end - e.begin) / 1000},
                          {"pid", 0},
                          {"tid", e.row},
                          {"args", {{"op", e.op}}}});
    }
    return nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ns"}}.dump(1);
}

TENON_INLINE void trace::save(const std::string& path) const {
    const std::string text = to_json();
    std::FILE* f = std::fopen(path.c_str(), "wb");
    const bool good = f && std::fwrite(text.data(), 1, text.size(), f) == text.size();
    if ((f && std::fclose(f) != 0) || !good) throw unavailable_error("trace: cannot write " + path);
}

} // namespace tenon
