#include <tenon/cuda/gpus.hpp>

#include <cuda_runtime_api.h>

#include <cuda/device/device.hpp>
#include <cuda/device/error.hpp>
#include <tenon/core/error.hpp>

namespace tenon::cuda {

void register_families();

namespace {

class backend final : public gpu_backend {
public:
    std::vector<device_attributes> physical() const override {
        std::vector<device_attributes> all;
        int count = 0;
        if (cudaGetDeviceCount(&count) != cudaSuccess) {
            (void)cudaGetLastError();
            return all;
        }
        for (int i = 0; i < count; ++i) all.push_back(attributes_of(i, count));
        return all;
    }

    std::string why_none() const override {
        int count = 0;
        const cudaError_t answer = cudaGetDeviceCount(&count);
        if (answer == cudaSuccess) return count == 0 ? "CUDA shows no GPU to this process" : "";
        try {
            check(answer, "cudaGetDeviceCount");
        } catch (const error& e) {
            return e.what();
        }
        return {};
    }

    std::vector<std::unique_ptr<tenon::device>> make(const memory_policy& policy, thread_pool*) const override {
        std::vector<std::unique_ptr<tenon::device>> made;
        const std::vector<device_attributes> all = physical();
        const auto shared = std::make_shared<machine>();
        for (std::size_t i = 0; i < all.size(); ++i) {
            require_valid(policy, static_cast<std::size_t>(all[i].memory), "GPU " + std::to_string(i));
            std::vector<int> peers;
            for (std::size_t j = 0; j < all.size(); ++j)
                if (i != j && reaches(static_cast<int>(j), static_cast<int>(i))) peers.push_back(static_cast<int>(j));
            made.push_back(std::make_unique<device>(all[i], static_cast<int>(i), peers, policy, shared));
        }
        return made;
    }

private:
    static bool reaches(int from, int to) {
        int can = 0;
        check(cudaDeviceCanAccessPeer(&can, from, to), "cudaDeviceCanAccessPeer");
        return can != 0;
    }
    static device_attributes attributes_of(int card, int count) {
        cudaDeviceProp p{};
        check(cudaGetDeviceProperties(&p, card), "cudaGetDeviceProperties");
        char bus[32] = {};
        check(cudaDeviceGetPCIBusId(bus, sizeof bus, card), "cudaDeviceGetPCIBusId");
        device_attributes a;
        a.name = device_name("/job:localhost/replica:0/task:0/device:GPU:0");
        a.name.index = card;
        a.memory = static_cast<std::int64_t>(p.totalGlobalMem);
        a.description = "device: " + std::to_string(card) + ", name: " + p.name + ", pci bus id: " + bus +
                        ", compute capability: " + std::to_string(p.major) + "." + std::to_string(p.minor);
        std::string reached;
        for (int other = 0; other < count; ++other)
            if (other != card && reaches(card, other)) reached += (reached.empty() ? "" : ", ") + std::to_string(other);
        if (!reached.empty()) a.description += ", reaches the memory of: " + reached;
        return a;
    }
};

// Before main: a session that is made then has GPUs already.
[[maybe_unused]] const bool registered = [] {
    register_families();
    register_gpu_backend(cuda_gpus());
    return true;
}();

} // namespace
} // namespace tenon::cuda

namespace tenon {

std::shared_ptr<const gpu_backend> cuda_gpus() {
    static const auto all = std::make_shared<cuda::backend>();
    return all;
}

} // namespace tenon

/// What the linker is asked for, so that a program that names nothing of this library has it all the same.
extern "C" const char tenon_cuda_linked = 1;
