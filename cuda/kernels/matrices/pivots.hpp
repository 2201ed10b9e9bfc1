#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda/kernels/matrices/batches.hpp>
#include <tenon/core/element_type.hpp>

/// Systems of equations, inverses and determinants of float or double by a = P^T L U, rows exchanged for the largest pivots; a block a
/// matrix. failed[i] becomes 1 where matrix i is singular, as tenon/dense/decompose/decompositions.hpp has it, else 0.

namespace tenon::cuda {

/// Elements of working memory, of a's type, of each matrix: its triangles, what its rows and columns are measured by, which row each was,
/// and a right side.
constexpr std::int64_t pivot_elements(std::int64_t n, std::int64_t m) { return n * n + 3 * n + n * m; }

struct general_systems {
    std::int64_t n, m, count;
    repeated_batch a, b;
    bool transposed;
};
/// x with a x = b, or a^T x = b.
void solve_by_pivots(tenon::element_type e, const general_systems& s, const void* a, const void* b, void* x,
                     std::byte* scratch, std::int32_t* failed, void* stream);
/// `scratch`: pivot_elements(n, 0) of each.
void invert_by_pivots(tenon::element_type e, const void* a, void* x, std::int64_t n, std::int64_t count,
                      std::byte* scratch, std::int32_t* failed, void* stream);
/// Of each: the determinant, its sign, the logarithm of its size. Any of these may be null. `scratch` likewise.
void determinants_by_pivots(tenon::element_type e, const void* a, std::int64_t n, std::int64_t count, void* product,
                            void* sign, void* log, std::byte* scratch, void* stream);

} // namespace tenon::cuda
