#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda/kernels/rows/blocks.hpp>
#include <tenon/core/element_type.hpp>

/// Layer normalisation of rows: formulas in tenon/ops/rows/normalization.hpp. All pointers are on the device; means and factors are of the
/// type that is computed in. A row of up to 8192 elements is read once, by the gradient of double of up
/// to 4096.

namespace tenon::cuda {

/// What is added to x; nothing where `y` is null.
struct row_sum {
    const void* y = nullptr;
    const void* bias = nullptr; ///< of a row, added to y first, which is rounded; may be null
    void* sum = nullptr;        ///< where the sums go; may be null, and lie where x or y does
};
/// y = (x + sum - mean) factor gamma + beta, of sums as they are rounded. Any of y, mean and factor may be null; y may lie where x does, or
/// what is added.
void layer_norm(element_type element, const void* x, const row_sum& sum, const void* gamma, const void* beta, void* y,
                void* mean, void* factor, const line_layout& rows, double epsilon, void* stream);

/// Elements of a row that a thread of the gradient holds: with the sums of their columns they fill 128 registers.
template <class T> inline constexpr int held_of_gradient = sizeof(T) == 8 ? held_elements / 2 : held_elements;
/// How blocks of the gradient take rows.
inline line_layout lay_gradient_rows(element_type element, std::int64_t rows, std::int64_t n) {
    return element == element_type::float64 ? lay_lines(rows, n, 1, 8, held_of_gradient<double>)
                                            : lay_lines(rows, n, 1, static_cast<std::int64_t>(size_of(element)));
}
/// Of what the gradient works in; rows as lay_gradient_rows() has them.
std::size_t layer_norm_scratch_bytes(element_type element, const line_layout& rows);
/// The gradients of x, gamma and beta, that of x, as it is rounded, plus `more`, which may be null. Any may be null; dx may lie where x, dy
/// or `more` does.
void layer_norm_gradient(element_type element, const void* x, const void* gamma, const void* dy, const void* mean,
                         const void* factor, const void* more, void* dx, void* dgamma, void* dbeta, std::byte* scratch,
                         const line_layout& rows, void* stream);

} // namespace tenon::cuda
