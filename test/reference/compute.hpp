#pragma once

#include "reference/step.hpp"

/// One node at a time.

namespace reference {

/// What a node is computed from: its attributes and types in the step's sizes, its inputs (nullptr where only the sizes
/// matter), and how often it ran before, where it counts that.
struct work {
    const tenon::node& node;
    tenon::attributes attributes;
    std::vector<tenon::tensor_type> inputs, outputs;
    std::vector<shared_array> values;
    std::uint64_t graph_seed = 0;
    std::uint64_t* runs = nullptr;
    noise shaken{}; ///< what bodies of control flow are run with
};

/// The outputs, as their op's CPU kernel computes them on one thread; views, constants, simple instructions and what chooses
/// elements by loops of this folder. Variables and updates are the evaluator's.
std::vector<shared_array> compute(const work& w);

/// The variable after a scatter_op, row by row. Throws what SEMANTICS ask for.
shared_array scattered(const work& w, const shared_array& variable);

/// Whether all ways to compute the node give the same bits: nothing is added up in floating numbers.
bool is_exact(const work& w, bool other_functions = false);

bool is_finite(const tenon::any_array& a);
/// Of float32 or float64.
bool has_denormals(const tenon::any_array& a);

} // namespace reference
