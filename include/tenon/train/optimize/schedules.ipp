#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/train/optimize/global_counter.hpp>
#include <tenon/train/optimize/schedules.hpp>
#include <tenon/train/optimize/tape_writer.hpp>

namespace tenon {

TENON_INLINE variable_tensor<std::int64_t, shape<>> global_step() { return detail::global_counter("global_step"); }

namespace detail {

// A formula of the number of steps before this one.
template <class F> tensor<double, shape<>> scheduled(F formula) {
    tape_writer t;
    const tape_value step = t.cast(t.read(global_step()), element_type::float64);
    t.write(formula(step), element_type::float64);
    return tensor<double, shape<>>::unchecked(t.finish().front());
}

inline void check_steps(const char* schedule, double steps) {
    if (!(steps > 0) || !std::isfinite(steps))
        throw invalid_argument_error(std::string(schedule) + ": steps is " + detail::text_of_number(steps) +
                                     "; give a number greater than 0");
}

} // namespace detail

TENON_INLINE tensor<double, shape<>> exponential_decay(double initial, const exponential_decay_options& o) {
    detail::check_steps("exponential_decay", o.steps);
    return detail::scheduled([&](detail::tape_value step) {
        detail::tape_value n = step / o.steps;
        if (o.staircase) n = n.in->apply(opcode::floor, n);
        return initial * n.in->apply(opcode::pow, n.in->literal(o.factor, n.type), n);
    });
}

TENON_INLINE tensor<double, shape<>> cosine_decay(double initial, const cosine_decay_options& o) {
    detail::check_steps("cosine_decay", o.steps);
    constexpr double pi = 3.14159265358979323846;
    return detail::scheduled([&](detail::tape_value step) {
        const detail::tape_value part = minimum(step / o.steps, step.in->literal(1, step.type));
        return (part.in->apply(opcode::cos, part * pi) + 1) * ((initial - o.last) / 2) + o.last;
    });
}

TENON_INLINE tensor<double, shape<>> piecewise_constant(const std::vector<std::int64_t>& boundaries,
                                                        const std::vector<double>& values) {
    if (values.size() != boundaries.size() + 1)
        throw invalid_argument_error("piecewise_constant: " + std::to_string(boundaries.size()) + " boundaries and " +
                                     std::to_string(values.size()) + " values; there must be one value more");
    if (const auto fall = std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>());
        fall != boundaries.end())
        throw invalid_argument_error("piecewise_constant: the boundaries must increase, and " +
                                     std::to_string(fall[1]) + " follows " + std::to_string(fall[0]));
    constexpr std::size_t most = 40; // what one tape holds
    if (boundaries.size() > most)
        throw invalid_argument_error("piecewise_constant: " + std::to_string(boundaries.size()) +
                                     " boundaries; at most " + std::to_string(most) + " are possible");
    return detail::scheduled([&](detail::tape_value step) {
        detail::tape_value rate = step.in->literal(values[0], step.type);
        for (std::size_t i = 0; i < boundaries.size(); ++i) {
            const auto from = step.in->literal(static_cast<double>(boundaries[i]), step.type);
            rate = step.in->apply(opcode::select, step.in->apply(opcode::less, step, from), rate,
                                  step.in->literal(values[i + 1], step.type));
        }
        return rate;
    });
}

TENON_INLINE tensor<double, shape<>> linear_warmup(const tensor<double, shape<>>& rate, double steps) {
    detail::check_steps("linear_warmup", steps);
    return detail::scheduled([&](detail::tape_value step) {
        return step.in->read(rate) * minimum((step + 1) / steps, step.in->literal(1, step.type));
    });
}

TENON_INLINE tensor<double, shape<>> linear_warmup(double rate, double steps) {
    detail::check_steps("linear_warmup", steps);
    return detail::scheduled(
        [&](detail::tape_value step) { return rate * minimum((step + 1) / steps, step.in->literal(1, step.type)); });
}

} // namespace tenon
