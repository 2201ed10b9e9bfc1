#pragma once

#include <tenon/core/config.hpp>

namespace tenon::simd {

/// The instruction sets that kernels are compiled for. `baseline` is what the compiler was told to build for
/// (on x86-64, SSE2). `avx2` also asks for FMA, F16C and BMI2; `avx512` also for F, BW, DQ, VL and CD.
enum class isa { baseline = 0, avx2 = 1, avx512 = 2 };

inline constexpr int isa_count = 3;

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
#include <tenon/kernel/simd/isa.ipp>
#endif
