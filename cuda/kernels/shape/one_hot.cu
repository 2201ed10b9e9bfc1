#include <cuda/kernels/shape/one_hot.hpp>

#include <limits>
#include <type_traits>

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

// Count: in which elements are counted.
template <class T, class U, class Count>
__global__ void mark_indices(const T* __restrict__ indices, U* __restrict__ to, U one, Count n, Count depth,
                             Count inner) {
    const Count all = Count{gridDim.x} * blockDim.x;
    for (Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) {
        const Count row = i / inner, place = row % depth, at = row / depth * inner + (i - row * inner);
        const T index = indices[at];
        // As 64 bits a negative one is larger than every depth.
        to[i] = static_cast<std::uint64_t>(index) == place ? one : U{0};
    }
}

template <class T, class U>
void one_hot_as(const void* indices, void* to, std::uint64_t one, std::int64_t n, std::int64_t depth,
                std::int64_t inner, void* stream) {
    const auto put = [&]<class Count>(Count) {
        launch(mark_indices<T, U, Count>, blocks_for(n), block_threads, 0, stream, static_cast<const T*>(indices),
               static_cast<U*>(to), static_cast<U>(one), static_cast<Count>(n), static_cast<Count>(depth),
               static_cast<Count>(inner));
    };
    n <= std::numeric_limits<std::int32_t>::max() ? put(std::uint32_t{}) : put(std::uint64_t{});
}

template <class T>
void one_hot_of(const void* indices, void* to, std::size_t element_bytes, std::uint64_t one, std::int64_t n,
                std::int64_t depth, std::int64_t inner, void* stream) {
    switch (element_bytes) {
    case 1: return one_hot_as<T, std::uint8_t>(indices, to, one, n, depth, inner, stream);
    case 2: return one_hot_as<T, std::uint16_t>(indices, to, one, n, depth, inner, stream);
    case 4: return one_hot_as<T, std::uint32_t>(indices, to, one, n, depth, inner, stream);
    default: return one_hot_as<T, std::uint64_t>(indices, to, one, n, depth, inner, stream);
    }
}

} // namespace

void one_hot(element_type of_indices, const void* indices, void* to, std::size_t element_bytes, std::uint64_t one,
             std::int64_t outer, std::int64_t depth, std::int64_t inner, void* stream) {
    const std::int64_t n = outer * depth * inner;
    if (n == 0) return;
    with_type(of_indices, [&]<class T>(T) {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
            one_hot_of<T>(indices, to, element_bytes, one, n, depth, inner, stream);
    });
}

} // namespace tenon::cuda
