#pragma once

#include <tenon/core/error.hpp>
#include <tenon/runtime/device/pooled_device.hpp>

namespace tenon {

namespace detail {
inline std::unique_ptr<memory_pool> make_pool(const std::string& device, const memory_policy& policy,
                                              std::int64_t memory, memory_source& from) {
    try {
        return std::make_unique<memory_pool>(from, usable_bytes(policy, static_cast<std::size_t>(memory)),
                                             policy.growth);
    } catch (const resource_exhausted_error& e) {
        throw resource_exhausted_error(device + ": " + e.what());
    }
}
} // namespace detail

TENON_INLINE pooled_device::pooled_device(device_attributes a, const memory_policy& policy, memory_source& from,
                                          std::shared_ptr<const void> in_use) :
    in_use_(std::move(in_use)),
    attributes_(std::move(a)),
    name_(detail::short_name(attributes_.name)),
    pool_(detail::make_pool(name_, policy, attributes_.memory, from)),
    resources_(this) {}

TENON_INLINE void pooled_device::belong_to(const device_name& task) {
    attributes_.name.job = task.job;
    attributes_.name.task = task.task;
    name_ = to_string(attributes_.name);
}

TENON_INLINE void* pooled_device::allocate(std::size_t bytes) {
    for (;;) {
        if (void* memory = pool_->allocate(bytes)) return memory;
        if (give_back_ && give_back_(context_)) continue;
        const memory_statistics s = pool_->statistics();
        throw resource_exhausted_error(name_ + ": " + std::to_string(bytes) + " bytes are too many: of the " +
                                       std::to_string(s.limit) + " that may be used, " + std::to_string(s.in_use) +
                                       " are in use, " + std::to_string(resources_.bytes()) + " by variables");
    }
}
TENON_INLINE void pooled_device::deallocate(void* memory, std::size_t bytes) noexcept {
    pool_->deallocate(memory, bytes);
}

TENON_INLINE tenon::memory_info pooled_device::memory() const {
    const memory_statistics s = pool_->statistics();
    return {.in_use = s.in_use, .peak = s.peak, .limit = s.limit};
}

TENON_INLINE void pooled_device::when_short(bool (*give_back)(void*), void* context) noexcept {
    give_back_ = give_back;
    context_ = context;
}

} // namespace tenon
