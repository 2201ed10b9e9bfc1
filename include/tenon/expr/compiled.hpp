#pragma once

#include <tenon/expr/fused.hpp>
#include <tenon/simd/pack.hpp>
#include <tenon/tape/vjp.hpp>

/// Kernels that the compiler makes of an expression's type, forward and backward.

namespace tenon::detail {

/// What a tape's code says, as constants; Tape has a static member `code`.
template <class Tape> struct compiled_program {
    static constexpr const tape& code = Tape::code;
    struct facts {
        bool invariant[max_tape_length]{}; ///< a register is the same for all elements
        bool loads[max_tape_inputs]{};
    };
    static constexpr facts made = [] {
        facts f;
        for (int r = 0; r < code.length; ++r) {
            f.invariant[r] = code.code[r].op != opcode::input;
            for (int k = 0; k < register_operands(code.code[r]); ++k)
                f.invariant[r] = f.invariant[r] && f.invariant[operand_of(code.code[r], k)];
            if (code.code[r].op == opcode::input) f.loads[code.code[r].a] = true;
        }
        return f;
    }();
    static constexpr const bool (&invariant)[max_tape_length] = made.invariant;
    static constexpr const bool (&loads)[max_tape_inputs] = made.loads;
};

/// The C++ type of register R.
template <class Program, int R> using register_t = element_t<compute_type(Program::code.code[R].type)>;

} // namespace tenon::detail

#include <tenon/expr/evaluate.hpp>
#define TENON_SIMD_FILE <tenon/expr/compiled.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::detail {

/// The functions of one tape. Without AVX2 the interpreter serves: its results are the same.
template <class Tape> void register_program() {
    if constexpr (Tape::code.output_count > 0 && !Tape::code.overfull) {
        using program = compiled_program<Tape>;
#if TENON_SIMD_ONLY < 0
        register_compiled_tape(Tape::code,
                               {&simd::avx512::compiled<program>::run, &simd::avx2::compiled<program>::run, nullptr});
#else
        const fused_function only = &simd::baseline::compiled<program>::run;
        register_compiled_tape(Tape::code, {simd::only_isa == simd::isa::avx512 ? only : nullptr,
                                            simd::only_isa == simd::isa::avx2 ? only : nullptr,
                                            simd::only_isa == simd::isa::baseline ? only : nullptr});
#endif
    }
}

/// Makes the kernels of tapes, and enters them, once.
template <class... Tapes> void compile() {
    static const bool done = (register_program<Tapes>(), ..., true);
    (void)done;
}

} // namespace tenon::detail
