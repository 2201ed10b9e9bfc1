#pragma once

#if !defined(TENON_WITH_CUBLASLT)
#include <cuda/blas/no_lt.hpp>
#else

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <cublasLt.h>

#include <cuda/device/context.hpp>
#include <cuda/kernels/linear/gemm.hpp>

/// Products of matrices by cuBLASLt.

namespace tenon::cuda {

/// What cuBLASLt answers, as exceptions of Tenon, which say for what it was asked: not enough memory is a resource_exhausted_error, what
/// it has not, or not on this GPU, an unimplemented_error, a library that does not start an unavailable_error, all else an internal_error.
void check(cublasStatus_t answer, const char* call, const std::string& asked);

/// "the product [64, 784] x [784, 300] of float with bias, batch 8".
std::string text_of(const gemm_description& d);

namespace lt {

/// Ends what cuBLASLt has made.
struct destroyer {
    void operator()(cublasLtMatmulDesc_t d) const noexcept;
    void operator()(cublasLtMatrixLayout_t l) const noexcept;
    void operator()(cublasLtMatmulPreference_t p) const noexcept;
};
template <class Pointer> using owned = std::unique_ptr<std::remove_pointer_t<Pointer>, destroyer>;

} // namespace lt

/// Whether cuBLASLt has products of int8 of this description, as its documentation says: b transposed and a not, n and k multiples of
/// 4, no bias. And k < 131072: it does not say what becomes of a sum that passes the range of int32, which is to wrap around.
bool has_int8_product(const gemm_description& d);

/// Whether a GPU's cuBLASLt has products of numbers of 8 bits, as its documentation says: from 8.9 on, a not transposed and b so, all sizes
/// multiples of 16, not both e5m2.
bool has_float8_product(const gemm_description& d, int capability);

/// Products of one description, which run one after another for a batch's dimensions beyond one. Made when a plan is.
class lt_product {
public:
    /// nullptr where cuBLASLt cannot be loaded, which standard error is told once, has no such product (of int32, int64, most of int8;
    /// with relu, for its relu makes 0 of NaN; with gelu that keeps its input, or its gradient, rows that are no multiple of 8), gives no algorithm for it, or
    /// TENON_CUDA_PRODUCTS is "own".
    /// Exact float by default; `tf32`: operands of float are rounded to 10 bits of fraction.
    static std::unique_ptr<lt_product> make(gpu_context& on, const gemm_description& d, bool tf32);

    /// Of device memory that run() needs.
    std::size_t workspace_bytes() const noexcept {
        return std::max(found_->well_aligned.workspace_bytes, found_->any.workspace_bytes);
    }
    /// Gives the stream the products. `added`: the bias, the addend, or where gelu's slope is wanted; `beside`: what gelu keeps, or the sums. True where that was done; false
    /// where an operand does not lie as was promised to the library when it chose: aligned to `alignment` bytes. `scales`: of numbers of 8
    /// bits, on the GPU, what a's and b's are multiplied by. Thread-safe.
    bool run(const void* a, const void* b, const void* added, void* c, void* beside, std::byte* workspace, void* stream,
             const float* scales = nullptr);

    /// How a plan lays out what it computes with.
    static constexpr std::size_t alignment = 64;
    /// How variables and feeds lie, and what the library supposes where it is told nothing: there may be a better algorithm for these.
    static constexpr std::size_t best_alignment = 256;
    static constexpr std::size_t workspace_alignment = 256;

    struct algorithm {
        cublasLtMatmulAlgo_t native;
        std::size_t workspace_bytes;
    };
    struct algorithms {
        algorithm well_aligned, any;
    };

private:
    lt_product(gpu_context& on, const gemm_description& d, bool tf32);
    bool has_vector() const { return d_.bias || d_.sums_a || d_.sums_b; }
    bool has_matrix() const { return d_.keeps_input || d_.gelu_gradient; }
    bool has_addresses() const { return has_vector() || has_matrix() || d_.float8; }
    // Tells the descriptor where an epilogue's operand, a vector or what gelu is of, lies; and the scales of a and b.
    void point_at(const void* vector, const void* matrix, const void* scale_a, const void* scale_b);
    // The heuristic's first for operands that are so aligned.
    std::optional<algorithm> find(std::size_t operands, int capability);

    const gemm_description d_;
    const std::string asked_; // for messages
    cublasLtHandle_t handle_ = nullptr;
    lt::owned<cublasLtMatmulDesc_t> operation_;
    lt::owned<cublasLtMatrixLayout_t> layout_a_, layout_b_, layout_c_;
    int batched_ = -1; // the dimension of the batch that cuBLASLt goes through by itself
    std::optional<algorithms> found_;
    std::mutex guard_; // of the descriptor, which has addresses
};

} // namespace tenon::cuda

#endif
