#pragma once

#include <cstdint>

namespace baseline {

/// y = relu(a x + b) sigmoid(c - x), as an Eigen array expression.
void eigen_forward(std::int64_t n, const float* a, const float* b, const float* c, const float* x, float* y);

/// y as above and, in the same pass, the gradients of sum(dy y) in a, b, c and x. `dy` null: all ones.
/// Written with AVX-512 or AVX2 intrinsics where this file is compiled for them, otherwise as a plain loop.
void hand_gradients(std::int64_t n, const float* a, const float* b, const float* c, const float* x, const float* dy,
                    float* y, float* da, float* db, float* dc, float* dx);
/// "avx512", "avx2" or "plain": how hand_gradients was compiled.
const char* hand_gradients_kind();

} // namespace baseline
