#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include <tenon/core/config.hpp>

/// What other processes' clocks show more than this one's, from what must have been before what.

namespace tenon::detail {

/// In nanoseconds. What is not bounded on a side is taken at the other.
struct clock_offset {
    std::int64_t ahead = 0; ///< to be taken from that clock's times
    std::int64_t error = 0; ///< at most so far off
};

/// Clocks have numbers; this process's is 0. Of each step they stand apart by something constant, x: an event at a by one clock
/// before one at b by another means x of the second - x of the first <= b - a. Of such a system the tightest bounds of each x are the
/// shortest paths from clock 0, and to it; the middles of the bounds satisfy the system as well.
class trace_clocks {
public:
    void before(std::uint64_t step, std::uint32_t earlier_clock, std::int64_t earlier, std::uint32_t later_clock,
                std::int64_t later);
    /// When all have been said.
    void solve();
    clock_offset of(std::uint64_t step, std::uint32_t clock) const;

private:
    using pair = std::pair<std::uint32_t, std::uint32_t>; // a bound for x of the second - x of the first
    struct system {
        std::int64_t began = 0; // by clock 0
        bool has_begun = false;
        std::map<pair, std::int64_t> bounds;
        std::map<std::uint32_t, clock_offset> found;
    };
    void share_bounds();
    static void solve(system& s);

    std::map<std::uint64_t, system> steps_;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/runtime/trace/trace_clocks.ipp>
#endif
