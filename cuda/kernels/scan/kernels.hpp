#pragma once

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/lanes.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/scan/scan.hpp>

/// The kernels of scan.hpp, of any operation. One has
///     element, state                             what is read, and what some elements that follow each other come to
///     state identity() const                     of no elements
///     state one(x), of recurrences one(x, w)     of one element
///     state join(const state& a, const state& b) const       of a's elements and then b's
///     state step(const state& a, const state& b) const       the same where b is of one element
///     element value(const state&) const          the result of all elements up to there
///     static constexpr bool has_weights, and then weights_are_earlier        w is read; of the element before

namespace tenon::cuda {

inline constexpr int scan_each = 8; ///< neighbours of a row that a thread has
inline constexpr int scan_tile = block_threads * scan_each;

/// Element k of a line in the order of the scan.
__device__ inline std::int64_t scan_place(const scan_plan& p, std::int64_t k) { return p.reversed ? p.n - 1 - k : k; }

/// The weight that element k of a line goes with. The first has none before it.
template <class Operation, class T>
__device__ T scan_weight(const T* w, const scan_plan& p, std::int64_t k, std::int64_t stride) {
    if constexpr (Operation::weights_are_earlier) return k > 0 ? w[scan_place(p, k - 1) * stride] : narrow<T>(0);
    else return w[scan_place(p, k) * stride];
}

/// What the states of `together` threads before the caller's come to, each with one; `all`: what all of them come to. `shared` has room for
/// a state a warp. All threads of the block call it.
template <class Operation>
__device__ typename Operation::state before_thread(const Operation& op, typename Operation::state s, int together,
                                                   typename Operation::state* shared, typename Operation::state& all) {
    using state = typename Operation::state;
    const int t = static_cast<int>(threadIdx.x), width = together < 32 ? together : 32, lane = t & (width - 1);
    for (int by = 1; by < width; by *= 2) {
        const state earlier = from_lane_before(s, by, width);
        if (lane >= by) s = op.join(earlier, s);
    }
    state before = from_lane_before(s, 1, width);
    if (lane == 0) before = op.identity();
    // Of a group's last thread.
    const int last = (t & 31) | (width - 1);
    all = from_lane(s, last);
    if (together <= 32) return before;
    const int warp = t / 32, warps = together / 32, first = warp / warps * warps;
    __syncthreads(); // what was there before has been read
    if (lane == 31) shared[warp] = s;
    __syncthreads();
    state earlier = op.identity();
    all = op.identity();
    for (int k = first; k < first + warps; ++k) {
        if (k == warp) earlier = all;
        all = op.join(all, shared[k]);
    }
    return op.join(earlier, before);
}

/// Rows. Without `y`: what each part comes to, in `partial` [outer, parts]; else the results, where a row has some parts from these.
template <class Operation, class T>
__global__ void scan_rows(Operation op, const T* x, const T* w, T* y, typename Operation::state* partial, scan_plan p) {
    using state = typename Operation::state;
    // Elements are read and written by neighbouring threads; a thread's own lie a place apart from those of the next.
    constexpr int room = scan_tile + block_threads;
    __shared__ state shared[block_threads / 32];
    __shared__ T values[room], weights[Operation::has_weights ? room : 1];
    const int t = static_cast<int>(threadIdx.x), lane = t & (p.together - 1), group = t / p.together;
    const int own = group * p.together * (scan_each + 1);
    const auto slot = [&](int j) { return own + j + j / scan_each; };
    const std::int64_t groups = block_threads / p.together, units = p.outer * p.parts;
    const std::int64_t tile = std::int64_t{p.together} * scan_each;
    for (std::int64_t first = blockIdx.x * groups; first < units; first += gridDim.x * groups) {
        const std::int64_t unit = first + group, row = unit / p.parts, number = unit % p.parts;
        const bool inside = unit < units;
        const std::int64_t begin = number * p.part, limit = begin + p.part < p.n ? begin + p.part : p.n;
        const std::int64_t end = inside ? limit : begin;
        state carried = op.identity();
        if (y && p.parts > 1) {
            // What the parts before come to: each thread takes neighbours of them.
            const std::int64_t each = (number + p.together - 1) / p.together;
            state mine = op.identity();
            for (std::int64_t k = lane * each; inside && k < (lane + 1) * each && k < number; ++k)
                mine = op.join(mine, partial[row * p.parts + k]);
            before_thread(op, mine, p.together, shared, carried);
        }
        // As many tiles for all threads of the block.
        for (std::int64_t at = 0; at < p.part; at += tile) {
            const std::int64_t tile_begin = begin + at;
            __syncthreads(); // the tile before has been written
#pragma unroll
            for (int i = 0; i < scan_each; ++i) {
                const int j = i * p.together + lane;
                const std::int64_t k = tile_begin + j;
                if (k >= end) continue;
                values[slot(j)] = x[row * p.n + scan_place(p, k)];
                if constexpr (Operation::has_weights) weights[slot(j)] = scan_weight<Operation>(w + row * p.n, p, k, 1);
            }
            __syncthreads();
            state mine = op.identity(), elements[scan_each];
#pragma unroll
            for (int i = 0; i < scan_each; ++i) {
                const int j = lane * scan_each + i;
                elements[i] = op.identity();
                if (tile_begin + j >= end) continue;
                if constexpr (Operation::has_weights)
                    elements[i] = op.one(widen(values[slot(j)]), widen(weights[slot(j)]));
                else elements[i] = op.one(widen(values[slot(j)]));
                mine = op.join(mine, elements[i]);
            }
            state all;
            const state before = before_thread(op, mine, p.together, shared, all);
            if (y) {
                state s = op.join(carried, before);
#pragma unroll
                for (int i = 0; i < scan_each; ++i) {
                    const int j = lane * scan_each + i;
                    if (tile_begin + j >= end) continue;
                    const state with = op.step(s, elements[i]);
                    values[slot(j)] = op.value(p.exclusive ? s : with);
                    s = with;
                }
                __syncthreads();
#pragma unroll
                for (int i = 0; i < scan_each; ++i) {
                    const int j = i * p.together + lane;
                    const std::int64_t k = tile_begin + j;
                    if (k < end) y[row * p.n + scan_place(p, k)] = values[slot(j)];
                }
            }
            carried = op.join(carried, all);
        }
        if (!y && inside && lane == 0) partial[unit] = carried;
    }
}

/// Columns, a thread each part of one: as scan_rows. partial: [parts, outer * inner].
template <class Operation, class T>
__global__ void scan_columns(Operation op, const T* x, const T* w, T* y, typename Operation::state* partial,
                             scan_plan p) {
    using state = typename Operation::state;
    constexpr int ahead = 8; // elements that are read before the first of them is needed
    const std::int64_t lines = p.lines(), threads = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t unit = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; unit < lines * p.parts;
         unit += threads) {
        const std::int64_t line = unit % lines, number = unit / lines;
        const std::int64_t start = line / p.inner * p.n * p.inner + line % p.inner;
        const std::int64_t begin = number * p.part, end = begin + p.part < p.n ? begin + p.part : p.n;
        state s = op.identity();
        if (y)
            for (std::int64_t k = 0; k < number; ++k) s = op.join(s, partial[k * lines + line]);
        for (std::int64_t k = begin; k < end; k += ahead) {
            T values[ahead], weights[Operation::has_weights ? ahead : 1];
#pragma unroll
            for (int i = 0; i < ahead; ++i) {
                if (k + i >= end) continue;
                values[i] = x[start + scan_place(p, k + i) * p.inner];
                if constexpr (Operation::has_weights) weights[i] = scan_weight<Operation>(w + start, p, k + i, p.inner);
            }
#pragma unroll
            for (int i = 0; i < ahead; ++i) {
                if (k + i >= end) continue;
                state one;
                if constexpr (Operation::has_weights) one = op.one(widen(values[i]), widen(weights[i]));
                else one = op.one(widen(values[i]));
                const state with = y ? op.step(s, one) : op.join(s, one);
                if (y) y[start + scan_place(p, k + i) * p.inner] = op.value(p.exclusive ? s : with);
                s = with;
            }
        }
        if (!y) partial[unit] = s;
    }
}

template <class Operation>
void launch_scan(const Operation& op, const scan_plan& p, const void* x, const void* w, void* y, std::byte* scratch,
                 void* stream) {
    using T = typename Operation::element;
    using state = typename Operation::state;
    static_assert(sizeof(state) <= 16);
    const auto pass = [&](T* to) {
        const T *from = static_cast<const T*>(x), *weights = static_cast<const T*>(w);
        state* const partial = reinterpret_cast<state*>(scratch);
        if (p.is_rows()) {
            const std::int64_t groups = block_threads / p.together, blocks = (p.outer * p.parts + groups - 1) / groups;
            launch(scan_rows<Operation, T>, static_cast<unsigned>(blocks < (1 << 20) ? blocks : 1 << 20), block_threads,
                   0, stream, op, from, weights, to, partial, p);
        } else {
            launch(scan_columns<Operation, T>, blocks_for(p.lines() * p.parts), block_threads, 0, stream, op, from,
                   weights, to, partial, p);
        }
    };
    if (p.parts > 1) pass(nullptr);
    pass(static_cast<T*>(y));
}

} // namespace tenon::cuda
