#pragma once

#include <cuda/device/context.hpp>
#include <cuda/device/memory.hpp>
#include <cuda/device/streams.hpp>
#include <tenon/runtime/device/pooled_device.hpp>

/// One GPU of a session: a card, or a part of its memory.

namespace tenon::cuda {

// The memory outlives the pool that is made of it.
struct device_base {
    device_base(int card, const std::vector<int>& peers) : regions(card, peers), context(card) {}
    card_memory regions;
    gpu_context context;
};

class device final : private device_base, public pooled_device {
public:
    /// Throws resource_exhausted_error, with the bytes, where the policy says how much and the card has not so much free.
    device(device_attributes a, int card, const std::vector<int>& peers, const memory_policy& policy,
           std::shared_ptr<const void> in_use, std::shared_ptr<machine> m);
    ~device() override;

    void* allocate(std::size_t bytes) override;
    void copy_from_host(void* to, const void* from, std::size_t bytes) override;
    void copy_to_host(void* to, const void* from, std::size_t bytes) override;
    kernel_factory kernel_of(const op_definition& op, element_type e) const override;
    device_streams* streams() noexcept override { return &streams_; }
    gpu_context* gpu() noexcept override { return &context; }

private:
    void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);

    cuda::streams streams_;
    std::mutex guard_; // of the stream for copies that are waited for
    cudaStream_t waited_for_ = nullptr;
};

} // namespace tenon::cuda
