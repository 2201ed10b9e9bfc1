#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <cuda/device/context.hpp>

/// Compiled kernels on one GPU.

namespace tenon::cuda::tapes {

/// A state of gpu_context; kernels stay loaded as long as it. Thread-safe.
class loaded_kernels {
public:
    explicit loaded_kernels(gpu_context& on) : on_(on) {}
    ~loaded_kernels();
    loaded_kernels(loaded_kernels&&) = delete;

    /// What cudaLaunchKernel takes, of the kernel of that name in the image. Kernels of one name are one, unless `text` tells them apart.
    /// Throws what check() throws.
    const void* find(const std::string& name, const std::shared_ptr<const std::string>& image,
                     const std::string& text = {});

private:
    gpu_context& on_;
    std::mutex guard_;
    std::map<std::shared_ptr<const std::string>, cudaLibrary_t> libraries_;
    std::map<std::pair<std::string, std::string>, const void*> kernels_; // by name and text
};

} // namespace tenon::cuda::tapes
