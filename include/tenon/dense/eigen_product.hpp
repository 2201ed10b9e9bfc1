#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

/// Products of matrices by Eigen, for kernels that use it: one function for each element type, since a product of
/// Eigen's takes a second or two to compile, and its transposes and sums as many more.

namespace tenon::dense::detail {

/// A matrix in memory: rows lie `stride` elements apart. `transposed`: it is the transpose of what lies there.
template <class T> struct matrix_operand {
    const T* data;
    std::int64_t stride;
    bool transposed = false;
};

/// c = scale a b, of m rows and n columns, or c + scale a b with `add`. a has k columns, b has k rows. Rows of c lie
/// `stride` apart; it may not be a or b.
TENON_INLINE void eigen_product(const matrix_operand<float>& a, const matrix_operand<float>& b, float* c,
                                std::int64_t stride, std::int64_t m, std::int64_t n, std::int64_t k, float scale,
                                bool add);
TENON_INLINE void eigen_product(const matrix_operand<double>& a, const matrix_operand<double>& b, double* c,
                                std::int64_t stride, std::int64_t m, std::int64_t n, std::int64_t k, double scale,
                                bool add);

/// Adds bias[j], j < n, to each row of c, unless it is null; then, if it `clips`, makes max(c, 0) of c.
TENON_INLINE void eigen_epilogue(float* c, std::int64_t stride, std::int64_t m, std::int64_t n, const float* bias,
                                 bool clips);
TENON_INLINE void eigen_epilogue(double* c, std::int64_t stride, std::int64_t m, std::int64_t n, const double* bias,
                                 bool clips);

} // namespace tenon::dense::detail

#if TENON_HEADER_ONLY
#include <tenon/dense/eigen_product.ipp>
#endif
