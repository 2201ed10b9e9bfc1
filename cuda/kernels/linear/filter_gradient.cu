// A product of matrices: rows are the elements of a filter, columns its outputs, and the sums go over pixels. A block has a tile of the
// results and a part of the pixels; it brings some pixels into one half of shared memory while it multiplies those in the other.

#include <cuda/kernels/linear/filter_gradient.hpp>

#include <cstdint>

#include <cuda/kernels/lanes.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/linear/parts.hpp>
#include <cuda/kernels/linear/tiles.hpp>
#include <cuda/kernels/shape/division.hpp>

namespace tenon::cuda {

namespace {

// They fill 132 multiprocessors evenly, whether each has 2, 3 or 4 of them at a time.
constexpr int blocks_wanted = 1584;
constexpr int least_pixels = 128;       // of a part
constexpr std::int64_t fills_gpu = 132; // tiles

using wide_tile = float_tile<128, 64, 8, 8>;
using narrow_tile = float_tile<128, 32, 8, 4>; // of few outputs
using small_tile = float_tile<32, 32, 4, 4>;   // of small filters

// f(tile) with the one for these sizes.
template <class F> auto with_tile(const convolution_sizes& s, const F& f) {
    const std::int64_t rows = s.kernel_h * s.kernel_w * s.group_in();
    if (rows <= small_tile::rows) return f(small_tile{});
    if (s.group_out() <= narrow_tile::columns) return f(narrow_tile{});
    return f(wide_tile{});
}

struct division {
    std::int64_t row_tiles, column_tiles, parts, length; // of a part, in pixels
};
division divide(const convolution_sizes& s) {
    return with_tile(s, [&](auto of) {
        const std::int64_t rows = s.kernel_h * s.kernel_w * s.group_in();
        division d{(rows + of.rows - 1) / of.rows, (s.group_out() + of.columns - 1) / of.columns, 1, 0};
        const std::int64_t tiles = d.row_tiles * d.column_tiles * s.groups, pixels = s.pixels();
        std::int64_t parts = tiles == 0 ? 1 : blocks_wanted / tiles;
        if (parts > pixels / least_pixels) parts = pixels / least_pixels;
        if (parts < 1) parts = 1;
        d.length = ((pixels + parts - 1) / parts + tile_depth - 1) / tile_depth * tile_depth;
        d.parts = d.length == 0 ? 1 : (pixels + d.length - 1) / d.length;
        return d;
    });
}

// What a block is told.
struct sizes {
    divider out_width, out_height, kernel_w, group_in; // divided by
    divider column_tiles, row_tiles, groups;
    int pixels, length, rows, group_out;
    int height, width, in_channels, out_channels;
    int stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
};
sizes sizes_of(const convolution_sizes& s, const division& d) {
    const auto by = [](std::int64_t n) { return divider(static_cast<std::uint32_t>(n)); };
    const auto number = [](std::int64_t n) { return static_cast<int>(n); };
    return {by(s.out_width),        by(s.out_height),
            by(s.kernel_w),         by(s.group_in()),
            by(d.column_tiles),     by(d.row_tiles),
            by(s.groups),           number(s.pixels()),
            number(d.length),       number(s.kernel_h * s.kernel_w * s.group_in()),
            number(s.group_out()),  number(s.height),
            number(s.width),        number(s.in_channels),
            number(s.out_channels), number(s.stride_h),
            number(s.stride_w),     number(s.dilation_h),
            number(s.dilation_w),   number(s.pad_top),
            number(s.pad_left)};
}

// N floats at a time are brought from memory to `Side` floats of each pixel in shared memory.
template <int Threads, int Side, int N> struct brought {
    static constexpr int per_pixel = Side / N, pixels = Threads / per_pixel, loads = tile_depth / pixels;
    static_assert(Threads % per_pixel == 0 && tile_depth % pixels == 0);
    packed<float, N> held[loads];

    static __device__ int place() { return static_cast<int>(threadIdx.x) % per_pixel * N; }
    static __device__ int pixel(int load) { return static_cast<int>(threadIdx.x) / per_pixel + load * pixels; }
    __device__ void store(float (&to)[tile_depth][Side]) const {
        for (int i = 0; i < loads; ++i) *reinterpret_cast<packed<float, N>*>(&to[pixel(i)][place()]) = held[i];
    }
};

// XN and YN: floats of x and of dy that are loaded at once.
template <class Tile, int XN, int YN>
__global__ void __launch_bounds__(Tile::threads)
    add_products(sizes s, const float* __restrict__ x, const float* __restrict__ dy, float* __restrict__ parts) {
    using from_x = brought<Tile::threads, Tile::rows, XN>;
    using from_dy = brought<Tile::threads, Tile::columns, YN>;
    __shared__ __align__(16) float a[2][tile_depth][Tile::rows];
    __shared__ __align__(16) float b[2][tile_depth][Tile::columns];

    std::uint32_t column_tile = blockIdx.x, row_tile = s.column_tiles.divide(column_tile),
                  in_group = s.row_tiles.divide(row_tile), in_part = in_group;
    const auto part = static_cast<int>(s.groups.divide(in_part));
    const auto group = static_cast<int>(in_part);
    const int m0 = static_cast<int>(row_tile) * Tile::rows, n0 = static_cast<int>(column_tile) * Tile::columns;
    const int first = part * s.length, last = s.pixels - first < s.length ? s.pixels : first + s.length;

    // The element of the filter, and the outputs, that this thread brings.
    const int m = m0 + from_x::place(), n = n0 + from_dy::place();
    auto channel = static_cast<std::uint32_t>(m);
    std::uint32_t across = s.group_in.divide(channel);
    const auto down = static_cast<int>(s.kernel_w.divide(across));
    const int top = down * s.dilation_h - s.pad_top, left = static_cast<int>(across) * s.dilation_w - s.pad_left;
    const float* const x_here = x + group * static_cast<int>(s.group_in.by) + static_cast<int>(channel);
    const float* const dy_here = dy + group * s.group_out + n;

    from_x next_a;
    from_dy next_b;
    const auto bring = [&](int from) {
#pragma unroll
        for (int i = 0; i < from_x::loads; ++i) {
            const int k = from + from_x::pixel(i);
            next_a.held[i] = {};
            if (k >= last || m >= s.rows) continue;
            auto column = static_cast<std::uint32_t>(k);
            std::uint32_t row = s.out_width.divide(column);
            const auto image = static_cast<int>(s.out_height.divide(row));
            const int u = static_cast<int>(row) * s.stride_h + top, v = static_cast<int>(column) * s.stride_w + left;
            if (u < 0 || v < 0 || u >= s.height || v >= s.width) continue;
            next_a.held[i] = *reinterpret_cast<const packed<float, XN>*>(
                x_here + ((image * s.height + u) * s.width + v) * s.in_channels);
        }
#pragma unroll
        for (int i = 0; i < from_dy::loads; ++i) {
            const int k = from + from_dy::pixel(i);
            next_b.held[i] = {};
            if (k < last && n < s.group_out)
                next_b.held[i] = *reinterpret_cast<const packed<float, YN>*>(dy_here + k * s.out_channels);
        }
    };

    Tile tile;
    bring(first);
    next_a.store(a[0]);
    next_b.store(b[0]);
    __syncthreads();
    int half = 0;
    for (int k0 = first; k0 < last; k0 += tile_depth, half ^= 1) {
        const bool more = k0 + tile_depth < last;
        if (more) bring(k0 + tile_depth);
        tile.add(a[half], b[half]);
        if (more) {
            next_a.store(a[half ^ 1]);
            next_b.store(b[half ^ 1]);
        }
        __syncthreads();
    }
    for (int i = 0; i < Tile::thread_rows; ++i) {
        const int row = m0 + Tile::row(i);
        if (row >= s.rows) continue;
        float* const to = parts + (std::int64_t{part} * s.rows + row) * s.out_channels + group * s.group_out;
        for (int j = 0; j < Tile::thread_columns; j += YN) {
            const int column = n0 + Tile::column(j);
            if (column >= s.group_out) continue;
            packed<float, YN> out;
            for (int k = 0; k < YN; ++k) out.at[k] = tile.sums[i][j + k];
            *reinterpret_cast<packed<float, YN>*>(to + column) = out;
        }
    }
}

} // namespace

bool has_filter_gradient(const convolution_sizes& s) {
    return (s.groups == 1 || s.group_out() >= small_tile::columns / 2) && has_tile_sizes(s);
}

bool has_few_filters(const convolution_sizes& s) {
    const std::int64_t rows = s.kernel_h * s.kernel_w * s.group_in();
    return ((rows + wide_tile::rows - 1) / wide_tile::rows) *
               ((s.group_out() + wide_tile::columns - 1) / wide_tile::columns) * s.groups <
           fills_gpu;
}

std::size_t filter_gradient_scratch(const convolution_sizes& s) {
    return static_cast<std::size_t>(divide(s).parts * s.w_elements()) * sizeof(float);
}

void filter_gradient(const convolution_sizes& s, const float* x, const float* dy, float* dw, void* scratch,
                     void* stream) {
    const division d = divide(s);
    const sizes told = sizes_of(s, d);
    auto* const parts = static_cast<float*>(scratch);
    const auto blocks = static_cast<unsigned>(d.row_tiles * d.column_tiles * s.groups * d.parts);
    const bool wide_x = s.group_in() % tile_load == 0 && is_tile_aligned(x),
               wide_y = s.group_out() % tile_load == 0 && is_tile_aligned(dy);
    with_tile(s, [&]<class Tile>(Tile) {
        const auto give = [&](auto kernel) { launch(kernel, blocks, Tile::threads, 0, stream, told, x, dy, parts); };
        if (wide_x && wide_y) give(add_products<Tile, tile_load, tile_load>);
        else if (wide_x) give(add_products<Tile, tile_load, 1>);
        else if (wide_y) give(add_products<Tile, 1, tile_load>);
        else give(add_products<Tile, 1, 1>);
    });
    add_parts<float>(parts, d.parts, s.w_elements(), dw, stream);
}

} // namespace tenon::cuda
