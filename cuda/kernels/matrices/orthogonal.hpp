#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

/// Decompositions with orthonormal vectors of float or double, computed in double; a block a matrix. Results that are null are not written.
/// failed[i] becomes 1 where matrix i has elements that are not finite, and no result, else 0.

namespace tenon::cuda {

/// Matrices [m, n], k = min(m, n).
struct matrix_batch {
    std::int64_t m, n, count;
    constexpr std::int64_t k() const { return m < n ? m : n; }
    constexpr std::int64_t high() const { return m < n ? n : m; }
};

/// Doubles of working memory of each matrix.
constexpr std::int64_t qr_doubles(const matrix_batch& b) { return b.m * b.n + b.k() + b.m * b.k(); }
constexpr std::int64_t svd_doubles(const matrix_batch& b) {
    return 2 * b.high() * b.k() + 3 * b.k() * b.k() + 4 * b.k();
}
constexpr std::int64_t eigh_doubles(std::int64_t n) { return 2 * n * n + 2 * n + 2; }

/// a = q r by Householder's reflections; r's diagonal has the signs that Eigen and LAPACK give it.
void factor_qr(tenon::element_type e, const matrix_batch& b, const void* a, void* q, void* r, double* scratch,
               void* stream);
/// a = u diag(s) vt, by Jacobi's rotations of the columns of its triangle (Demmel and Veselic, "Jacobi's method is more accurate than QR",
/// 1992). The first of the largest elements of each row of vt is not negative.
void factor_svd(tenon::element_type e, const matrix_batch& b, const void* a, void* u, void* s, void* vt,
                double* scratch, std::int32_t* failed, void* stream);
/// (a + a^T) / 2 = v diag(w) v^T, w rising, by Jacobi's rotations. The first of the largest elements of each column of v is not negative.
void factor_symmetric(tenon::element_type e, std::int64_t n, std::int64_t count, const void* a, void* w, void* v,
                      double* scratch, std::int32_t* failed, void* stream);

} // namespace tenon::cuda
