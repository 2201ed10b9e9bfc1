#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/elementwise/arange.hpp>

namespace tenon::cuda {

namespace {

template <class T> __global__ void write_steps(T* to, std::int64_t n, number_steps numbers) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) {
        if constexpr (std::is_integral_v<T>)
            to[i] = static_cast<T>(numbers.start + static_cast<std::uint64_t>(i) * numbers.step);
        else {
            // Rounded twice, as the host does.
#if defined(__CUDA_ARCH__)
            const double x = __dadd_rn(numbers.real_start, __dmul_rn(static_cast<double>(i), numbers.real_step));
#else
            const double x = numbers.real_start + static_cast<double>(i) * numbers.real_step;
#endif
            to[i] = narrow<T>(static_cast<compute_t<T>>(x));
        }
    }
}

} // namespace

void arange(element_type e, void* to, std::int64_t n, const number_steps& numbers, void* stream) {
    if (n == 0) return;
    with_type(e, [&]<class T>(T) {
        launch(write_steps<T>, blocks_for(n), block_threads, 0, stream, static_cast<T*>(to), n, numbers);
    });
}

} // namespace tenon::cuda
