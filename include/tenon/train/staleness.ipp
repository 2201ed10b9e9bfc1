#pragma once

#include <tenon/ops/control.hpp>
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/state.hpp>
#include <tenon/train/staleness.hpp>

namespace tenon {

TENON_INLINE tensor<std::int64_t, shape<>> staleness(const operation& train) {
    const auto steps = variable<std::int64_t, shape<>>("trained_steps", zeros(), {.trainable = false});
    const auto before = identity(steps);
    const control_dependencies trained(train);
    return steps.assign_add(std::int64_t{1}) - before - std::int64_t{1};
}

} // namespace tenon
