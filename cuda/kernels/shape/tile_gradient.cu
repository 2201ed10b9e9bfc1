#include <cuda/kernels/shape/tile_gradient.hpp>

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

template <class T>
__global__ void sum_tiles(const T* __restrict__ from, T* __restrict__ to, std::int64_t n, std::int64_t repetitions,
                          tiled_sizes t) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) {
        std::int64_t at = 0, rest = i, step = 1;
        for (int d = t.rank; d-- > 0; rest /= t.sizes[d]) {
            at += rest % t.sizes[d] * step;
            step *= t.sizes[d] * t.counts[d];
        }
        compute_t<T> sum{};
        for (std::int64_t k = 0; k < repetitions; ++k) {
            std::int64_t shift = 0;
            step = 1;
            rest = k;
            for (int d = t.rank; d-- > 0; rest /= t.counts[d]) {
                shift += rest % t.counts[d] * t.sizes[d] * step;
                step *= t.sizes[d] * t.counts[d];
            }
            sum = static_cast<compute_t<T>>(sum + widen(from[at + shift]));
        }
        to[i] = narrow<T>(sum);
    }
}

template <class T> void sum_as(const void* from, void* to, const tiled_sizes& t, void* stream) {
    std::int64_t n = 1, repetitions = 1;
    for (int d = 0; d < t.rank; ++d) {
        n *= t.sizes[d];
        repetitions *= t.counts[d];
    }
    if (n == 0) return;
    launch(sum_tiles<T>, blocks_for(n), block_threads, 0, stream, static_cast<const T*>(from), static_cast<T*>(to), n,
           repetitions, t);
}

} // namespace

void sum_repetitions(element_type e, const void* from, void* to, const tiled_sizes& t, void* stream) {
    switch (e) {
    case element_type::float32: return sum_as<float>(from, to, t, stream);
    case element_type::float64: return sum_as<double>(from, to, t, stream);
    case element_type::float16: return sum_as<half>(from, to, t, stream);
    case element_type::bfloat16: return sum_as<bfloat16>(from, to, t, stream);
    default: break;
    }
    switch (size_of(e)) { // signed or not, the bits are the same
    case 1: return sum_as<std::uint8_t>(from, to, t, stream);
    case 2: return sum_as<std::uint16_t>(from, to, t, stream);
    case 4: return sum_as<std::uint32_t>(from, to, t, stream);
    default: return sum_as<std::uint64_t>(from, to, t, stream);
    }
}

} // namespace tenon::cuda
