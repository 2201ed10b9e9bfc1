#pragma once

#include <cstdint>
#include <string>

/// Programs of random_graphs on a simulated cluster of two tasks, against the reference evaluator.

namespace random_cluster {

struct graphs_outcome {
    std::string wrong; ///< empty: nothing
    std::string history;
    std::uint64_t events = 0;
};

/// Runs the program of this seed. `faults`: values come late, lines are slow, connections are lost, messages arrive twice and out
/// of order; of all that a program is to see nothing.
graphs_outcome run_graphs(std::uint64_t seed, bool faults, std::size_t lines);

} // namespace random_cluster
