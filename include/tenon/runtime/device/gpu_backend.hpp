#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/kernel/memory_policy.hpp>
#include <tenon/runtime/device/device_attributes.hpp>

/// Where a session's GPUs come from.

namespace tenon {

class device;
class thread_pool;

/// Makes a session's GPUs: a GPU library's, or simulated ones.
class gpu_backend {
public:
    virtual ~gpu_backend() = default;
    /// The GPUs that there are.
    virtual std::vector<device_attributes> physical() const = 0;
    /// Where there are none, why: "the CUDA driver was not found; ...". Programs that use the CPU alone need not ask.
    virtual std::string why_none() const { return {}; }
    /// One device for each, whose memory is taken as the policy says. Those that work on this machine's threads use
    /// the pool's beside those that wait for them; nullptr: only these.
    virtual std::vector<std::unique_ptr<device>> make(const memory_policy& policy, thread_pool* pool) const = 0;
};

/// What session_options::gpus is where nothing else is said: the one that a linked library has registered, or nullptr.
std::shared_ptr<const gpu_backend> linked_gpu_backend();
/// Called by a GPU library when it is loaded; the last one stays.
void register_gpu_backend(std::shared_ptr<const gpu_backend> b);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/device/gpu_backend.ipp>
#endif
