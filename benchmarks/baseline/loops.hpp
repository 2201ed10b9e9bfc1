#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

// Loops of a training step that no library call covers. Included in files built with -O3 -march=native, where
// the compiler vectorises them.

namespace baseline {

/// dy[i] = 0 where y[i] is not positive.
inline void relu_backward(const float* __restrict y, float* __restrict dy, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) dy[i] = y[i] > 0.0F ? dy[i] : 0.0F;
}

/// sums[j] = sum of from[i, j].
inline void sum_rows(const float* __restrict from, std::int64_t rows, std::int64_t columns, float* __restrict sums) {
    std::memset(sums, 0, static_cast<std::size_t>(columns) * sizeof(float));
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) sums[j] += from[i * columns + j];
    }
}

/// to[i] -= rate * from[i].
inline void descend(float* __restrict to, const float* __restrict from, float rate, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] -= rate * from[i];
}

/// dz = (softmax(z) - one_hot(label)) / batch, over `rows` rows of ten; the sum of the rows' cross-entropies.
inline double softmax_cross_entropy(const float* z, const std::int32_t* labels, float* dz, std::int64_t rows,
                                    std::int64_t batch) {
    constexpr int classes = 10;
    double loss = 0.0;
    for (std::int64_t r = 0; r < rows; ++r, z += classes, dz += classes) {
        float largest = z[0];
        for (int c = 1; c < classes; ++c) largest = z[c] > largest ? z[c] : largest;
        float sum = 0.0F;
        for (int c = 0; c < classes; ++c) sum += dz[c] = std::exp(z[c] - largest);
        loss += static_cast<double>(std::log(sum) + largest - z[labels[r]]);
        const float scale = 1.0F / (sum * static_cast<float>(batch));
        for (int c = 0; c < classes; ++c) dz[c] *= scale;
        dz[labels[r]] -= 1.0F / static_cast<float>(batch);
    }
    return loss;
}

} // namespace baseline
