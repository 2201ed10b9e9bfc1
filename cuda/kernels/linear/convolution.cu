// Three products, each as a product of matrices whose operands are gathered while tiles of them are brought into shared memory. A group
// with few channels would leave the tiles empty: it has kernels with a thread for each result.

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/linear/convolution.hpp>
#include <cuda/kernels/linear/filter_gradient.hpp>
#include <cuda/kernels/linear/input_gradient.hpp>
#include <cuda/kernels/linear/parts.hpp>
#include <cuda/kernels/linear/tiles.hpp>

namespace tenon::cuda {

namespace {

constexpr int tile = 64;  // rows and columns of results of a block
constexpr int depth = 16; // of a step
constexpr int each = 4;   // results of a thread: each x each
constexpr int lane_count = 16;
static_assert(lane_count * lane_count == block_threads && lane_count * each == tile);

// Groups with fewer results than this for a pixel have no tiles.
constexpr std::int64_t least_for_tiles = 16;

struct quotient {
    std::int64_t whole, rest;
};
__device__ inline quotient divide(std::int64_t n, std::int64_t by) { // neither is negative
    if (((n | by) >> 32) == 0) {
        const auto a = static_cast<std::uint32_t>(n), b = static_cast<std::uint32_t>(by);
        return {a / b, a % b};
    }
    return {n / by, n % by};
}

struct pixel {
    std::int64_t image, row, column;
};
__device__ inline pixel pixel_of(std::int64_t n, std::int64_t height, std::int64_t width) {
    const quotient q = divide(n, width), r = divide(q.whole, height);
    return {r.whole, r.rest, q.rest};
}

// Where a product of rows and columns finds its operands. An index k of the sum is turned into `k_place` once for all the rows it meets.

template <class T> struct forward_product {
    static constexpr bool a_by_k = true, b_by_k = false; // along which index operands lie side by side
    convolution_sizes s;
    const T *x, *w, *bias;
    T* y;
    bool relu;

    struct row_place {
        std::int64_t image, top, left;
    };
    struct k_place {
        std::int64_t row, column, at;
    };
    __host__ __device__ std::int64_t rows() const { return s.pixels(); }
    __host__ __device__ std::int64_t columns() const { return s.group_out(); }
    __host__ __device__ std::int64_t sums() const { return s.kernel_h * s.kernel_w * s.group_in(); }

    __device__ row_place place_row(std::int64_t m, std::int64_t) const {
        const pixel p = pixel_of(m, s.out_height, s.out_width);
        return {p.image, p.row * s.stride_h - s.pad_top, p.column * s.stride_w - s.pad_left};
    }
    __device__ k_place place_k(std::int64_t k, std::int64_t group) const {
        const quotient c = divide(k, s.group_in()), q = divide(c.whole, s.kernel_w);
        return {q.whole * s.dilation_h, q.rest * s.dilation_w, group * s.group_in() + c.rest};
    }
    __device__ compute_t<T> a(const row_place& m, const k_place& k) const {
        const std::int64_t u = m.top + k.row, v = m.left + k.column;
        if (u < 0 || v < 0 || u >= s.height || v >= s.width) return 0;
        return widen(x[((m.image * s.height + u) * s.width + v) * s.in_channels + k.at]);
    }
    __device__ compute_t<T> b(std::int64_t k, const k_place&, std::int64_t n, std::int64_t group) const {
        return widen(w[k * s.out_channels + group * s.group_out() + n]);
    }
    __device__ void put(std::int64_t m, std::int64_t n, std::int64_t group, std::int64_t, compute_t<T> value) const {
        const std::int64_t o = group * s.group_out() + n;
        if (bias) value += widen(bias[o]);
        if (relu && value <= 0) value = 0;
        y[m * s.out_channels + o] = narrow<T>(value);
    }
};

template <class T> struct input_product {
    static constexpr bool a_by_k = true, b_by_k = true;
    convolution_sizes s;
    const T *dy, *w;
    T* dx;

    struct row_place {
        std::int64_t image, row, column;
    };
    struct k_place {
        std::int64_t row, column, at, weight;
    };
    __host__ __device__ std::int64_t rows() const { return s.batch * s.height * s.width; }
    __host__ __device__ std::int64_t columns() const { return s.group_in(); }
    __host__ __device__ std::int64_t sums() const { return s.kernel_h * s.kernel_w * s.group_out(); }

    __device__ row_place place_row(std::int64_t m, std::int64_t) const {
        const pixel p = pixel_of(m, s.height, s.width);
        return {p.image, p.row + s.pad_top, p.column + s.pad_left};
    }
    __device__ k_place place_k(std::int64_t k, std::int64_t group) const {
        const quotient o = divide(k, s.group_out()), q = divide(o.whole, s.kernel_w);
        const std::int64_t at = group * s.group_out() + o.rest;
        return {q.whole * s.dilation_h, q.rest * s.dilation_w, at, o.whole * s.group_in() * s.out_channels + at};
    }
    __device__ compute_t<T> a(const row_place& m, const k_place& k) const {
        const std::int64_t u = m.row - k.row, v = m.column - k.column;
        if (u < 0 || v < 0) return 0;
        const quotient i = divide(u, s.stride_h), j = divide(v, s.stride_w);
        if (i.rest != 0 || j.rest != 0 || i.whole >= s.out_height || j.whole >= s.out_width) return 0;
        return widen(dy[((m.image * s.out_height + i.whole) * s.out_width + j.whole) * s.out_channels + k.at]);
    }
    __device__ compute_t<T> b(std::int64_t, const k_place& k, std::int64_t n, std::int64_t) const {
        return widen(w[k.weight + n * s.out_channels]);
    }
    __device__ void put(std::int64_t m, std::int64_t n, std::int64_t group, std::int64_t, compute_t<T> value) const {
        dx[m * s.in_channels + group * s.group_in() + n] = narrow<T>(value);
    }
};

template <class T> struct filter_product {
    static constexpr bool a_by_k = false, b_by_k = false;
    convolution_sizes s;
    const T *x, *dy;
    compute_t<T>* parts;

    struct row_place {
        std::int64_t row, column, at;
    };
    struct k_place {
        std::int64_t image, top, left;
    };
    __host__ __device__ std::int64_t rows() const { return s.kernel_h * s.kernel_w * s.group_in(); }
    __host__ __device__ std::int64_t columns() const { return s.group_out(); }
    __host__ __device__ std::int64_t sums() const { return s.pixels(); }

    __device__ row_place place_row(std::int64_t m, std::int64_t group) const {
        const quotient c = divide(m, s.group_in()), q = divide(c.whole, s.kernel_w);
        return {q.whole * s.dilation_h, q.rest * s.dilation_w, group * s.group_in() + c.rest};
    }
    __device__ k_place place_k(std::int64_t k, std::int64_t) const {
        const pixel p = pixel_of(k, s.out_height, s.out_width);
        return {p.image, p.row * s.stride_h - s.pad_top, p.column * s.stride_w - s.pad_left};
    }
    __device__ compute_t<T> a(const row_place& m, const k_place& k) const {
        const std::int64_t u = k.top + m.row, v = k.left + m.column;
        if (u < 0 || v < 0 || u >= s.height || v >= s.width) return 0;
        return widen(x[((k.image * s.height + u) * s.width + v) * s.in_channels + m.at]);
    }
    __device__ compute_t<T> b(std::int64_t k, const k_place&, std::int64_t n, std::int64_t group) const {
        return widen(dy[k * s.out_channels + group * s.group_out() + n]);
    }
    __device__ void put(std::int64_t m, std::int64_t n, std::int64_t group, std::int64_t part,
                        compute_t<T> value) const {
        parts[(part * rows() + m) * s.out_channels + group * s.group_out() + n] = value;
    }
};

// Block (tile of rows, tile of columns, group, part of the sum), of which the columns come first.
template <class T, class Product> __global__ void tiled_product(Product p, std::int64_t parts) {
    using number = compute_t<T>;
    __shared__ number a[depth][tile + 1];
    __shared__ number b[depth][tile + 1];
    const std::int64_t rows = p.rows(), columns = p.columns(), sums = p.sums();
    const std::int64_t column_tiles = (columns + tile - 1) / tile, row_tiles = (rows + tile - 1) / tile;
    const std::int64_t blocks = column_tiles * row_tiles * p.s.groups * parts;
    const std::int64_t length = (sums + parts - 1) / parts;
    const int t = static_cast<int>(threadIdx.x), tx = t % lane_count, ty = t / lane_count;

    for (std::int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        const quotient in_row = divide(block, column_tiles), in_group = divide(in_row.whole, row_tiles),
                       in_part = divide(in_group.whole, p.s.groups);
        const std::int64_t n0 = in_row.rest * tile, m0 = in_group.rest * tile, group = in_part.rest,
                           part = in_part.whole;
        const std::int64_t first = part * length, last = first + length < sums ? first + length : sums;

        // Rows and depths of the elements that this thread brings: side by side in memory, side by side in a warp.
        typename Product::row_place places[each];
        if constexpr (Product::a_by_k) {
            for (int i = 0; i < each; ++i)
                if (m0 + ty + i * lane_count < rows) places[i] = p.place_row(m0 + ty + i * lane_count, group);
        } else if (m0 + t % tile < rows) places[0] = p.place_row(m0 + t % tile, group);

        number sum[each][each] = {};
        for (std::int64_t k0 = first; k0 < last; k0 += depth) {
            if constexpr (Product::a_by_k) {
                const std::int64_t k = k0 + tx;
                typename Product::k_place place{};
                if (k < last) place = p.place_k(k, group);
                for (int i = 0; i < each; ++i) {
                    const int m = ty + i * lane_count;
                    a[tx][m] = k < last && m0 + m < rows ? p.a(places[i], place) : number(0);
                    if constexpr (Product::b_by_k)
                        b[tx][m] = k < last && n0 + m < columns ? p.b(k, place, n0 + m, group) : number(0);
                }
            } else {
                for (int i = 0; i < each; ++i) {
                    const int m = t % tile, kk = t / tile + i * each;
                    const std::int64_t k = k0 + kk;
                    a[kk][m] = k < last && m0 + m < rows ? p.a(places[0], p.place_k(k, group)) : number(0);
                }
            }
            if constexpr (!Product::b_by_k) {
                for (int i = 0; i < each; ++i) {
                    const int n = t % tile, kk = t / tile + i * each;
                    const std::int64_t k = k0 + kk;
                    b[kk][n] = k < last && n0 + n < columns ? p.b(k, {}, n0 + n, group) : number(0);
                }
            }
            __syncthreads();
            for (int k = 0; k < depth; ++k) {
                number left[each], right[each];
                for (int i = 0; i < each; ++i) {
                    left[i] = a[k][ty + i * lane_count];
                    right[i] = b[k][tx + i * lane_count];
                }
                for (int i = 0; i < each; ++i)
                    for (int j = 0; j < each; ++j) sum[i][j] += left[i] * right[j];
            }
            __syncthreads();
        }
        for (int i = 0; i < each; ++i)
            for (int j = 0; j < each; ++j) {
                const std::int64_t m = m0 + ty + i * lane_count, n = n0 + tx + j * lane_count;
                if (m < rows && n < columns) p.put(m, n, group, part, sum[i][j]);
            }
    }
}

// A thread for each result.
template <class T, class Product> __global__ void single_sums(Product p) {
    const std::int64_t columns = p.columns(), sums = p.sums(), row = columns * p.s.groups, all = p.rows() * row;
    const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < all; i += threads) {
        const quotient at = divide(i, row), in_group = divide(at.rest, columns);
        const std::int64_t group = in_group.whole, n = in_group.rest;
        const auto place = p.place_row(at.whole, group);
        compute_t<T> sum = 0;
        for (std::int64_t k = 0; k < sums; ++k) {
            const auto k_place = p.place_k(k, group);
            sum += p.a(place, k_place) * p.b(k, k_place, n, group);
        }
        p.put(at.whole, n, group, 0, sum);
    }
}

template <class T, class Product> void run_product(const Product& p, void* stream) {
    if (p.rows() == 0 || p.columns() == 0) return;
    if (p.columns() < least_for_tiles && p.s.groups > 1) {
        launch(single_sums<T, Product>, blocks_for(p.rows() * p.columns() * p.s.groups), block_threads, 0, stream, p);
        return;
    }
    const std::int64_t tiles = ((p.rows() + tile - 1) / tile) * ((p.columns() + tile - 1) / tile) * p.s.groups;
    launch(tiled_product<T, Product>, static_cast<unsigned>(tiles < (1 << 30) ? tiles : (1 << 30)), block_threads, 0,
           stream, p, std::int64_t{1});
}

// How many parts the pixels of a filter's gradient are divided into: enough to fill a large GPU, and the same on every GPU.
constexpr std::int64_t pixels_of_part = 256;
constexpr std::int64_t blocks_wanted = 1024;
std::int64_t filter_tiles(const convolution_sizes& s) {
    const std::int64_t rows = s.kernel_h * s.kernel_w * s.group_in();
    return ((rows + tile - 1) / tile) * ((s.group_out() + tile - 1) / tile) * s.groups;
}
bool filter_by_tiles(const convolution_sizes& s) { return s.groups == 1 || s.group_out() >= least_for_tiles; }
constexpr int side = 32; // channels of a block of those that have no tiles
constexpr int high = static_cast<int>(block_threads) / side;
std::int64_t filter_parts(const convolution_sizes& s) {
    const std::int64_t weights = s.kernel_h * s.kernel_w * s.group_in();
    const std::int64_t blocks = filter_by_tiles(s) ? filter_tiles(s) : weights * ((s.out_channels + side - 1) / side);
    const std::int64_t most = (s.pixels() + pixels_of_part - 1) / pixels_of_part;
    std::int64_t parts = blocks == 0 ? 1 : blocks_wanted / blocks;
    if (parts > most) parts = most;
    return parts < 1 ? 1 : parts;
}

// Block (channels, weight of the window, part): a thread adds every high-th pixel of a part.
template <class T> __global__ void filter_of_small_groups(filter_product<T> p, std::int64_t parts) {
    using number = compute_t<T>;
    __shared__ number sums[high][side];
    const std::int64_t channels = p.s.out_channels, rows = p.rows(), pixels = p.sums();
    const std::int64_t sides = (channels + side - 1) / side, blocks = sides * rows * parts;
    const std::int64_t length = (pixels + parts - 1) / parts;
    const int tx = static_cast<int>(threadIdx.x) % side, ty = static_cast<int>(threadIdx.x) / side;
    for (std::int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        const quotient in_row = divide(block, sides), in_part = divide(in_row.whole, rows);
        const std::int64_t o = in_row.rest * side + tx, m = in_part.rest, part = in_part.whole;
        const std::int64_t first = part * length, last = first + length < pixels ? first + length : pixels;
        number sum = 0;
        if (o < channels) {
            const quotient g = divide(o, p.s.group_out());
            const auto place = p.place_row(m, g.whole);
            for (std::int64_t k = first + ty; k < last; k += high)
                sum += p.a(place, p.place_k(k, g.whole)) * p.b(k, {}, g.rest, g.whole);
        }
        sums[ty][tx] = sum;
        __syncthreads();
        if (ty == 0 && o < channels) {
            for (int i = 1; i < high; ++i) sum += sums[i][tx];
            p.parts[(part * rows + m) * channels + o] = sum;
        }
        __syncthreads();
    }
}

// Block (channels, part).
template <class T>
__global__ void sum_rows(const T* rows, std::int64_t count, std::int64_t channels, std::int64_t parts, double* to) {
    __shared__ double sums[high][side];
    const std::int64_t sides = (channels + side - 1) / side, length = (count + parts - 1) / parts;
    const int tx = static_cast<int>(threadIdx.x) % side, ty = static_cast<int>(threadIdx.x) / side;
    for (std::int64_t block = blockIdx.x; block < sides * parts; block += gridDim.x) {
        const quotient at = divide(block, sides);
        const std::int64_t o = at.rest * side + tx, first = at.whole * length;
        const std::int64_t last = first + length < count ? first + length : count;
        double sum = 0;
        if (o < channels)
            for (std::int64_t k = first + ty; k < last; k += high)
                sum += static_cast<double>(widen(rows[k * channels + o]));
        sums[ty][tx] = sum;
        __syncthreads();
        if (ty == 0 && o < channels) {
            for (int i = 1; i < high; ++i) sum += sums[i][tx];
            to[at.whole * channels + o] = sum;
        }
        __syncthreads();
    }
}
std::int64_t row_parts(std::int64_t count, std::int64_t channels) {
    const std::int64_t sides = (channels + side - 1) / side, most = (count + pixels_of_part - 1) / pixels_of_part;
    std::int64_t parts = sides == 0 ? 1 : blocks_wanted / sides;
    if (parts > most) parts = most;
    return parts < 1 ? 1 : parts;
}

template <class T>
__global__ void add_bias_to(T* y, const T* bias, bool relu, std::int64_t elements, std::int64_t channels) {
    const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += threads) {
        compute_t<T> value = widen(y[i]) + widen(bias[divide(i, channels).rest]);
        if (relu && value <= 0) value = 0;
        y[i] = narrow<T>(value);
    }
}

// [rows, columns] as [columns, rows], by tiles of side x side.
template <class T> __global__ void transpose_matrix(const T* from, T* to, std::int64_t rows, std::int64_t columns) {
    __shared__ T held[side][side + 1];
    const std::int64_t across = (columns + side - 1) / side, down = (rows + side - 1) / side;
    const int tx = static_cast<int>(threadIdx.x) % side, ty = static_cast<int>(threadIdx.x) / side;
    for (std::int64_t block = blockIdx.x; block < across * down; block += gridDim.x) {
        const quotient at = divide(block, across);
        const std::int64_t r0 = at.whole * side, c0 = at.rest * side;
        for (int i = ty; i < side; i += high)
            if (r0 + i < rows && c0 + tx < columns) held[i][tx] = from[(r0 + i) * columns + c0 + tx];
        __syncthreads();
        for (int i = ty; i < side; i += high)
            if (c0 + i < columns && r0 + tx < rows) to[(c0 + i) * rows + r0 + tx] = held[tx][i];
        __syncthreads();
    }
}
template <class T>
void transpose_as(const void* from, void* to, std::int64_t rows, std::int64_t columns, void* stream) {
    const std::int64_t blocks = ((rows + side - 1) / side) * ((columns + side - 1) / side);
    launch(transpose_matrix<T>, static_cast<unsigned>(blocks < (1 << 30) ? blocks : (1 << 30)), block_threads, 0,
           stream, static_cast<const T*>(from), static_cast<T*>(to), rows, columns);
}
void transpose(const void* from, void* to, std::int64_t rows, std::int64_t columns, std::size_t element_bytes,
               void* stream) {
    if (rows == 0 || columns == 0) return;
    switch (element_bytes) {
    case 2: return transpose_as<std::uint16_t>(from, to, rows, columns, stream);
    case 4: return transpose_as<std::uint32_t>(from, to, rows, columns, stream);
    default: return transpose_as<std::uint64_t>(from, to, rows, columns, stream);
    }
}

} // namespace

void convolve(const convolution_sizes& s, element_type e, const void* x, const void* w, const void* bias, bool relu,
              void* y, void* stream) {
    with_floating_type(e, [&]<class T>(T) {
        run_product<T>(forward_product<T>{s, static_cast<const T*>(x), static_cast<const T*>(w),
                                          static_cast<const T*>(bias), static_cast<T*>(y), relu},
                       stream);
    });
}

void convolve_backward_input(const convolution_sizes& s, element_type e, const void* dy, const void* w, void* dx,
                             void* stream) {
    if (e == element_type::float32 && has_input_gradient(s) && is_tile_aligned(dy) && is_tile_aligned(w)) {
        input_gradient(s, static_cast<const float*>(dy), static_cast<const float*>(w), static_cast<float*>(dx), stream);
        return;
    }
    with_floating_type(e, [&]<class T>(T) {
        run_product<T>(input_product<T>{s, static_cast<const T*>(dy), static_cast<const T*>(w), static_cast<T*>(dx)},
                       stream);
    });
}

std::size_t convolve_backward_filter_scratch(const convolution_sizes& s, element_type e) {
    if (e == element_type::float32 && has_filter_gradient(s)) return filter_gradient_scratch(s);
    const std::size_t number = e == element_type::float64 ? sizeof(double) : sizeof(float);
    return static_cast<std::size_t>(filter_parts(s) * s.w_elements()) * number;
}

void convolve_backward_filter(const convolution_sizes& s, element_type e, const void* x, const void* dy, void* dw,
                              void* scratch, void* stream) {
    const std::int64_t weights = s.w_elements(), parts = filter_parts(s);
    if (weights == 0) return;
    if (e == element_type::float32 && has_filter_gradient(s)) {
        filter_gradient(s, static_cast<const float*>(x), static_cast<const float*>(dy), static_cast<float*>(dw),
                        scratch, stream);
        return;
    }
    with_floating_type(e, [&]<class T>(T) {
        using number = compute_t<T>;
        const filter_product<T> p{s, static_cast<const T*>(x), static_cast<const T*>(dy),
                                  static_cast<number*>(scratch)};
        if (filter_by_tiles(s)) {
            const std::int64_t blocks = filter_tiles(s) * parts;
            launch(tiled_product<T, filter_product<T>>, static_cast<unsigned>(blocks < (1 << 30) ? blocks : (1 << 30)),
                   block_threads, 0, stream, p, parts);
        } else {
            const std::int64_t blocks = p.rows() * ((s.out_channels + side - 1) / side) * parts;
            launch(filter_of_small_groups<T>, static_cast<unsigned>(blocks < (1 << 30) ? blocks : (1 << 30)),
                   block_threads, 0, stream, p, parts);
        }
        add_parts(static_cast<const number*>(scratch), parts, weights, static_cast<T*>(dw), stream);
    });
}

std::size_t sum_pixels_scratch(std::int64_t count, std::int64_t channels) {
    return static_cast<std::size_t>(row_parts(count, channels) * channels) * sizeof(double);
}

void sum_pixels(const void* rows, std::int64_t count, std::int64_t channels, element_type e, void* to, void* scratch,
                void* stream) {
    if (channels == 0) return;
    const std::int64_t parts = row_parts(count, channels), blocks = parts * ((channels + side - 1) / side);
    with_floating_type(e, [&]<class T>(T) {
        launch(sum_rows<T>, static_cast<unsigned>(blocks < (1 << 30) ? blocks : (1 << 30)), block_threads, 0, stream,
               static_cast<const T*>(rows), count, channels, parts, static_cast<double*>(scratch));
        add_parts(static_cast<const double*>(scratch), parts, channels, static_cast<T*>(to), stream);
    });
}

void add_bias(void* y, const void* bias, bool relu, std::int64_t rows, std::int64_t channels, element_type e,
              void* stream) {
    if (rows * channels == 0) return;
    with_floating_type(e, [&]<class T>(T) {
        launch(add_bias_to<T>, blocks_for(rows * channels), block_threads, 0, stream, static_cast<T*>(y),
               static_cast<const T*>(bias), relu, rows * channels, channels);
    });
}

void filters_by_output(const void* w, void* to, std::int64_t pixels, std::int64_t seen, std::int64_t outputs,
                       std::size_t element_bytes, void* stream) {
    transpose(w, to, pixels * seen, outputs, element_bytes, stream);
}
void filters_by_pixel(const void* by_output, void* w, std::int64_t pixels, std::int64_t seen, std::int64_t outputs,
                      std::size_t element_bytes, void* stream) {
    transpose(by_output, w, outputs, pixels * seen, element_bytes, stream);
}

} // namespace tenon::cuda
