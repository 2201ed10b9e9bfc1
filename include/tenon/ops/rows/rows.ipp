#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include <tenon/ops/rows/row_packs.hpp>
#include <tenon/ops/rows/rows.hpp>

#define TENON_SIMD_FILE <tenon/ops/rows/rows_kernel.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::detail {

// Rows that are worth a thread, for about `cost` tenths of a nanosecond an element.
inline std::int64_t row_grain(std::int64_t classes, std::int64_t cost) {
    const std::int64_t grain = 300000 / (cost * (classes + 16));
    return grain < 1 ? 1 : grain;
}
template <class F> void for_rows(thread_pool* pool, std::int64_t rows, std::int64_t grain, F f) {
    if (pool) pool->parallel_for(rows, grain, f);
    else if (rows > 0) f(0, rows);
}
// The same for slices of columns: pieces of as many as stay in the second-level cache, within one outer slice.
template <class F> void for_columns(thread_pool* pool, const axis_view& v, std::int64_t cost, F f) {
    constexpr std::int64_t in_cache = 1 << 16; // elements
    const std::int64_t width = std::clamp<std::int64_t>(in_cache / v.size / 16 * 16, 64, most_columns);
    const std::int64_t pieces = (v.inner + width - 1) / width;
    for_rows(pool, v.outer * pieces, row_grain(v.size * width, cost), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) {
            const std::int64_t column = k % pieces * width, left = v.inner - column;
            f(k / pieces * v.size * v.inner + column, left < width ? left : width);
        }
    });
}

template <class T> void softmax_along(const T* x, T* y, const axis_view& v, bool logarithm, thread_pool* pool) {
    if (v.elements() == 0) return;
    if (v.inner == 1) {
        const auto f = TENON_SIMD_BEST(softmax_rows<T>);
        for_rows(pool, v.outer, row_grain(v.size, 5),
                 [&](std::int64_t begin, std::int64_t end) { f(x, y, begin, end, v.size, logarithm); });
    } else {
        const auto f = TENON_SIMD_BEST(softmax_columns<T>);
        for_columns(pool, v, 5, [&](std::int64_t at, std::int64_t columns) {
            f(x + at, y + at, columns, v.size, v.inner, logarithm);
        });
    }
}
template <class T>
void softmax_backward_along(const T* y, const T* dy, T* dx, const axis_view& v, bool logarithm, thread_pool* pool) {
    if (v.elements() == 0) return;
    if (v.inner == 1) {
        const auto f = TENON_SIMD_BEST(softmax_backward_rows<T>);
        for_rows(pool, v.outer, row_grain(v.size, 3),
                 [&](std::int64_t begin, std::int64_t end) { f(y, dy, dx, begin, end, v.size, logarithm); });
    } else {
        const auto f = TENON_SIMD_BEST(softmax_backward_columns<T>);
        for_columns(pool, v, 3, [&](std::int64_t at, std::int64_t columns) {
            f(y + at, dy + at, dx + at, columns, v.size, v.inner, logarithm);
        });
    }
}

template <class T>
std::int64_t sparse_cross_entropy(const T* x, label_list label, T* loss, T* dx, std::int64_t rows, std::int64_t classes,
                                  thread_pool* pool) {
    for (std::int64_t r = 0; r < rows; ++r)
        if (label[r] < 0 || label[r] >= classes) return r;
    const auto f = TENON_SIMD_BEST(sparse_cross_entropy_rows<T>);
    for_rows(pool, rows, row_grain(classes, 5),
             [&](std::int64_t begin, std::int64_t end) { f(x, label, loss, dx, begin, end, classes); });
    return -1;
}
template <class T>
void cross_entropy(const T* x, const T* p, T* loss, T* dx, std::int64_t rows, std::int64_t classes, thread_pool* pool) {
    const auto f = TENON_SIMD_BEST(cross_entropy_rows<T>);
    for_rows(pool, rows, row_grain(classes, 6),
             [&](std::int64_t begin, std::int64_t end) { f(x, p, loss, dx, begin, end, classes); });
}
template <class T>
void layer_norm(const T* x, const row_sum<T>& sum, const T* gamma, const T* beta, T* y, T* mean, T* factor,
                std::int64_t rows, std::int64_t n, double epsilon, thread_pool* pool) {
    const auto f = TENON_SIMD_BEST(layer_norm_rows<T>);
    for_rows(pool, rows, row_grain(n, 3), [&](std::int64_t begin, std::int64_t end) {
        f(x, sum, gamma, beta, y, mean, factor, begin, end, n, static_cast<T>(epsilon));
    });
}
template <class T>
void layer_norm_backward(const T* x, const T* gamma, const T* dy, const T* mean, const T* factor, const T* more, T* dx,
                         T* dgamma, T* dbeta, T* partial, std::int64_t rows, std::int64_t n, thread_pool* pool) {
    const auto f = TENON_SIMD_BEST(layer_norm_backward_rows<T>);
    const std::int64_t parts = layer_norm_partials(rows);
    // As many sums as there are parts, whatever the threads: they are added up in order below.
    for_rows(pool, parts, row_grain(n * (rows / parts + 1), 5), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) {
            T* sums = partial + k * 2 * n;
            for (std::int64_t i = 0; i < 2 * n; ++i) sums[i] = 0;
            f(x, gamma, dy, mean, factor, more, dx, dgamma ? sums : nullptr, dbeta ? sums + n : nullptr,
              rows * k / parts, rows * (k + 1) / parts, n);
        }
    });
    for (std::int64_t i = 0; i < n && (dgamma || dbeta); ++i) {
        T a = 0, b = 0;
        for (std::int64_t k = 0; k < parts; ++k) {
            a += partial[k * 2 * n + i];
            b += partial[k * 2 * n + n + i];
        }
        if (dgamma) dgamma[i] = a;
        if (dbeta) dbeta[i] = b;
    }
}

#if !TENON_HEADER_ONLY
#define TENON_ROWS_INSTANCES(T)                                                                                      \
    template void softmax_along<T>(const T*, T*, const axis_view&, bool, thread_pool*);                              \
    template void softmax_backward_along<T>(const T*, const T*, T*, const axis_view&, bool, thread_pool*);           \
    template std::int64_t sparse_cross_entropy<T>(const T*, label_list, T*, T*, std::int64_t, std::int64_t,          \
                                                  thread_pool*);                                                     \
    template void cross_entropy<T>(const T*, const T*, T*, T*, std::int64_t, std::int64_t, thread_pool*);            \
    template void layer_norm<T>(const T*, const row_sum<T>&, const T*, const T*, T*, T*, T*, std::int64_t,           \
                                std::int64_t, double, thread_pool*);                                                 \
    template void layer_norm_backward<T>(const T*, const T*, const T*, const T*, const T*, const T*, T*, T*, T*, T*, \
                                         std::int64_t, std::int64_t, thread_pool*);
TENON_ROWS_INSTANCES(float)
TENON_ROWS_INSTANCES(double)
#undef TENON_ROWS_INSTANCES
#endif

} // namespace tenon::detail
