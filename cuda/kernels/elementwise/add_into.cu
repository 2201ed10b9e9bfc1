#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/elementwise/add_into.hpp>
#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

template <class T> __global__ void add_elements(T* to, const T* from, std::int64_t n) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all)
        if constexpr (std::is_integral_v<T>)
            to[i] = static_cast<T>(static_cast<std::uint64_t>(to[i]) + static_cast<std::uint64_t>(from[i]));
        else to[i] = narrow<T>(widen(to[i]) + widen(from[i]));
}

} // namespace

void add_into(element_type element, void* to, const void* from, std::int64_t n, void* stream) {
    if (n == 0) return;
    with_type(element, [&](auto x) {
        using T = decltype(x);
        if constexpr (!std::is_same_v<T, bool>)
            launch(add_elements<T>, blocks_for(n), block_threads, 0, stream, static_cast<T*>(to),
                   static_cast<const T*>(from), n);
    });
}

} // namespace tenon::cuda
