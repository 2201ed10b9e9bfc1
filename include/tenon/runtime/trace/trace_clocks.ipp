#pragma once

#include <algorithm>
#include <limits>
#include <set>

#include <tenon/runtime/trace/trace_clocks.hpp>

namespace tenon::detail {

TENON_INLINE void trace_clocks::before(std::uint64_t step, std::uint32_t earlier_clock, std::int64_t earlier,
                                       std::uint32_t later_clock, std::int64_t later) {
    if (earlier_clock == later_clock) return;
    system& s = steps_[step];
    const std::int64_t bound = later - earlier;
    const auto [at, is_new] = s.bounds.try_emplace(pair{earlier_clock, later_clock}, bound);
    if (!is_new) at->second = std::min(at->second, bound);
    if (earlier_clock == 0 && (!s.has_begun || earlier < s.began)) {
        s.began = earlier;
        s.has_begun = true;
    }
}

// What holds in one step holds in those around it, but for what clocks drift apart meanwhile.
TENON_INLINE void trace_clocks::share_bounds() {
    std::vector<system*> in_order;
    std::set<pair> pairs;
    for (auto& [number, s] : steps_) {
        if (!s.has_begun) continue;
        in_order.push_back(&s);
        for (const auto& [which, bound] : s.bounds) pairs.insert(which);
    }
    std::stable_sort(in_order.begin(), in_order.end(),
                     [](const system* a, const system* b) { return a->began < b->began; });
    constexpr std::int64_t of_time = 10'000; // 100 microseconds a second
    for (const pair& which : pairs) {
        const auto pass = [&](auto from, auto to) {
            const system* last = nullptr;
            std::int64_t bound = 0;
            for (; from != to; ++from) {
                system& s = **from;
                const auto own = s.bounds.find(which);
                if (!last && own == s.bounds.end()) continue;
                if (last) bound += std::max(s.began - last->began, last->began - s.began) / of_time;
                if (own == s.bounds.end()) s.bounds.emplace(which, bound);
                else if (!last || own->second < bound) bound = own->second;
                else own->second = bound;
                last = &s;
            }
        };
        pass(in_order.begin(), in_order.end());
        pass(in_order.rbegin(), in_order.rend());
    }
}

TENON_INLINE void trace_clocks::solve(system& s) {
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t most = std::int64_t{1} << 61; // sums of two, and of one and a bound, are numbers
    std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>>
        reach; // a clock's upper bound, and minus its lower one
    for (const auto& [which, bound] : s.bounds) reach[which.first] = reach[which.second] = {none, none};
    reach[0] = {0, 0};
    const auto shorten = [&](std::int64_t& to, std::int64_t from, std::int64_t by) {
        if (from == none) return false;
        const std::int64_t sum = std::clamp(from + by, -most, most);
        if (sum >= to) return false;
        to = sum;
        return true;
    };
    // Where bounds contradict each other paths get shorter without an end: no path has more clocks than there are.
    bool changed = true;
    for (std::size_t round = 0; changed && round < reach.size(); ++round) {
        changed = false;
        for (const auto& [which, bound] : s.bounds) {
            auto& a = reach[which.first];
            auto& b = reach[which.second];
            if (which.second != 0) changed = shorten(b.first, a.first, bound) || changed;
            if (which.first != 0) changed = shorten(a.second, b.second, bound) || changed;
        }
    }
    for (const auto& [clock, r] : reach) {
        const auto& [upper, minus_lower] = r;
        clock_offset& o = s.found[clock];
        if (upper != none && minus_lower != none) {
            o.ahead = (upper - minus_lower) / 2;
            o.error = std::max(upper + minus_lower, -(upper + minus_lower)) / 2;
        } else if (upper != none) o.ahead = upper;
        else if (minus_lower != none) o.ahead = -minus_lower;
    }
}

TENON_INLINE void trace_clocks::solve() {
    share_bounds();
    for (auto& [number, s] : steps_) solve(s);
}

TENON_INLINE clock_offset trace_clocks::of(std::uint64_t step, std::uint32_t clock) const {
    if (clock == 0) return {};
    const auto s = steps_.find(step);
    if (s == steps_.end()) return {};
    const auto found = s->second.found.find(clock);
    return found == s->second.found.end() ? clock_offset{} : found->second;
}

} // namespace tenon::detail
