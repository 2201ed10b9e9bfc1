#pragma once

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/folded.hpp>
#include <cuda/kernels/lanes.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/reduce/reduce.hpp>

/// The kernels of reduce.hpp, of any operation. One has
///     element, state                             what is read, and what some elements have come to
///     state identity() const                     of no elements
///     void add<N>(state&, const element (&)[N], position) const      N more, N a power of two; position(i): of element i in its line
///     state combine(const state&, const state&) const
///     state moved(const state&, std::int64_t) const                  with positions that much further
///     void store(void* out, std::int64_t at, const state&) const     writes a result
/// A thread meets the elements of a line in their order.

namespace tenon::cuda {

/// Where a pass leaves what it found: states, or results of the last.
struct reduction_target {
    void* out;
    bool is_last;
    template <class Operation>
    __device__ void put(const Operation& op, std::int64_t at, const typename Operation::state& s) const {
        if (is_last) op.store(out, at, s);
        else static_cast<typename Operation::state*>(out)[at] = s;
    }
};

/// Adds elements begin .. end-1 of a line of neighbours, of which this is thread `lane` of `lanes`.
template <class Operation, class T>
__device__ void add_line(const Operation& op, typename Operation::state& s, const T* line, std::int64_t begin,
                         std::int64_t end, int lane, int lanes, std::int64_t step) {
    constexpr int width = 16 / sizeof(T), reads = 4;
    using read = packed<T, width>;
    const auto one = [&](std::int64_t k) {
        const T x[1] = {line[k]};
        op.template add<1>(s, x, [&](int) { return k * step; });
    };
    // Up to where 16 bytes can be read at once.
    const int past = static_cast<int>(reinterpret_cast<std::uintptr_t>(line + begin) / sizeof(T) % width);
    std::int64_t head = begin + (past == 0 ? 0 : width - past);
    if (head > end) head = end;
    for (std::int64_t k = begin + lane; k < head; k += lanes) one(k);
    const std::int64_t count = (end - head) / width;
    const read* from = reinterpret_cast<const read*>(line + head);
    std::int64_t r = lane;
    for (; r + (reads - 1) * std::int64_t{lanes} < count; r += std::int64_t{reads} * lanes) {
        packed<T, width * reads> x;
#pragma unroll
        for (int u = 0; u < reads; ++u) {
            const read some = from[r + u * std::int64_t{lanes}];
#pragma unroll
            for (int i = 0; i < width; ++i) x.at[u * width + i] = some.at[i];
        }
        op.template add<width * reads>(
            s, x.at, [&](int i) { return (head + (r + i / width * std::int64_t{lanes}) * width + i % width) * step; });
    }
    for (; r < count; r += lanes) {
        const read x = from[r];
        op.template add<width>(s, x.at, [&](int i) { return (head + r * width + i) * step; });
    }
    for (std::int64_t k = head + count * width + lane; k < end; k += lanes) one(k);
}

/// The same of what another pass left.
template <class Operation>
__device__ void add_states(const Operation& op, typename Operation::state& s, const typename Operation::state* line,
                           std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t by,
                           std::int64_t stride, std::int64_t step) {
    constexpr int reads = 4;
    std::int64_t k = begin + first;
    for (; k + (reads - 1) * by < end; k += reads * by) {
        typename Operation::state some[reads];
#pragma unroll
        for (int u = 0; u < reads; ++u) some[u] = line[(k + u * by) * stride];
#pragma unroll
        for (int u = 0; u < reads; ++u) s = op.combine(s, op.moved(some[u], (k + u * by) * step));
    }
    for (; k < end; k += by) s = op.combine(s, op.moved(line[k * stride], k * step));
}

/// [outer, n] -> [outer, parts]. T: the operation's element, or its state.
template <class Operation, class T>
__global__ void reduce_rows(Operation op, const T* x, reduction_target to, reduction_pass p) {
    using state = typename Operation::state;
    __shared__ state shared[block_threads / 32];
    const int lane = static_cast<int>(threadIdx.x) & (p.together - 1);
    const std::int64_t units = p.outer * p.parts, groups = block_threads / p.together, group = threadIdx.x / p.together;
    for (std::int64_t first = blockIdx.x * groups; first < units; first += gridDim.x * groups) {
        const std::int64_t unit = first + group;
        state s = op.identity();
        if (unit < units) {
            // Rows in one part are many, perhaps, and short: no division for them.
            const std::int64_t row = p.parts == 1 ? unit : unit / p.parts, begin = (unit - row * p.parts) * p.part;
            const std::int64_t end = begin + p.part < p.n ? begin + p.part : p.n;
            if constexpr (std::is_same_v<T, state>)
                add_states(op, s, x + row * p.n, begin, end, lane, p.together, 1, p.position_step);
            else add_line(op, s, x + row * p.n, begin, end, lane, p.together, p.position_step);
        }
        s = combine_threads(s, p.together, shared, [&](const state& a, const state& b) { return op.combine(a, b); });
        if (lane == 0 && unit < units) to.put(op, unit, s);
    }
}

/// [outer, n, inner] -> [outer, parts, inner]: Width neighbouring columns a thread.
template <class Operation, class T, int Width>
__global__ void reduce_columns(Operation op, const T* x, reduction_target to, reduction_pass p) {
    using state = typename Operation::state;
    __shared__ state shared[block_threads];
    const int column = static_cast<int>(threadIdx.x) & (p.across - 1),
              down = static_cast<int>(block_threads) / p.across;
    const int row = static_cast<int>(threadIdx.x) / p.across;
    const std::int64_t wide = p.inner / Width, columns = p.outer * wide, tiles = (columns + p.across - 1) / p.across;
    for (std::int64_t unit = blockIdx.x; unit < tiles * p.parts; unit += gridDim.x) {
        const std::int64_t number = p.parts == 1 ? 0 : unit / tiles, q = (unit - number * tiles) * p.across + column;
        const std::int64_t begin = number * p.part, end = begin + p.part < p.n ? begin + p.part : p.n;
        const std::int64_t outer = p.outer == 1 ? 0 : q / wide, inner = (q - outer * wide) * Width;
        state s[Width];
#pragma unroll
        for (int w = 0; w < Width; ++w) s[w] = op.identity();
        if (q < columns) {
            const T* from = x + outer * p.n * p.inner + inner;
            if constexpr (std::is_same_v<T, state>) {
                add_states(op, s[0], from, begin, end, row, down, p.inner, p.position_step);
            } else {
                constexpr int reads = 8;
                using read = packed<T, Width>;
                const auto read_at = [&](std::int64_t k) { return *reinterpret_cast<const read*>(from + k * p.inner); };
                std::int64_t k = begin + row;
                for (; k + (reads - 1) * std::int64_t{down} < end; k += std::int64_t{reads} * down) {
                    read rows[reads];
#pragma unroll
                    for (int u = 0; u < reads; ++u) rows[u] = read_at(k + u * std::int64_t{down});
#pragma unroll
                    for (int w = 0; w < Width; ++w) {
                        packed<T, reads> values;
#pragma unroll
                        for (int u = 0; u < reads; ++u) values.at[u] = rows[u].at[w];
                        op.template add<reads>(s[w], values.at,
                                               [&](int i) { return (k + i * std::int64_t{down}) * p.position_step; });
                    }
                }
                for (; k < end; k += down) {
                    const read some = read_at(k);
#pragma unroll
                    for (int w = 0; w < Width; ++w) {
                        const T value[1] = {some.at[w]};
                        op.template add<1>(s[w], value, [&](int) { return k * p.position_step; });
                    }
                }
            }
        }
        // Halves of the rows of threads are combined until one is left.
#pragma unroll
        for (int w = 0; w < Width; ++w) {
            for (int half = down / 2; half > 0; half /= 2) {
                __syncthreads();
                if (row >= half && row < 2 * half) shared[threadIdx.x] = s[w];
                __syncthreads();
                if (row < half) s[w] = op.combine(s[w], shared[threadIdx.x + half * p.across]);
            }
            if (row == 0 && q < columns) to.put(op, (outer * p.parts + number) * p.inner + inner + w, s[w]);
        }
    }
}

template <class Operation, class T>
void launch_pass(const Operation& op, const T* x, const reduction_target& to, const reduction_pass& p, void* stream) {
    constexpr std::int64_t most_blocks = 1 << 20;
    const auto blocks = [&](std::int64_t units) {
        return static_cast<unsigned>(units < most_blocks ? units : most_blocks);
    };
    if (p.is_rows()) {
        const std::int64_t groups = block_threads / p.together;
        launch(reduce_rows<Operation, T>, blocks((p.outer * p.parts + groups - 1) / groups), block_threads, 0, stream,
               op, x, to, p);
        return;
    }
    constexpr int width = std::is_same_v<T, typename Operation::state> ? 1
                          : 16 / sizeof(T) < most_columns_together     ? 16 / sizeof(T)
                                                                       : most_columns_together;
    const bool is_wide = p.inner % width == 0 && reinterpret_cast<std::uintptr_t>(x) % (width * sizeof(T)) == 0;
    const std::int64_t columns = p.outer * (is_wide ? p.inner / width : p.inner);
    const unsigned grid = blocks((columns + p.across - 1) / p.across * p.parts);
    if (is_wide) launch(reduce_columns<Operation, T, width>, grid, block_threads, 0, stream, op, x, to, p);
    else launch(reduce_columns<Operation, T, 1>, grid, block_threads, 0, stream, op, x, to, p);
}

/// All passes of a plan.
template <class Operation>
void run_passes(const Operation& op, const reduction_plan& plan, const void* x, void* out, std::byte* scratch,
                void* stream) {
    using state = typename Operation::state;
    using T = typename Operation::element;
    static_assert(!std::is_same_v<T, state>, "passes tell elements from states by their types");
    for (int i = 0; i < plan.count; ++i) {
        const reduction_pass& p = plan.passes[i];
        const bool is_last = i + 1 == plan.count;
        const reduction_target to{is_last ? out : scratch, is_last};
        if (i == 0) launch_pass(op, static_cast<const T*>(x), to, p, stream);
        else launch_pass(op, static_cast<const state*>(x), to, p, stream);
        x = scratch;
        scratch += p.bytes;
    }
}

} // namespace tenon::cuda
