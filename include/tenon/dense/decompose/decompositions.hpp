#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

/// Decompositions of single matrices, by Eigen. All matrices are dense, rows first. T is float or double. They take working memory while
/// they run, at most a few times that of their matrix.

namespace tenon::dense {

/// l [n, n] with l l^T = (a + a^T) / 2, zero above its diagonal. False where that is not positive definite. l may be a.
template <class T> bool factor_cholesky(const T* a, T* l, std::int64_t n);

/// Solves a x = b, or a^T x = b, for the lower or upper triangle of a [n, n]. x [n, m] holds b before. False where a 0 is on a's diagonal.
template <class T> bool solve_triangular(const T* a, T* x, std::int64_t n, std::int64_t m, bool lower, bool transposed);

/// A determinant; its sign, 0 where it is 0; and the logarithm of its absolute value.
template <class T> struct determinant_parts { T product = 1, sign = 1, log = 0; };

/// By a = P^T L U, rows exchanged for the largest pivots. `a` [n, n] is written over. solve: a x = b or a^T x = b; invert: x = a^-1.
/// False where a is singular to the accuracy of T: where a pivot is less than n epsilon times the largest element of its row of a and
/// of its column.
template <class T> bool solve_by_pivots(T* a, const T* b, T* x, std::int64_t n, std::int64_t m, bool transposed);
template <class T> bool invert_by_pivots(T* a, T* x, std::int64_t n);
template <class T> determinant_parts<T> determinant_by_pivots(T* a, std::int64_t n);

/// a [m, n] = q r, with q [m, k], whose columns are orthonormal, and r [k, n], zero below its diagonal; k = min(m, n). By Householder's
/// reflections: r's diagonal has either sign.
TENON_INLINE void factor_qr(const double* a, double* q, double* r, std::int64_t m, std::int64_t n);

/// Which way a vector points is said by its first element that is as large as any, but for 1e-6 of it: that is not negative.
/// This is the sign, 1 or -1, that makes it so; v(i) is one of n elements.
template <class Vector> double turned_to_positive(const Vector& v, std::int64_t n) {
    double largest = 0;
    const auto size = [&](std::int64_t i) { return v(i) < 0 ? -v(i) : v(i); };
    for (std::int64_t i = 0; i < n; ++i)
        if (size(i) > largest) largest = size(i);
    for (std::int64_t i = 0; i < n; ++i)
        if (size(i) >= (1 - 1e-6) * largest) return v(i) < 0 ? -1 : 1;
    return 1;
}

/// a [m, n] = u diag(s) vt, with u [m, k], s [k] falling, vt [k, n]; k = min(m, n). u and vt nullptr: s alone. Rows of vt,
/// and columns of v below, point as that says. False where elements of a are not finite.
TENON_INLINE bool factor_svd(const double* a, double* u, double* s, double* vt, std::int64_t m, std::int64_t n);

/// (a + a^T) / 2 = v diag(w) v^T, with w [n] rising and orthonormal columns of v [n, n]. False where elements of a are not finite.
TENON_INLINE bool factor_symmetric(const double* a, double* w, double* v, std::int64_t n);

} // namespace tenon::dense

#if TENON_HEADER_ONLY
#include <tenon/dense/decompose/decompositions.ipp>
#endif
