#pragma once

#include <ostream>

#include "tests.hpp"

/// What crosses, said before steps and seen in them.

namespace probe {

struct edge {
    std::string tensor, from, to;
    std::int64_t bytes = 0;
    friend bool operator==(const edge&, const edge&) = default;
    friend std::ostream& operator<<(std::ostream& out, const edge& e) {
        return out << e.tensor << " from " << e.from << " to " << e.to << ": " << e.bytes << "\n";
    }
};
using edges = std::vector<edge>;
inline std::ostream& operator<<(std::ostream& out, const edges& all) {
    for (const edge& e : all) out << e;
    return out;
}

inline edges of(const std::vector<tenon::crossing>& all) {
    edges found;
    for (const tenon::crossing& c : all) found.push_back({c.tensor, c.from, c.to, c.bytes});
    return found;
}
/// Without the tensors' names.
inline edges by_bytes(edges all) {
    for (edge& e : all) e.tensor.clear();
    std::sort(all.begin(), all.end(), [](const edge& a, const edge& b) {
        return std::tie(a.from, a.to, a.bytes) < std::tie(b.from, b.to, b.bytes);
    });
    return all;
}
inline std::int64_t total(const edges& all) {
    std::int64_t sum = 0;
    for (const edge& e : all) sum += e.bytes;
    return sum;
}

struct crossed {
    edges said, seen;
    std::vector<tenon::crossing> list;
    std::int64_t steps_seen = 0; ///< of each; -1 where they differ
};
template <class... F> crossed said_and_seen(tenon::session& s, int steps, const F&... arguments) {
    crossed c;
    const tenon::placement_explanation e = s.explain_placement(arguments...);
    c.list = e.crossings;
    c.said = of(c.list);
    CHECK(e.crossing_bytes() + e.fetched_bytes() == total(c.said));
    for (const tenon::crossing& one : c.list) {
        CHECK(one.known == tenon::bytes_known::exactly);
        CHECK(one.steps == 0);
    }
    tenon::trace t;
    s.set_trace(&t);
    for (int i = 0; i < steps; ++i) (void)s.run(arguments...);
    s.set_trace(nullptr);
    const auto seen = tenon::crossings(t);
    c.seen = of(seen);
    for (const tenon::crossing& one : seen)
        c.steps_seen = c.steps_seen == 0 || c.steps_seen == one.steps ? one.steps : -1;
    return c;
}

} // namespace probe
