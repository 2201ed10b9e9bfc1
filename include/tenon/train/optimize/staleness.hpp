#pragma once

#include <cstdint>

#include <tenon/graph/tensor.hpp>

/// How old the variables are that asynchronous workers compute with.
///
///     auto train = tn::gradient_descent(0.1f).minimize(loss);
///     auto stale = tn::staleness(train);
///     auto [l, s] = step(images, labels);      // of fetches(loss, stale): trains, too

namespace tenon {

namespace detail {
/// What the node is called, by which servers know what they tell as tenon_step_staleness.
inline constexpr const char* staleness_name = "staleness";
} // namespace detail

/// Runs `train` once a step, and tells how many times other steps that fetch such a tensor have trained between this step's first
/// read of variables and its last update: of n equal asynchronous workers each sees about n - 1 (SEMANTICS 42). Steps are
/// counted in a variable "trained_steps", one a graph (the collection trained_steps), which is not trained and which the workers
/// share as they share those that they train.
tensor<std::int64_t, shape<>> staleness(const operation& train);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/optimize/staleness.ipp>
#endif
