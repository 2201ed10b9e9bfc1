#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/config.hpp>
#include <tenon/runtime/trace/trace_event.hpp>

/// A trace of one step, as it goes from process to process.

namespace tenon::detail {

/// Times are by clocks of several processes, each with its own zero, in nanoseconds. Texts are said by their numbers in `texts`; the
/// first is empty, and as a clock it is that of who made the record.
struct trace_record {
    struct event {
        std::uint32_t name = 0, op = 0, row = 0, task = 0, clock = 0;
        std::int64_t begin = 0, end = 0;
        trace_event::way goes = trace_event::way::none;
        std::int64_t edge = -1;
        std::uint64_t bytes = 0;
    };
    /// What was at `earlier` by one clock came before what was at `later` by another one.
    struct order {
        std::uint32_t earlier_clock = 0, later_clock = 0;
        std::int64_t earlier = 0, later = 0;
    };
    std::vector<std::string> texts;
    std::vector<event> events = {};
    std::vector<order> orders = {};
    std::int64_t began = 0, ended = 0; ///< when its maker was asked, and when it answered, by that clock
    std::uint64_t dropped = 0;         ///< events for which there was no room
};

/// Throws data_loss_error for what no trace says: it comes from outside.
void check(const trace_record& r);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/runtime/trace/trace_record.ipp>
#endif
