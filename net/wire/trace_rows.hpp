#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <net/wire/rows.hpp>
#include <tenon/runtime/run/trace.hpp>

/// Traces as they travel: times since the step began where they come from, since no two clocks are compared.

namespace tenon::net {

/// The clock of traces.
inline std::int64_t nanoseconds_now() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}
/// What was traced of a step that began then; each row's name behind `where`.
inline std::vector<trace_row> rows_of(const trace& t, std::int64_t began, const std::string& where = {}) {
    std::vector<trace_row> rows;
    t.each([&](const std::string& name, const std::string& op, const std::string& row, std::int64_t begin,
               std::int64_t end) {
        rows.push_back({name, op, where + row, begin - began, end - began});
    });
    return rows;
}
/// The reverse, for a step that began then by this process's clock.
inline void add_rows(trace& t, const std::vector<trace_row>& rows, std::int64_t began) {
    for (const trace_row& row : rows) t.add(row.name, row.op, row.row, began + row.begin, began + row.end);
}

} // namespace tenon::net
