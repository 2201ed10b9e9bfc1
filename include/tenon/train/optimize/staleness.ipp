#pragma once

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/train/optimize/global_counter.hpp>
#include <tenon/train/optimize/staleness.hpp>

namespace tenon {

TENON_INLINE tensor<std::int64_t, shape<>> staleness(const operation& train) {
    const auto steps = detail::global_counter("trained_steps");
    // What comes after something is read when that has ended, here at once; else it would be read when it is needed.
    const auto before = [&] {
        const control_dependencies began(no_op());
        return identity(steps);
    }();
    const control_dependencies trained(train);
    return identity(steps.assign_add(std::int64_t{1}) - before - std::int64_t{1}, detail::staleness_name);
}

} // namespace tenon
