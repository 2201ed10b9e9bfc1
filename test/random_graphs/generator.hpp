#pragma once

#include "random_graphs/program.hpp"

/// Random graphs from a seed: the same seed gives the same program.

namespace random_graphs {

struct generated {
    program made;
    tenon::graph written; ///< the graph as it was made, before it became text
};

generated generate(std::uint64_t seed);

} // namespace random_graphs
