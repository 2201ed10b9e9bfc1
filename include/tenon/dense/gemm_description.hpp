#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>
#include <tenon/dense/backend.hpp>

namespace tenon {
class thread_pool;
class memory_payer;
} // namespace tenon

namespace tenon::dense {

/// A product of matrices of fixed sizes, all row-major and dense:
///
///     c[i] = f(scale * a[i] * b[i] + bias)    a[i]: m x k, b[i]: k x n, c[i]: m x n, bias: n
///
/// for i = 0 .. batch-1. With transpose_a the memory of a[i] holds k x m, with transpose_b that of b[i] n x
/// k.
struct gemm_description {
    std::int64_t batch = 1;
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    bool transpose_a = false;
    bool transpose_b = false;
    /// Elements from one matrix of the batch to the next; 0: all use the same. c's are m * n apart.
    std::int64_t batch_stride_a = 0;
    std::int64_t batch_stride_b = 0;
    /// Elements from one row of a's memory to the next, where it is a part of a wider matrix; 0: as many as a row has.
    std::int64_t row_stride_a = 0;
    /// A step of gradient descent, w -= rate * x' * dy, is one product with scale = -rate and accumulate.
    double scale = 1.0;
    /// c += scale * a * b instead of c = ...; only without an epilogue.
    bool accumulate = false;
    epilogue after = epilogue::none;
    /// float32 or float64.
    element_type element = element_type::float32;
    /// The most threads to divide one product among.
    int threads = 1;
    backend with = backend::best;
    /// Is asked for what the product holds; outlives it. nullptr: nobody.
    memory_payer* memory = nullptr;

    std::int64_t from_row_to_row() const noexcept { return row_stride_a != 0 ? row_stride_a : transpose_a ? m : k; }
};

} // namespace tenon::dense
