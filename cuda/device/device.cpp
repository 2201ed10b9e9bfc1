#include <cuda/device/device.hpp>

#include <cuda/device/error.hpp>
#include <tenon/core/error.hpp>
#include <tenon/op/gpu_kernels.hpp>

namespace tenon::cuda {

device::device(device_attributes a, int card, const std::vector<int>& peers, const memory_policy& policy,
               std::shared_ptr<const void> in_use, std::shared_ptr<machine> m) :
    device_base(card, peers),
    pooled_device(std::move(a), policy, regions, std::move(in_use)),
    streams_(std::move(m), context) {
    context.use();
    check(cudaStreamCreateWithFlags(&waited_for_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

device::~device() {
    (void)cudaSetDevice(context.card);
    (void)cudaStreamDestroy(waited_for_);
}

void* device::allocate(std::size_t bytes) {
    try {
        return pooled_device::allocate(bytes);
    } catch (const resource_exhausted_error&) {
        require_usable(context.card); // a card that was lost has no memory either
        throw;
    }
}

void device::copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    const std::lock_guard lock(guard_);
    context.use();
    check(cudaMemcpyAsync(to, from, bytes, kind, waited_for_), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(waited_for_), "cudaStreamSynchronize");
}
void device::copy_from_host(void* to, const void* from, std::size_t bytes) {
    copy(to, from, bytes, cudaMemcpyHostToDevice);
}
void device::copy_to_host(void* to, const void* from, std::size_t bytes) {
    copy(to, from, bytes, cudaMemcpyDeviceToHost);
}

kernel_factory device::kernel_of(const op_definition& op, element_type e) const {
    if (!has_kernel(attributes(), op, e)) return nullptr;
    return op.gpu ? op.gpu : find_gpu_kernel(op);
}

} // namespace tenon::cuda
