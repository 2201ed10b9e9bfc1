// Read once per instruction set by pack.hpp; each file depends only on those above it.
// clang-format off
#include <tenon/kernel/simd/pack_core.inl>
#include <tenon/kernel/simd/pack_native.inl>
#include <tenon/kernel/simd/pack_convert.inl>
#include <tenon/kernel/simd/pack_memory.inl>
#include <tenon/kernel/simd/pack_arithmetic.inl>
#include <tenon/kernel/simd/pack_reduce.inl>
#include <tenon/kernel/simd/math_base.inl>
#include <tenon/kernel/simd/math_exp.inl>
#include <tenon/kernel/simd/math_log.inl>
#include <tenon/kernel/simd/math_hyperbolic.inl>
#include <tenon/kernel/simd/math_trig.inl>
#include <tenon/kernel/simd/math_power.inl>
#include <tenon/kernel/simd/math_special.inl>
#include <tenon/kernel/simd/math_lanes.inl>
// clang-format on
