#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <tenon/simd/isa.hpp>

namespace tenon::simd {

TENON_INLINE bool has_isa(isa which) noexcept {
#if TENON_SIMD_ONLY < 0
    __builtin_cpu_init();
    // F16C is not asked for (clang 14 does not know the word): no processor has AVX2 and FMA without it.
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    switch (which) {
    case isa::baseline: return true;
    case isa::avx2: return avx2;
    case isa::avx512:
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512cd");
    }
    return false;
#else
    return which == only_isa;
#endif
}

TENON_INLINE isa detail::detect_isa() noexcept {
#if TENON_SIMD_ONLY < 0
    const isa best = has_isa(isa::avx512) ? isa::avx512 : has_isa(isa::avx2) ? isa::avx2 : isa::baseline;
#else
    const isa best = only_isa;
#endif
    const char* wish = std::getenv("TENON_ISA");
    if (wish == nullptr || *wish == '\0') return best;
    for (int i = 0; i < isa_count; ++i) {
        const auto candidate = static_cast<isa>(i);
        if (std::strcmp(wish, name_of(candidate)) != 0) continue;
        if (has_isa(candidate)) return candidate;
        std::fprintf(stderr, "tenon: TENON_ISA=%s asks for instructions this machine does not have; using %s.\n", wish,
                     name_of(best));
        return best;
    }
    std::fprintf(stderr, "tenon: TENON_ISA=%s is not one of baseline, avx2, avx512; using %s.\n", wish, name_of(best));
    return best;
}

} // namespace tenon::simd
