#pragma once

#include <tenon/core/config.hpp>

/// TENON_ONE_INSTRUCTION_SET   1: kernels are compiled for one instruction set, the best of those that the compiler is
///                             told to build for, not for several of which the best is chosen at run time. A program
///                             compiles in half the time, and runs where that instruction set is. That is so by itself
///                             where a header-only program is built for AVX2 or AVX-512 (-march=native), unless it
///                             says 0. All files of a program, and a compiled Tenon, have the same.
#ifndef TENON_ONE_INSTRUCTION_SET
#if TENON_HEADER_ONLY && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__) && defined(__BMI2__)
#define TENON_ONE_INSTRUCTION_SET 1
#else
#define TENON_ONE_INSTRUCTION_SET 0
#endif
#endif

namespace tenon::simd {

/// The instruction sets that kernels are compiled for. `baseline` is what the compiler was told to build for
/// (on x86-64, SSE2). `avx2` also asks for FMA, F16C and BMI2; `avx512` also for F, BW, DQ, VL and CD.
enum class isa { baseline = 0, avx2 = 1, avx512 = 2 };

inline constexpr int isa_count = 3;

// Kernels are compiled for each instruction set, and the best is chosen at run time; or for just one, only_isa, whose
// namespace is then called baseline too.
#if defined(__x86_64__) && !TENON_ONE_INSTRUCTION_SET
#define TENON_SIMD_ONLY (-1)
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__) && defined(__BMI2__)
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && \
    defined(__AVX512CD__)
#define TENON_SIMD_ONLY 2
inline constexpr isa only_isa = isa::avx512;
namespace avx512 {}
namespace baseline = avx512;
#else
#define TENON_SIMD_ONLY 1
inline constexpr isa only_isa = isa::avx2;
namespace avx2 {}
namespace baseline = avx2;
#endif
#else
#define TENON_SIMD_ONLY 0
inline constexpr isa only_isa = isa::baseline;
#endif

/// Inside a file that for_each_isa.hpp reads: whether this is the instruction set that serves where another lacks a
/// function.
#define TENON_SIMD_IS_BASELINE (TENON_SIMD_LEVEL == 0 || TENON_SIMD_ONLY >= 0)

/// A function or an expression, as it is in the namespace of instruction set WHICH.
#if TENON_SIMD_ONLY < 0
#define TENON_SIMD_OF(WHICH, ...)                                               \
    ((WHICH) == ::tenon::simd::isa::avx512 ? ::tenon::simd::avx512::__VA_ARGS__ \
     : (WHICH) == ::tenon::simd::isa::avx2 ? ::tenon::simd::avx2::__VA_ARGS__   \
                                           : ::tenon::simd::baseline::__VA_ARGS__)
#else
// Unlike a comma, a conditional leaves open which of a template's functions is meant.
#define TENON_SIMD_OF(WHICH, ...) \
    ((WHICH) == ::tenon::simd::only_isa ? ::tenon::simd::baseline::__VA_ARGS__ : ::tenon::simd::baseline::__VA_ARGS__)
#endif
/// The same of the instruction set that kernels use on this machine.
#define TENON_SIMD_BEST(...) TENON_SIMD_OF(::tenon::simd::best_isa(), __VA_ARGS__)

constexpr const char* name_of(isa which) noexcept {
    switch (which) {
    case isa::baseline: return "baseline";
    case isa::avx2: return "avx2";
    case isa::avx512: return "avx512";
    }
    return "baseline";
}

namespace detail {
inline int chosen_isa = -1; // -1 until best_isa() has looked; read and written atomically
/// The best that this machine has, or less where the environment variable TENON_ISA says so.
TENON_INLINE isa detect_isa() noexcept;
} // namespace detail

/// True when this machine (and this build) can run kernels of that instruction set.
TENON_INLINE bool has_isa(isa which) noexcept;

/// The instruction set that kernels use: the best this machine has. The environment variable
/// TENON_ISA=baseline|avx2|avx512 can lower it; another word, or one this machine cannot run, is reported on
/// stderr and has no effect.
inline isa best_isa() noexcept {
    int chosen = __atomic_load_n(&detail::chosen_isa, __ATOMIC_RELAXED);
    if (chosen < 0) {
        chosen = static_cast<int>(detail::detect_isa());
        __atomic_store_n(&detail::chosen_isa, chosen, __ATOMIC_RELAXED);
    }
    return static_cast<isa>(chosen);
}

/// From now on best_isa() is `which`, which must satisfy has_isa.
inline void set_isa_for_testing(isa which) noexcept {
    __atomic_store_n(&detail::chosen_isa, static_cast<int>(which), __ATOMIC_RELAXED);
}

} // namespace tenon::simd

#if TENON_HEADER_ONLY
#include <tenon/simd/isa.ipp>
#endif
