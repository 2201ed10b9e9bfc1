#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "reference/step.hpp"

/// A graph and some steps on it, as data: what is run, compared, shrunk, printed and read again.

namespace random_graphs {

struct fed {
    std::string tensor; ///< "x", or "split:1"
    reference::shared_array value;
};

struct step {
    std::vector<fed> feeds;
    std::vector<std::string> fetches;
    std::vector<std::string> targets;
    /// Run several times, each ended before its time unless it is done by then, and then as the others: by a limit, or by
    /// pending_step::stop().
    enum class cut_short { no, late, stopped } cut = cut_short::no;
    int cuts = 2; ///< so often at any time, besides once in each place where a test_trip is (reference/trip.hpp)
};

struct program {
    std::uint64_t seed = 0;       ///< it was made from
    nlohmann::json graph;         ///< tenon::to_json's
    std::vector<step> steps = {}; ///< of one session, one after another
    std::string session;          ///< the name of the session that failed; empty: every one
};

/// The graph; throws what tenon::graph_from_json throws.
tenon::graph graph_of(const program& p);
/// A step's request of that graph; throws not_found_error where it has no such node.
reference::request request_of(const tenon::graph& g, const step& s);

std::string to_json(const program& p);
program program_from_json(const std::string& text);

} // namespace random_graphs
