#pragma once

#include <cstdint>

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>

/// Sums of which blocks have parts: device code.

namespace tenon::cuda {

/// Block (elements): of its threads `slices`, a power of two, share an element; each adds every slices-th part of it.
template <class T, class Part>
__global__ void add_slices(const Part* parts, std::int64_t count, std::int64_t elements, int slices, T* to) {
    __shared__ double sums[block_threads];
    const int together = static_cast<int>(block_threads) / slices, t = static_cast<int>(threadIdx.x);
    const int slice = t / together, lane = t % together;
    for (std::int64_t first = std::int64_t{blockIdx.x} * together; first < elements;
         first += std::int64_t{gridDim.x} * together) {
        const std::int64_t i = first + lane;
        double sum = 0;
        if (i < elements)
            for (std::int64_t p = slice; p < count; p += slices) sum += static_cast<double>(parts[p * elements + i]);
        sums[t] = sum;
        __syncthreads();
        if (slice == 0 && i < elements) {
            for (int s = 1; s < slices; ++s) sum += sums[s * together + lane];
            to[i] = narrow<T>(static_cast<compute_t<T>>(sum));
        }
        __syncthreads();
    }
}

/// to[i] = the sum of parts[p][i] over `count` parts, in double and always in the same order.
template <class T, class Part>
void add_parts(const Part* parts, std::int64_t count, std::int64_t elements, T* to, void* stream) {
    constexpr int most = 32; // 8 neighbouring floats are a sector of memory
    int slices = 1;
    while (slices < most && slices * 2 <= count) slices *= 2;
    launch(add_slices<T, Part>, blocks_for(elements * slices), block_threads, 0, stream, parts, count, elements, slices,
           to);
}

} // namespace tenon::cuda
