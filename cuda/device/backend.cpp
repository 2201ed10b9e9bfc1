#include <tenon/cuda/gpus.hpp>

#include <algorithm>
#include <map>
#include <set>

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
        for (int i = 0; i < count; ++i) {
            device_attributes unknown{.name = gpu_name(i)};
            unknown.description = refusal([&] { all.push_back(attributes_of(i, count)); });
            if (!unknown.description.empty()) all.push_back(std::move(unknown));
        }
        return all;
    }

    std::string why_none() const override {
        int count = 0;
        std::string why = refusal([&] { check(cudaGetDeviceCount(&count), "cudaGetDeviceCount"); });
        if (!why.empty()) return why;
        if (count == 0) return "CUDA shows no GPU to this process";
        for (int i = 0; i < count; ++i)
            if (const std::string of_card = why_not(i); !of_card.empty())
                why += (why.empty() ? "GPU " : "; GPU ") + std::to_string(i) + ": " + of_card;
        return why;
    }

    std::string why_not(int card) const override {
        return refusal([&] { require_usable(card); });
    }

protected:
    std::vector<std::unique_ptr<tenon::device>> make(std::vector<wanted> all, const gpu_setup&) const override {
        std::vector<std::unique_ptr<tenon::device>> made;
        const auto shared = std::make_shared<machine>();
        std::map<int, std::size_t> promised; // by card
        for (wanted& w : all) {
            w.memory = within_what_is_free(w, promised[w.card]);
            std::set<int> peers;
            for (const wanted& other : all)
                if (other.card != w.card && reaches(other.card, w.card)) peers.insert(other.card);
            made.push_back(std::make_unique<device>(std::move(w.attributes), w.card,
                                                    std::vector<int>(peers.begin(), peers.end()), w.memory,
                                                    std::move(w.in_use), shared));
        }
        return made;
    }

private:
    // What f throws; "" where it does not.
    template <class F> static std::string refusal(const F& f) {
        try {
            f();
        } catch (const error& e) {
            return e.what();
        }
        return {};
    }
    // Who says how much is told at once where that is not there: other processes may have it. Who does not, and takes it now, has what is
    // free, but for what CUDA's libraries need for their code.
    static memory_policy within_what_is_free(const wanted& w, std::size_t& promised) {
        memory_policy policy = w.memory;
        const bool all_there_is = policy.limit == 0 && policy.fraction >= 1;
        if (all_there_is && policy.growth) return policy;
        std::size_t free = 0, all = 0;
        check(cudaSetDevice(w.card), "cudaSetDevice");
        check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
        if (all_there_is) {
            constexpr std::size_t page = std::size_t{2} << 20;
            policy.limit = std::max((free - free / 20) / page, std::size_t{1}) * page;
            return policy;
        }
        const std::size_t asked = usable_bytes(policy, all);
        if (asked + promised > free)
            throw resource_exhausted_error("GPU " + std::to_string(w.card) + ": " + std::to_string(asked) +
                                           " bytes are asked for, and of its " + std::to_string(all) + " only " +
                                           std::to_string(free - std::min(free, promised)) +
                                           " are free; others use the rest: ask for less by gpu_memory");
        if (policy.growth) promised += asked; // otherwise they are taken now
        return policy;
    }
    static bool reaches(int from, int to) {
        int can = 0;
        check(cudaDeviceCanAccessPeer(&can, from, to), "cudaDeviceCanAccessPeer");
        return can != 0;
    }
    static device_name gpu_name(int card) {
        device_name name("/job:localhost/replica:0/task:0/device:GPU:0");
        name.index = card;
        return name;
    }
    static device_attributes attributes_of(int card, int count) {
        cudaDeviceProp p{};
        check(cudaGetDeviceProperties(&p, card), "cudaGetDeviceProperties");
        char bus[32] = {};
        check(cudaDeviceGetPCIBusId(bus, sizeof bus, card), "cudaDeviceGetPCIBusId");
        device_attributes a;
        a.name = gpu_name(card);
        a.memory = static_cast<std::int64_t>(p.totalGlobalMem);
        a.capability = p.major * 10 + p.minor;
        a.description = std::string(p.name) + ", pci bus id: " + bus +
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
