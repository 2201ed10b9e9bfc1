// A product of matrices: rows are the pixels of the images, columns their channels, and the sums go over the window and, within it, the
// outputs. A block has a tile of the results; it brings what a tap of the window meets of some outputs into one half of shared memory
// while it multiplies what is in the other.

#include <cuda/kernels/linear/input_gradient.hpp>

#include <cstdint>

#include <cuda/kernels/lanes.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/linear/tiles.hpp>
#include <cuda/kernels/shape/division.hpp>

namespace tenon::cuda {

namespace {

using wide_tile = float_tile<128, 64, 8, 8>;
using tall_tile = float_tile<256, 32, 8, 8>; // of few channels
constexpr std::int64_t fills_gpu = 264;      // blocks

// f(tile) with the one for these sizes.
template <class F> auto with_tile(const convolution_sizes& s, const F& f) {
    return s.group_in() <= tall_tile::columns ? f(tall_tile{}) : f(wide_tile{});
}
std::int64_t blocks_of(const convolution_sizes& s) {
    return with_tile(s, [&](const auto& of) {
        const std::int64_t rows = s.batch * s.height * s.width;
        return (rows + of.rows - 1) / of.rows * ((s.group_in() + of.columns - 1) / of.columns) * s.groups;
    });
}

// What a block is told.
struct sizes {
    divider width, height, kernel_w, column_tiles, groups; // divided by
    int pixels, taps, group_in, group_out, in_channels, out_channels;
    int out_height, out_width, dilation_h, dilation_w, pad_top, pad_left;
    bool by_fours; // dx is written so
};

// Floats of a step that lie side by side in memory, and one below the other in shared memory, whose rows are a little longer than needed:
// half of a warp writes where the other half does not.
constexpr int per_row = tile_depth / tile_load, longer = 4;
template <int Threads, int Side> struct turned {
    static constexpr int at_a_time = Threads / per_row, loads = Side / at_a_time;
    static_assert(Side % at_a_time == 0);
    packed<float, tile_load> held[loads];

    static __device__ int place() { return static_cast<int>(threadIdx.x) % per_row * tile_load; }
    static __device__ int row(int load) { return static_cast<int>(threadIdx.x) / per_row + load * at_a_time; }
    __device__ void store(float (&to)[tile_depth][Side + longer]) const {
        for (int i = 0; i < loads; ++i)
            for (int k = 0; k < tile_load; ++k) to[place() + k][row(i)] = held[i].at[k];
    }
};

template <class Tile>
__global__ void __launch_bounds__(Tile::threads)
    add_taps(sizes s, const float* __restrict__ dy, const float* __restrict__ w, float* __restrict__ dx) {
    using from_dy = turned<Tile::threads, Tile::rows>;
    using from_w = turned<Tile::threads, Tile::columns>;
    __shared__ __align__(16) float a[2][tile_depth][Tile::rows + longer];
    __shared__ __align__(16) float b[2][tile_depth][Tile::columns + longer];

    std::uint32_t column_tile = blockIdx.x, in_group = s.column_tiles.divide(column_tile);
    const int m0 = static_cast<int>(s.groups.divide(in_group)) * Tile::rows;
    const auto group = static_cast<int>(in_group);
    const int n0 = static_cast<int>(column_tile) * Tile::columns;

    // Where the first tap of each pixel that this thread brings lies in dy, and which element of it all.
    int top[from_dy::loads], left[from_dy::loads], at[from_dy::loads];
#pragma unroll
    for (int i = 0; i < from_dy::loads; ++i) {
        const int m = m0 + from_dy::row(i);
        auto column = static_cast<std::uint32_t>(m);
        std::uint32_t row = s.width.divide(column);
        const auto image = static_cast<int>(s.height.divide(row));
        top[i] = m < s.pixels ? static_cast<int>(row) + s.pad_top : -1; // no tap of it is in the image
        left[i] = static_cast<int>(column) + s.pad_left;
        at[i] = (image * s.out_height + top[i]) * s.out_width + left[i];
    }
    const int first_output = group * s.group_out;
    const float* const dy_here = dy + first_output + from_dy::place();
    const float* const w_here = w + first_output + from_w::place();

    from_dy next_a;
    from_w next_b;
    const auto bring = [&](int tap, int outputs) {
        auto across = static_cast<std::uint32_t>(tap);
        const int down = static_cast<int>(s.kernel_w.divide(across)) * s.dilation_h,
                  right = static_cast<int>(across) * s.dilation_w, before = down * s.out_width + right;
#pragma unroll
        for (int i = 0; i < from_dy::loads; ++i) {
            next_a.held[i] = {};
            const int u = top[i] - down, v = left[i] - right;
            if (u >= 0 && v >= 0 && u < s.out_height && v < s.out_width)
                next_a.held[i] = *reinterpret_cast<const packed<float, tile_load>*>(
                    dy_here + (at[i] - before) * s.out_channels + outputs);
        }
#pragma unroll
        for (int i = 0; i < from_w::loads; ++i) {
            next_b.held[i] = {};
            const int n = n0 + from_w::row(i);
            if (n < s.group_in)
                next_b.held[i] = *reinterpret_cast<const packed<float, tile_load>*>(
                    w_here + (tap * s.group_in + n) * s.out_channels + outputs);
        }
    };

    Tile tile;
    bring(0, 0);
    next_a.store(a[0]);
    next_b.store(b[0]);
    __syncthreads();
    int half = 0, tap = 0, outputs = 0;
    while (tap < s.taps) {
        outputs += tile_depth;
        if (outputs == s.group_out) {
            outputs = 0;
            ++tap;
        }
        const bool more = tap < s.taps;
        if (more) bring(tap, outputs);
        tile.add(a[half], b[half]);
        half ^= 1;
        if (more) {
            next_a.store(a[half]);
            next_b.store(b[half]);
        }
        __syncthreads();
    }
    for (int i = 0; i < Tile::thread_rows; ++i) {
        const int m = m0 + Tile::row(i);
        if (m >= s.pixels) continue;
        float* const to = dx + m * s.in_channels + group * s.group_in;
        for (int j = 0; j < Tile::thread_columns; j += tile_load) {
            const int n = n0 + Tile::column(j);
            packed<float, tile_load> out;
            for (int k = 0; k < tile_load; ++k) out.at[k] = tile.sums[i][j + k];
            if (s.by_fours && n < s.group_in) *reinterpret_cast<packed<float, tile_load>*>(to + n) = out;
            else
                for (int k = 0; k < tile_load; ++k)
                    if (n + k < s.group_in) to[n + k] = out.at[k];
        }
    }
}

} // namespace

bool has_input_gradient(const convolution_sizes& s) {
    return s.stride_h == 1 && s.stride_w == 1 && s.group_out() % tile_depth == 0 && has_tile_sizes(s);
}

bool has_many_pixels(const convolution_sizes& s) { return blocks_of(s) >= fills_gpu; }

void input_gradient(const convolution_sizes& s, const float* dy, const float* w, float* dx, void* stream) {
    const auto by = [](std::int64_t n) { return divider(static_cast<std::uint32_t>(n)); };
    const auto number = [](std::int64_t n) { return static_cast<int>(n); };
    const bool by_fours = s.group_in() % tile_load == 0 && is_tile_aligned(dx);
    with_tile(s, [&]<class Tile>(const Tile&) {
        const sizes told{by(s.width),
                         by(s.height),
                         by(s.kernel_w),
                         by((s.group_in() + Tile::columns - 1) / Tile::columns),
                         by(s.groups),
                         number(s.batch * s.height * s.width),
                         number(s.kernel_h * s.kernel_w),
                         number(s.group_in()),
                         number(s.group_out()),
                         number(s.in_channels),
                         number(s.out_channels),
                         number(s.out_height),
                         number(s.out_width),
                         number(s.dilation_h),
                         number(s.dilation_w),
                         number(s.pad_top),
                         number(s.pad_left),
                         by_fours};
        launch(add_taps<Tile>, static_cast<unsigned>(blocks_of(s)), Tile::threads, 0, stream, told, dy, w, dx);
    });
}

} // namespace tenon::cuda
