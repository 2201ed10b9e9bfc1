#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <math.h>
#include <type_traits>

#define __DEVICE_LAUNCH_PARAMETERS_H__ // threadIdx and the like are variables here
#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include "block.hpp"

/// CUDA C++ for the host's compiler: what device code of the library may use beside the language.

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __grid_constant__
#undef __forceinline__
#undef __launch_bounds__
#undef __restrict__
#define __global__
#define __device__
#define __host__
#define __shared__ static // blocks run one at a time; shared.ld
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
// How many warps a block may have stands in front of the kernel, as so many instructions that do nothing (runtime_kernels.cpp).
#if !TENON_EMULATOR_SEES_LAUNCH_BOUNDS
#define __launch_bounds__(...)
#else
#define TENON_EMULATOR_FIRST(FIRST, ...) (FIRST)
#define __launch_bounds__(...)                                                             \
    __attribute__((patchable_function_entry(TENON_EMULATOR_FIRST(__VA_ARGS__, 0) / 32 + 1, \
                                            TENON_EMULATOR_FIRST(__VA_ARGS__, 0) / 32)))
#endif
#define __restrict__ __restrict

#define TENON_EMULATOR_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

// ---- barriers ----

inline void __syncthreads(TENON_EMULATOR_PLACE) { tenon::emulator::block_barrier(false, file, line); }
inline int __syncthreads_count(int predicate, TENON_EMULATOR_PLACE) {
    return tenon::emulator::block_barrier(predicate != 0, file, line);
}
inline int __syncthreads_and(int predicate, TENON_EMULATOR_PLACE) {
    return tenon::emulator::block_barrier(predicate == 0, file, line) == 0;
}
inline int __syncthreads_or(int predicate, TENON_EMULATOR_PLACE) {
    return tenon::emulator::block_barrier(predicate != 0, file, line) != 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, TENON_EMULATOR_PLACE) {
    tenon::emulator::warp_meet(mask, tenon::emulator::warp_op::sync, 0, 0, file, line);
}

// ---- warps ----

namespace tenon::emulator {
template <class T> T shuffle(unsigned mask, T value, int source, const char* file, int line) {
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "shuffles move numbers of 1 to 8 bytes");
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = warp_meet(mask, warp_op::shuffle, bits, source, file, line);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
} // namespace tenon::emulator

template <class T> T __shfl_sync(unsigned mask, T value, int source, int width = 32, TENON_EMULATOR_PLACE) {
    const int first = tenon::emulator::lane() & ~(width - 1);
    return tenon::emulator::shuffle(mask, value, first | (source & (width - 1)), file, line);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, TENON_EMULATOR_PLACE) {
    const int lane = tenon::emulator::lane(), first = lane & ~(width - 1), source = lane - static_cast<int>(delta);
    return tenon::emulator::shuffle(mask, value, source < first ? lane : source, file, line);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, TENON_EMULATOR_PLACE) {
    const int lane = tenon::emulator::lane(), end = (lane & ~(width - 1)) + width;
    const int source = lane + static_cast<int>(delta);
    return tenon::emulator::shuffle(mask, value, source >= end ? lane : source, file, line);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32, TENON_EMULATOR_PLACE) {
    const int lane = tenon::emulator::lane(), end = (lane & ~(width - 1)) + width, source = lane ^ with;
    return tenon::emulator::shuffle(mask, value, source >= end ? lane : source, file, line);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, TENON_EMULATOR_PLACE) {
    return static_cast<unsigned>(
        tenon::emulator::warp_meet(mask, tenon::emulator::warp_op::ballot, predicate != 0, 0, file, line));
}
inline int __any_sync(unsigned mask, int predicate, TENON_EMULATOR_PLACE) {
    return __ballot_sync(mask, predicate, file, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, TENON_EMULATOR_PLACE) {
    return __ballot_sync(mask, !predicate, file, line) == 0;
}

// ---- graphs ----

namespace tenon::emulator {
void set_condition(cudaGraphConditionalHandle condition, unsigned value);
}
inline void cudaGraphSetConditional(cudaGraphConditionalHandle condition, unsigned value) {
    tenon::emulator::set_condition(condition, value);
}

// ---- atomics: threads change only at barriers and warp operations ----

namespace tenon::emulator {
template <class T>
concept atomic_number = std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>;
template <class T>
concept added_number = atomic_number<T> || std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
concept ordered_number = atomic_number<T> || std::is_same_v<T, long long>;
template <class T>
concept swapped_number = atomic_number<T> || std::is_same_v<T, unsigned short>;
template <class T> T replace(T* at, T value) {
    const T old = *at;
    *at = value;
    return old;
}
} // namespace tenon::emulator

template <tenon::emulator::added_number T> T atomicAdd(T* at, std::type_identity_t<T> value) {
    return tenon::emulator::replace(at, static_cast<T>(*at + value));
}
template <class T>
    requires std::is_same_v<T, int> || std::is_same_v<T, unsigned> T atomicSub(T* at, std::type_identity_t<T> value) {
        return tenon::emulator::replace(at, static_cast<T>(*at - value));
    }
template <tenon::emulator::ordered_number T> T atomicMax(T* at, std::type_identity_t<T> value) {
    return tenon::emulator::replace(at, *at < value ? value : *at);
}
template <tenon::emulator::ordered_number T> T atomicMin(T* at, std::type_identity_t<T> value) {
    return tenon::emulator::replace(at, value < *at ? value : *at);
}
template <class T>
    requires tenon::emulator::atomic_number<T> || std::is_same_v<T, float> T atomicExch(T* at,
                                                                                        std::type_identity_t<T> value) {
        return tenon::emulator::replace(at, value);
    }
template <tenon::emulator::swapped_number T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
    return tenon::emulator::replace(at, *at == expected ? value : *at);
}

// ---- bits ----

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline unsigned __umulhi(unsigned x, unsigned y) { return static_cast<unsigned>(std::uint64_t{x} * y >> 32); }

namespace tenon::emulator {
template <class To, class From> To same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
} // namespace tenon::emulator
inline unsigned __float_as_uint(float x) { return tenon::emulator::same_bits<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return tenon::emulator::same_bits<float>(x); }
inline long long __double_as_longlong(double x) { return tenon::emulator::same_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return tenon::emulator::same_bits<double>(x); }

// ---- mathematics that the C library lacks; fast forms are exact here, within what they promise ----

inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
// These keep a product and a sum from being fused.
__attribute__((noinline)) inline float __fmul_rn(float x, float y) { return x * y; }
__attribute__((noinline)) inline float __fadd_rn(float x, float y) { return x + y; }
__attribute__((noinline)) inline double __dmul_rn(double x, double y) { return x * y; }
__attribute__((noinline)) inline double __dadd_rn(double x, double y) { return x + y; }
__attribute__((noinline)) inline double __dsub_rn(double x, double y) { return x - y; }

namespace tenon::emulator {
template <class T, class U>
using common_number = std::enable_if_t<std::is_arithmetic_v<T> && std::is_arithmetic_v<U>, std::common_type_t<T, U>>;
}
template <class T, class U> tenon::emulator::common_number<T, U> min(T x, U y) {
    using C = std::common_type_t<T, U>;
    if constexpr (std::is_floating_point_v<C>) return std::fmin(static_cast<C>(x), static_cast<C>(y));
    else return static_cast<C>(y) < static_cast<C>(x) ? static_cast<C>(y) : static_cast<C>(x);
}
template <class T, class U> tenon::emulator::common_number<T, U> max(T x, U y) {
    using C = std::common_type_t<T, U>;
    if constexpr (std::is_floating_point_v<C>) return std::fmax(static_cast<C>(x), static_cast<C>(y));
    else return static_cast<C>(x) < static_cast<C>(y) ? static_cast<C>(y) : static_cast<C>(x);
}

// ---- kernels of libraries that are loaded at run time ----

#include "control.hpp"

namespace tenon::emulator {
template <auto K> struct exported_kernel;
template <class... P, void (*K)(P...)> struct exported_kernel<K> {
    static constexpr std::size_t sizes[] = {sizeof(P)..., 0}, alignments[] = {alignof(P)..., 0};
    template <std::size_t... I> static void call(void** arguments, std::index_sequence<I...>) {
        K(*static_cast<P*>(arguments[I])...);
    }
    static void run(void** arguments) { call(arguments, std::index_sequence_for<P...>{}); }
    static constexpr library_kernel description{&run, sizes, alignments, sizeof...(P)};
};
} // namespace tenon::emulator
#define TENON_EMULATED_KERNEL(name)                                                                                 \
    extern "C" __attribute__((visibility("default"))) const tenon::emulator::library_kernel tenon_emulated_##name = \
        tenon::emulator::exported_kernel<&name>::description;
