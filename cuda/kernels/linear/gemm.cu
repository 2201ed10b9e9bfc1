#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/linear/gemm.hpp>
#include <tenon/tape/gelu.hpp>

namespace tenon::cuda {

namespace {

constexpr int depth = 16; // of k at a time
constexpr int side = 16;  // a block's threads are side x side
static_assert(side * side == block_threads);

// What elements are multiplied and added in: signed integers wrap around as their unsigned twins do.
template <class T, bool Integer = std::is_integral_v<T>> struct arithmetic { using type = compute_t<T>; };
template <class T> struct arithmetic<T, true> { using type = std::make_unsigned_t<T>; };

// The elements of the product of matrices of T.
template <class T> using product_t = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, T>;

template <class T>
__device__ T finished(typename arithmetic<T>::type sum, const T* bias, std::int64_t column, bool relu) {
    using A = typename arithmetic<T>::type;
    if (bias) sum += static_cast<A>(widen(bias[column]));
    const compute_t<T> x = static_cast<compute_t<T>>(sum);
    return narrow<T>(relu && x < compute_t<T>(0) ? compute_t<T>(0) : x);
}

template <class T> __device__ T stepped(typename arithmetic<T>::type sum, double factor, T from) {
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(factor) * sum + from;
    else return from;
}

// A block makes tiles of c, of (side * Rows) x (side * Columns): a thread each Rows x Columns elements, `side` apart.
template <class T, int Rows, int Columns>
__global__ void __launch_bounds__(block_threads)
    multiply(gemm_description d, const T* all_a, const T* all_b, const product_t<T>* added, product_t<T>* all_c,
             std::int64_t tiles_down, std::int64_t tiles_across, std::int64_t tiles) {
    using R = product_t<T>;
    using A = typename arithmetic<R>::type;
    constexpr int height = side * Rows, width = side * Columns;
    __shared__ A part_a[depth][height + 1];
    __shared__ A part_b[depth][width + 1];
    const int across = static_cast<int>(threadIdx.x) % side, down = static_cast<int>(threadIdx.x) / side;

    for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const std::int64_t in_matrix = tile % (tiles_down * tiles_across);
        const std::int64_t row = in_matrix / tiles_across * height, column = in_matrix % tiles_across * width;
        const T *a = all_a, *b = all_b;
        R* c = all_c;
        std::int64_t product = tile / (tiles_down * tiles_across);
        for (int i = 0; i < d.dimensions; ++i) {
            const std::int64_t at = product % d.batch[i].size;
            product /= d.batch[i].size;
            a += at * d.batch[i].step_a;
            b += at * d.batch[i].step_b;
            c += at * d.batch[i].step_c;
        }
        A sums[Rows][Columns] = {};
        for (std::int64_t begin = 0; begin < d.k; begin += depth) {
            // Threads that follow each other read what follows in memory.
            for (int e = static_cast<int>(threadIdx.x); e < height * depth; e += block_threads) {
                const int i = d.transpose_a ? e % height : e / depth, l = d.transpose_a ? e / height : e % depth;
                const std::int64_t y = row + i, x = begin + l;
                part_a[l][i] =
                    y < d.m && x < d.k ? static_cast<A>(widen(a[d.transpose_a ? x * d.m + y : y * d.k + x])) : A(0);
            }
            for (int e = static_cast<int>(threadIdx.x); e < width * depth; e += block_threads) {
                const int j = d.transpose_b ? e / depth : e % width, l = d.transpose_b ? e % depth : e / width;
                const std::int64_t y = begin + l, x = column + j;
                part_b[l][j] =
                    y < d.k && x < d.n ? static_cast<A>(widen(b[d.transpose_b ? x * d.k + y : y * d.n + x])) : A(0);
            }
            __syncthreads();
            A some[Rows][Columns] = {};
            for (int l = 0; l < depth; ++l)
                for (int i = 0; i < Rows; ++i)
                    for (int j = 0; j < Columns; ++j)
                        some[i][j] += part_a[l][down + i * side] * part_b[l][across + j * side];
            for (int i = 0; i < Rows; ++i)
                for (int j = 0; j < Columns; ++j) sums[i][j] += some[i][j];
            __syncthreads();
        }
        for (int i = 0; i < Rows; ++i)
            for (int j = 0; j < Columns; ++j) {
                const std::int64_t y = row + down + i * side, x = column + across + j * side;
                if (y >= d.m || x >= d.n) continue;
                R& to = c[y * d.n + x];
                if (d.addend) to = stepped<R>(sums[i][j], d.factor, added[&to - all_c]);
                else to = finished<R>(sums[i][j], d.bias ? added : nullptr, x, d.relu);
            }
    }
}

template <class T, int Rows, int Columns>
void launch_tiles(const gemm_description& d, const void* a, const void* b, const void* added, void* c, void* stream) {
    const auto tiles_of = [](std::int64_t size, int of) { return (size + side * of - 1) / (side * of); };
    const std::int64_t down = tiles_of(d.m, Rows), across = tiles_of(d.n, Columns);
    std::int64_t tiles = down * across;
    for (int i = 0; i < d.dimensions; ++i) tiles *= d.batch[i].size;
    using R = product_t<T>;
    constexpr std::int64_t most = 1 << 20;
    launch(multiply<T, Rows, Columns>, dim3(static_cast<unsigned>(tiles < most ? tiles : most)), dim3(block_threads), 0,
           stream, d, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<const R*>(added),
           static_cast<R*>(c), down, across, tiles);
}

// Vectors, and matrices that are thin, would leave most of a large tile empty.
template <class T>
void multiply_as(const gemm_description& d, const void* a, const void* b, const void* added, void* c, void* stream) {
    if (d.m > side && d.n > side) launch_tiles<T, 4, 4>(d, a, b, added, c, stream);
    else launch_tiles<T, 1, 1>(d, a, b, added, c, stream);
}

template <class T> __global__ void finish(T* c, const T* bias, std::int64_t elements, std::int64_t n, bool relu) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += all)
        c[i] = finished<T>(static_cast<typename arithmetic<T>::type>(widen(c[i])), bias, bias ? i % n : 0, relu);
}

// gelu_tanh of x, or y times its slope there.
template <class T> __global__ void gelu_of(const T* x, T* y, std::int64_t elements, bool slope) {
    using A = compute_t<T>;
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += all) {
        const A at = widen(x[i]), cubic = A(detail::gelu_cubic) * at * at, linear = A(detail::gelu_linear);
        const A open = 1 / (1 + exp(-at * (cubic + linear)));
        // 0 times an infinite power, far out, where the slope is 0 or 1
        const A bent = open == 0 || open == 1 ? A(0) : at * open * (1 - open) * (3 * cubic + linear);
        y[i] = narrow<T>(slope ? widen(y[i]) * (open + bent) : at * open);
    }
}

// Calls f(T{}) with the C++ type of a product's elements.
template <class F> void with_product_type(element_type e, F&& f) {
    switch (e) {
    case element_type::int32: return f(std::int32_t{});
    case element_type::int64: return f(std::int64_t{});
    default: return with_floating_type(e, f);
    }
}

} // namespace

void gemm(const gemm_description& d, const void* a, const void* b, const void* added, void* c, void* stream) {
    if (d.m == 0 || d.n == 0) return;
    for (int i = 0; i < d.dimensions; ++i)
        if (d.batch[i].size == 0) return;
    if (d.k == 0) a = b = nullptr; // what is empty may lie nowhere on the GPU
    if (d.element == element_type::int8) return multiply_as<std::int8_t>(d, a, b, added, c, stream);
    with_product_type(d.element, [&](auto x) { multiply_as<decltype(x)>(d, a, b, added, c, stream); });
}

void finish_product(element_type element, void* c, const void* bias, std::int64_t rows, std::int64_t n, bool relu,
                    void* stream) {
    const std::int64_t elements = rows * n;
    if (elements == 0) return;
    with_product_type(element, [&](auto x) {
        using T = decltype(x);
        launch(finish<T>, blocks_for(elements), block_threads, 0, stream, static_cast<T*>(c),
               static_cast<const T*>(bias), elements, n, relu);
    });
}

void gelu_tanh(element_type element, const void* x, void* y, std::int64_t elements, bool slope, void* stream) {
    if (elements == 0) return;
    with_floating_type(element, [&](auto e) {
        using T = decltype(e);
        launch(gelu_of<T>, blocks_for(elements), block_threads, 0, stream, static_cast<const T*>(x), static_cast<T*>(y),
               elements, slope);
    });
}

} // namespace tenon::cuda
