#pragma once

#include "reference/step.hpp"

/// Runs a step node by node, from the statements of SEMANTICS (13, 15, 16, 18, 20, 21) and of
/// include/tenon/runtime/plan/rewrite/README.md alone:
///
///     reads       the variable before the step's updates, or, for what is made to run after updates of it, what the
///                 latest of those left
///     updates     of one variable one after another, as they were made; each gives the variable after it; what they are
///                 computed of its current value (assign_add, optimisers) is computed of what those before left
///     feeds       what is fed does not run, unless another of its outputs is needed, and nobody waits for it
///
/// `noise` shakes what is added up in floating numbers, by a few roundings: how far the results of two shaken runs lie
/// apart says how far another order of additions may be off. A value that jumps (a comparison, an index) then differs.

namespace reference {

outcome evaluate(const request& r, const state& before, std::uint64_t graph_seed, const noise& shaken = {});

/// What the state is after a step that ended so.
state after(const outcome& o);

} // namespace reference
