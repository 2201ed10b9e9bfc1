#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <tenon/dense/gemm_description.hpp>

namespace tenon::dense {

struct gemm_implementation {
    explicit gemm_implementation(backend b) : chosen(b) {}
    virtual ~gemm_implementation() = default;
    virtual void run(const void* a, const void* b, const void* bias, void* c, thread_pool* pool) const = 0;
    virtual std::size_t scratch_bytes() const noexcept = 0;

    backend chosen;
};

namespace detail {

/// The product in words, for messages.
TENON_INLINE std::string describe(const gemm_description& d);

/// The same product by oneDNN; null where this build has no oneDNN or oneDNN lacks the product.
TENON_INLINE std::unique_ptr<gemm_implementation> make_onednn_gemm(const gemm_description& description);

/// The same product by libxsmm; null where this build has none, or it lacks the product.
TENON_INLINE std::unique_ptr<gemm_implementation> make_libxsmm_gemm(const gemm_description& description);

/// The same product by Eigen.
TENON_INLINE std::unique_ptr<gemm_implementation> make_eigen_gemm(const gemm_description& description);

} // namespace detail
} // namespace tenon::dense
