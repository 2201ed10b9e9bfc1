#include <cuda/device/staging.hpp>

#include <new>

#include <cuda_runtime_api.h>

namespace tenon::cuda {

namespace {
// Regions stay: to lock pages takes longer than most steps.
class locked_pages final : public memory_source {
public:
    void* take(std::size_t bytes) noexcept override {
        void* region = nullptr;
        if (cudaHostAlloc(&region, bytes, cudaHostAllocPortable) == cudaSuccess) return region;
        (void)cudaGetLastError();
        return nullptr;
    }
    void give(void* region, std::size_t) noexcept override { (void)cudaFreeHost(region); }
};

memory_source& pages() {
    static auto& all = *new locked_pages;
    return all;
}
} // namespace

staging::staging() : pool_(pages(), limit, true) {}

staging& staging::shared() {
    static auto& s = *new staging;
    return s;
}

void* staging::take(std::size_t bytes) noexcept {
    for (returned* r = returned_.exchange(nullptr, std::memory_order_acquire); r;) {
        returned* const next = r->next;
        pool_.deallocate(r, r->bytes);
        r = next;
    }
    return pool_.allocate(bytes);
}

// Blocks are at least memory_pool::alignment bytes long.
void staging::give(void* block, std::size_t bytes) noexcept {
    if (bytes == 0) return;
    auto* const r = new (block) returned{returned_.load(std::memory_order_relaxed), bytes};
    while (!returned_.compare_exchange_weak(r->next, r, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

} // namespace tenon::cuda
