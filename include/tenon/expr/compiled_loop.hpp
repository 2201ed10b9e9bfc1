#pragma once

#include <tenon/expr/compiled.hpp>
#include <tenon/expr/loop_call.hpp>

/// Functions that the compiler makes of a whole loop whose condition and body are expressions.

#define TENON_SIMD_FILE <tenon/expr/compiled_loop.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::detail {

/// Of a part of a loop (written_loop.hpp): its tape, by which output an input is carried on, and whether that is one element a run.
template <class Part> struct compiled_part : compiled_program<Part> {
    static constexpr int carried_by(int input) { return Part::carried_by(input); }
    static constexpr bool is_one_each(int input) { return Part::is_one_each(input); }
};

/// The function of a part for this machine; nullptr: the interpreter serves.
template <class Part> loop_function compiled_loop_part() {
#define TENON_RUNS(ISA)                                                            \
    if constexpr (Part::asks) return &simd::ISA::compiled_runs<part>::run_uniform; \
    else return &simd::ISA::compiled_runs<part>::run_elements
    using part = compiled_part<Part>;
#if TENON_SIMD_ONLY < 0
    if (simd::best_isa() == simd::isa::avx512) {
        TENON_RUNS(avx512);
    }
    if (simd::best_isa() == simd::isa::avx2) {
        TENON_RUNS(avx2);
    }
    return nullptr;
#else
    TENON_RUNS(baseline);
#endif
#undef TENON_RUNS
}

} // namespace tenon::detail
