#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <net/wire/rows.hpp>
#include <tenon/runtime/trace/trace.hpp>

/// Traces as they travel.

namespace tenon::net {

/// A time as traces have it.
inline std::int64_t trace_time(std::chrono::steady_clock::time_point t) {
    return t.time_since_epoch() / std::chrono::nanoseconds(1);
}
/// What others call the clock of this life of a process.
inline std::string clock_of(const std::string& process, std::uint64_t incarnation) {
    return process + " " + std::to_string(incarnation);
}
/// Of one step, on one task and on all: what fits into a message. Much of what a step does that takes longer is the same again.
inline constexpr trace_options trace_of_part{
    .most_events = 200'000, .most_text_bytes = std::size_t{8} << 20, .threads_of_process = true};
inline constexpr trace_options trace_of_step{
    .most_events = 500'000, .most_text_bytes = std::size_t{16} << 20, .threads_of_process = true};

} // namespace tenon::net
