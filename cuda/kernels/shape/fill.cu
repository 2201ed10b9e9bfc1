#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/shape/fill.hpp>

namespace tenon::cuda {

namespace {

template <class T> __global__ void fill_elements(T* to, std::int64_t n, T value) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) to[i] = value;
}

template <class T> void fill_as(void* to, std::int64_t n, std::uint64_t bits, void* stream) {
    launch(fill_elements<T>, blocks_for(n), block_threads, 0, stream, static_cast<T*>(to), n, static_cast<T>(bits));
}

} // namespace

void fill(void* to, std::int64_t n, std::size_t element_bytes, std::uint64_t bits, void* stream) {
    if (n == 0) return;
    switch (element_bytes) {
    case 1: return fill_as<std::uint8_t>(to, n, bits, stream);
    case 2: return fill_as<std::uint16_t>(to, n, bits, stream);
    case 4: return fill_as<std::uint32_t>(to, n, bits, stream);
    default: return fill_as<std::uint64_t>(to, n, bits, stream);
    }
}

} // namespace tenon::cuda
