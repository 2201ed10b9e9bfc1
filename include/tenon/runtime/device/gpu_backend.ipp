#pragma once

#include <mutex>

#include <tenon/runtime/device/gpu_backend.hpp>

namespace tenon {

namespace detail {
struct registered_gpus {
    std::mutex guard;
    std::shared_ptr<const gpu_backend> backend;
    static registered_gpus& get() {
        static auto& r = *new registered_gpus;
        return r;
    }
};
} // namespace detail

TENON_INLINE std::shared_ptr<const gpu_backend> linked_gpu_backend() {
    auto& r = detail::registered_gpus::get();
    const std::lock_guard lock(r.guard);
    return r.backend;
}

TENON_INLINE void register_gpu_backend(std::shared_ptr<const gpu_backend> b) {
    auto& r = detail::registered_gpus::get();
    const std::lock_guard lock(r.guard);
    r.backend = std::move(b);
}

} // namespace tenon
