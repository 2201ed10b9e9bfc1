#pragma once

#include <vector>

#include <tenon/ops/shape/fill.hpp>
#include <tenon/train/optimize/global_counter.hpp>

namespace tenon::detail {

TENON_INLINE variable_tensor<std::int64_t, shape<>> global_counter(const char* name) {
    graph g = graph::current();
    const std::vector<any_tensor> known = g.collection(name);
    if (!known.empty()) return variable_tensor<std::int64_t, shape<>>(known.front());
    const only_devices scope(g);
    const variable_policy_scope alone(nullptr);
    auto counter = variable<std::int64_t, shape<>>(name, zeros(), {.trainable = false});
    g.add_to_collection(name, counter);
    return counter;
}

} // namespace tenon::detail
