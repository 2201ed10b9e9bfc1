#pragma once

#include <tenon/tape/opcode.hpp>
#include <tenon/kernel/simd/pack.hpp>

/// One instruction on packs, for each instruction set.

#define TENON_SIMD_FILE <tenon/expr/evaluate.inl>
#include <tenon/kernel/simd/for_each_isa.hpp>
