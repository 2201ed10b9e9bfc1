#pragma once

namespace baseline {

/// r[i] = f(x[i]) by Eigen's array functions, or by <cmath> in a loop where Eigen has none of its own.
using function = void (*)(const float* x, float* r, int n);
function vector_math(const char* name);

/// relu(a x + b) sigmoid(c - x).
void gated(const float* x, float* r, int n, float a, float b, float c);

} // namespace baseline
