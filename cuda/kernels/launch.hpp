#pragma once

#include <cuda_runtime_api.h>

#include <cuda/device/error.hpp>
#include <cuda/kernels/grid.hpp>

/// How kernels of this library are written and launched.

namespace tenon::cuda {

/// Puts a kernel on a stream (a cudaStream_t). Throws what check() throws.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, void* stream, A&&... arguments) {
    [&](P... values) {
        void* pointers[] = {const_cast<void*>(static_cast<const void*>(&values))..., nullptr};
        check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, pointers, shared_bytes,
                               static_cast<cudaStream_t>(stream)),
              "cudaLaunchKernel");
    }(static_cast<P>(arguments)...);
}

} // namespace tenon::cuda

#if defined(__CUDACC__)
namespace tenon::cuda {

/// The block's dynamic shared memory.
template <class T> __device__ T* dynamic_shared() {
    extern __shared__ __align__(16) unsigned char tenon_dynamic_shared[];
    return reinterpret_cast<T*>(tenon_dynamic_shared);
}

} // namespace tenon::cuda
#endif
