#pragma once

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <memory>

#include <cuda/device/context.hpp>
#include <cuda/kernels/linear/gemm.hpp>

/// Stands for products by cuBLASLt in a build that found no cublasLt.h: there are none, which standard error is told once.

namespace tenon::cuda {

inline bool has_float8_product(const gemm_description&, int) { return false; }

class lt_product {
public:
    static std::unique_ptr<lt_product> make(gpu_context&, const gemm_description&, bool) {
        static std::atomic<bool> said{false};
        if (!said.exchange(true))
            std::fprintf(stderr, "tenon: products of matrices on GPUs are made by Tenon's own kernels, which are "
                                 "slower: this build has no "
                                 "cuBLASLt: configure it where cublasLt.h can be found\n");
        return nullptr;
    }
    std::size_t workspace_bytes() const noexcept { return 0; }
    bool run(const void*, const void*, const void*, void*, void*, std::byte*, void*, const float* = nullptr) {
        return false;
    }

    static constexpr std::size_t alignment = 64;
    static constexpr std::size_t workspace_alignment = 256;
};

} // namespace tenon::cuda
