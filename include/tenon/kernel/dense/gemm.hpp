#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <tenon/core/element_type.hpp>
#include <tenon/kernel/dense/backend.hpp>

namespace tenon {
class thread_pool;
}

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
    /// A step of gradient descent, w -= rate * x' * dy, is one product with scale = -rate and accumulate.
    double scale = 1.0;
    /// c += scale * a * b instead of c = ...; only without an epilogue.
    bool accumulate = false;
    epilogue after = epilogue::none;
    /// float32 or float64.
    element_type element = element_type::float32;
    /// The most threads to divide one product among.
    int threads = 1;
    /// b never changes: the first run may keep a rearranged copy, and later runs may not look at b.
    bool constant_b = false;
    backend with = backend::best;
};

/// A product planned once and run many times. Its memory is taken here; run takes none, except that runs
/// which overlap in time on one gemm object take some the first time they do.
class gemm {
public:
    /// @throws invalid_argument_error for a size < 0, an element type other than float32 and float64, or an
    /// epilogue
    ///         together with accumulate
    /// @throws unimplemented_error when `with` names a backend that this build lacks or that lacks this
    /// product
    explicit gemm(const gemm_description& description);
    ~gemm();
    gemm(gemm&&) noexcept;
    gemm& operator=(gemm&&) noexcept;

    /// `bias` is looked at only when the epilogue adds one. With a null pool, or one of size 1, the caller's
    /// thread does everything. May be called by several threads at once. Operands must not overlap c.
    void run(const void* a, const void* b, const void* bias, void* c, thread_pool* pool) const;

    /// The backend chosen.
    backend chosen() const noexcept;
    /// Bytes this object keeps for its runs.
    std::size_t scratch_bytes() const noexcept;

    /// One backend's way to run a product.
    struct implementation;

private:
    std::unique_ptr<implementation> implementation_;
};

} // namespace tenon::dense

#if TENON_HEADER_ONLY
#include <tenon/kernel/dense/gemm.ipp>
#endif
