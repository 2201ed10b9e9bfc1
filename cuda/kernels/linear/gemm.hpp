#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>
#include <tenon/core/float8.hpp>

/// Products of matrices by a kernel of our own: for the types that cuBLASLt has not, and for all where it is missing.

namespace tenon::cuda {

/// One dimension of a batch: how many, and elements from one product's matrices to the next one's; 0: all use the same.
struct gemm_batch {
    std::int64_t size = 1, step_a = 0, step_b = 0, step_c = 0;
};

/// Products of row-major matrices without gaps:
///
///     c = f(a * b + bias)            a: m x k, b: k x n, c: m x n, bias: n, added to each row
///     c = factor * a * b + addend    addend: m x n, of float or double
///     c = gelu_tanh(x), x = a * b + bias; x is kept where it is asked for
///     c = a * b, and the sums of b's rows, n, or of those of a transposed a, m
///     c = a * b gelu_tanh'(x)        x: m x n
///
/// The last three are of half and bfloat16, by cuBLASLt or by the kernels below, one after another. With transpose_a the memory of a holds
/// k x m, with transpose_b that of b n x k. f: max(x, 0), or nothing.
struct gemm_description {
    element_type element = element_type::float32; ///< of a and b: float, double, half, bfloat16, int8, int32 or int64
    std::int64_t m = 0, n = 0, k = 0;
    bool transpose_a = false, transpose_b = false;
    bool bias = false, relu = false;
    bool addend = false;                    ///< without bias and relu
    double factor = 1;                      ///< 1 where there is no addend
    bool gelu = false, keeps_input = false; ///< with bias; and whether x is kept
    bool sums_a = false, sums_b = false;    ///< of one product alone
    bool gelu_gradient = false;             ///< with nothing else
    bool float8 = false; ///< a and b are bytes, of these formats; `element` is that of c. cuBLASLt's alone
    float8_format format_a = float8_format::e4m3, format_b = float8_format::e4m3;
    int dimensions = 0; ///< of the batch
    gemm_batch batch[8];
};

/// The elements of c and of the bias: those of a and b, but int32 of int8.
constexpr element_type result_of(element_type e) { return e == element_type::int8 ? element_type::int32 : e; }

/// Gives the stream all products of a batch. half and bfloat16 are multiplied and summed in float; float and double are summed 16
/// at a time, and then those sums, so an error grows with k / 16; integers wrap around. k = 0 gives f(bias). NaN stays under f.
/// `added`: the bias, or the addend, which has the batch of c and may be c.
void gemm(const gemm_description& d, const void* a, const void* b, const void* added, void* c, void* stream);

/// c = f(c + bias) for each of `rows` rows of `n` elements, of c and of the bias, which is nullptr where none is added.
void finish_product(element_type element, void* c, const void* bias, std::int64_t rows, std::int64_t n, bool relu,
                    void* stream);

/// y = gelu_tanh(x), of floating numbers, where y may be x; with `slope` y = y gelu_tanh'(x).
void gelu_tanh(element_type element, const void* x, void* y, std::int64_t elements, bool slope, void* stream);

} // namespace tenon::cuda
