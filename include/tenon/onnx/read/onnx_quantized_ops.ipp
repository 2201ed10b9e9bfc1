#pragma once

#include <optional>

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/onnx/onnx_windows.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ONNX on quantised numbers.

namespace tenon::detail::onnx {

// Quantised numbers: (q - zero point) * scale. A scale of one dimension is along an axis of x.
inline any_tensor along_axis(const call& c, const any_tensor& scale, const any_tensor& x) {
    if (scale.rank() == 0) return scale;
    if (const std::int64_t block = c.integer("block_size", 0); block != 0) { // one for so many elements along the axis
        const int axis = axis_in(c, c.integer("axis", 1), x.rank());
        const std::int64_t n = number_of(c, x.extents()[axis], "the size of the axis");
        const any_tensor each =
            untyped::repeat(scale, static_cast<int>(within(c, block, 1, 1 << 24, "block_size")), axis);
        return part_along(each, axis, 0, n);
    }
    if (scale.rank() != 1) c.refuse("scales of several dimensions without block_size");
    if (scale.extents()[0] == extent(1)) return untyped::squeeze(scale);
    const int axis = axis_in(c, c.integer("axis", 1), x.rank());
    index_list behind;
    for (int i = 1; i < x.rank() - axis; ++i) behind.push_back(i);
    return behind.count == 0 ? scale : untyped::expand_dims(scale, behind);
}
inline any_tensor dequantized(const call& c, const any_tensor& q, const any_tensor& scale,
                              const std::optional<any_tensor>& zero) {
    const any_tensor s = along_axis(c, scale, q);
    any_tensor wide = untyped::cast(q, element_type::int32);
    if (zero) wide = untyped::subtract(wide, untyped::cast(along_axis(c, *zero, q), element_type::int32));
    return untyped::multiply(untyped::cast(wide, s.element()), s);
}
inline any_tensor quantized(const call& c, const any_tensor& x, const any_tensor& scale,
                            const std::optional<any_tensor>& zero, element_type to) {
    const any_tensor s = untyped::cast(along_axis(c, scale, x), x.element());
    any_tensor y = untyped::round(untyped::divide(x, s));
    if (zero) y = untyped::add(y, untyped::cast(along_axis(c, *zero, x), y.element()));
    return saturated_cast(y, to);
}
inline std::optional<any_tensor> optional_input(const call& c, int i) {
    return c.has(i) ? std::optional(c.x(i)) : std::nullopt;
}
inline void dequantize(const call& c) { c.give(dequantized(c, c.x(), c.x(1), optional_input(c, 2))); }
inline void quantize(const call& c) {
    const auto zero = optional_input(c, 2);
    element_type to = zero ? zero->element() : element_type::uint8;
    if (!zero && c.integer("output_dtype", 0) != 0) to = element_of(c.integer("output_dtype", 0));
    if (to != element_type::uint8 && to != element_type::int8 && to != element_type::uint16 &&
        to != element_type::int16)
        c.refuse("numbers of that type");
    c.give(quantized(c, c.x(), c.x(1), zero, to));
}
inline void dynamic_quantize(const call& c) {
    const any_tensor x = c.x(), nothing = scalar_like(0, x);
    const any_tensor low = untyped::minimum(untyped::min(x), nothing),
                     high = untyped::maximum(untyped::max(x), nothing);
    const any_tensor scale = untyped::divide(untyped::subtract(high, low), scalar_like(255, x));
    const any_tensor zero =
        saturated_cast(untyped::round(untyped::divide(untyped::negative(low), scale)), element_type::uint8);
    c.give(quantized(c, x, scale, zero, element_type::uint8), 0);
    c.give(scale, 1);
    c.give(zero, 2);
}
// int32, less the zero point: of rows (of b: columns) each its own.
inline any_tensor centred(const any_tensor& x, const std::optional<any_tensor>& zero, bool rows) {
    const any_tensor wide = untyped::cast(x, element_type::int32);
    if (!zero) return wide;
    any_tensor z = untyped::cast(*zero, element_type::int32);
    if (rows && z.rank() == 1 && !(z.extents()[0] == extent(1))) z = untyped::expand_dims(z, {1});
    return untyped::subtract(wide, z);
}
inline void matmul_integer(const call& c) {
    c.give(untyped::matmul(centred(c.x(0), optional_input(c, 2), true), centred(c.x(1), optional_input(c, 3), false)));
}
inline void quantized_matmul(const call& c) {
    const any_tensor product = untyped::matmul(centred(c.x(0), c.x(2), true), centred(c.x(3), c.x(5), false));
    any_tensor a = c.x(1);
    if (a.rank() == 1 && !(a.extents()[0] == extent(1))) a = untyped::expand_dims(a, {1});
    const element_type e =
        is_floating(a.element()) && a.element() != element_type::float16 ? a.element() : element_type::float32;
    const any_tensor scale =
        untyped::divide(untyped::multiply(untyped::cast(a, e), untyped::cast(c.x(4), e)), untyped::cast(c.x(6), e));
    const any_tensor y = untyped::round(untyped::multiply(untyped::cast(product, e), scale));
    c.give(saturated_cast(untyped::add(y, untyped::cast(c.x(7), e)), c.x(7).element()));
}

// Sums of products of integers of 8 bits, exact as doubles. A scale or zero point of the weights is one for each output.
inline any_tensor convolved_integers(const call& c, int x, int w, const std::optional<any_tensor>& x_zero,
                                     const std::optional<any_tensor>& w_zero) {
    const any_tensor values = centred(c.x(x), x_zero, false);
    any_tensor weights = untyped::cast(c.x(w), element_type::int32);
    if (w_zero)
        weights =
            untyped::subtract(weights, beside_outputs(untyped::cast(*w_zero, element_type::int32), weights.rank()));
    return untyped::cast(
        convolved(c, untyped::cast(values, element_type::float64), untyped::cast(weights, element_type::float64)),
        element_type::int32);
}
inline void convolve_integers(const call& c) {
    c.give(convolved_integers(c, 0, 1, optional_input(c, 2), optional_input(c, 3)));
}
inline void quantized_convolution(const call& c) {
    any_tensor sums = convolved_integers(c, 0, 3, c.x(2), c.x(5));
    if (c.has(8)) sums = untyped::add(sums, beside_channels(c.x(8), sums.rank()));
    const element_type e = element_type::float32;
    any_tensor w_scale = untyped::cast(c.x(4), e);
    if (w_scale.rank() == 1) w_scale = beside_channels(w_scale, sums.rank());
    const any_tensor scale =
        untyped::divide(untyped::multiply(untyped::cast(c.x(1), e), w_scale), untyped::cast(c.x(6), e));
    const any_tensor y = untyped::round(untyped::multiply(untyped::cast(sums, e), scale));
    c.give(saturated_cast(untyped::add(y, untyped::cast(c.x(7), e)), c.x(7).element()));
}

TENON_INLINE std::vector<entry> quantized_operators() {
    return {{"ConvInteger", convolve_integers},
            {"DequantizeLinear", dequantize},
            {"DynamicQuantizeLinear", dynamic_quantize},
            {"MatMulInteger", matmul_integer},
            {"QLinearConv", quantized_convolution},
            {"QLinearMatMul", quantized_matmul},
            {"QuantizeLinear", quantize}};
}

} // namespace tenon::detail::onnx
