#pragma once

#include <cstdio>
#include <cstring>

#if defined(__linux__)
#include <unistd.h>
#endif

#include <tenon/core/error.hpp>
#include <tenon/core/large_memory.hpp>
#include <tenon/graph/op.hpp>
#include <tenon/kernel/simd/isa.hpp>
#include <tenon/runtime/device.hpp>

namespace tenon {

namespace detail {

class cpu_device final : public device {
public:
    explicit cpu_device(std::size_t memory_limit) : memory_(memory_limit), resources_(this) {
        attributes_.name = "/device:CPU:0";
        attributes_.type = "CPU";
#if defined(__linux__)
        attributes_.memory = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
#endif
        attributes_.description = std::string("CPU, ") + simd::name_of(simd::best_isa());
    }
    const device_attributes& attributes() const override { return attributes_; }

    void* allocate(std::size_t bytes) override {
        if (!memory_.take(bytes))
            throw resource_exhausted_error(attributes_.name + ": " + memory_.refusal(bytes, resources_.bytes()));
        void* memory =
            bytes < large_memory ? ::operator new (bytes, std::align_val_t{64}, std::nothrow) : new_large(bytes);
        if (!memory) {
            memory_.give(bytes);
            throw resource_exhausted_error(attributes_.name + ": no memory for " + std::to_string(bytes) + " bytes");
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
    kernel_factory kernel_of(const op_definition& op) const override { return op.cpu; }
    void launch(kernel& k, const kernel_run& r) override { k.run(r); }
    std::unique_ptr<device_event> record() override {
        // All that was launched has ended.
        struct past final : device_event {
            bool reached() const override { return true; }
            void wait() override {}
        };
        return std::make_unique<past>();
    }
    resource_manager& resources() override { return resources_; }
    memory_account& memory() override { return memory_; }

private:
    device_attributes attributes_;
    memory_account memory_;
    resource_manager resources_;
};

} // namespace detail

TENON_INLINE std::unique_ptr<device> make_cpu_device(std::size_t memory_limit) {
    return std::make_unique<detail::cpu_device>(memory_limit);
}

TENON_INLINE std::vector<device_attributes> list_physical_devices() { return {make_cpu_device()->attributes()}; }

} // namespace tenon
