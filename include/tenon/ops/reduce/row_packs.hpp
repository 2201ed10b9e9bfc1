#pragma once

#include <tenon/simd/pack.hpp>

/// What kernels on rows, reductions, softmax and attention, are written with.

#define TENON_ROWS_LAMBDA __attribute__((always_inline))

#define TENON_SIMD_FILE <tenon/ops/reduce/row_packs.inl>
#include <tenon/simd/for_each_isa.hpp>
