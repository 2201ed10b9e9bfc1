#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/linear/float8.hpp>

namespace tenon::cuda {

namespace {

constexpr int tile = 32; // of a transposed matrix, elements each way
constexpr int tile_rows = block_threads / tile;

struct two_operands {
    float8_operand of[2];
};

// The grid's second dimension is the operand.
template <class T>
__global__ void __launch_bounds__(block_threads) find_largest(two_operands both, float8_scales* scales) {
    __shared__ std::uint32_t largest;
    const float8_operand x = blockIdx.y == 0 ? both.of[0] : both.of[1];
    if (threadIdx.x == 0) largest = 0;
    __syncthreads();
    const std::int64_t elements = x.count * x.rows * x.columns, all = std::int64_t{gridDim.x} * blockDim.x;
    std::uint32_t most = 0; // magnitudes are in the order of their bits, NaN the last
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += all) {
        const float here = widen(static_cast<const T*>(x.from)[i]);
        const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, here) & 0x7FFFFFFFU;
        most = bits > most ? bits : most;
    }
    atomicMax(&largest, most);
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(&scales->largest[blockIdx.y], largest);
}

// Rounded twice, as on the host: the product is no part of what follows.
template <class Q> __device__ Q rounded(float8_format f, float x, float scale) {
#if defined(__CUDA_ARCH__)
    const float r = rounded_to(f, __fmul_rn(x, scale));
#else
    const float r = rounded_to(f, x * scale);
#endif
    if constexpr (std::is_same_v<Q, float>) return r;
    else return bits_of(f, r);
}

template <class T, class Q>
__global__ void __launch_bounds__(block_threads) round_operands(two_operands both, float8_scales* scales) {
    __shared__ Q part[tile][tile + 1];
    const float8_operand x = blockIdx.y == 0 ? both.of[0] : both.of[1];
    const float scale = scale_of(x.format, __builtin_bit_cast(float, scales->largest[blockIdx.y]));
    if (blockIdx.x == 0 && threadIdx.x == 0) scales->back[blockIdx.y] = 1 / scale;
    const T* const from = static_cast<const T*>(x.from);
    Q* const to = static_cast<Q*>(x.to);
    if (!x.transposed) {
        const std::int64_t elements = x.count * x.rows * x.columns, all = std::int64_t{gridDim.x} * blockDim.x;
        for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += all)
            to[i] = rounded<Q>(x.format, widen(from[i]), scale);
        return;
    }
    const int across = static_cast<int>(threadIdx.x) % tile, down = static_cast<int>(threadIdx.x) / tile;
    const std::int64_t tiles_down = (x.rows + tile - 1) / tile, tiles_across = (x.columns + tile - 1) / tile;
    for (std::int64_t t = blockIdx.x; t < x.count * tiles_down * tiles_across; t += gridDim.x) {
        const std::int64_t matrix = t / (tiles_down * tiles_across) * x.rows * x.columns;
        const std::int64_t row = t / tiles_across % tiles_down * tile, column = t % tiles_across * tile;
        for (int i = down; i < tile; i += tile_rows)
            if (row + i < x.rows && column + across < x.columns)
                part[i][across] =
                    rounded<Q>(x.format, widen(from[matrix + (row + i) * x.columns + column + across]), scale);
        __syncthreads();
        for (int i = down; i < tile; i += tile_rows)
            if (column + i < x.columns && row + across < x.rows)
                to[matrix + (column + i) * x.rows + row + across] = part[across][i];
        __syncthreads();
    }
}

template <class T>
__global__ void scaled_back(const float* c, T* to, std::int64_t elements, const float8_scales* scales) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += all)
        to[i] = narrow<T>(tenon::scaled_back(c[i], scales->back[0], scales->back[1]));
}

template <class F> void with_rounded_type(element_type e, F&& f) {
    switch (e) {
    case element_type::float16: return f(half{});
    case element_type::bfloat16: return f(bfloat16{});
    default: return f(float{});
    }
}

} // namespace

void round_to_float8(element_type element, const float8_operand (&operands)[2], bool bytes, float8_scales* scales,
                     void* stream) {
    check(cudaMemsetAsync(scales->largest, 0, sizeof scales->largest, static_cast<cudaStream_t>(stream)),
          "cudaMemsetAsync");
    const two_operands both{{operands[0], operands[1]}};
    std::int64_t most = 0;
    for (const float8_operand& x : operands) {
        const std::int64_t elements = x.count * x.rows * x.columns;
        most = elements > most ? elements : most;
    }
    const dim3 grid(blocks_for(most, 4, 4096), 2);
    with_rounded_type(element, [&](auto e) {
        using T = decltype(e);
        launch(find_largest<T>, grid, dim3(block_threads), 0, stream, both, scales);
        if (bytes) launch(round_operands<T, std::uint8_t>, grid, dim3(block_threads), 0, stream, both, scales);
        else launch(round_operands<T, float>, grid, dim3(block_threads), 0, stream, both, scales);
    });
}

void scale_back(element_type element, const float* c, void* to, std::int64_t elements, const float8_scales* scales,
                void* stream) {
    if (elements == 0) return;
    with_rounded_type(element, [&](auto e) {
        using T = decltype(e);
        launch(scaled_back<T>, blocks_for(elements), block_threads, 0, stream, c, static_cast<T*>(to), elements,
               scales);
    });
}

} // namespace tenon::cuda
