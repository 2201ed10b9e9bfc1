#pragma once

#include <map>
#include <mutex>

#include <tenon/op/gpu_kernels.hpp>

namespace tenon {

namespace detail {
struct registered_gpu_kernels {
    std::mutex guard;
    std::map<std::string, kernel_factory> by_op;
    static registered_gpu_kernels& get() {
        static auto& r = *new registered_gpu_kernels;
        return r;
    }
};
} // namespace detail

TENON_INLINE void register_gpu_kernel(const std::string& op, kernel_factory make) {
    auto& r = detail::registered_gpu_kernels::get();
    const std::lock_guard lock(r.guard);
    r.by_op[op] = make;
}

TENON_INLINE kernel_factory find_gpu_kernel(const op_definition& op) {
    if (op.gpu) return op.gpu;
    auto& r = detail::registered_gpu_kernels::get();
    const std::lock_guard lock(r.guard);
    const auto at = r.by_op.find(op.name);
    return at == r.by_op.end() ? nullptr : at->second;
}

TENON_INLINE bool knows_gpu_kernels() {
    auto& r = detail::registered_gpu_kernels::get();
    const std::lock_guard lock(r.guard);
    return !r.by_op.empty();
}

} // namespace tenon
