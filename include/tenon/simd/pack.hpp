#pragma once

// The vector layer that CPU kernels are written in: for each instruction set a namespace
// (tenon::simd::baseline, avx2, avx512) with the same contents. See for_each_isa.hpp for writing a kernel in
// it, and the .inl files for what there is:
//   pack_core.inl, pack_native.inl   packs, masks, compiler vectors, single instructions
//   pack_memory.inl                  load, store, their partial forms, iota, extract
//   pack_convert.inl                 conversions between element types, half and bfloat16
//   pack_arithmetic.inl              + - * / mod min max ..., comparisons, select, bits, rounding
//   pack_reduce.inl                  sums, products, least and largest across the lanes
//   math_*.inl                       exp, log, sin, pow, erf, ... on pack<float> and pack<double>

#include <cstdint>
#include <type_traits>

#include <tenon/core/half.hpp>
#include <tenon/simd/isa.hpp>
#include <tenon/simd/polygamma.hpp>

/// Every function of a kernel is inlined into the loop that runs it: packs stay in registers.
#define TENON_SIMD_INLINE [[gnu::always_inline]] inline

namespace tenon::simd {

/// The type that elements of type T are computed in: half and bfloat16 are formats in memory only.
template <class T> struct compute_type { using type = T; };
template <> struct compute_type<half> { using type = float; };
template <> struct compute_type<bfloat16> { using type = float; };
template <class T> using compute_t = typename compute_type<T>::type;

namespace detail {

/// The element in a register: bool is a 32-bit integer, 0 or -1.
template <class T> struct lane_type { using type = T; };
template <> struct lane_type<bool> { using type = std::int32_t; };

/// The element in memory, as a compiler vector has it.
template <class T>
using stored_type = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, std::uint16_t,
                                       std::conditional_t<std::is_same_v<T, bool>, std::int8_t, T>>;

template <int Size> struct signed_of_size;
template <> struct signed_of_size<1> { using type = std::int8_t; };
template <> struct signed_of_size<2> { using type = std::int16_t; };
template <> struct signed_of_size<4> { using type = std::int32_t; };
template <> struct signed_of_size<8> { using type = std::int64_t; };
template <class T> using signed_t = typename signed_of_size<static_cast<int>(sizeof(T))>::type;

// What is done element by element by the C library. Plain functions, compiled once and never inlined into a
// kernel.
#define TENON_SIMD_SCALAR1(NAME) \
    inline double scalar_##NAME(double x) { return __builtin_##NAME(x); }
#define TENON_SIMD_SCALAR2(NAME) \
    inline double scalar_##NAME(double x, double y) { return __builtin_##NAME(x, y); }
TENON_SIMD_SCALAR1(sin)
TENON_SIMD_SCALAR1(cos)
TENON_SIMD_SCALAR1(tan)
TENON_SIMD_SCALAR1(erf)
TENON_SIMD_SCALAR1(erfc)
TENON_SIMD_SCALAR2(pow)
TENON_SIMD_SCALAR2(fmod)
#if defined(__GLIBC__)
// lgamma itself writes the global signgam, a race between threads. The name avoids a second declaration
// beside <math.h>'s.
extern "C" double tenon_lgamma_r(double, int*) noexcept __asm__("lgamma_r");
inline double scalar_lgamma(double x) {
    int sign;
    return tenon_lgamma_r(x, &sign);
}
#else
inline double scalar_lgamma(double x) { return __builtin_lgamma(x); }
#endif
#undef TENON_SIMD_SCALAR1
#undef TENON_SIMD_SCALAR2

/// y[k] = f(x[k]) for the bits k of the mask.
template <class T> [[gnu::noinline]] void apply_where(unsigned mask, const T* x, T* y, double (*f)(double)) {
    for (int i = 0; mask != 0; ++i, mask >>= 1)
        if ((mask & 1U) != 0) y[i] = static_cast<T>(f(static_cast<double>(x[i])));
}
template <class T> [[gnu::noinline]] void apply_to_all(T* x, int n, double (*f)(double)) {
    for (int i = 0; i < n; ++i) x[i] = static_cast<T>(f(static_cast<double>(x[i])));
}
template <class T> [[gnu::noinline]] void apply_to_all(T* x, const T* y, int n, double (*f)(double, double)) {
    for (int i = 0; i < n; ++i) x[i] = static_cast<T>(f(static_cast<double>(x[i]), static_cast<double>(y[i])));
}

/// x / y: 0 where y is 0; the lowest number by -1 is itself.
template <class T> [[gnu::noinline]] void divide_all(T* x, const T* y, int n) {
    for (int i = 0; i < n; ++i) {
        if (std::is_signed_v<T> && y[i] == static_cast<T>(-1))
            x[i] = static_cast<T>(std::make_unsigned_t<T>{0} - static_cast<std::make_unsigned_t<T>>(x[i]));
        else x[i] = y[i] == 0 ? T{0} : static_cast<T>(x[i] / y[i]);
    }
}

} // namespace detail
} // namespace tenon::simd

#define TENON_SIMD_FILE <tenon/simd/pack_all.inl>
#include <tenon/simd/for_each_isa.hpp>
