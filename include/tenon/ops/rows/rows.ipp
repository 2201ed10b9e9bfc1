#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include <tenon/op/streamed.hpp>
#include <tenon/ops/reduce/row_packs.hpp>
#include <tenon/ops/rows/rows.hpp>

#define TENON_SIMD_FILE <tenon/ops/rows/rows_kernel.inl>
#include <tenon/simd/for_each_isa.hpp>
#define TENON_SIMD_FILE <tenon/ops/rows/softmax_columns.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::detail {

// Rows that are worth a thread, for about `cost` tenths of a nanosecond an element.
inline std::int64_t row_grain(std::int64_t classes, std::int64_t cost) {
    const std::int64_t grain = 300000 / (cost * (classes + 16));
    return grain < 1 ? 1 : grain;
}

// Bytes of a block: as many lines as wait for memory while the next are computed; or rows enough not to wait for each other's ends.
inline constexpr std::int64_t light_block = 4096, block_of_exponentials = 8192;

/// Rows of n elements in blocks that stay in the first-level cache with what is made of them.
template <class T> class row_blocks {
    static constexpr std::int64_t line = 64 / sizeof(T);

public:
    /// Rows of n go to `out`, which may be null, from operands at `from`; about so many bytes at a time.
    row_blocks(std::int64_t rows, std::int64_t n, T* out, std::initializer_list<const T*> from, std::int64_t bytes) :
        n_(n),
        together_(std::clamp<std::int64_t>(bytes / std::max<std::int64_t>(n * static_cast<std::int64_t>(sizeof(T)), 1),
                                           1, most_rows)),
        out_(out) {
        streamed_ = out && n <= longest_row<T> && is_streamed(rows * n * static_cast<std::int64_t>(sizeof(T)));
        for (const T* f : from) streamed_ = streamed_ && f != out; // whose lines are in the cache
    }
    /// f(first row, their number, where results go, lines of the block before) for blocks that cover rows begin .. end-1.
    template <class F> void run(std::int64_t begin, std::int64_t end, const F& f) const {
        alignas(64) T buffers[2][longest_row<T> + line];
        waiting_lines waiting;
        // Elements that lie in a line with the next block's, before them.
        std::int64_t before =
            streamed_ ? static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out_ + begin * n_) % 64 / sizeof(T))
                      : 0;
        T* buffer = buffers[0];
        for (std::int64_t r = begin; r < end; r += together_) {
            const std::int64_t rows = std::min(together_, end - r);
            T* const place = out_ ? out_ + r * n_ : nullptr;
            f(r, rows, streamed_ ? buffer + before : place, waiting);
            if (!streamed_) continue;
            stream(waiting);
            const std::int64_t all = before + rows * n_, skipped = r == begin && before > 0 ? std::min(line, all) : 0;
            if (skipped > 0) copy(buffer + before, place, skipped - before); // of a line that is another's too
            const std::int64_t lines = (all - skipped) / line;
            waiting = {reinterpret_cast<std::byte*>(place - before + skipped),
                       reinterpret_cast<const std::byte*>(buffer + skipped), lines};
            const T* const rest = buffer + skipped + lines * line;
            before = buffer + all - rest;
            buffer = buffer == buffers[0] ? buffers[1] : buffers[0];
            copy(rest, buffer, before);
        }
        if (!streamed_) return;
        stream(waiting);
        copy(buffer, out_ + end * n_ - before, before);
        finish_streams();
    }
    template <class F> void run(thread_pool* pool, std::int64_t rows, std::int64_t cost, const F& f) const {
        parallel_for(pool, rows, row_grain(n_, cost),
                     [&](std::int64_t begin, std::int64_t end) { run(begin, end, f); });
    }

private:
    static void copy(const T* from, T* to, std::int64_t n) {
        std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
    }

    std::int64_t n_, together_;
    T* out_;
    bool streamed_;
};

/// Slices of columns: pieces of as many as stay in the second-level cache, within one outer slice.
struct column_pieces {
    static constexpr std::int64_t in_cache = 1 << 16; // elements

    explicit column_pieces(const axis_view& view) :
        v(view),
        width(std::clamp<std::int64_t>(in_cache / v.size / 16 * 16, 64, most_columns)),
        in_slice((v.inner + width - 1) / width) {}
    /// f(first element, columns) of pieces begin .. end-1.
    template <class F> void run(std::int64_t begin, std::int64_t end, const F& f) const {
        for (std::int64_t k = begin; k < end; ++k) {
            const std::int64_t column = k % in_slice * width, left = v.inner - column;
            f(k / in_slice * v.size * v.inner + column, left < width ? left : width);
        }
    }
    std::int64_t count() const noexcept { return v.outer * in_slice; }

    const axis_view v;
    const std::int64_t width, in_slice;
};

// Terms of a stripe stay in the second-level cache.
template <class T> std::int64_t softmax_terms(const axis_view& v, int threads) noexcept {
    constexpr std::int64_t size = sizeof(T), most = std::int64_t{1} << 20;
    const std::int64_t terms = v.size * (stripe_columns + 64 / size);
    if (v.size * v.inner <= longest_row<T> || !is_streamed(v.elements() * size) || terms * size > most) return 0;
    return threads * terms;
}
template <class T>
void softmax_along(const T* x, T* y, const axis_view& v, bool logarithm, T* terms, int threads, thread_pool* pool) {
    if (v.elements() == 0) return;
    if (v.inner == 1) {
        const auto f = TENON_SIMD_BEST(softmax_rows<T>);
        row_blocks<T>(v.outer, v.size, y, {x}, block_of_exponentials)
            .run(pool, v.outer, 5, [&](std::int64_t r, std::int64_t rows, T* to, waiting_lines& w) {
                f(x + r * v.size, to, rows, v.size, logarithm, w);
            });
        return;
    }
    const std::int64_t slice = v.size * v.inner;
    if (slice <= longest_row<T>) {
        const auto f = TENON_SIMD_BEST(softmax_slices<T>);
        row_blocks<T>(v.outer, slice, y, {x}, block_of_exponentials)
            .run(pool, v.outer, 5, [&](std::int64_t s, std::int64_t slices, T* to, waiting_lines& w) {
                f(x + s * slice, to, slices, v.size, v.inner, logarithm, w);
            });
        return;
    }
    // Pieces of whole stripes, as many as threads.
    const auto f = TENON_SIMD_BEST(softmax_piece<T>);
    const std::int64_t each = x == y ? 0 : softmax_terms<T>(v, 1);
    const std::int64_t in_slice = (v.inner + stripe_columns - 1) / stripe_columns, stripes = v.outer * in_slice;
    const std::int64_t parts = std::clamp<std::int64_t>(stripes / row_grain(v.size * stripe_columns, 5), 1, threads);
    parallel_for(pool, parts, 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t t = first; t < last; ++t)
            for (std::int64_t k = stripes * t / parts, end = stripes * (t + 1) / parts; k < end;) {
                const std::int64_t at = k / in_slice * slice, from = k % in_slice,
                                   stop = std::min(in_slice, from + end - k);
                f(x + at, y + at, from * stripe_columns, std::min(v.inner, stop * stripe_columns), v.size, v.inner,
                  logarithm, each > 0 ? terms + t * each : nullptr);
                k += stop - from;
            }
        if (each > 0) finish_streams();
    });
}
template <class T>
void softmax_backward_along(const T* y, const T* dy, T* dx, const axis_view& v, bool logarithm, thread_pool* pool) {
    if (v.elements() == 0) return;
    if (v.inner == 1) {
        const auto f = TENON_SIMD_BEST(softmax_backward_rows<T>);
        row_blocks<T>(v.outer, v.size, dx, {y, dy}, light_block)
            .run(pool, v.outer, 3, [&](std::int64_t r, std::int64_t rows, T* to, waiting_lines&) {
                f(y + r * v.size, dy + r * v.size, to, rows, v.size, logarithm);
            });
        return;
    }
    const auto f = TENON_SIMD_BEST(softmax_backward_columns<T>);
    const column_pieces pieces(v);
    parallel_for(pool, pieces.count(), row_grain(v.size * pieces.width, 3), [&](std::int64_t begin, std::int64_t end) {
        pieces.run(begin, end, [&](std::int64_t at, std::int64_t columns) {
            f(y + at, dy + at, dx + at, columns, v.size, v.inner, logarithm);
        });
    });
}

template <class T>
std::int64_t sparse_cross_entropy(const T* x, label_list label, T* loss, T* dx, std::int64_t rows, std::int64_t classes,
                                  thread_pool* pool) {
    for (std::int64_t r = 0; r < rows; ++r)
        if (label[r] < 0 || label[r] >= classes) return r;
    const auto f = TENON_SIMD_BEST(sparse_cross_entropy_rows<T>);
    row_blocks<T>(rows, classes, dx, {x}, block_of_exponentials)
        .run(pool, rows, 5, [&](std::int64_t r, std::int64_t count, T* to, waiting_lines& w) {
            f(x + r * classes, label, r, loss ? loss + r : nullptr, to, count, classes, w);
        });
    return -1;
}
template <class T>
void cross_entropy(const T* x, const T* p, T* loss, T* dx, std::int64_t rows, std::int64_t classes, thread_pool* pool) {
    if (classes == 0 && loss) std::fill_n(loss, rows, T(0));
    if (classes == 0) return;
    const auto f = TENON_SIMD_BEST(cross_entropy_rows<T>);
    row_blocks<T>(rows, classes, dx, {x, p}, block_of_exponentials)
        .run(pool, rows, 6, [&](std::int64_t r, std::int64_t count, T* to, waiting_lines& w) {
            f(x + r * classes, p + r * classes, loss ? loss + r : nullptr, to, count, classes, w);
        });
}
template <class T>
void layer_norm(const T* x, const row_sum<T>& sum, const T* gamma, const T* beta, T* y, T* mean, T* factor,
                std::int64_t rows, std::int64_t n, double epsilon, thread_pool* pool) {
    const auto f = TENON_SIMD_BEST(layer_norm_rows<T>);
    row_blocks<T>(rows, n, y, {x, sum.y}, light_block)
        .run(pool, rows, 3, [&](std::int64_t r, std::int64_t count, T* to, waiting_lines&) {
            const row_sum<T> added{sum.y ? sum.y + r * n : nullptr, sum.bias, sum.sum ? sum.sum + r * n : nullptr};
            f(x + r * n, added, gamma, beta, to, mean ? mean + r : nullptr, factor ? factor + r : nullptr, count, n,
              static_cast<T>(epsilon));
        });
}
template <class T>
void layer_norm_backward(const T* x, const T* gamma, const T* dy, const T* mean, const T* factor, const T* more, T* dx,
                         T* dgamma, T* dbeta, T* partial, std::int64_t rows, std::int64_t n, thread_pool* pool) {
    const auto f = TENON_SIMD_BEST(layer_norm_backward_rows<T>);
    const std::int64_t parts = layer_norm_partials(rows);
    const row_blocks<T> blocks(rows, n, dx, {x, dy, more}, light_block);
    // As many sums as there are parts, whatever the threads: they are added up in order below.
    parallel_for(pool, parts, row_grain(n * (rows / parts + 1), 5), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) {
            T* sums = partial + k * 2 * n;
            for (std::int64_t i = 0; i < 2 * n; ++i) sums[i] = 0;
            blocks.run(rows * k / parts, rows * (k + 1) / parts,
                       [&](std::int64_t r, std::int64_t count, T* to, waiting_lines&) {
                           f(x + r * n, gamma, dy + r * n, mean + r, factor + r, more ? more + r * n : nullptr, to,
                             dgamma ? sums : nullptr, dbeta ? sums + n : nullptr, count, n);
                       });
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
    template void softmax_along<T>(const T*, T*, const axis_view&, bool, T*, int, thread_pool*);                     \
    template std::int64_t softmax_terms<T>(const axis_view&, int) noexcept;                                          \
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
