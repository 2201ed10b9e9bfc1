#pragma once

#include <cstdint>

#include <cuda/kernels/matrices/batches.hpp>
#include <tenon/core/element_type.hpp>

/// Cholesky's decomposition and triangular systems of float or double, a block a matrix. failed[i] becomes 1 where matrix i has no result,
/// whose elements are then anything, else 0.

namespace tenon::cuda {

/// l with l l^T = (a + a^T) / 2, zero above its diagonal.
void factor_cholesky(tenon::element_type e, const void* a, void* l, std::int64_t n, std::int64_t count,
                     std::int32_t* failed, void* stream);

struct triangular_systems {
    std::int64_t n, m, count;
    repeated_batch a, b;
    bool lower, transposed;
};
/// x with a x = b, or a^T x = b, of a triangle of a. Fails where a 0 is on the diagonal.
void solve_triangular(tenon::element_type e, const triangular_systems& s, const void* a, const void* b, void* x,
                      std::int32_t* failed, void* stream);

} // namespace tenon::cuda
