#pragma once

#include <cstring>

#include <Eigen/Core>

#include <tenon/dense/eigen_product.hpp>

namespace tenon::dense::detail {

template <class T> using eigen_matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T> using eigen_rows = Eigen::Map<eigen_matrix<T>, 0, Eigen::OuterStride<>>;
template <class T> using eigen_const_rows = Eigen::Map<const eigen_matrix<T>, 0, Eigen::OuterStride<>>;

template <class T>
void multiply_matrices(const matrix_operand<T>& a, const matrix_operand<T>& b, T* c, std::int64_t stride,
                       std::int64_t m, std::int64_t n, std::int64_t k, T scale, bool add) {
    if (m <= 64 && n <= 64 && k <= 64 && m * n * k <= 64) { // less than what it takes Eigen to begin
        const std::int64_t a_row = a.transposed ? 1 : a.stride, a_column = a.transposed ? a.stride : 1;
        const std::int64_t b_row = b.transposed ? 1 : b.stride, b_column = b.transposed ? b.stride : 1;
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                T sum = 0;
                for (std::int64_t p = 0; p < k; ++p)
                    sum += a.data[i * a_row + p * a_column] * b.data[p * b_row + j * b_column];
                T& to = c[i * stride + j];
                to = add ? to + scale * sum : scale * sum;
            }
        return;
    }
    // Always a sum: Eigen's own way to a product that is none is to clear the result first.
    for (std::int64_t i = 0; i < m && !add; i += stride == n ? m : 1)
        std::memset(c + i * stride, 0, static_cast<std::size_t>(stride == n ? m * n : n) * sizeof(T));
    if (k == 0) return;
    eigen_rows<T> out(c, m, n, Eigen::OuterStride<>(stride));
    const Eigen::OuterStride<> a_stride(a.stride), b_stride(b.stride);
    const auto with_right = [&](const auto& left) {
        if (b.transposed) out.noalias() += scale * left * eigen_const_rows<T>(b.data, n, k, b_stride).transpose();
        else out.noalias() += scale * left * eigen_const_rows<T>(b.data, k, n, b_stride);
    };
    if (a.transposed) with_right(eigen_const_rows<T>(a.data, k, m, a_stride).transpose());
    else with_right(eigen_const_rows<T>(a.data, m, k, a_stride));
}
template <class T>
void finish_product(T* c, std::int64_t stride, std::int64_t m, std::int64_t n, const T* bias, bool clips) {
    eigen_rows<T> out(c, m, n, Eigen::OuterStride<>(stride));
    if (bias) out.rowwise() += Eigen::Map<const Eigen::Matrix<T, 1, Eigen::Dynamic>>(bias, n);
    if (clips) out = out.cwiseMax(T(0));
}

TENON_INLINE void eigen_product(const matrix_operand<float>& a, const matrix_operand<float>& b, float* c,
                                std::int64_t stride, std::int64_t m, std::int64_t n, std::int64_t k, float scale,
                                bool add) {
    multiply_matrices(a, b, c, stride, m, n, k, scale, add);
}
TENON_INLINE void eigen_product(const matrix_operand<double>& a, const matrix_operand<double>& b, double* c,
                                std::int64_t stride, std::int64_t m, std::int64_t n, std::int64_t k, double scale,
                                bool add) {
    multiply_matrices(a, b, c, stride, m, n, k, scale, add);
}
TENON_INLINE void eigen_epilogue(float* c, std::int64_t stride, std::int64_t m, std::int64_t n, const float* bias,
                                 bool clips) {
    finish_product(c, stride, m, n, bias, clips);
}
TENON_INLINE void eigen_epilogue(double* c, std::int64_t stride, std::int64_t m, std::int64_t n, const double* bias,
                                 bool clips) {
    finish_product(c, stride, m, n, bias, clips);
}

} // namespace tenon::dense::detail
