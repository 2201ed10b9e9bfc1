#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <cuda/device/context.hpp>

/// Decompositions of single large matrices by cuSOLVER. Matrices lie columns first, all is on the device; what cuSOLVER makes of a matrix
/// for which there is no result it says in *info, or in what it leaves.

namespace tenon::cuda {

/// From so many rows and columns on, and in batches of no more matrices than one for so many of these, cuSOLVER is faster than a block a
/// matrix of our own.
inline constexpr std::int64_t least_library_size = 64, library_size_for_each = 16;

/// Its functions for one GPU and kernel. Calls give their work to the stream. Thread-safe. What it answers beside success is a
/// resource_exhausted_error, of memory, or an internal_error, which names the call.
class solver {
public:
    /// nullptr where cuSOLVER cannot be loaded, or this build has no cusolverDn.h, which standard error is told once; where matrices [m, n]
    /// are too small or many, or beyond what 31 bits count; or where TENON_CUDA_MATRICES is "own".
    static std::shared_ptr<solver> of(gpu_context& on, std::int64_t m, std::int64_t n, std::int64_t count);
    virtual ~solver() = default;

    /// The lower triangle l of a = l l^T, rows first, in a's place; of a its lower triangle is read. info [1].
    virtual std::size_t cholesky_bytes(element_type e, std::int64_t n) = 0;
    virtual void cholesky(element_type e, void* a, std::int64_t n, std::byte* work, int* info, void* stream) = 0;
    /// a's triangles in its place; pivots [n].
    virtual std::size_t pivots_bytes(element_type e, std::int64_t n) = 0;
    virtual void factor(element_type e, void* a, std::int64_t n, std::byte* work, int* pivots, int* info,
                        void* stream) = 0;
    /// b [n, m] becomes x with a x = b, or a^T x = b.
    virtual void solve(element_type e, const void* lu, const int* pivots, void* b, std::int64_t n, std::int64_t m,
                       bool transposed, int* info, void* stream) = 0;
    /// a [m, n] becomes r and reflections, taus [min(m, n)]; then those become q [m, min(m, n)].
    virtual std::size_t qr_bytes(std::int64_t m, std::int64_t n) = 0;
    virtual void reflect(double* a, double* taus, std::int64_t m, std::int64_t n, std::byte* work, int* info,
                         void* stream) = 0;
    virtual void take_q(double* a, const double* taus, std::int64_t m, std::int64_t n, std::byte* work, int* info,
                        void* stream) = 0;
    /// Of symmetric a [n, n]: w rising; a becomes the eigenvectors.
    virtual std::size_t eigh_bytes(std::int64_t n) = 0;
    virtual void eigh(double* a, double* w, std::int64_t n, std::byte* work, int* info, void* stream) = 0;
    /// Of a [m, n], m >= n, which is written over: s falling; u [m, n] and vt [n, n] unless u is null.
    virtual std::size_t svd_bytes(std::int64_t m, std::int64_t n) = 0;
    virtual void svd(double* a, double* u, double* s, double* vt, std::int64_t m, std::int64_t n, std::byte* work,
                     int* info, void* stream) = 0;
};

} // namespace tenon::cuda
