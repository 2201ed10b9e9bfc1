#pragma once

#include "reference/step.hpp"

namespace random_graphs {

/// Whether call() can run such a request: callables have as many arguments as their types say.
bool can_call(const reference::request& r);
/// Runs it as a callable, twice made, once called or started: the arrays that are fetched.
std::vector<tenon::any_array> call(tenon::session& s, const reference::request& r, bool start);

} // namespace random_graphs
