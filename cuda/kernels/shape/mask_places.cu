#include <cuda/kernels/shape/mask_places.hpp>

#include <cuda/kernels/lanes.hpp>
#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

constexpr int warps = block_threads / 32;

struct added {
    __device__ std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a + b; }
};

// A block has a part of the mask, of `part` elements but for the last.
__global__ void count_chosen(const std::uint8_t* mask, std::int64_t n, std::int64_t part, std::int64_t* counts) {
    __shared__ std::int64_t shared[warps];
    const std::int64_t begin = blockIdx.x * part, end = begin + part < n ? begin + part : n;
    std::int64_t count = 0;
    for (std::int64_t i = begin + threadIdx.x; i < end; i += block_threads) count += mask[i] != 0;
    count = combine_threads(count, block_threads, shared, added());
    if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

// The same parts, each of whole tiles of an element a thread.
template <class Place>
__global__ void list_places(const std::uint8_t* mask, std::int64_t n, std::int64_t part, const std::int64_t* counts,
                            Place* places, std::int64_t* chosen) {
    __shared__ std::int64_t shared[warps];
    __shared__ int in_warps[warps];
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    std::int64_t before = 0; // of the tile
    for (unsigned p = threadIdx.x; p < blockIdx.x; p += block_threads) before += counts[p];
    before = combine_threads(before, block_threads, shared, added());
    const std::int64_t begin = blockIdx.x * part, end = begin + part < n ? begin + part : n;
    for (std::int64_t tile = begin; tile < end; tile += block_threads) {
        const std::int64_t i = tile + threadIdx.x;
        const bool is_chosen = i < end && mask[i] != 0;
        const unsigned lanes = __ballot_sync(all_lanes, is_chosen);
        __syncthreads(); // the numbers of the tile before have been read
        if (lane == 0) in_warps[warp] = __popc(lanes);
        __syncthreads();
        std::int64_t place = before + __popc(lanes & ((1U << lane) - 1));
        for (int w = 0; w < warps; ++w) {
            if (w < warp) place += in_warps[w];
            before += in_warps[w];
        }
        if (i < end) places[i] = is_chosen ? static_cast<Place>(place) : Place{-1};
    }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) *chosen = before;
}

} // namespace

void list_mask_places(const void* mask, std::int64_t n, void* places, std::int64_t* counts, std::int64_t* chosen,
                      void* stream) {
    if (n == 0) return;
    constexpr std::int64_t grain = 8 * block_threads;
    const std::int64_t grains = (n + grain - 1) / grain, part = (grains + mask_parts - 1) / mask_parts * grain;
    const auto parts = static_cast<unsigned>((n + part - 1) / part);
    const auto* const of = static_cast<const std::uint8_t*>(mask);
    launch(count_chosen, parts, block_threads, 0, stream, of, n, part, counts);
    const auto list = [&]<class Place>(Place* to) {
        launch(list_places<Place>, parts, block_threads, 0, stream, of, n, part, counts, to, chosen);
    };
    if (has_wide_places(n)) list(static_cast<std::int64_t*>(places));
    else list(static_cast<std::int32_t*>(places));
}

} // namespace tenon::cuda
