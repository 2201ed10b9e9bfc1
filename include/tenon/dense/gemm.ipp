#pragma once

#include <limits>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/dense/gemm.hpp>
#include <tenon/dense/gemm_implementation.hpp>

#if TENON_HEADER_ONLY
#include <tenon/dense/gemm_eigen.ipp>
#include <tenon/dense/gemm_onednn.ipp>
#endif

namespace tenon::dense {

namespace detail {

TENON_INLINE std::string describe(const gemm_description& d) {
    const auto matrix = [](std::int64_t rows, std::int64_t columns, bool transposed) {
        return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]" + (transposed ? " transposed" : "");
    };
    return "gemm of " + std::to_string(d.batch) + " x " +
           (d.transpose_a ? matrix(d.k, d.m, true) : matrix(d.m, d.k, false)) + " * " +
           (d.transpose_b ? matrix(d.n, d.k, true) : matrix(d.k, d.n, false)) + " " + name_of(d.element);
}

} // namespace detail

TENON_INLINE gemm::gemm(const gemm_description& d) {
    if (d.batch < 0 || d.m < 0 || d.n < 0 || d.k < 0 || d.batch_stride_a < 0 || d.batch_stride_b < 0) {
        throw invalid_argument_error(detail::describe(d) + ": a size is negative");
    }
    if (d.element != element_type::float32 && d.element != element_type::float64) {
        throw invalid_argument_error(detail::describe(d) + ": elements must be float or double");
    }
    if (d.accumulate && d.after != epilogue::none) {
        throw invalid_argument_error(detail::describe(d) + ": accumulate cannot be combined with bias or relu");
    }
    if (!has_backend(d.with)) {
        throw unimplemented_error(detail::describe(d) + ": this build has no backend " + name_of(d.with) +
                                  "; build with TENON_WITH_ONEDNN=1");
    }
    if (d.with != backend::eigen) implementation_ = detail::make_onednn_gemm(d);
    if (implementation_ == nullptr && d.with == backend::onednn)
        throw unimplemented_error(detail::describe(d) + ": oneDNN has no such product; use backend::best");
    if (implementation_ == nullptr) implementation_ = detail::make_eigen_gemm(d);
}

TENON_INLINE gemm::~gemm() = default;
TENON_INLINE gemm::gemm(gemm&&) noexcept = default;
TENON_INLINE gemm& gemm::operator=(gemm&&) noexcept = default;

TENON_INLINE void gemm::run(const void* a, const void* b, const void* bias, void* c, thread_pool* pool) const {
    implementation_->run(a, b, bias, c, pool);
}
TENON_INLINE backend gemm::chosen() const noexcept { return implementation_->chosen; }
TENON_INLINE std::size_t gemm::scratch_bytes() const noexcept { return implementation_->scratch_bytes(); }

} // namespace tenon::dense
