#include <cuda/kernels/flow/backwards.hpp>

#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/units.hpp>

namespace tenon::cuda {

namespace {

using tenon::detail::treeverse;

__global__ void __launch_bounds__(32)
    next_kernel(treeverse* order, const std::int64_t* runs, std::int64_t kept, bool* more, bool* advances) {
    if (runs) order->begin(*runs > 0 ? *runs : 0, kept);
    order->next();
    *more = order->now != treeverse::action::ended;
    *advances = order->now == treeverse::action::advance;
}

template <class U> __device__ void copy_units(U* to, const U* from, std::int64_t n) {
    if (to == from) return;
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) to[i] = from[i];
}
template <class U>
__global__ void __launch_bounds__(block_threads)
    take_kernel(U* to, const U* first, const U* begin, std::int64_t distance, const std::int64_t* number,
                std::int64_t n) {
    copy_units(to, *number == treeverse::first ? first : begin + *number * distance, n);
}
template <class U>
__global__ void __launch_bounds__(block_threads)
    put_kernel(U* begin, std::int64_t distance, const std::int64_t* number, const U* from, std::int64_t n) {
    if (*number != treeverse::first) copy_units(begin + *number * distance, from, n);
}

} // namespace

void next_in_order(treeverse* order, const std::int64_t* runs, std::int64_t kept, bool* more, bool* advances,
                   void* stream) {
    launch(next_kernel, dim3(1), dim3(1), 0, stream, order, runs, kept, more, advances);
}

void take_numbered(void* to, const numbered_tensors& from, const std::int64_t* number, void* stream) {
    if (from.bytes == 0) return;
    with_element_unit(from.element_bytes, [&](auto unit) {
        using U = decltype(unit);
        constexpr auto size = static_cast<std::int64_t>(sizeof(U));
        const std::int64_t n = from.bytes / size;
        launch(take_kernel<U>, blocks_for(n), block_threads, 0, stream, static_cast<U*>(to),
               reinterpret_cast<const U*>(from.first), reinterpret_cast<const U*>(from.begin),
               static_cast<std::int64_t>(from.distance) / size, number, n);
    });
}

void put_numbered(const numbered_tensors& to, const std::int64_t* number, const void* from, void* stream) {
    if (to.bytes == 0) return;
    with_element_unit(to.element_bytes, [&](auto unit) {
        using U = decltype(unit);
        constexpr auto size = static_cast<std::int64_t>(sizeof(U));
        const std::int64_t n = to.bytes / size;
        launch(put_kernel<U>, blocks_for(n), block_threads, 0, stream, reinterpret_cast<U*>(to.begin),
               static_cast<std::int64_t>(to.distance) / size, number, static_cast<const U*>(from), n);
    });
}

} // namespace tenon::cuda
