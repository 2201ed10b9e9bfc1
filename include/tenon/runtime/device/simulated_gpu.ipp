#pragma once

#include <cmath>
#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/graph/op.hpp>
#include <tenon/kernel/memory_pool.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/simulated_gpu.hpp>
#include <tenon/runtime/device/simulated_streams.hpp>

namespace tenon {

namespace detail {

class simulated_gpu_device final : public device {
public:
    simulated_gpu_device(device_attributes a, const memory_policy& policy, std::shared_ptr<simulated_machine> m,
                         double bandwidth, double latency) :
        attributes_(std::move(a)),
        name_(short_name(attributes_.name)),
        pool_(make_pool(policy)),
        resources_(this),
        streams_(std::move(m), bandwidth, latency) {}

    const device_attributes& attributes() const override { return attributes_; }
    const std::string& name() const override { return name_; }
    void belong_to(const device_name& task) override {
        attributes_.name.job = task.job;
        attributes_.name.task = task.task;
        name_ = to_string(attributes_.name);
    }

    void* allocate(std::size_t bytes) override {
        for (;;) {
            if (void* memory = pool_->allocate(bytes)) return memory;
            if (give_back_ && give_back_(context_)) continue;
            const memory_statistics s = pool_->statistics();
            throw resource_exhausted_error(name_ + ": " + std::to_string(bytes) + " bytes are too many: of the " +
                                           std::to_string(s.limit) + " that may be used, " + std::to_string(s.in_use) +
                                           " are in use, " + std::to_string(resources_.bytes()) + " by variables");
        }
    }
    void deallocate(void* memory, std::size_t bytes) noexcept override { pool_->deallocate(memory, bytes); }
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
    resource_manager& resources() override { return resources_; }
    tenon::memory_info memory() const override {
        const memory_statistics s = pool_->statistics();
        return {.in_use = s.in_use, .peak = s.peak, .limit = s.limit};
    }
    void when_short(bool (*give_back)(void*), void* context) noexcept override {
        give_back_ = give_back;
        context_ = context;
    }

private:
    std::unique_ptr<memory_pool> make_pool(const memory_policy& policy) const {
        const std::size_t bytes = usable_bytes(policy, static_cast<std::size_t>(attributes_.memory));
        try {
            return std::make_unique<memory_pool>(host_memory(), bytes, policy.growth);
        } catch (const resource_exhausted_error& e) {
            throw resource_exhausted_error(name_ + ": " + e.what());
        }
    }

    device_attributes attributes_;
    std::string name_;
    const std::unique_ptr<memory_pool> pool_;
    resource_manager resources_;
    simulated_streams streams_;
    bool (*give_back_)(void*) = nullptr;
    void* context_ = nullptr;
};

class simulated_gpu_backend final : public gpu_backend {
public:
    simulated_gpu_backend(int count, std::size_t memory, double bandwidth, double latency) :
        count_(count), memory_(memory), bandwidth_(bandwidth), latency_(latency) {}

    std::vector<device_attributes> physical() const override {
        std::vector<device_attributes> all;
        for (int i = 0; i < count_; ++i) {
            device_attributes a;
            a.name = device_name("/job:localhost/replica:0/task:0/device:GPU:0");
            a.name.index = i;
            a.memory = static_cast<std::int64_t>(memory_);
            a.description = "simulated GPU, played by the CPU";
            all.push_back(std::move(a));
        }
        return all;
    }
    std::vector<std::unique_ptr<device>> make(const memory_policy& policy, thread_pool* pool) const override {
        require_valid(policy, memory_, "a simulated GPU");
        const auto machine = std::make_shared<simulated_machine>(pool);
        std::vector<std::unique_ptr<device>> made;
        for (device_attributes& a : physical())
            made.push_back(std::make_unique<simulated_gpu_device>(std::move(a), policy, machine, bandwidth_, latency_));
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
    require(bandwidth >= 0 && !std::isinf(bandwidth), "a bandwidth of " + std::to_string(bandwidth),
            "give bytes a second, or 0 for copies that take no longer than the machine needs");
    require(latency >= 0 && latency < 60, "a latency of " + std::to_string(latency) + " s", "give 0 to 60 seconds");
    return std::make_shared<detail::simulated_gpu_backend>(count, memory, bandwidth, latency);
}

} // namespace tenon
