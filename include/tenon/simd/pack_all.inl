// Read once per instruction set by pack.hpp; each file depends only on those above it.
// clang-format off
#include <tenon/simd/pack_core.inl>
#include <tenon/simd/pack_native.inl>
#include <tenon/simd/pack_convert.inl>
#include <tenon/simd/pack_memory.inl>
#include <tenon/simd/pack_arithmetic.inl>
#include <tenon/simd/pack_reduce.inl>
#include <tenon/simd/math_base.inl>
#include <tenon/simd/math_exp.inl>
#include <tenon/simd/math_log.inl>
#include <tenon/simd/math_hyperbolic.inl>
#include <tenon/simd/math_trig.inl>
#include <tenon/simd/math_power.inl>
#include <tenon/simd/math_special.inl>
#include <tenon/simd/math_lanes.inl>
// clang-format on
