#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>

#include <tenon/dense/decompose/decompositions.hpp>

namespace tenon::dense {

namespace detail {

template <class T> using row_major = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T> using column_major = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T> Eigen::Map<row_major<T>> as_matrix(T* a, std::int64_t m, std::int64_t n) { return {a, m, n}; }
template <class T> Eigen::Map<const row_major<T>> as_matrix(const T* a, std::int64_t m, std::int64_t n) {
    return {a, m, n};
}

template <class T> bool all_finite(const T* a, std::int64_t n) {
    T sum = 0; // 0 times what is not finite is NaN
    for (std::int64_t i = 0; i < n; ++i) sum += 0 * a[i];
    return sum == 0;
}

// The largest element of each row and column, before pivots are sought. A pivot is told from what rounding leaves of 0 by both: a row
// or a column of small numbers makes no matrix singular.
template <class T> class pivot_scales {
public:
    pivot_scales(const T* a, std::int64_t n) :
        rows_(static_cast<std::size_t>(n)), columns_(static_cast<std::size_t>(n)) {
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                const T v = std::fabs(a[i * n + j]);
                T &row = rows_[static_cast<std::size_t>(i)], &column = columns_[static_cast<std::size_t>(j)];
                if (!(v <= row)) row = v;
                if (!(v <= column)) column = v;
            }
    }
    template <class Decomposition> bool has_pivots(const Decomposition& lu) const {
        const std::int64_t n = static_cast<std::int64_t>(rows_.size());
        const T least = static_cast<T>(n) * std::numeric_limits<T>::epsilon();
        for (std::int64_t i = 0; i < n; ++i) { // row i of a has become row place of the triangles
            const auto place = lu.permutationP().indices()[i];
            const T pivot = std::fabs(lu.matrixLU()(place, place));
            const T row = rows_[static_cast<std::size_t>(i)], column = columns_[static_cast<std::size_t>(place)];
            if (!(pivot > least * (row < column ? row : column))) return false;
        }
        return true;
    }

private:
    std::vector<T> rows_, columns_;
};

template <class T> using pivots_in_place = Eigen::PartialPivLU<Eigen::Ref<row_major<T>>>;

} // namespace detail

template <class T> bool factor_cholesky(const T* a, T* l, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j <= i; ++j) {
            l[i * n + j] = (a[i * n + j] + a[j * n + i]) / 2;
            if (j < i) l[j * n + i] = 0;
        }
    if (n == 0) return true;
    auto matrix = detail::as_matrix(l, n, n);
    Eigen::Ref<detail::row_major<T>> in_place(matrix);
    const Eigen::LLT<Eigen::Ref<detail::row_major<T>>> done(in_place);
    if (done.info() != Eigen::Success) return false;
    for (std::int64_t i = 0; i < n; ++i)
        if (!(l[i * n + i] > 0)) return false; // NaN
    return true;
}

template <class T>
bool solve_triangular(const T* a, T* x, std::int64_t n, std::int64_t m, bool lower, bool transposed) {
    for (std::int64_t i = 0; i < n; ++i)
        if (a[i * n + i] == 0) return false;
    if (n == 0 || m == 0) return true;
    const auto matrix = detail::as_matrix(a, n, n);
    auto to = detail::as_matrix(x, n, m);
    if (lower && transposed) matrix.template triangularView<Eigen::Lower>().transpose().solveInPlace(to);
    else if (lower) matrix.template triangularView<Eigen::Lower>().solveInPlace(to);
    else if (transposed) matrix.template triangularView<Eigen::Upper>().transpose().solveInPlace(to);
    else matrix.template triangularView<Eigen::Upper>().solveInPlace(to);
    return true;
}

template <class T> bool solve_by_pivots(T* a, const T* b, T* x, std::int64_t n, std::int64_t m, bool transposed) {
    if (n == 0) return true;
    const detail::pivot_scales<T> scales(a, n);
    auto matrix = detail::as_matrix(a, n, n);
    Eigen::Ref<detail::row_major<T>> in_place(matrix);
    const detail::pivots_in_place<T> lu(in_place);
    if (!scales.has_pivots(lu)) return false;
    if (m == 0) return true;
    const auto from = detail::as_matrix(b, n, m);
    auto to = detail::as_matrix(x, n, m);
    if (transposed) to = lu.transpose().solve(from);
    else to = lu.solve(from);
    return true;
}

template <class T> bool invert_by_pivots(T* a, T* x, std::int64_t n) {
    if (n == 0) return true;
    const detail::pivot_scales<T> scales(a, n);
    auto matrix = detail::as_matrix(a, n, n);
    Eigen::Ref<detail::row_major<T>> in_place(matrix);
    const detail::pivots_in_place<T> lu(in_place);
    if (!scales.has_pivots(lu)) return false;
    detail::as_matrix(x, n, n) = lu.inverse();
    return true;
}

template <class T> determinant_parts<T> determinant_by_pivots(T* a, std::int64_t n) {
    if (n == 0) return {};
    auto matrix = detail::as_matrix(a, n, n);
    Eigen::Ref<detail::row_major<T>> in_place(matrix);
    const detail::pivots_in_place<T> lu(in_place);
    double log = 0, sign = static_cast<double>(lu.permutationP().determinant()), product = sign;
    for (std::int64_t i = 0; i < n; ++i) {
        const double pivot = static_cast<double>(a[i * n + i]);
        product *= pivot;
        log += std::log(std::fabs(pivot));
        if (!(pivot > 0)) sign *= pivot < 0 ? -1.0 : pivot; // 0 and NaN stay
    }
    return {static_cast<T>(product), static_cast<T>(sign), static_cast<T>(log)};
}

// Those below are compiled for double alone, which takes seconds each, and serve float too.
TENON_INLINE void factor_qr(const double* a, double* q, double* r, std::int64_t m, std::int64_t n) {
    const std::int64_t k = m < n ? m : n;
    if (k == 0) return;
    const Eigen::HouseholderQR<detail::column_major<double>> done(detail::as_matrix(a, m, n));
    detail::as_matrix(q, m, k) = done.householderQ() * detail::column_major<double>::Identity(m, k);
    detail::as_matrix(r, k, n) = done.matrixQR().topRows(k).triangularView<Eigen::Upper>();
}

TENON_INLINE bool factor_svd(const double* a, double* u, double* s, double* vt, std::int64_t m, std::int64_t n) {
    using matrix = detail::column_major<double>;
    const std::int64_t k = m < n ? m : n;
    if (k == 0) return true;
    if (!detail::all_finite(a, m * n)) return false;
    // Of the triangle of the matrix, or of its transpose, whichever is not wider than it is high. Jacobi's rotations take many rounds but
    // where columns are nearly orthogonal, and eigenvectors of their products make them so, the largest first.
    matrix high = detail::as_matrix(a, m, n);
    if (m < n) high.transposeInPlace();
    const double largest = high.cwiseAbs().maxCoeff();
    if (largest > 0) high /= largest;
    const Eigen::HouseholderQR<matrix> qr(high);
    const matrix triangle = qr.matrixQR().topRows(k).triangularView<Eigen::Upper>();
    const Eigen::SelfAdjointEigenSolver<matrix> products(triangle.transpose() * triangle);
    if (products.info() != Eigen::Success) return false;
    const matrix turns = products.eigenvectors().rowwise().reverse();
    const Eigen::HouseholderQR<matrix> turned(triangle * turns);
    const Eigen::JacobiSVD<matrix, Eigen::NoQRPreconditioner> done(
        matrix(turned.matrixQR().triangularView<Eigen::Upper>()),
        u ? static_cast<unsigned>(Eigen::ComputeFullU) | static_cast<unsigned>(Eigen::ComputeFullV) : 0U);
    for (std::int64_t i = 0; i < k; ++i) s[i] = done.singularValues()[i] * largest;
    if (!u) return true;
    matrix left = matrix::Zero(high.rows(), k), right = turns * done.matrixV();
    left.topRows(k) = turned.householderQ() * done.matrixU();
    left.applyOnTheLeft(qr.householderQ());
    if (m < n) left.swap(right);
    for (std::int64_t j = 0; j < k; ++j)
        if (turned_to_positive([&](std::int64_t i) { return right(i, j); }, n) < 0) {
            left.col(j) *= -1;
            right.col(j) *= -1;
        }
    detail::as_matrix(u, m, k) = left;
    detail::as_matrix(vt, k, n) = right.transpose();
    return true;
}

TENON_INLINE bool factor_symmetric(const double* a, double* w, double* v, std::int64_t n) {
    if (n == 0) return true;
    if (!detail::all_finite(a, n * n)) return false;
    const auto from = detail::as_matrix(a, n, n);
    const Eigen::SelfAdjointEigenSolver<detail::column_major<double>> done((from + from.transpose()) / 2);
    if (done.info() != Eigen::Success) return false;
    for (std::int64_t i = 0; i < n; ++i) w[i] = done.eigenvalues()[i];
    auto to = detail::as_matrix(v, n, n);
    to = done.eigenvectors();
    for (std::int64_t j = 0; j < n; ++j) to.col(j) *= turned_to_positive([&](std::int64_t i) { return to(i, j); }, n);
    return true;
}

#if !TENON_HEADER_ONLY
#define TENON_DECOMPOSITIONS(T)                                                           \
    template bool factor_cholesky(const T*, T*, std::int64_t);                            \
    template bool solve_triangular(const T*, T*, std::int64_t, std::int64_t, bool, bool); \
    template bool solve_by_pivots(T*, const T*, T*, std::int64_t, std::int64_t, bool);    \
    template bool invert_by_pivots(T*, T*, std::int64_t);                                 \
    template determinant_parts<T> determinant_by_pivots(T*, std::int64_t)
TENON_DECOMPOSITIONS(float);
TENON_DECOMPOSITIONS(double);
#undef TENON_DECOMPOSITIONS
#endif

} // namespace tenon::dense
