#pragma once

#include <limits>

#include <cuda/kernels/elements.hpp>

/// Elements as numbers that the largest is sought of: device code. The least is the largest of elements turned around.

namespace tenon::cuda {

/// What elements of type T are compared as: at least 4 bytes.
template <class T>
using ordered_t =
    std::conditional_t<std::is_integral_v<T> && (sizeof(T) < 4),
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>, compute_t<T>>;

/// The order of numbers turned around, without overflow; its own reverse.
template <class V> __device__ inline V turned(V v, bool around) {
    if constexpr (std::is_integral_v<V>) return around ? static_cast<V>(~v) : v;
    else return around ? -v : v;
}

/// No element is less.
template <class V> __host__ __device__ constexpr V lowest() {
    if constexpr (std::is_integral_v<V>) return std::numeric_limits<V>::lowest();
    else return -std::numeric_limits<V>::infinity();
}

template <class V> __host__ __device__ constexpr V highest() {
    if constexpr (std::is_integral_v<V>) return std::numeric_limits<V>::max();
    else return std::numeric_limits<V>::infinity();
}

/// NaN is larger than any number, and nothing is larger than NaN.
template <class V> __device__ inline bool is_larger(V a, V b) {
    if constexpr (std::is_integral_v<V>) return a > b;
    else return a > b || (a != a && b == b);
}

} // namespace tenon::cuda
