#pragma once

#include <tenon/runtime/program.hpp>

/// Order and memory of a program.

namespace tenon::runtime {

/// Where a value lies during a step.
struct placement {
    enum class kind { none, arena, resident, feed, fetch } where = kind::none;
    std::size_t offset = 0;        ///< in the arena
    const void* address = nullptr; ///< of a resident
    int index = -1;                ///< of the feed or fetch
};

struct scheduled {
    std::vector<int> order;            ///< items, each after what it needs
    std::vector<placement> placements; ///< by value; views have their root's
    std::vector<std::size_t> scratch;  ///< offset in the arena, by position in the order
    std::size_t arena_bytes = 0;
    std::size_t lower_bound = 0; ///< bytes of the largest set of values that live at one time, run in order
    std::size_t fetched_bytes = 0;
    std::vector<std::pair<std::size_t, std::string>> largest; ///< bytes and names of the largest values
    /// Positions that must end before each position begins, where running several at a time is worth it; else empty.
    std::vector<std::vector<int>> waits_for;
};

/// Orders the items, prepares their kernels, lets updates write straight into their variables where nobody can
/// see the difference, decides whether items run side by side, and lays out the arena by the values' lifetimes.
scheduled schedule(program& p, const plan_options& o);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/schedule.ipp>
#endif
