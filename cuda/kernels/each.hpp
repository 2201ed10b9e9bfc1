#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

/// Small things that many kernels begin with.

namespace tenon::cuda {

/// f(0.0) of double, f(0.0f) of any other element type: for kernels of float and double alone.
template <class F> void with_float_or_double(element_type e, const F& f) {
    if (e == element_type::float64) f(double{});
    else f(float{});
}

#if defined(__CUDACC__) || defined(__DEVICE_LAUNCH_PARAMETERS_H__)
/// Device code: f(i) for each i below n, by all threads of the grid.
template <class F> __device__ void each_in_grid(std::int64_t n, const F& f) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) f(i);
}
#endif

} // namespace tenon::cuda
