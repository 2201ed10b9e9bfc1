#pragma once

#include <tenon/simd/pack.hpp>
#include <tenon/tape/opcode.hpp>

/// One instruction on packs, for each instruction set.

#define TENON_SIMD_FILE <tenon/expr/evaluate.inl>
#include <tenon/simd/for_each_isa.hpp>
