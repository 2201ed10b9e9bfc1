#pragma once

#include <memory>
#include <string>

#include <tenon/resources/collective/process_sums.hpp>

/// Sums over GPUs of several processes, one of each, by NCCL.

namespace tenon {
class gpu_context;
}

namespace tenon::cuda {

/// Memory on a GPU where such a value is kept.
class kept_on_gpu : public kept_value {
public:
    using kept_value::kept_value;
    virtual void* memory() const noexcept = 0;
};

/// A value of this type, on this GPU, which the processes that joined by this name sum. Throws failed_precondition_error where none have,
/// or another GPU sums by it, and resource_exhausted_error.
std::shared_ptr<kept_on_gpu> keep_on_gpu(const std::string& sums, const tensor_type& type, const gpu_context& gpu);

std::shared_ptr<const process_sums> nccl_process_sums();

} // namespace tenon::cuda
