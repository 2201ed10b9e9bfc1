#pragma once

#include <cstring>

#if defined(__linux__)
#include <unistd.h>
#endif

#include <tenon/core/error.hpp>
#include <tenon/core/large_memory.hpp>
#include <tenon/graph/gpu_kernels.hpp>
#include <tenon/graph/op.hpp>
#include <tenon/kernel/simd/isa.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon {

namespace detail {

TENON_INLINE std::int64_t host_memory_bytes() noexcept {
#if defined(__linux__)
    return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
#else
    return 0;
#endif
}

TENON_INLINE std::string short_name(const device_name& d) {
    device_name local;
    local.type = d.type;
    local.index = d.index;
    return to_string(local);
}

class cpu_device final : public device {
public:
    cpu_device(std::size_t memory_limit, int index) : memory_(memory_limit), resources_(this) {
        attributes_.name = device_name("/job:localhost/replica:0/task:0/device:CPU:0");
        attributes_.name.index = index;
        attributes_.memory = host_memory_bytes();
        attributes_.description = std::string("CPU, ") + simd::name_of(simd::best_isa());
        name_ = short_name(attributes_.name);
    }
    const device_attributes& attributes() const override { return attributes_; }
    const std::string& name() const override { return name_; }
    void belong_to(const device_name& task) override {
        attributes_.name.job = task.job;
        attributes_.name.task = task.task;
        name_ = to_string(attributes_.name);
    }

    void* allocate(std::size_t bytes) override {
        if (!memory_.take(bytes))
            throw resource_exhausted_error(name_ + ": " + memory_.refusal(bytes, resources_.bytes()));
        void* memory =
            bytes < large_memory ? ::operator new (bytes, std::align_val_t{64}, std::nothrow) : new_large(bytes);
        if (!memory) {
            memory_.give(bytes);
            throw resource_exhausted_error(name_ + ": no memory for " + std::to_string(bytes) + " bytes");
        }
        return memory;
    }
    void deallocate(void* memory, std::size_t bytes) noexcept override {
        bytes < large_memory ? ::operator delete (memory, std::align_val_t{64}) : delete_large(memory, bytes);
        memory_.give(bytes);
    }
    void copy_from_host(void* to, const void* from, std::size_t bytes) override {
        if (bytes) std::memcpy(to, from, bytes);
    }
    void copy_to_host(void* to, const void* from, std::size_t bytes) override {
        if (bytes) std::memcpy(to, from, bytes);
    }
    kernel_factory kernel_of(const op_definition& op, element_type) const override { return op.cpu; }
    resource_manager& resources() override { return resources_; }
    tenon::memory_info memory() const override { return memory_.info(); }
    void when_short(bool (*give_back)(void*), void* context) noexcept override {
        memory_.when_short(give_back, context);
    }

private:
    device_attributes attributes_;
    std::string name_;
    memory_account memory_;
    resource_manager resources_;
};

} // namespace detail

TENON_INLINE bool has_kernel(const device_attributes& of, const op_definition& op, element_type e) {
    if (of.name.type != "GPU") return op.cpu != nullptr;
    if (!(e == element_type::none ? !op.gpu_types.empty() : op.gpu_types.has(e))) return false;
    if (of.simulated) return op.cpu != nullptr;
    return find_gpu_kernel(op) != nullptr ||
           (op.cpu && !knows_gpu_kernels()); // another process knows those of its GPUs
}

TENON_INLINE std::unique_ptr<device> make_cpu_device(std::size_t memory_limit, int index) {
    return std::make_unique<detail::cpu_device>(memory_limit, index);
}

TENON_INLINE device_description describe(device& d) {
    return {d.attributes(), d.streams() != nullptr, d.memory().limit, d.resources().bytes()};
}

} // namespace tenon
