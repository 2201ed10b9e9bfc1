#include <cuda/device/memory.hpp>

#include <cuda/device/error.hpp>

namespace tenon::cuda {

card_memory::card_memory(int card, const std::vector<int>& peers) : card_(card) {
    check(cudaSetDevice(card), "cudaSetDevice");
    int has_pools = 0;
    check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, card), "cudaDeviceGetAttribute");
    if (!has_pools) return;
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = card;
    check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
    try {
        std::vector<cudaMemAccessDesc> access;
        for (const int peer : peers) {
            cudaMemAccessDesc& a = access.emplace_back();
            a.location.type = cudaMemLocationTypeDevice;
            a.location.id = peer;
            a.flags = cudaMemAccessFlagsProtReadWrite;
        }
        if (!access.empty()) check(cudaMemPoolSetAccess(pool_, access.data(), access.size()), "cudaMemPoolSetAccess");
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    } catch (...) {
        (void)cudaMemPoolDestroy(pool_);
        throw;
    }
}

card_memory::~card_memory() {
    (void)cudaSetDevice(card_);
    if (stream_) (void)cudaStreamDestroy(stream_);
    if (pool_) (void)cudaMemPoolDestroy(pool_);
}

void* card_memory::take(std::size_t bytes) noexcept {
    void* region = nullptr;
    if (cudaSetDevice(card_) != cudaSuccess) return nullptr;
    const cudaError_t answer =
        pool_ ? cudaMallocFromPoolAsync(&region, bytes, pool_, stream_) : cudaMalloc(&region, bytes);
    if (answer == cudaSuccess && (!pool_ || cudaStreamSynchronize(stream_) == cudaSuccess)) return region;
    (void)cudaGetLastError();
    return nullptr;
}

// Nobody uses it any more, on any stream.
void card_memory::give(void* region, std::size_t) noexcept {
    (void)cudaSetDevice(card_);
    if (!pool_) {
        (void)cudaFree(region);
        return;
    }
    (void)cudaFreeAsync(region, stream_);
    (void)cudaStreamSynchronize(stream_); // then the pool, which keeps nothing, gives it to the card
}

void require_usable(int card) {
    std::size_t free = 0, all = 0;
    check(cudaSetDevice(card), "cudaSetDevice");
    check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
}

} // namespace tenon::cuda
