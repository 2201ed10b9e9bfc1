#pragma once

#include <algorithm>

#include <tenon/kernel/dense/product.hpp>
#include <tenon/kernel/simd/pack.hpp>

// Loops over the registers of a tile must vanish: at -O2 compilers need telling.
#if defined(__clang__)
#define TENON_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TENON_UNROLL _Pragma("GCC unroll 16")
#endif
#define TENON_SIMD_FILE <tenon/kernel/dense/product.inl>
#include <tenon/kernel/simd/for_each_isa.hpp>
#undef TENON_UNROLL

namespace tenon::dense::detail {

/// Calls a function of the planned instruction set.
#if defined(__x86_64__)
#define TENON_FOR_PLANNED_ISA(which, call)             \
    switch (which) {                                   \
    case simd::isa::avx512: simd::avx512::call; break; \
    case simd::isa::avx2: simd::avx2::call; break;     \
    default: simd::baseline::call; break;              \
    }
#else
#define TENON_FOR_PLANNED_ISA(which, call) simd::baseline::call
#endif

template <class T> void plan_product(product<T>& p) {
    p.isa = simd::best_isa();
    // Rows of b that lie a multiple of 2 KiB apart fall into the same few sets of the cache.
    p.copy_b = p.b_column != 1 ||
               ((p.b_row * static_cast<std::int64_t>(sizeof(T))) % 2048 == 0 && p.k >= 64 && p.rows() >= 128);
    p.panels.assign(1, 0);
    while (p.panels.back() < p.n) {
        int width = 0;
        TENON_FOR_PLANNED_ISA(p.isa, template choose_panel<T>(p.n - p.panels.back(), width));
        p.panels.push_back(p.panels.back() + width);
    }
}

template <class T> std::int64_t count_packed(const product<T>& p, const packed_part& part) {
    constexpr std::int64_t most_lanes = 64 / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t columns = p.copy_b ? p.panels[static_cast<std::size_t>(part.end)] -
                                                p.panels[static_cast<std::size_t>(part.first)] + most_lanes
                                          : 3 * most_lanes;
    return (part.k_end - part.k_begin) * columns;
}

TENON_INLINE void plan(product<float>& p) { plan_product(p); }
TENON_INLINE void plan(product<double>& p) { plan_product(p); }

TENON_INLINE std::int64_t packed_elements(const product<float>& p, const packed_part& part) {
    return count_packed(p, part);
}
TENON_INLINE std::int64_t packed_elements(const product<double>& p, const packed_part& part) {
    return count_packed(p, part);
}

TENON_INLINE void pack(const product<float>& p, const packed_part& part, const float* b, float* packed,
                       std::int64_t first, std::int64_t end) {
    TENON_FOR_PLANNED_ISA(p.isa, pack_panels(p, part, b, packed, first, end));
}
TENON_INLINE void pack(const product<double>& p, const packed_part& part, const double* b, double* packed,
                       std::int64_t first, std::int64_t end) {
    TENON_FOR_PLANNED_ISA(p.isa, pack_panels(p, part, b, packed, first, end));
}
TENON_INLINE void multiply(const product<float>& p, const operands<float>& o, const row_range& rows,
                           std::int64_t first, std::int64_t end) {
    TENON_FOR_PLANNED_ISA(p.isa, multiply_rows(p, o, rows, first, end));
}
TENON_INLINE void multiply(const product<double>& p, const operands<double>& o, const row_range& rows,
                           std::int64_t first, std::int64_t end) {
    TENON_FOR_PLANNED_ISA(p.isa, multiply_rows(p, o, rows, first, end));
}
TENON_INLINE void transpose(simd::isa isa, const float* from, std::int64_t from_row, float* to,
                            std::int64_t to_row, std::int64_t rows, std::int64_t columns) {
    TENON_FOR_PLANNED_ISA(isa, transpose_copy(from, from_row, to, to_row, rows, columns));
}
TENON_INLINE void transpose(simd::isa isa, const double* from, std::int64_t from_row, double* to,
                            std::int64_t to_row, std::int64_t rows, std::int64_t columns) {
    TENON_FOR_PLANNED_ISA(isa, transpose_copy(from, from_row, to, to_row, rows, columns));
}
TENON_INLINE void add_rows(simd::isa isa, const float* from, std::int64_t rows, std::int64_t columns,
                           float* sums) {
    TENON_FOR_PLANNED_ISA(isa, sum_rows(from, rows, columns, sums));
}
TENON_INLINE void add_rows(simd::isa isa, const double* from, std::int64_t rows, std::int64_t columns,
                           double* sums) {
    TENON_FOR_PLANNED_ISA(isa, sum_rows(from, rows, columns, sums));
}

#undef TENON_FOR_PLANNED_ISA

} // namespace tenon::dense::detail
