#pragma once

#include "tests.hpp"

/// sum(curvature * (w - target)^2), and what optimisers make of w beside formulas in double.
namespace steps_by_hand {

using values = std::vector<double>;
inline constexpr int size = 5;
inline const values first{1, -2, 0.5, 3, -0.25}, targets{0.5, 1, -1, 2, 0.75}, curvatures{1, 0.5, 2, 0.25, 3};

/// The gradient of parabola().
inline values gradient_at(const values& w) {
    values g(size);
    for (std::size_t i = 0; i < size; ++i) g[i] = 2 * curvatures[i] * (w[i] - targets[i]);
    return g;
}

template <class T> tenon::array<T, tenon::shape<size>> as_array(const values& v) {
    tenon::array<T, tenon::shape<size>> a;
    for (std::size_t i = 0; i < size; ++i) a[static_cast<std::int64_t>(i)] = static_cast<T>(v[i]);
    return a;
}

template <class T> auto parabola(const tenon::variable_tensor<T, tenon::shape<size>>& w) {
    return tenon::sum(tenon::square(w - tenon::constant(as_array<T>(targets))) *
                      tenon::constant(as_array<T>(curvatures)));
}

/// w, which begins as `first`, after each of some runs of `train`; step(t, w, g) changes w by g, in the t-th, in double.
template <class T, class Step>
void check_steps(initialized_session& s, const tenon::operation& train,
                 const tenon::variable_tensor<T, tenon::shape<size>>& w, int steps, double tolerance, Step step) {
    values expected = first;
    for (int t = 1; t <= steps; ++t) {
        s.run(train);
        step(t, expected, gradient_at(expected));
        const auto got = s.run(w);
        for (std::size_t i = 0; i < size; ++i) {
            CAPTURE(t);
            CAPTURE(i);
            CHECK(static_cast<double>(got[static_cast<std::int64_t>(i)]) ==
                  doctest::Approx(expected[i]).epsilon(tolerance));
        }
    }
}

} // namespace steps_by_hand
