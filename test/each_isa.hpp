#pragma once

#include <type_traits>

#include <doctest/doctest.h>

#include <tenon/simd/isa.hpp>

/// Runs f for every instruction set that this machine has: f(isa), or f().
template <class F> void for_each_isa(F f) {
    using tenon::simd::isa;
    const isa best = tenon::simd::best_isa();
    for (const isa which : {isa::baseline, isa::avx2, isa::avx512}) {
        if (!tenon::simd::has_isa(which)) continue;
        tenon::simd::set_isa_for_testing(which);
        CAPTURE(tenon::simd::name_of(which));
        if constexpr (std::is_invocable_v<F&, isa>) f(which);
        else f();
    }
    tenon::simd::set_isa_for_testing(best);
}
