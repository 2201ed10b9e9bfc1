#pragma once

#include <cstddef>
#include <memory>

#include <cuda/device/context.hpp>
#include <cuda/kernels/linear/fourier.hpp>

/// Discrete Fourier transforms by cuFFT.

namespace tenon::cuda {

/// Transforms of one description. Made when a plan is.
class library_transform {
public:
    /// nullptr where cuFFT cannot be loaded, or this build has no cufft.h, which standard error is told once; where it has no such
    /// transform; or where TENON_CUDA_TRANSFORMS is "own". What goes wrong beside that, want of memory among it, is an exception.
    static std::unique_ptr<library_transform> make(gpu_context& on, const fourier_transform& t, element_type e);
    virtual ~library_transform() = default;

    /// Of device memory that run() needs, aligned to 256.
    virtual std::size_t workspace_bytes() const noexcept = 0;
    /// Gives the stream the transforms. Thread-safe.
    virtual void run(const void* x, void* y, std::byte* workspace, void* stream) = 0;
};

} // namespace tenon::cuda
