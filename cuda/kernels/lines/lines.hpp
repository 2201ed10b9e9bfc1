#pragma once

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/folded.hpp>
#include <cuda/kernels/lanes.hpp>
#include <cuda/kernels/lines/blocks.hpp>

/// Lines of a tensor in device code: which elements a thread has of one, and what the threads of a line find together.

namespace tenon::cuda {

/// A thread's place in a line. Rows: lines along the last axis.
template <class T, bool Rows> struct line_place {
    static constexpr int held = held_elements;
    static constexpr int width =
        Rows ? 16 / static_cast<int>(sizeof(T)) : 1; ///< neighbours that it has where lines are wide
    using C = compute_t<T>;

    std::int64_t line, start; ///< the line's number and its first element
    std::int64_t n, inner;
    int number, threads; ///< the thread's number among those of its line
    bool inside;         ///< there is such a line
    bool is_wide;

    /// The place of this thread in the block's lines that begin with number `first`.
    __device__ line_place(const line_layout& l, std::int64_t first) :
        n(l.n), inner(l.inner), threads(l.threads), is_wide(Rows && l.is_wide) {
        const int t = static_cast<int>(threadIdx.x);
        number = Rows ? t & (threads - 1) : t / l.lines;
        line = first + (Rows ? t / threads : t & (l.lines - 1));
        inside = line < l.outer * l.inner;
        start = Rows ? line * n : line / inner * n * inner + line % inner;
    }
    /// Where in the line element i of those held of a tile is; it may be past the end.
    __device__ std::int64_t at(std::int64_t tile, int i) const {
        if (Rows && is_wide) return ((tile * (held / width) + i / width) * threads + number) * width + i % width;
        return (tile * held + i) * threads + number;
    }
    __device__ bool has(std::int64_t k) const { return inside && k < n; }

    /// A tile's elements; `other` where the line has none.
    __device__ void load(const T* x, std::int64_t tile, C (&v)[held], C other) const {
        if constexpr (width > 1) {
            const T* from = x + start;
            if (is_wide && reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
#pragma unroll
                for (int i = 0; i < held; i += width) {
                    const std::int64_t k = at(tile, i);
                    if (has(k + width - 1)) {
                        const auto some = *reinterpret_cast<const packed<T, width>*>(from + k);
#pragma unroll
                        for (int j = 0; j < width; ++j) v[i + j] = widen(some.at[j]);
                    } else {
#pragma unroll
                        for (int j = 0; j < width; ++j) v[i + j] = has(k + j) ? widen(from[k + j]) : other;
                    }
                }
                return;
            }
        }
#pragma unroll
        for (int i = 0; i < held; ++i) {
            const std::int64_t k = at(tile, i);
            v[i] = has(k) ? widen(x[start + k * inner]) : other;
        }
    }
    __device__ void store(T* y, std::int64_t tile, const C (&v)[held]) const {
        if constexpr (width > 1) {
            T* to = y + start;
            if (is_wide && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
#pragma unroll
                for (int i = 0; i < held; i += width) {
                    const std::int64_t k = at(tile, i);
                    if (has(k + width - 1)) {
                        packed<T, width> some;
#pragma unroll
                        for (int j = 0; j < width; ++j) some.at[j] = narrow<T>(v[i + j]);
                        *reinterpret_cast<packed<T, width>*>(to + k) = some;
                    } else {
#pragma unroll
                        for (int j = 0; j < width; ++j)
                            if (has(k + j)) to[k + j] = narrow<T>(v[i + j]);
                    }
                }
                return;
            }
        }
#pragma unroll
        for (int i = 0; i < held; ++i) {
            const std::int64_t k = at(tile, i);
            if (has(k)) y[start + k * inner] = narrow<T>(v[i]);
        }
    }

    /// What the threads of each line have, combined, for all of them. All threads of the block call it.
    template <class S, class F> __device__ S combined(S s, S* shared, int lines, const F& combine) const {
        if constexpr (Rows) return combine_threads(s, threads, shared, combine);
        else {
            if (threads == 1) return s;
            for (int half = threads / 2; half > 0; half /= 2) {
                __syncthreads();
                if (number >= half && number < 2 * half) shared[threadIdx.x] = s;
                __syncthreads();
                if (number < half) s = combine(s, shared[static_cast<int>(threadIdx.x) + half * lines]);
            }
            __syncthreads();
            if (number == 0) shared[threadIdx.x] = s;
            __syncthreads();
            return shared[static_cast<int>(threadIdx.x) & (lines - 1)];
        }
    }
};

/// Values that the threads of a block need room for to combine them.
template <bool Rows> inline constexpr int line_room = Rows ? most_line_threads / 32 : most_line_threads;

/// The sum of a thread's elements, pairwise.
template <class C> __device__ inline C sum_held(const C (&v)[held_elements]) {
    C s[held_elements];
#pragma unroll
    for (int i = 0; i < held_elements; ++i) s[i] = v[i];
    return folded_sum(s);
}

} // namespace tenon::cuda
