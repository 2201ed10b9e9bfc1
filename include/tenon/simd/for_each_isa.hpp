// Not guarded: each inclusion reads the file named by TENON_SIMD_FILE once per instruction set, with every
// function in it compiled for that instruction set; TENON_SIMD_BEST (isa.hpp) chooses among them.
//
//     #define TENON_SIMD_FILE <tenon/expr/some_kernel.inl>
//     #include <tenon/simd/for_each_isa.hpp>     // (undefines TENON_SIMD_FILE)
//
// The file writes `namespace tenon::simd::TENON_SIMD_NS { ... }` and can ask for TENON_SIMD_LEVEL (0
// baseline, 1 avx2, 2 avx512) and TENON_SIMD_WIDTH (bytes in a register). It includes nothing: whatever it
// needs is included before, since the instruction set would stick to the functions of a header first read
// here.
//
// g++ and clang keep the instruction set with a template that is instantiated after the pragmas end.
// Contraction of a*b+c into a fused multiply-add is off, so a result does not depend on what is inlined into
// what; simd::fma asks for it by name. (clang ignores that under -ffp-contract=fast; -ffast-math breaks
// infinities and NaN.)

#if !defined(TENON_SIMD_FILE)
#error "define TENON_SIMD_FILE before including tenon/simd/for_each_isa.hpp"
#endif

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpragma-clang-attribute" // a file may have nothing for one instruction set
#if defined(__x86_64__)                                     // elsewhere clang cannot save the state
#pragma float_control(push)
#endif
#pragma clang fp contract(off)
#else
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

#if TENON_SIMD_ONLY >= 0

#if TENON_SIMD_ONLY == 2
#define TENON_SIMD_NS avx512
#define TENON_SIMD_WIDTH 64
#elif TENON_SIMD_ONLY == 1
#define TENON_SIMD_NS avx2
#define TENON_SIMD_WIDTH 32
#else
#define TENON_SIMD_NS baseline
#define TENON_SIMD_WIDTH 16
#endif
#define TENON_SIMD_LEVEL TENON_SIMD_ONLY
#include TENON_SIMD_FILE
#undef TENON_SIMD_NS
#undef TENON_SIMD_LEVEL
#undef TENON_SIMD_WIDTH

#else // several instruction sets, on x86-64

#define TENON_SIMD_NS baseline
#define TENON_SIMD_LEVEL 0
#define TENON_SIMD_WIDTH 16
#include TENON_SIMD_FILE
#undef TENON_SIMD_NS
#undef TENON_SIMD_LEVEL
#undef TENON_SIMD_WIDTH

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi2")
#endif
#define TENON_SIMD_NS avx2
#define TENON_SIMD_LEVEL 1
#define TENON_SIMD_WIDTH 32
#include TENON_SIMD_FILE
#undef TENON_SIMD_NS
#undef TENON_SIMD_LEVEL
#undef TENON_SIMD_WIDTH
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd")
#endif
#define TENON_SIMD_NS avx512
#define TENON_SIMD_LEVEL 2
#define TENON_SIMD_WIDTH 64
#include TENON_SIMD_FILE
#undef TENON_SIMD_NS
#undef TENON_SIMD_LEVEL
#undef TENON_SIMD_WIDTH
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif // several instruction sets

#if defined(__clang__)
#if defined(__x86_64__)
#pragma float_control(pop)
#else
#pragma clang fp contract(on)
#endif
#pragma clang diagnostic pop
#else
#pragma GCC pop_options
#endif

#undef TENON_SIMD_FILE
