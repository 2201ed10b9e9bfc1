#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <cuda/device/context.hpp>

/// Compiled kernels on one GPU.

namespace tenon::cuda::tapes {

/// A state of gpu_context; kernels stay loaded as long as it. Thread-safe.
class loaded_kernels {
public:
    explicit loaded_kernels(gpu_context& on) : on_(on) {}
    ~loaded_kernels();
    loaded_kernels(const loaded_kernels&) = delete;
    loaded_kernels& operator=(const loaded_kernels&) = delete;

    /// What cudaLaunchKernel takes, of the kernel of that name in the image. Throws what check() throws.
    const void* find(const std::string& name, const std::shared_ptr<const std::string>& image);

private:
    gpu_context& on_;
    std::mutex guard_;
    std::map<std::shared_ptr<const std::string>, cudaLibrary_t> libraries_;
    std::map<std::string, const void*> kernels_;
};

} // namespace tenon::cuda::tapes
