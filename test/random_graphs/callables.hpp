#pragma once

#include <functional>

#include "reference/step.hpp"

namespace random_graphs {

/// Whether call() can run such a request: callables have as many arguments as their types say.
bool can_call(const reference::request& r);
/// Runs it as a callable, twice made, once called: the arrays that are fetched.
std::vector<tenon::any_array> call(tenon::session& s, const reference::request& r);

/// A step that was started.
struct started_step {
    std::function<void()> stop;
    std::function<bool()> has_ended;
};
/// The same, started: the arrays that are fetched, once `then` has returned.
std::vector<tenon::any_array> start(
    tenon::session& s, const reference::request& r,
    const std::function<void(const started_step&)>& then = [](auto&) {});

} // namespace random_graphs
