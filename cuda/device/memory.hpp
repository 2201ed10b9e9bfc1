#pragma once

#include <vector>

#include <cuda_runtime_api.h>

#include <tenon/memory/memory_pool.hpp>

/// The memory of a card, in regions.

namespace tenon::cuda {

/// Regions by the driver's stream-ordered allocator, on a stream of their own, so that nobody else's work is waited for; by cudaMalloc
/// where the card has no such allocator. Devices of one card have one each.
class card_memory final : public memory_source {
public:
    /// `peers` may read and write it.
    card_memory(int card, const std::vector<int>& peers);
    ~card_memory() override;
    void* take(std::size_t bytes) noexcept override;
    void give(void* region, std::size_t bytes) noexcept override;

private:
    const int card_;
    cudaMemPool_t pool_ = nullptr; // nullptr: cudaMalloc
    cudaStream_t stream_ = nullptr;
};

/// Throws what check() throws where this process cannot use the card: another one has it to itself, or it was lost.
void require_usable(int card);

} // namespace tenon::cuda
