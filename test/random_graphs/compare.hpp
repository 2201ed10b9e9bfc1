#pragma once

#include "random_graphs/program.hpp"
#include "random_graphs/sessions.hpp"

/// What sessions give, against what the evaluator gives.

namespace random_graphs {

struct failure {
    std::string session, what; ///< what: in words; empty: there is none
    explicit operator bool() const { return !what.empty(); }
};

/// Where `given` differs from `expected`, in words; empty: nowhere that counts. Bits count where the evaluator calls a
/// value exact; else what is further off than another order of additions may be, which `shaken`, the same of runs with
/// noise, tells. What differs by less than `floor` is equal.
std::string difference(const reference::result& expected, const tenon::any_array& given,
                       const std::vector<reference::result>& shaken, double floor = 0);

/// Runs the program in one session. `written`: the graph as it was made in memory, if there is one.
failure run(const program& p, const session_kind& k, const tenon::graph* written = nullptr);
/// Runs it in every session, or in the one that it names: the first failure.
failure run(const program& p, const tenon::graph* written = nullptr);

} // namespace random_graphs
