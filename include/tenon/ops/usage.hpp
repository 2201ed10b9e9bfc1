#pragma once

#include <tenon/core/check.hpp>

/// Calls of functions of tensors with less, with more, or with arguments that are template arguments, and what to write instead. Each of these
/// functions is worse than any that takes an argument as what it is. Where a function has options of its own and no overloads, compilers
/// say as much of a mistake in fewer lines without one of these.

namespace tenon {

namespace detail {
template <class X> ill_shaped windows_are_template_arguments() {
    static_assert(is_mistake<X>,
                  "tenon: windows, strides and padding are template arguments: write conv1d<2, same>(x, w), "
                  "max_pool1d<2>(x)");
    return {};
}
template <class X> ill_shaped it_takes_indices() {
    static_assert(is_mistake<X>,
                  "tenon: write take_along_axis<1>(x, indices), scatter_along_axis<1>(x, indices, updates), "
                  "gather_nd(x, indices), scatter_nd(x, indices, updates)");
    return {};
}
template <class X> ill_shaped it_takes_matrices() {
    static_assert(is_mistake<X>, "tenon: write solve(a, b), auto [q, r] = qr(a), auto [u, s, v] = svd(a), "
                                 "auto [values, vectors] = eigh(a), diagonal<1>(x)");
    return {};
}
template <class X> ill_shaped dimensions_are_a_template_argument() {
    static_assert(is_mistake<X>,
                  "tenon: over how many dimensions is a template argument: write fft<2>(x); of irfft the last "
                  "size, too: irfft<1, 99>(y)");
    return {};
}
template <class X> ill_shaped attention_takes_three() {
    static_assert(is_mistake<X>,
                  "tenon::attention: write attention(queries, keys, values), behind them lengths or a mask, "
                  "then options: {.causal = true}");
    return {};
}
template <class X> ill_shaped rows_are_compared() {
    static_assert(is_mistake<X>, "tenon::nn: write cosine_similarity(a, b), triplet(anchor, positive, negative)");
    return {};
}
} // namespace detail

// Of what stands in a macro compilers show the macro too: so what is said stands above.
#define TENON_HINT(NAME, SAID)                                                                       \
    template <auto..., class X = void>                                                               \
    ill_shaped NAME(detail::any_argument = {}, detail::any_argument = {}, detail::any_argument = {}, \
                    detail::any_argument = {}) {                                                     \
        return detail::SAID<X>();                                                                    \
    }
TENON_HINT(conv1d, windows_are_template_arguments)
TENON_HINT(conv3d, windows_are_template_arguments)
TENON_HINT(conv1d_transpose, windows_are_template_arguments)
TENON_HINT(conv2d_transpose, windows_are_template_arguments)
TENON_HINT(conv3d_transpose, windows_are_template_arguments)
TENON_HINT(max_pool1d, windows_are_template_arguments)
TENON_HINT(max_pool3d, windows_are_template_arguments)
TENON_HINT(average_pool1d, windows_are_template_arguments)
TENON_HINT(average_pool3d, windows_are_template_arguments)
TENON_HINT(max_pool1d_with_indices, windows_are_template_arguments)
TENON_HINT(max_pool2d_with_indices, windows_are_template_arguments)
TENON_HINT(max_pool3d_with_indices, windows_are_template_arguments)
TENON_HINT(take_along_axis, it_takes_indices)
TENON_HINT(scatter_along_axis, it_takes_indices)
TENON_HINT(scatter_add_along_axis, it_takes_indices)
TENON_HINT(gather_nd, it_takes_indices)
TENON_HINT(scatter_nd, it_takes_indices)
TENON_HINT(scatter_nd_add, it_takes_indices)
TENON_HINT(solve, it_takes_matrices)
TENON_HINT(svd, it_takes_matrices)
TENON_HINT(qr, it_takes_matrices)
TENON_HINT(eigh, it_takes_matrices)
TENON_HINT(diagonal, it_takes_matrices)
TENON_HINT(fft, dimensions_are_a_template_argument)
TENON_HINT(ifft, dimensions_are_a_template_argument)
TENON_HINT(rfft, dimensions_are_a_template_argument)
TENON_HINT(irfft, dimensions_are_a_template_argument)
TENON_HINT(attention, attention_takes_three)
namespace nn {
TENON_HINT(cosine_similarity, rows_are_compared)
TENON_HINT(cosine_distance, rows_are_compared)
TENON_HINT(triplet, rows_are_compared)
} // namespace nn
#undef TENON_HINT

} // namespace tenon
