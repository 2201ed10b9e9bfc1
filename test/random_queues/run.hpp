#pragma once

#include <functional>
#include <string>

#include "random_queues/program.hpp"

/// A program's steps, compared with all that may happen (reference/overlap/overlap.hpp).

namespace random_queues {

struct verdict {
    std::string wrong;   ///< in words; empty: nothing
    int run = 0;         ///< phases
    int together = 0;    ///< phases of several threads
    int passed_over = 0; ///< phases: that take long, or in which too much may happen to look at it all
    bool slow = false;   ///< right if the machine was slow: limits were met by what need not have waited
};

/// `limit`: seconds that a step may take of which the reference says that it may wait for ever. `waits_freely`: such are as cheap
/// as others, and all of them are run.
verdict run(const program& p, double limit, bool waits_freely = false);

/// Without steps that do not matter to `fails`.
program shrink(program p, const std::function<bool(const program&)>& fails);

} // namespace random_queues
