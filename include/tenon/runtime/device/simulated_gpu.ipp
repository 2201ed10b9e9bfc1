#pragma once

#include <cmath>
#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/runtime/device/pooled_device.hpp>
#include <tenon/runtime/device/simulated_gpu.hpp>
#include <tenon/runtime/device/simulated_streams.hpp>

namespace tenon {

namespace detail {

class simulated_gpu_device final : public pooled_device {
public:
    simulated_gpu_device(device_attributes a, const memory_policy& policy, std::shared_ptr<const void> in_use,
                         std::shared_ptr<simulated_machine> m, double bandwidth, double latency) :
        pooled_device(std::move(a), policy, host_memory(), std::move(in_use)),
        streams_(std::move(m), bandwidth, latency) {}

    void copy_from_host(void* to, const void* from, std::size_t bytes) override {
        if (bytes) std::memcpy(to, from, bytes);
    }
    void copy_to_host(void* to, const void* from, std::size_t bytes) override {
        if (bytes) std::memcpy(to, from, bytes);
    }
    kernel_factory kernel_of(const op_definition& op, element_type e) const override {
        return has_kernel(attributes(), op, e) ? op.cpu : nullptr;
    }
    device_streams* streams() noexcept override { return &streams_; }

private:
    simulated_streams streams_;
};

class simulated_gpu_backend final : public gpu_backend {
public:
    simulated_gpu_backend(int count, std::size_t memory, double bandwidth, double latency) :
        count_(count), memory_(memory), bandwidth_(bandwidth), latency_(latency) {}

    std::vector<device_attributes> physical() const override {
        std::vector<device_attributes> all;
        for (int i = 0; i < count_; ++i) {
            device_attributes a{.name = device_name("/job:localhost/replica:0/task:0/device:GPU:0")};
            a.name.index = i;
            a.memory = static_cast<std::int64_t>(memory_);
            a.description = "simulated GPU, played by the CPU";
            a.simulated = true;
            all.push_back(std::move(a));
        }
        return all;
    }

protected:
    std::vector<std::unique_ptr<device>> make(std::vector<wanted> all, const gpu_setup& s) const override {
        const auto machine = std::make_shared<simulated_machine>(s.pool);
        std::vector<std::unique_ptr<device>> made;
        for (wanted& w : all)
            made.push_back(std::make_unique<simulated_gpu_device>(std::move(w.attributes), w.memory,
                                                                  std::move(w.in_use), machine, bandwidth_, latency_));
        return made;
    }

private:
    const int count_;
    const std::size_t memory_;
    const double bandwidth_, latency_;
};

} // namespace detail

TENON_INLINE std::shared_ptr<const gpu_backend> simulated_gpu(int count, std::size_t memory, double bandwidth,
                                                              double latency) {
    const auto require = [](bool good, const std::string& what, const std::string& wanted) {
        if (!good) throw invalid_argument_error("simulated_gpu: " + what + "; " + wanted);
    };
    constexpr int most = 64;
    require(count >= 1 && count <= most, "a count of " + std::to_string(count),
            "give 1 to " + std::to_string(most) + " devices");
    const auto there_is = static_cast<std::size_t>(detail::host_memory_bytes());
    require(memory > 0, "a memory of 0 bytes", "give each device the bytes that it may use");
    require(there_is == 0 || memory <= there_is, "a memory of " + std::to_string(memory) + " bytes",
            "this machine has " + std::to_string(there_is));
    require(bandwidth >= 0 && !std::isinf(bandwidth), "a bandwidth of " + detail::text_of_number(bandwidth),
            "give bytes a second, or 0 for copies that take no longer than the machine needs");
    require(latency >= 0 && latency < 60, "a latency of " + detail::text_of_number(latency) + " s",
            "give 0 to 60 seconds");
    return std::make_shared<detail::simulated_gpu_backend>(count, memory, bandwidth, latency);
}

} // namespace tenon
