#pragma once

#include <cstdint>

#include <tenon/concurrency/thread_pool.hpp>

/// Kernels on rows: softmax and its losses, layer normalisation. T is float or double. Rows of one tensor follow each
/// other. Results do not depend on the number of threads.

namespace tenon::detail {

/// A tensor seen from one of its axes.
struct axis_view {
    std::int64_t outer = 1, size = 1, inner = 1;
    std::int64_t elements() const noexcept { return outer * size * inner; }
};

/// Columns that are worked on together where the axis is not the last; into which they are divided for threads.
inline constexpr std::int64_t most_columns = 1024, stripe_columns = 128;

/// Rows that are worked on together.
inline constexpr std::int64_t most_rows = 64;

/// Elements of the longest row that has a buffer in the cache.
template <class T> inline constexpr std::int64_t longest_row = 32768 / sizeof(T);

/// y = softmax(x), or its logarithm, along the axis. A slice that holds NaN or +inf, or nothing but -inf, gives NaN. `terms` has room for
/// softmax_terms() of so many threads, and is used by no more.
template <class T>
void softmax_along(const T* x, T* y, const axis_view& v, bool logarithm, T* terms, int threads, thread_pool* pool);
/// Numbers of T.
template <class T> std::int64_t softmax_terms(const axis_view& v, int threads) noexcept;
/// dx from y and dy: y (dy - sum dy y), or dy - e^y sum dy for the logarithm.
template <class T>
void softmax_backward_along(const T* y, const T* dy, T* dx, const axis_view& v, bool logarithm, thread_pool* pool);

/// Labels of rows, of int32 or int64.
struct label_list {
    const void* labels;
    bool wide;
    std::int64_t operator[](std::int64_t r) const noexcept {
        return wide ? static_cast<const std::int64_t*>(labels)[r] : static_cast<const std::int32_t*>(labels)[r];
    }
    label_list from(std::int64_t r) const noexcept {
        return {static_cast<const std::byte*>(labels) + r * (wide ? 8 : 4), wide};
    }
};

/// loss[r] = ln(sum over c of e^x[r, c]) - x[r, label[r]]; dx[r, c] = softmax(x)[r, c] - (c == label[r]). Either result
/// may be null; dx may be x. The first row whose label is not in [0, classes), or -1; with one, nothing has been
/// written.
template <class T>
std::int64_t sparse_cross_entropy(const T* x, label_list label, T* loss, T* dx, std::int64_t rows, std::int64_t classes,
                                  thread_pool* pool);
/// loss[r] = sum over c of p[r, c] (ln(sum over k of e^x[r, k]) - x[r, c]), where p = 0 gives 0;
/// dx[r, c] = softmax(x)[r, c] (sum over k of p[r, k]) - p[r, c]. Either result may be null; dx lies apart from x and p.
template <class T>
void cross_entropy(const T* x, const T* p, T* loss, T* dx, std::int64_t rows, std::int64_t classes, thread_pool* pool);

/// What is added to rows before they are normalised; nothing where `y` is null.
template <class T> struct row_sum {
    const T* y = nullptr;
    const T* bias = nullptr; ///< of a row, added to y first; may be null
    T* sum = nullptr;        ///< where the sums go; may be null
};
/// Of x + sum: mean[r] = mean of x[r, .], factor[r] = 1 / sqrt(mean of (x[r, .] - mean)^2 + epsilon),
/// y[r, c] = (x[r, c] - mean[r]) factor[r] gamma[c] + beta[c]. Any result may be null, but not both y and the sums where there are some.
template <class T>
void layer_norm(const T* x, const row_sum<T>& sum, const T* gamma, const T* beta, T* y, T* mean, T* factor,
                std::int64_t rows, std::int64_t n, double epsilon, thread_pool* pool);
/// The gradients of x, gamma and beta, that of x with `more` added, which may be null. Any may be null. `partial` has room for layer_norm_partials(rows) * 2 * n
/// numbers.
template <class T>
void layer_norm_backward(const T* x, const T* gamma, const T* dy, const T* mean, const T* factor, const T* more, T* dx,
                         T* dgamma, T* dbeta, T* partial, std::int64_t rows, std::int64_t n, thread_pool* pool);
/// The number of parts in which the gradients of gamma and beta are summed.
constexpr std::int64_t layer_norm_partials(std::int64_t rows) noexcept {
    return rows < 32 ? 1 : rows < 512 ? rows / 32 : 16;
}

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/ops/rows/rows.ipp>
#endif
