#pragma once

#include <string>

#include <tenon/core/error.hpp>
#include <tenon/dense/gemm.hpp>
#include <tenon/dense/gemm_implementation.hpp>
#include <tenon/simd/isa.hpp>

#if TENON_HEADER_ONLY
#include <tenon/dense/gemm_eigen.ipp>
#include <tenon/dense/gemm_libxsmm.ipp>
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

/// Whether libxsmm is the fastest: float beside oneDNN, which takes a quarter of a microsecond to begin and transposes
/// faster; double, with b in the second-level cache, beside Eigen. Measured on one core.
inline bool is_for_libxsmm(const gemm_description& d) noexcept {
    // It compiles for the best instruction set there is: who chose a lower one, to try it, is not given that.
    if (simd::best_isa() != (simd::has_isa(simd::isa::avx512) ? simd::isa::avx512 : simd::isa::avx2)) return false;
    if (d.n > 512 || d.k > 512) return false;
    if (d.element == element_type::float64 || !has_backend(backend::onednn)) return true;
    return d.m * d.n * d.k <= 1 << 18 && (!d.transpose_b || d.n * d.k <= 1024);
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
                                  "; build with TENON_WITH_" + (d.with == backend::onednn ? "ONEDNN=1" : "LIBXSMM=1"));
    }
    if (d.with == backend::libxsmm || (d.with == backend::best && detail::is_for_libxsmm(d)))
        implementation_ = detail::make_libxsmm_gemm(d);
    if (implementation_ == nullptr && (d.with == backend::best || d.with == backend::onednn))
        implementation_ = detail::make_onednn_gemm(d);
    if (implementation_ == nullptr && d.with != backend::best && d.with != backend::eigen)
        throw unimplemented_error(detail::describe(d) + ": " + name_of(d.with) +
                                  " has no such product; use backend::best");
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
