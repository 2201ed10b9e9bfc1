#include <cuda/kernels/matrices/pivots.hpp>

#include <limits>

#include <cuda/kernels/each.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/matrices/block.hpp>

namespace tenon::cuda {

namespace {

template <class T> struct pivot_found {
    T size;
    std::int64_t place;
};

// A block's working memory. origin[p]: which row of a has become row p, a whole number.
template <class T> struct pivot_memory {
    __device__ pivot_memory(T* at, std::int64_t n) :
        triangles(at), rows(at + n * n), columns(rows + n), origin(columns + n), right(origin + n) {}
    T *triangles, *rows, *columns, *origin, *right;
};

template <class T> __device__ void measure(const T* a, const pivot_memory<T>& to, std::int64_t n) {
    each_of(n, [&](std::int64_t i) {
        T row = 0, column = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            const T of_row = fabs(a[i * n + j]), of_column = fabs(a[j * n + i]);
            if (!(of_row <= row)) row = of_row;
            if (!(of_column <= column)) column = of_column;
        }
        to.rows[i] = row;
        to.columns[i] = column;
    });
}

// a's triangles in the memory; false where an odd number of rows was exchanged.
template <class T> __device__ bool factor(const T* a, const pivot_memory<T>& to, std::int64_t n) {
    __shared__ pivot_found<T> shared[most_matrix_warps];
    T* const lu = to.triangles;
    each_of(n * n, [&](std::int64_t i) { lu[i] = a[i]; });
    each_of(n, [&](std::int64_t i) { to.origin[i] = static_cast<T>(i); });
    bool even = true;
    for (std::int64_t p = 0; p < n; ++p) {
        __syncthreads();
        pivot_found<T> best{-1, n};
        each_of(n - p, [&](std::int64_t i) {
            const T size = fabs(lu[(p + i) * n + p]);
            if (size > best.size) best = {size, p + i};
        });
        best = combine_threads(best, static_cast<int>(blockDim.x), shared,
                               [](const pivot_found<T>& x, const pivot_found<T>& y) {
                                   return y.size > x.size || (y.size == x.size && y.place < x.place) ? y : x;
                               });
        __syncthreads();
        const std::int64_t q = best.place < n ? best.place : p; // all are NaN
        if (q != p) {
            even = !even;
            each_of(n + 1, [&](std::int64_t j) {
                T *const one = j < n ? lu + p * n + j : to.origin + p, *const other =
                                                                           j < n ? lu + q * n + j : to.origin + q;
                const T kept = *one;
                *one = *other;
                *other = kept;
            });
            __syncthreads();
        }
        const T pivot = lu[p * n + p];
        if (pivot == 0) continue;
        T* const below = lu + (p + 1) * n + p;
        each_of(n - p - 1, [&](std::int64_t i) { below[i * n] /= pivot; });
        __syncthreads();
        each_pair(n - p - 1, n - p - 1, [&](std::int64_t i, std::int64_t j) {
            below[i * n + j + 1] -= below[i * n] * lu[p * n + p + j + 1];
        });
    }
    __syncthreads();
    return even;
}

template <class T> __device__ bool has_pivots(const pivot_memory<T>& m, std::int64_t n) {
    const T least = static_cast<T>(n) * std::numeric_limits<T>::epsilon();
    bool good = true;
    each_of(n, [&](std::int64_t p) {
        const T row = m.rows[static_cast<std::int64_t>(m.origin[p])], column = m.columns[p];
        good = good && fabs(m.triangles[p * n + p]) > least * (row < column ? row : column);
    });
    return __syncthreads_and(good) != 0;
}

template <class T>
__global__ void solve(general_systems s, const T* all_a, const T* all_b, T* all_x, T* scratch, std::int32_t* failed) {
    const std::int64_t n = s.n, m = s.m;
    for (std::int64_t which = blockIdx.x; which < s.count; which += gridDim.x) {
        const T* const a = all_a + s.a.place(which) * n * n;
        const T* const b = all_b + s.b.place(which) * n * m;
        T* const x = all_x + which * n * m;
        const pivot_memory<T> memory(scratch + which * pivot_elements(n, m), n);
        measure(a, memory, n);
        (void)factor(a, memory, n);
        const bool good = has_pivots(memory, n);
        if (threadIdx.x == 0) failed[which] = good ? 0 : 1;
        if (!good) continue;
        const T *const lu = memory.triangles, *const origin = memory.origin;
        if (!s.transposed) {
            each_pair(n, m, [&](std::int64_t i, std::int64_t c) {
                x[i * m + c] = b[static_cast<std::int64_t>(origin[i]) * m + c];
            });
            substitute(lu, x, n, m, true, false, true);
            substitute(lu, x, n, m, false, false, false);
            continue;
        }
        T* const y = memory.right;
        each_of(n * m, [&](std::int64_t i) { y[i] = b[i]; });
        substitute(lu, y, n, m, true, true, false);
        substitute(lu, y, n, m, false, true, true);
        each_pair(n, m, [&](std::int64_t i, std::int64_t c) {
            x[static_cast<std::int64_t>(origin[i]) * m + c] = y[i * m + c];
        });
    }
}

template <class T>
__global__ void invert(const T* all_a, T* all_x, std::int64_t n, std::int64_t count, T* scratch, std::int32_t* failed) {
    for (std::int64_t which = blockIdx.x; which < count; which += gridDim.x) {
        const T* const a = all_a + which * n * n;
        T* const x = all_x + which * n * n;
        const pivot_memory<T> memory(scratch + which * pivot_elements(n, 0), n);
        measure(a, memory, n);
        (void)factor(a, memory, n);
        const bool good = has_pivots(memory, n);
        if (threadIdx.x == 0) failed[which] = good ? 0 : 1;
        if (!good) continue;
        each_pair(n, n, [&](std::int64_t i, std::int64_t j) {
            x[i * n + j] = static_cast<std::int64_t>(memory.origin[i]) == j ? T{1} : T{0};
        });
        substitute(memory.triangles, x, n, n, true, false, true);
        substitute(memory.triangles, x, n, n, false, false, false);
    }
}

template <class T>
__global__ void determine(const T* all_a, std::int64_t n, std::int64_t count, T* products, T* signs, T* logs,
                          T* scratch) {
    for (std::int64_t which = blockIdx.x; which < count; which += gridDim.x) {
        const pivot_memory<T> memory(scratch + which * pivot_elements(n, 0), n);
        const bool even = factor(all_a + which * n * n, memory, n);
        if (threadIdx.x != 0) continue;
        double log = 0, sign = even ? 1 : -1, product = sign;
        for (std::int64_t p = 0; p < n; ++p) {
            const double pivot = static_cast<double>(memory.triangles[p * n + p]);
            product *= pivot;
            log += ::log(fabs(pivot));
            if (!(pivot > 0)) sign *= pivot < 0 ? -1.0 : pivot; // 0 and NaN stay
        }
        if (products) products[which] = static_cast<T>(product);
        if (signs) signs[which] = static_cast<T>(sign);
        if (logs) logs[which] = static_cast<T>(log);
    }
}

} // namespace

void solve_by_pivots(tenon::element_type e, const general_systems& s, const void* a, const void* b, void* x,
                     std::byte* scratch, std::int32_t* failed, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(solve<T>, matrix_blocks(s.count), matrix_threads(s.n), 0, stream, s, static_cast<const T*>(a),
               static_cast<const T*>(b), static_cast<T*>(x), reinterpret_cast<T*>(scratch), failed);
    });
}

void invert_by_pivots(tenon::element_type e, const void* a, void* x, std::int64_t n, std::int64_t count,
                      std::byte* scratch, std::int32_t* failed, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(invert<T>, matrix_blocks(count), matrix_threads(n), 0, stream, static_cast<const T*>(a),
               static_cast<T*>(x), n, count, reinterpret_cast<T*>(scratch), failed);
    });
}

void determinants_by_pivots(tenon::element_type e, const void* a, std::int64_t n, std::int64_t count, void* product,
                            void* sign, void* log, std::byte* scratch, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(determine<T>, matrix_blocks(count), matrix_threads(n), 0, stream, static_cast<const T*>(a), n, count,
               static_cast<T*>(product), static_cast<T*>(sign), static_cast<T*>(log), reinterpret_cast<T*>(scratch));
    });
}

} // namespace tenon::cuda
