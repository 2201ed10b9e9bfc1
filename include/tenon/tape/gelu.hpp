#pragma once

#include <tenon/core/config.hpp>

/// The numbers of gelu_tanh(x) = x sigmoid(x (linear + cubic x^2)), which the formula, the planner and kernels share.

namespace tenon::detail {

inline constexpr double gelu_linear = 1.59576912160573071176; // 2 sqrt(2 / pi)
inline constexpr double gelu_cubic = 0.07135481627260025;     // 0.044715 times that

} // namespace tenon::detail
