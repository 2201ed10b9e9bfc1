#pragma once

#include <cstdint>

#include <cuda/kernels/lanes.hpp>
#include <cuda/kernels/linear/convolution.hpp>

/// Products of float matrices by blocks of threads, of operands that lie in shared memory: device code, and for which convolutions.

namespace tenon::cuda {

/// Places of the sums that are brought to shared memory at a time, and floats of a load.
inline constexpr int tile_depth = 16, tile_load = 4;

/// Whether a convolution has something to compute, and 31 bits count its elements and the places of its windows.
inline bool has_tile_sizes(const convolution_sizes& s) {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    const auto is_small = [](std::int64_t n) { return n > 0 && n < most; };
    return is_small(s.x_elements()) && is_small(s.w_elements()) && is_small(s.y_elements()) && is_small(s.stride_h) &&
           is_small(s.stride_w) && s.dilation_h * s.kernel_h < most && s.dilation_w * s.kernel_w < most &&
           s.pad_top < most && s.pad_left < most;
}
/// Whether tile_load floats at a time can be read there.
inline bool is_tile_aligned(const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) % (tile_load * sizeof(float)) == 0;
}

/// Results of a block, and of each of its threads, which are multiples of tile_load.
template <int Rows, int Columns, int ThreadRows, int ThreadColumns> struct float_tile {
    static constexpr int rows = Rows, columns = Columns, thread_rows = ThreadRows, thread_columns = ThreadColumns;
    static constexpr int across = columns / thread_columns, threads = rows / thread_rows * across;
    static_assert(thread_rows % tile_load == 0 && thread_columns % tile_load == 0);

    float sums[thread_rows][thread_columns] = {};

    // A thread's rows and columns lie in runs of four, so that neighbours read neighbours.
    static __device__ int row(int i) {
        return static_cast<int>(threadIdx.x) / across * tile_load + i / tile_load * (rows / thread_rows * tile_load) +
               i % tile_load;
    }
    static __device__ int column(int j) {
        return static_cast<int>(threadIdx.x) % across * tile_load + j / tile_load * (across * tile_load) +
               j % tile_load;
    }
    /// sums += the products of a [depth, rows] and b [depth, columns].
    template <int A, int B> __device__ void add(const float (&a)[tile_depth][A], const float (&b)[tile_depth][B]) {
        using loaded = packed<float, tile_load>;
#pragma unroll
        for (int k = 0; k < tile_depth; ++k) {
            loaded left[thread_rows / tile_load], right[thread_columns / tile_load];
            for (int i = 0; i < thread_rows; i += tile_load)
                left[i / tile_load] = *reinterpret_cast<const loaded*>(&a[k][row(i)]);
            for (int j = 0; j < thread_columns; j += tile_load)
                right[j / tile_load] = *reinterpret_cast<const loaded*>(&b[k][column(j)]);
            for (int i = 0; i < thread_rows; ++i)
                for (int j = 0; j < thread_columns; ++j)
                    sums[i][j] += left[i / tile_load].at[i % tile_load] * right[j / tile_load].at[j % tile_load];
        }
    }
};

} // namespace tenon::cuda
