#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <tenon/core/element_type.hpp>
#include <tenon/core/half.hpp>

#if defined(__CUDA_ARCH__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

/// Element types in device code: which C++ type each is, and what it is computed in.

namespace tenon::cuda {

/// What elements of type T are computed in: float for half and bfloat16, T for all others.
template <class T>
using compute_t = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;

/// An element as it is computed with.
template <class T> __host__ __device__ inline compute_t<T> widen(T x) {
    if constexpr (std::is_same_v<T, half>) {
#if defined(__CUDA_ARCH__)
        __half_raw raw;
        raw.x = __builtin_bit_cast(std::uint16_t, x);
        return __half2float(__half(raw));
#else
        return static_cast<float>(x);
#endif
    } else if constexpr (std::is_same_v<T, bfloat16>) {
        return __builtin_bit_cast(float, static_cast<std::uint32_t>(__builtin_bit_cast(std::uint16_t, x)) << 16);
    } else return x;
}

/// Rounded to the nearest, ties to even, as the host does.
template <class T> __host__ __device__ inline T narrow(compute_t<T> x) {
    if constexpr (std::is_same_v<T, half>) {
#if defined(__CUDA_ARCH__)
        return __builtin_bit_cast(half, static_cast<std::uint16_t>(__half_as_ushort(__float2half_rn(x))));
#else
        return static_cast<half>(x);
#endif
    } else if constexpr (std::is_same_v<T, bfloat16>) {
#if defined(__CUDA_ARCH__)
        return __builtin_bit_cast(bfloat16, static_cast<std::uint16_t>(__bfloat16_as_ushort(__float2bfloat16_rn(x))));
#else
        return static_cast<bfloat16>(x);
#endif
    } else return x;
}

/// Calls f(T{}) with the C++ type of an element type, which is no string.
template <class F> decltype(auto) with_type(element_type e, F&& f) {
    switch (e) {
    case element_type::float32: return f(float{});
    case element_type::float64: return f(double{});
    case element_type::float16: return f(half{});
    case element_type::bfloat16: return f(bfloat16{});
    case element_type::int8: return f(std::int8_t{});
    case element_type::int16: return f(std::int16_t{});
    case element_type::int32: return f(std::int32_t{});
    case element_type::int64: return f(std::int64_t{});
    case element_type::uint8: return f(std::uint8_t{});
    case element_type::uint16: return f(std::uint16_t{});
    case element_type::uint32: return f(std::uint32_t{});
    case element_type::uint64: return f(std::uint64_t{});
    default: return f(bool{});
    }
}

/// The same of floating numbers alone.
template <class F> decltype(auto) with_floating_type(element_type e, F&& f) {
    switch (e) {
    case element_type::float64: return f(double{});
    case element_type::float16: return f(half{});
    case element_type::bfloat16: return f(bfloat16{});
    default: return f(float{});
    }
}

} // namespace tenon::cuda
