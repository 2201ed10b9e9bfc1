#include <cuda/kernels/matrices/orthogonal.hpp>

#include <cuda/kernels/each.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/matrices/rotations.hpp>

namespace tenon::cuda {

namespace {

template <class T> __global__ void qr_blocks(matrix_batch b, const T* all_a, T* all_q, T* all_r, double* scratch) {
    const std::int64_t m = b.m, n = b.n, k = b.k();
    for (std::int64_t which = blockIdx.x; which < b.count; which += gridDim.x) {
        const T* const from = all_a + which * m * n;
        double *const a = scratch + which * qr_doubles(b), *const taus = a + m * n, *const q = taus + k;
        each_of(m * n, [&](std::int64_t i) { a[i] = static_cast<double>(from[i]); });
        reflect(a, taus, m, n);
        if (all_r)
            each_pair(k, n, [&](std::int64_t i, std::int64_t j) {
                all_r[which * k * n + i * n + j] = j < i ? T{0} : static_cast<T>(a[i * n + j]);
            });
        if (!all_q) continue;
        each_pair(m, k, [&](std::int64_t i, std::int64_t j) { q[i * k + j] = i == j ? 1 : 0; });
        apply_reflections(a, taus, m, n, q, k);
        each_of(m * k, [&](std::int64_t i) { all_q[which * m * k + i] = static_cast<T>(q[i]); });
        __syncthreads();
    }
}

// The working memory of a matrix, or of its transpose where that is not wider than high: [high, k].
struct svd_memory {
    __device__ svd_memory(double* at, const matrix_batch& b) {
        const std::int64_t high = b.high(), k = b.k();
        a = at;
        left = a + high * k;
        rows = left + high * k;
        turns = rows + k * k;
        inner = turns + k * k;
        taus = inner + k * k;
        inner_taus = taus + k;
        s = inner_taus + k;
        order = s + k;
    }
    // rows: the columns of the triangle; turns: of the right vectors; inner: left vectors of the triangle. order: which row comes in
    // place i, a whole number.
    double *a, *left, *rows, *turns, *inner, *taus, *inner_taus, *s, *order;
};

// Turns rows [k, k] until they are orthogonal, and `turns` with them; a warp a pair.
__device__ void make_orthogonal(double* rows, double* turns, std::int64_t k) {
    const std::int64_t even = k + k % 2, lane = threadIdx.x % 32;
    const double small = 2.2e-16 * sqrt(static_cast<double>(k));
    for (int sweep = 0; sweep < most_sweeps; ++sweep) {
        bool turned = false;
        for (std::int64_t round = 0; round + 1 < even; ++round) {
            __syncthreads();
            for (std::int64_t i = threadIdx.x / 32; i < even / 2; i += blockDim.x / 32) {
                const rotated_pair pair(even, round, i);
                if (pair.q >= k) continue;
                double *const p = rows + pair.p * k, *const q = rows + pair.q * k;
                double pp = 0, pq = 0, qq = 0;
                for (std::int64_t j = lane; j < k; j += 32) {
                    pp += p[j] * p[j];
                    pq += p[j] * q[j];
                    qq += q[j] * q[j];
                }
                pp = sum_of_warp(pp);
                pq = sum_of_warp(pq);
                qq = sum_of_warp(qq);
                if (!(fabs(pq) > small * sqrt(pp) * sqrt(qq)) || pq == 0) continue;
                turned = true;
                const rotation r = rotation_of(pp, pq, qq);
                for (std::int64_t j = lane; j < k; j += 32) {
                    r.turn(p[j], q[j]);
                    if (turns) r.turn(turns[pair.p * k + j], turns[pair.q * k + j]);
                }
            }
        }
        if (__syncthreads_or(turned) == 0) return;
    }
}

template <class T>
__global__ void svd_blocks(matrix_batch b, const T* all_a, T* all_u, T* all_s, T* all_vt, double* scratch,
                           std::int32_t* failed) {
    const std::int64_t m = b.m, n = b.n, k = b.k(), high = b.high();
    const bool vectors = all_u || all_vt;
    for (std::int64_t which = blockIdx.x; which < b.count; which += gridDim.x) {
        const T* const from = all_a + which * m * n;
        const svd_memory to(scratch + which * svd_doubles(b), b);
        bool finite = true;
        double largest = largest_of(from, m * n, finite);
        if (threadIdx.x == 0) failed[which] = finite ? 0 : 1;
        if (!finite) continue;
        if (largest == 0) largest = 1;
        each_pair(high, k, [&](std::int64_t i, std::int64_t j) {
            to.a[i * k + j] = static_cast<double>(from[m < n ? j * n + i : i * n + j]) / largest;
        });
        reflect(to.a, to.taus, high, k);
        each_pair(k, k, [&](std::int64_t i, std::int64_t j) {
            to.rows[i * k + j] = j <= i ? to.a[j * k + i] : 0;
            to.turns[i * k + j] = i == j ? 1 : 0;
        });
        make_orthogonal(to.rows, vectors ? to.turns : nullptr, k);
        each_of(k, [&](std::int64_t i) {
            double sum = 0;
            for (std::int64_t j = 0; j < k; ++j) sum += to.rows[i * k + j] * to.rows[i * k + j];
            to.inner_taus[i] = sqrt(sum);
        });
        __syncthreads();
        each_of(k, [&](std::int64_t i) {
            const double own = to.inner_taus[i];
            std::int64_t place = 0;
            for (std::int64_t j = 0; j < k; ++j)
                if (to.inner_taus[j] > own || (to.inner_taus[j] == own && j < i)) ++place;
            to.order[place] = static_cast<double>(i);
            to.s[place] = own;
            if (all_s) all_s[which * k + place] = static_cast<T>(own * largest);
        });
        __syncthreads();
        if (!vectors) continue;
        // Orthonormal vectors of the triangle that belong to values which are not 0, completed to k by those that reflections give.
        each_pair(k, k, [&](std::int64_t i, std::int64_t j) {
            const double s = to.s[j];
            to.inner[i * k + j] = s > 0 ? to.rows[static_cast<std::int64_t>(to.order[j]) * k + i] / s : 0;
        });
        reflect(to.inner, to.inner_taus, k, k);
        each_pair(high, k, [&](std::int64_t i, std::int64_t j) {
            to.left[i * k + j] = i != j ? 0 : to.s[j] > 0 && to.inner[j * k + j] < 0 ? -1 : 1;
        });
        apply_reflections(to.inner, to.inner_taus, k, k, to.left, k);
        apply_reflections(to.a, to.taus, high, k, to.left, k);
        // taus: which way each vector is to point.
        each_of(k, [&](std::int64_t j) {
            const double* const right = to.turns + static_cast<std::int64_t>(to.order[j]) * k;
            to.taus[j] = m < n ? turned_to_positive(high, [&](std::int64_t i) { return to.left[i * k + j]; })
                               : turned_to_positive(k, [&](std::int64_t i) { return right[i]; });
        });
        __syncthreads();
        const auto left = [&](std::int64_t i, std::int64_t j) { return to.taus[j] * to.left[i * k + j]; };
        const auto right = [&](std::int64_t i, std::int64_t j) {
            return to.taus[j] * to.turns[static_cast<std::int64_t>(to.order[j]) * k + i];
        };
        if (all_u)
            each_pair(m, k, [&](std::int64_t i, std::int64_t j) {
                all_u[which * m * k + i * k + j] = static_cast<T>(m < n ? right(i, j) : left(i, j));
            });
        if (all_vt)
            each_pair(k, n, [&](std::int64_t j, std::int64_t i) {
                all_vt[which * k * n + j * n + i] = static_cast<T>(m < n ? left(i, j) : right(i, j));
            });
        __syncthreads();
    }
}

template <class T>
__global__ void eigh_blocks(std::int64_t n, std::int64_t count, const T* all_a, T* all_w, T* all_v, double* scratch,
                            std::int32_t* failed) {
    const std::int64_t even = n + n % 2;
    for (std::int64_t which = blockIdx.x; which < count; which += gridDim.x) {
        const T* const from = all_a + which * n * n;
        double *const a = scratch + which * eigh_doubles(n), *const v = a + n * n, *const turns = v + n * n;
        bool finite = true;
        double largest = largest_of(from, n * n, finite);
        if (threadIdx.x == 0) failed[which] = finite ? 0 : 1;
        if (!finite) continue;
        if (largest == 0) largest = 1;
        each_pair(n, n, [&](std::int64_t i, std::int64_t j) {
            a[i * n + j] =
                (static_cast<double>(from[i * n + j]) / largest + static_cast<double>(from[j * n + i]) / largest) / 2;
            v[i * n + j] = i == j ? 1 : 0;
        });
        __syncthreads();
        const double small = 1.1e-16 * sqrt(sum_of(n * n, [&](std::int64_t i) { return a[i] * a[i]; }));
        for (int sweep = 0; sweep < most_sweeps; ++sweep) {
            bool turned = false;
            for (std::int64_t round = 0; round + 1 < even; ++round) {
                __syncthreads();
                each_of(even / 2, [&](std::int64_t i) {
                    const rotated_pair pair(even, round, i);
                    rotation r;
                    if (pair.q < n && fabs(a[pair.p * n + pair.q]) > small) {
                        turned = true;
                        r = rotation_of(a[pair.p * n + pair.p], a[pair.p * n + pair.q], a[pair.q * n + pair.q]);
                    }
                    turns[2 * i] = r.c;
                    turns[2 * i + 1] = r.s;
                });
                __syncthreads();
                const auto each_turned = [&](const auto& f) {
                    each_pair(n, even / 2, [&](std::int64_t j, std::int64_t i) {
                        const rotated_pair pair(even, round, i);
                        if (pair.q < n && turns[2 * i + 1] != 0) f(j, pair, rotation{turns[2 * i], turns[2 * i + 1]});
                    });
                    __syncthreads();
                };
                each_turned([&](std::int64_t j, const rotated_pair& pair, const rotation& r) {
                    r.turn(a[j * n + pair.p], a[j * n + pair.q]);
                    r.turn(v[j * n + pair.p], v[j * n + pair.q]);
                });
                each_turned([&](std::int64_t j, const rotated_pair& pair, const rotation& r) {
                    r.turn(a[pair.p * n + j], a[pair.q * n + j]);
                });
                each_of(even / 2, [&](std::int64_t i) { // what rounding leaves of it would be turned for ever
                    const rotated_pair pair(even, round, i);
                    if (pair.q < n && turns[2 * i + 1] != 0) a[pair.p * n + pair.q] = a[pair.q * n + pair.p] = 0;
                });
            }
            if (__syncthreads_or(turned) == 0) break;
        }
        each_of(n, [&](std::int64_t i) {
            const double own = a[i * n + i];
            std::int64_t place = 0;
            for (std::int64_t j = 0; j < n; ++j)
                if (a[j * n + j] < own || (a[j * n + j] == own && j < i)) ++place;
            if (all_w) all_w[which * n + place] = static_cast<T>(own * largest);
            if (!all_v) return;
            const double sign = turned_to_positive(n, [&](std::int64_t j) { return v[j * n + i]; });
            for (std::int64_t j = 0; j < n; ++j)
                all_v[which * n * n + j * n + place] = static_cast<T>(sign * v[j * n + i]);
        });
        __syncthreads();
    }
}

} // namespace

void factor_qr(tenon::element_type e, const matrix_batch& b, const void* a, void* q, void* r, double* scratch,
               void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(qr_blocks<T>, matrix_blocks(b.count), matrix_threads(b.high()), 0, stream, b, static_cast<const T*>(a),
               static_cast<T*>(q), static_cast<T*>(r), scratch);
    });
}

void factor_svd(tenon::element_type e, const matrix_batch& b, const void* a, void* u, void* s, void* vt,
                double* scratch, std::int32_t* failed, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(svd_blocks<T>, matrix_blocks(b.count), matrix_threads(b.high()), 0, stream, b, static_cast<const T*>(a),
               static_cast<T*>(u), static_cast<T*>(s), static_cast<T*>(vt), scratch, failed);
    });
}

void factor_symmetric(tenon::element_type e, std::int64_t n, std::int64_t count, const void* a, void* w, void* v,
                      double* scratch, std::int32_t* failed, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(eigh_blocks<T>, matrix_blocks(count), matrix_threads(n), 0, stream, n, count, static_cast<const T*>(a),
               static_cast<T*>(w), static_cast<T*>(v), scratch, failed);
    });
}

} // namespace tenon::cuda
