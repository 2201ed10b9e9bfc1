#pragma once

#include <cstdint>

#include <cuda/kernels/grid.hpp>
#include <cuda/kernels/lanes.hpp>

/// What the threads of a block do together that has a matrix: device code. All of them call each function. Matrices lie rows first.

namespace tenon::cuda {

inline constexpr int most_matrix_warps = 8;

/// Threads for matrices whose larger size is n; a power of two.
constexpr unsigned matrix_threads(std::int64_t n) { return n <= 8 ? 32 : n <= 32 ? 128 : 32 * most_matrix_warps; }
/// Blocks for so many matrices, of which each takes one after another.
constexpr unsigned matrix_blocks(std::int64_t count) {
    constexpr std::int64_t most = 65536;
    return static_cast<unsigned>(count < most ? count : most);
}

/// f(i) for each i below n.
template <class F> __device__ void each_of(std::int64_t n, const F& f) {
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) f(i);
}
/// f(row, column), neighbouring threads at neighbouring columns.
template <class F> __device__ void each_pair(std::int64_t rows, std::int64_t columns, const F& f) {
    if (columns < 32) return each_of(rows * columns, [&](std::int64_t i) { f(i / columns, i % columns); });
    for (std::int64_t row = threadIdx.x / 32; row < rows; row += blockDim.x / 32)
        for (std::int64_t column = threadIdx.x % 32; column < columns; column += 32) f(row, column);
}
/// The sum of f(i) of each i below n, the same for all threads.
template <class F> __device__ double sum_of(std::int64_t n, const F& f) {
    __shared__ double shared[most_matrix_warps];
    double sum = 0;
    each_of(n, [&](std::int64_t i) { sum += f(i); });
    sum = combine_threads(sum, static_cast<int>(blockDim.x), shared, [](double a, double b) { return a + b; });
    __syncthreads();
    return sum;
}
/// The largest of |x[i]|; false in `finite` where one is infinite or NaN.
template <class T> __device__ double largest_of(const T* x, std::int64_t n, bool& finite) {
    __shared__ double shared[most_matrix_warps];
    double largest = 0;
    bool fine = true;
    each_of(n, [&](std::int64_t i) {
        const double v = fabs(static_cast<double>(x[i]));
        fine = fine && v - v == 0;
        if (v > largest) largest = v;
    });
    finite = __syncthreads_and(fine) != 0;
    largest = combine_threads(largest, static_cast<int>(blockDim.x), shared,
                              [](double a, double b) { return a > b ? a : b; });
    __syncthreads();
    return largest;
}

/// x [n, m] becomes the solution of e x = x, where e is a [n, n] or its transpose, and of that the lower or upper triangle; `unit`: with 1 on
/// its diagonal.
template <class T>
__device__ void substitute(const T* a, T* x, std::int64_t n, std::int64_t m, bool lower, bool transposed, bool unit) {
    for (std::int64_t step = 0; step < n; ++step) {
        const std::int64_t p = lower ? step : n - 1 - step, first = lower ? p + 1 : 0;
        __syncthreads();
        if (!unit) {
            const T d = a[p * n + p];
            each_of(m, [&](std::int64_t c) { x[p * m + c] /= d; });
            __syncthreads();
        }
        each_pair(n - 1 - step, m, [&](std::int64_t r, std::int64_t c) {
            const std::int64_t i = first + r;
            x[i * m + c] -= (transposed ? a[p * n + i] : a[i * n + p]) * x[p * m + c];
        });
    }
    __syncthreads();
}

} // namespace tenon::cuda
