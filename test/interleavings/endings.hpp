#pragma once

#include <cstdint>
#include <string>

/// Steps of a few threads on a task, beside who stops them, closes their session, or resets their container: what the reference
/// of overlapping steps (reference/overlap/overlap.hpp) knows nothing of.

namespace interleavings {

/// Runs one that the seed draws: what is wrong, in words; empty: nothing. Two variables of which each step changes both, and
/// elements that steps take and add to them: so it is seen what was made of a step in part, twice, or not although it ended
/// well.
std::string run_endings(std::uint64_t seed);

} // namespace interleavings
