#pragma once

#include <functional>

#include "random_graphs/program.hpp"

/// A failing program made small.

namespace random_graphs {

/// The smallest program that is found, of which `fails` still holds: without steps, feeds, fetches, targets, nodes,
/// control dependencies and devices that do not matter, with nodes replaced by an input of the same type or by a constant.
/// `fails` answers false for a program that makes no sense, also by throwing tenon::error.
program shrink(program p, const std::function<bool(const program&)>& fails);

} // namespace random_graphs
