#pragma once

#include <cstdint>

#include <cublasLt.h>

/// What the stand-in of cuBLASLt computes: descriptors, what the library refuses of them, and the product.

namespace tenon::emulator::cublaslt {

// What the opaque pointers of the interface point at. The first word says which it is.
enum class kind : std::uint64_t { context = 0x17c0ffee01, operation, layout, preference, dead };
struct operation {
    kind is = kind::operation;
    std::int32_t compute_type = 0, scale_type = 0, pointer_mode = CUBLASLT_POINTER_MODE_HOST;
    std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N, transpose_c = CUBLAS_OP_N;
    std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const void* bias = nullptr;
    std::int64_t bias_stride = 0;
    std::int32_t bias_type = -1;
    void* aux = nullptr;
    std::int64_t aux_leading = 0, aux_stride = 0;
    const void *scale_a = nullptr, *scale_b = nullptr; // of numbers of 8 bits, on the GPU
};
struct layout {
    kind is = kind::layout;
    std::uint32_t type = 0;
    std::int32_t order = CUBLASLT_ORDER_COL;
    std::uint64_t rows = 0, columns = 0;
    std::int64_t leading = 0;
    std::int32_t count = 1;
    std::int64_t stride = 0;
    // The element of row i and column j.
    std::int64_t at(std::int64_t i, std::int64_t j) const {
        return order == CUBLASLT_ORDER_COL ? i + j * leading : i * leading + j;
    }
};

bool is_gelu(const operation& o);
bool keeps_gelu_input(const operation& o);
bool is_gelu_gradient(const operation& o);
bool has_aux(const operation& o); ///< what gelu keeps, or its gradient reads
bool adds_bias(const operation& o);
bool sums_rows(const operation& o); ///< of an operand, into where a bias would be
bool is_float8(std::uint32_t type);

struct product_sizes {
    std::int64_t m, n, k;
};

/// What is asked for, or why not.
cublasStatus_t judge(const operation& o, const layout& a, const layout& b, const layout& c, const layout& d,
                     product_sizes& sizes);

double read(std::uint32_t type, const void* from, std::int64_t at);

struct matmul {
    operation o;
    layout la, lb, lc, ld;
    product_sizes sizes;
    double alpha, beta;
    const void *a, *b, *c;
    void *d, *workspace;
    std::size_t workspace_bytes;

    void compute() const;
};

} // namespace tenon::emulator::cublaslt
