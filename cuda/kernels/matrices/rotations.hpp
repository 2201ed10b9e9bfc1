#pragma once

#include <cstdint>

#include <cuda/kernels/matrices/block.hpp>

/// What Jacobi's rotations and Householder's reflections are made of: device code, by all threads of a block.

namespace tenon::cuda {

/// A rotation that turns rows (or columns) p and q.
struct rotation {
    double c = 1, s = 0;
    __device__ void turn(double& p, double& q) const {
        const double kept = p;
        p = c * kept - s * q;
        q = s * kept + c * q;
    }
};
/// The one that makes 0 of the off-diagonal element of [[pp, pq], [pq, qq]]; of the two the one by less than an eighth of a turn.
__device__ inline rotation rotation_of(double pp, double pq, double qq) {
    const double slope = (qq - pp) / (2 * pq);
    const double t = (slope < 0 ? -1 : 1) / (fabs(slope) + sqrt(1 + slope * slope));
    rotation r{.c = 1 / sqrt(1 + t * t)};
    r.s = t * r.c;
    return r;
}

/// Pair number i of round `round`, p < q: in n - 1 rounds (n even) of n / 2 pairs, which have no number in common, all come together once.
struct rotated_pair {
    __device__ rotated_pair(std::int64_t n, std::int64_t round, std::int64_t i) {
        const std::int64_t around = n - 1;
        const std::int64_t a = i == 0 ? around : (round + i) % around,
                           b = i == 0 ? round : (round + around - i) % around;
        p = a < b ? a : b;
        q = a < b ? b : a;
    }
    std::int64_t p, q;
};
inline constexpr int most_sweeps = 60; ///< of all pairs; a dozen is usual

/// The sum over a warp, the same for its lanes.
__device__ inline double sum_of_warp(double x) {
    for (int with = 16; with > 0; with /= 2) x += __shfl_xor_sync(all_lanes, x, with);
    return x;
}

/// a [m, n] becomes r on and above its diagonal; below it the reflections I - tau v v^T, whose v have 1 there. taus [min(m, n)].
__device__ inline void reflect(double* a, double* taus, std::int64_t m, std::int64_t n) {
    const std::int64_t k = m < n ? m : n;
    for (std::int64_t j = 0; j < k; ++j) {
        __syncthreads();
        const auto at = [&](std::int64_t i, std::int64_t c) -> double& { return a[i * n + c]; };
        const double tail = sum_of(m - j - 1, [&](std::int64_t i) { return at(j + 1 + i, j) * at(j + 1 + i, j); });
        const double first = at(j, j);
        double tau = 0, end = first;
        if (!(tail <= 2.2250738585072014e-308)) {
            end = sqrt(first * first + tail);
            if (first >= 0) end = -end;
            tau = (end - first) / end;
        }
        each_of(m - j - 1, [&](std::int64_t i) { at(j + 1 + i, j) = tau == 0 ? 0 : at(j + 1 + i, j) / (first - end); });
        __syncthreads(); // all have read the first
        if (threadIdx.x == 0) {
            at(j, j) = end;
            taus[j] = tau;
        }
        each_of(n, [&](std::int64_t c) {
            if (c <= j) return;
            double sum = at(j, c);
            for (std::int64_t i = j + 1; i < m; ++i) sum += at(i, j) * at(i, c);
            sum *= tau;
            at(j, c) -= sum;
            for (std::int64_t i = j + 1; i < m; ++i) at(i, c) -= sum * at(i, j);
        });
    }
    __syncthreads();
}
/// x [m, columns] becomes q x, of the reflections that reflect() left in a [m, n].
__device__ inline void apply_reflections(const double* a, const double* taus, std::int64_t m, std::int64_t n, double* x,
                                         std::int64_t columns) {
    __syncthreads();
    const std::int64_t k = m < n ? m : n;
    each_of(columns, [&](std::int64_t c) {
        for (std::int64_t j = k; j-- > 0;) {
            double sum = x[j * columns + c];
            for (std::int64_t i = j + 1; i < m; ++i) sum += a[i * n + j] * x[i * columns + c];
            sum *= taus[j];
            x[j * columns + c] -= sum;
            for (std::int64_t i = j + 1; i < m; ++i) x[i * columns + c] -= sum * a[i * n + j];
        }
    });
    __syncthreads();
}

/// -1 where the first of the largest of v(i), but for 1e-6 of it, is negative, else 1: dense::turned_to_positive.
template <class V> __device__ double turned_to_positive(std::int64_t n, const V& v) {
    double largest = 0;
    for (std::int64_t i = 0; i < n; ++i)
        if (fabs(v(i)) > largest) largest = fabs(v(i));
    for (std::int64_t i = 0; i < n; ++i)
        if (fabs(v(i)) >= (1 - 1e-6) * largest) return v(i) < 0 ? -1 : 1;
    return 1;
}

} // namespace tenon::cuda
