#pragma once

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/folded.hpp>
#include <cuda/kernels/lanes.hpp>
#include <cuda/kernels/rows/blocks.hpp>

/// Lines of a tensor in device code: which elements a thread has of one, and what the threads of a line find together.

namespace tenon::cuda {

/// Blocks that a multiprocessor shall have room for: their threads' registers are bounded, so that some read while others compute.
template <class T> inline constexpr int resident_line_blocks = sizeof(T) == 8 ? 1 : 2;

/// A thread's place in a line, of which it has Held elements.
template <class T, line_kind Kind, int Held = held_elements> struct line_place {
    static constexpr bool are_rows = Kind != line_kind::columns;
    static constexpr int held = Held;
    static constexpr int width =
        Kind == line_kind::packed_rows ? 16 / static_cast<int>(sizeof(T)) : 1; ///< neighbours that it has
    using C = compute_t<T>;
    using pack = packed<T, width>;

    /// What a thread has of a tile, as it lies in memory.
    struct elements {
        pack packs[held / width];
    };

    std::int64_t line, start; ///< the line's number and its first element
    std::int64_t n, inner;
    int number;          ///< the thread's among those of its line
    mutable int threads; ///< of a line
    bool inside;         ///< there is such a line

    /// The place of this thread in the block's lines that begin with number `first`.
    __device__ line_place(const line_layout& l, std::int64_t first) : n(l.n), inner(l.inner), threads(l.threads) {
        const int t = static_cast<int>(threadIdx.x);
        number = are_rows ? t & (threads - 1) : t / l.lines;
        line = first + (are_rows ? t / threads : t & (l.lines - 1));
        inside = line < l.outer * l.inner;
        start = are_rows ? line * n : line / inner * n * inner + line % inner;
    }
    /// Where a tile begins in the line.
    __device__ std::int64_t first_of(std::int64_t tile) const { return tile * (held * threads); }
    /// Where in a tile element i of those held is; it may be past the end. A warp's packs lie together, so that a thread's are known
    /// distances apart; where fewer than 32 threads share a line they have a pack each.
    __device__ int offset(int i) const {
        if constexpr (Kind == line_kind::packed_rows)
            return number / 32 * 32 * held + number % 32 * width + i / width * 32 * width + i % width;
        else return i * threads + number;
    }
    /// How many elements of a tile there are.
    __device__ int count_of(std::int64_t tile) const {
#if defined(__CUDA_ARCH__)
        // The offsets of elements one by one are the same in all tiles: kept from one to the next they would push what is computed with out of
        // the registers.
        if constexpr (width == 1) asm volatile("" : "+r"(threads));
#endif
        const std::int64_t rest = n - first_of(tile);
        return !inside ? 0 : rest < held * threads ? static_cast<int>(rest) : held * threads;
    }

    /// Reads a tile's elements; 0 where the line has none, so that nothing of what was there before is kept for it.
    __device__ void fetch(const T* x, std::int64_t tile, elements& e) const {
        const T* from = x + own(tile);
        const int count = count_of(tile);
#pragma unroll
        for (int i = 0; i < held; i += width, from += step()) { // a row holds whole packs
            pack some{};
            if (offset(i) < count) some = *reinterpret_cast<const pack*>(from);
            e.packs[i / width] = some;
        }
    }
    /// As they are computed with; `other` where the line has none.
    __device__ void widened(const elements& e, std::int64_t tile, C (&v)[held], C other) const {
        const int count = count_of(tile);
#pragma unroll
        for (int i = 0; i < held; ++i)
            v[i] = offset(i / width * width) < count ? widen(e.packs[i / width].at[i % width]) : other;
    }
    __device__ void load(const T* x, std::int64_t tile, C (&v)[held], C other) const {
        elements e;
        fetch(x, tile, e);
        widened(e, tile, v, other);
    }
    __device__ void store(T* y, std::int64_t tile, const C (&v)[held]) const {
        T* to = y + own(tile);
        const int count = count_of(tile);
#pragma unroll
        for (int i = 0; i < held; i += width, to += step()) {
            if (offset(i) >= count) continue;
            pack some;
#pragma unroll
            for (int j = 0; j < width; ++j) some.at[j] = narrow<T>(v[i + j]);
            *reinterpret_cast<pack*>(to) = some;
        }
    }

    /// What the threads of each line have, combined, for all of them. All threads of the block call it.
    template <class S, class F> __device__ S combined(S s, S* shared, int lines, const F& combine) const {
        if constexpr (are_rows) return combine_threads(s, threads, shared, combine);
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

private:
    // Where in the tensor the thread's first pack of a tile is, and how much further each next one.
    __device__ std::int64_t own(std::int64_t tile) const {
        const std::int64_t at = first_of(tile) + offset(0);
        return start + (are_rows ? at : at * inner);
    }
    __device__ auto step() const {
        if constexpr (are_rows) return offset(width) - offset(0);
        else return threads * inner;
    }
};

/// Values that the threads of a block need room for to combine them.
template <line_kind Kind>
inline constexpr int line_room = Kind == line_kind::columns ? most_line_threads : most_line_threads / 32;

/// The sum of a thread's elements, pairwise.
template <class C> __device__ inline C sum_held(const C (&v)[held_elements]) {
    C s[held_elements];
#pragma unroll
    for (int i = 0; i < held_elements; ++i) s[i] = v[i];
    return folded_sum(s);
}

} // namespace tenon::cuda
