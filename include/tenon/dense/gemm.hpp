#pragma once

#include <cstddef>
#include <memory>

#include <tenon/dense/gemm_description.hpp>

namespace tenon::dense {

struct gemm_implementation; // one backend's way to run a product

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

private:
    std::unique_ptr<gemm_implementation> implementation_;
};

} // namespace tenon::dense

#if TENON_HEADER_ONLY
#include <tenon/dense/gemm.ipp>
#endif
