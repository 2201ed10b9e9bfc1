#pragma once

#include <memory>
#include <string>

#include <tenon/memory/memory_policy.hpp>
#include <tenon/memory/memory_pool.hpp>
#include <tenon/runtime/device/device.hpp>

/// What GPUs have in common, real and simulated ones: a name, a pool under a policy, resources in its memory.

namespace tenon {

class pooled_device : public device {
public:
    /// Memory is the source's, which outlives the device. Throws resource_exhausted_error, which names the device, where the
    /// policy asks for all of it now and the source has not so much. `in_use` lives as long as the device.
    pooled_device(device_attributes a, const memory_policy& policy, memory_source& from,
                  std::shared_ptr<const void> in_use = nullptr);

    const device_attributes& attributes() const override { return attributes_; }
    const std::string& name() const override { return name_; }
    void belong_to(const device_name& task) override;
    void* allocate(std::size_t bytes) override;
    void deallocate(void* memory, std::size_t bytes) noexcept override;
    resource_manager& resources() override { return resources_; }
    tenon::memory_info memory() const override;
    void when_short(bool (*give_back)(void* context), void* context) noexcept override;

private:
    const std::shared_ptr<const void> in_use_;
    device_attributes attributes_;
    std::string name_;
    const std::unique_ptr<memory_pool> pool_;
    resource_manager resources_;
    bool (*give_back_)(void*) = nullptr;
    void* context_ = nullptr;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/device/pooled_device.ipp>
#endif
