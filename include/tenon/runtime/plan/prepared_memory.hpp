#pragma once

#include <atomic>
#include <cstddef>

#include <tenon/core/array/memory_payer.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::runtime {

/// What the kernels of one program hold of the host's memory, counted by the device that has it. Outlives them. Thread-safe.
class prepared_memory final : public memory_payer {
public:
    explicit prepared_memory(tenon::device& host) : host_(host) {}
    void take(std::size_t bytes) override {
        host_.reserve(bytes);
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
    }
    void give(std::size_t bytes) noexcept override {
        bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        host_.release(bytes);
    }
    std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

private:
    tenon::device& host_;
    std::atomic<std::size_t> bytes_{0};
};

} // namespace tenon::runtime
