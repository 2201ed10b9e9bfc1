#include <cuda/device/staging.hpp>

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

} // namespace tenon::cuda
