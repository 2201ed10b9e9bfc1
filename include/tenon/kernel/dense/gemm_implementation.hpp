#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <tenon/kernel/dense/gemm.hpp>

namespace tenon::dense {

struct gemm::implementation {
    explicit implementation(backend b) : chosen(b) {}
    virtual ~implementation() = default;
    virtual void run(const void* a, const void* b, const void* bias, void* c, thread_pool* pool) const = 0;
    virtual std::size_t scratch_bytes() const noexcept = 0;

    backend chosen;
};

namespace detail {

/// The product in words, for messages.
TENON_INLINE std::string describe(const gemm_description& d);

/// The same product by oneDNN; null where this build has no oneDNN or oneDNN lacks the product.
TENON_INLINE std::unique_ptr<gemm::implementation> make_onednn_gemm(const gemm_description& description);

/// The same product by Eigen.
TENON_INLINE std::unique_ptr<gemm::implementation> make_eigen_gemm(const gemm_description& description);

} // namespace detail
} // namespace tenon::dense

#if TENON_HEADER_ONLY
#include <tenon/kernel/dense/gemm_eigen.ipp>
#include <tenon/kernel/dense/gemm_onednn.ipp>
#endif
