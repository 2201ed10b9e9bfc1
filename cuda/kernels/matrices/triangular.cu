#include <cuda/kernels/matrices/triangular.hpp>

#include <cuda/kernels/each.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/matrices/block.hpp>

namespace tenon::cuda {

namespace {

template <class T>
__global__ void factor(const T* all_a, T* all_l, std::int64_t n, std::int64_t count, std::int32_t* failed) {
    for (std::int64_t which = blockIdx.x; which < count; which += gridDim.x) {
        const T* const a = all_a + which * n * n;
        T* const l = all_l + which * n * n;
        each_pair(n, n, [&](std::int64_t i, std::int64_t j) {
            l[i * n + j] = j <= i ? (a[i * n + j] + a[j * n + i]) / 2 : T{0};
        });
        bool good = true;
        for (std::int64_t p = 0; p < n; ++p) {
            __syncthreads();
            const T pivot = l[p * n + p];
            good = pivot > 0;
            if (!good) break;
            const T root = sqrt(pivot);
            each_of(n - p - 1, [&](std::int64_t i) { l[(p + 1 + i) * n + p] /= root; });
            __syncthreads(); // all have read the pivot
            if (threadIdx.x == 0) l[p * n + p] = root;
            const std::int64_t rest = n - p - 1;
            T* const below = l + (p + 1) * n + p;
            each_pair(rest, rest, [&](std::int64_t i, std::int64_t j) {
                if (j <= i) below[i * n + j + 1] -= below[i * n] * below[j * n];
            });
        }
        if (threadIdx.x == 0) failed[which] = good ? 0 : 1;
        __syncthreads();
    }
}

template <class T>
__global__ void solve(triangular_systems s, const T* all_a, const T* all_b, T* all_x, std::int32_t* failed) {
    const std::int64_t n = s.n, m = s.m;
    for (std::int64_t which = blockIdx.x; which < s.count; which += gridDim.x) {
        const T* const a = all_a + s.a.place(which) * n * n;
        const T* const b = all_b + s.b.place(which) * n * m;
        T* const x = all_x + which * n * m;
        bool good = true;
        each_of(n, [&](std::int64_t i) { good = good && a[i * n + i] != 0; });
        good = __syncthreads_and(good) != 0;
        if (threadIdx.x == 0) failed[which] = good ? 0 : 1;
        each_of(n * m, [&](std::int64_t i) { x[i] = b[i]; });
        if (good) substitute(a, x, n, m, s.lower != s.transposed, s.transposed, false);
        __syncthreads();
    }
}

} // namespace

void factor_cholesky(tenon::element_type e, const void* a, void* l, std::int64_t n, std::int64_t count,
                     std::int32_t* failed, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(factor<T>, matrix_blocks(count), matrix_threads(n), 0, stream, static_cast<const T*>(a),
               static_cast<T*>(l), n, count, failed);
    });
}

void solve_triangular(tenon::element_type e, const triangular_systems& s, const void* a, const void* b, void* x,
                      std::int32_t* failed, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(solve<T>, matrix_blocks(s.count), matrix_threads(s.n), 0, stream, s, static_cast<const T*>(a),
               static_cast<const T*>(b), static_cast<T*>(x), failed);
    });
}

} // namespace tenon::cuda
