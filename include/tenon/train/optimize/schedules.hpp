#pragma once

#include <vector>

#include <tenon/ops/state/state.hpp>

/// The count of training steps, and learning rates that follow it. A schedule is a scalar tensor: it can be fetched,
/// and computed with. In the formulas step is global_step() before the step, 0 in the first.
///
///     auto rate  = tn::cosine_decay(0.1, {.steps = 10000});
///     auto train = tn::momentum(rate).minimize(loss);
///     auto [l, r] = step(images, labels);     // of fetches(train, loss, rate)

namespace tenon {

/// The graph's count of training steps: a variable that begins at 0, made when it is first asked for, not trained but
/// saved. Each optimiser's operation adds 1. Its name is "global_step".
variable_tensor<std::int64_t, shape<>> global_step();

struct exponential_decay_options {
    double steps = 1; ///< after so many, the rate is `factor` times what it was
    double factor = 1;
    bool staircase = false; ///< all at once, instead of a little in every step
};

/// initial * factor ^ (step / steps), where step / steps is rounded down with staircase.
tensor<double, shape<>> exponential_decay(double initial, const exponential_decay_options& o);

struct cosine_decay_options {
    double steps = 1; ///< after so many, the rate stays at `last`
    double last = 0;
};

/// last + (initial - last) * (1 + cos(pi * min(step, steps) / steps)) / 2, with last 0 unless it is given. I. Loshchilov, F. Hutter, ICLR 2017.
tensor<double, shape<>> cosine_decay(double initial, const cosine_decay_options& o);

/// values[i] from step boundaries[i-1] on and before step boundaries[i], counted from 0. Throws invalid_argument_error
/// unless boundaries increase and there is one value more.
tensor<double, shape<>> piecewise_constant(const std::vector<std::int64_t>& boundaries,
                                           const std::vector<double>& values);

/// `rate`, which is reached in equal parts in the first `steps` steps: rate * min(1, (step + 1) / steps).
tensor<double, shape<>> linear_warmup(const tensor<double, shape<>>& rate, double steps);
tensor<double, shape<>> linear_warmup(double rate, double steps);
template <class N>
    requires std::is_arithmetic_v<N> ill_shaped linear_warmup(N, const tensor<double, shape<>>&) {
        static_assert(detail::is_mistake<N>,
                      "tenon::linear_warmup: first the rate, then the steps: linear_warmup(rate, 50)");
        return {};
    }

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/optimize/schedules.ipp>
#endif
