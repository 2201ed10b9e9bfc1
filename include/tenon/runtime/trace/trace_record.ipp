#pragma once

#include <tenon/core/error.hpp>
#include <tenon/runtime/trace/trace_record.hpp>

namespace tenon::detail {

TENON_INLINE void check(const trace_record& r) {
    const auto require = [](bool good, const char* what) {
        if (!good) throw data_loss_error(std::string("trace: ") + what);
    };
    constexpr std::int64_t years = std::int64_t{1} << 58; // nine, in nanoseconds: sums of a few are numbers too
    const auto is_text = [&](std::uint32_t number) { return number < r.texts.size(); };
    const auto is_time = [&](std::int64_t t) { return t > -years && t < years; };
    require(r.texts.empty() || r.texts.front().empty(), "the first text of a record is not empty");
    require(is_time(r.began) && is_time(r.ended), "a record's times are none");
    for (const trace_record::event& e : r.events) {
        for (const std::uint32_t t : {e.name, e.op, e.row, e.task, e.clock})
            require(is_text(t), "an event names a text that there is not");
        require(is_time(e.begin) && is_time(e.end) && e.begin <= e.end, "an event's times are none");
    }
    for (const trace_record::order& o : r.orders) {
        require(is_text(o.earlier_clock) && is_text(o.later_clock), "an order names a clock that there is not");
        require(is_time(o.earlier) && is_time(o.later), "an order's times are none");
    }
}

} // namespace tenon::detail
