#include <cuda/kernels/image/crop.hpp>

#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/units.hpp>

namespace tenon::cuda {

namespace {

// Number i of the places, at most `most`; -1 where it is none.
__device__ std::int64_t place_of(const crop_places& p, std::int64_t i) {
    const std::int64_t most = i % 2 == 0 ? p.large.height - p.small.height : p.large.width - p.small.width;
    if (p.parts) {
        const float part = static_cast<const float*>(p.places)[i];
        return part >= 0 && part < 1 ? static_cast<std::int64_t>(part * static_cast<double>(most + 1)) : -1;
    }
    const std::int64_t place = static_cast<const std::int32_t*>(p.places)[i];
    return place >= 0 && place <= most ? place : -1;
}
__device__ std::int64_t valid_place(const crop_places& p, std::int64_t i) {
    const std::int64_t place = place_of(p, i);
    return place < 0 ? 0 : place;
}

__global__ void find_bad_place(crop_places p, bad_place* found) {
    constexpr unsigned long long none = ~0ull;
    __shared__ unsigned long long first;
    if (threadIdx.x == 0) first = none;
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < 2 * p.large.batch; i += blockDim.x)
        if (place_of(p, i) < 0) {
            atomicMin(&first, static_cast<unsigned long long>(i));
            break;
        }
    __syncthreads();
    if (threadIdx.x > 0 || first == none) return;
    bad_place bad{static_cast<std::int64_t>(first), 0, 0};
    if (p.parts) bad.part = static_cast<const float*>(p.places)[first];
    else bad.pixel = static_cast<const std::int32_t*>(p.places)[first];
    *found = bad;
}

template <class U, class Count>
__global__ void crop_elements(crop_places p, const U* __restrict__ large, U* __restrict__ small) {
    const auto n = static_cast<Count>(p.small.elements());
    for (Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += Count{gridDim.x} * blockDim.x) {
        const image_place<Count> at(i, p.small);
        const std::int64_t row = at.row + valid_place(p, 2 * at.batch),
                           column = at.column + valid_place(p, 2 * at.batch + 1);
        small[i] = large[at.batch * p.large.image() + row * p.large.row() + column * p.large.channels + at.channel];
    }
}

template <class U, class Count>
__global__ void uncrop_elements(crop_places p, const U* __restrict__ small, U* __restrict__ large) {
    const auto n = static_cast<Count>(p.large.elements());
    for (Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += Count{gridDim.x} * blockDim.x) {
        const image_place<Count> at(i, p.large);
        const std::int64_t row = at.row - valid_place(p, 2 * at.batch),
                           column = at.column - valid_place(p, 2 * at.batch + 1);
        const bool inside = row >= 0 && row < p.small.height && column >= 0 && column < p.small.width;
        large[i] =
            inside ? small[at.batch * p.small.image() + row * p.small.row() + column * p.small.channels + at.channel]
                   : U{0};
    }
}

} // namespace

void check_places(const crop_places& p, bad_place* found, void* stream) {
    if (p.large.batch > 0) launch(find_bad_place, 1, block_threads, 0, stream, p, found);
}

void crop_images(const crop_places& p, const void* large, void* small, std::size_t element_bytes, void* stream) {
    const std::int64_t n = p.small.elements();
    if (n == 0) return;
    with_element_unit(element_bytes, [&]<class U>(U) {
        with_count(n, [&]<class Count>(Count) {
            launch(crop_elements<U, Count>, blocks_for(n), block_threads, 0, stream, p, static_cast<const U*>(large),
                   static_cast<U*>(small));
        });
    });
}

void uncrop_images(const crop_places& p, const void* small, void* large, std::size_t element_bytes, void* stream) {
    const std::int64_t n = p.large.elements();
    if (n == 0) return;
    with_element_unit(element_bytes, [&]<class U>(U) {
        with_count(n, [&]<class Count>(Count) {
            launch(uncrop_elements<U, Count>, blocks_for(n), block_threads, 0, stream, p, static_cast<const U*>(small),
                   static_cast<U*>(large));
        });
    });
}

} // namespace tenon::cuda
