#pragma once

#include <memory>
#include <type_traits>

#include <cuda_runtime_api.h>

/// What CUDA gives and takes back, as something that ends.

namespace tenon::cuda {

template <class T, cudaError_t (*Destroy)(T)> struct destroyed_by {
    void operator()(T t) const noexcept { (void)Destroy(t); }
};
template <class T, cudaError_t (*Destroy)(T)>
using owned = std::unique_ptr<std::remove_pointer_t<T>, destroyed_by<T, Destroy>>;

} // namespace tenon::cuda
