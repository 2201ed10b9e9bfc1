#pragma once

#include <algorithm>

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/linear/pooling.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ONNX that are products, convolutions and pools, and those of quantised numbers.

namespace tenon::detail::onnx {

inline void matmul(const call& c) { c.give(untyped::matmul(c.x(0), c.x(1))); }

inline void gemm(const call& c) {
    const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
    any_tensor y = untyped::matmul(c.x(0), c.x(1), c.integer("transA", 0) != 0, c.integer("transB", 0) != 0);
    if (alpha != 1) y = untyped::multiply(y, scalar_like(alpha, y));
    if (c.has(2) && beta != 0) {
        const any_tensor b = c.x(2);
        y = untyped::add(y, beta == 1 ? b : untyped::multiply(b, scalar_like(beta, b)));
    }
    c.give(y);
}

// One window axis of a convolution or a pool.
struct window_side {
    std::int64_t stride = 1, dilation = 1, before = 0, after = 0;
};
inline int small(const call& c, std::int64_t n, const char* what) {
    if (n < 0 || n > (1 << 20)) c.wrong(std::string(what) + " is " + std::to_string(n));
    return static_cast<int>(n);
}
// Strides, dilations and paddings of `count` spatial dimensions; sizes[i] and reach (dilated window) are for auto_pad.
inline std::vector<window_side> window_sides(const call& c, std::size_t count, const std::vector<extent>& sizes,
                                             const std::vector<std::int64_t>& kernel) {
    const auto list = [&](const char* name, std::int64_t otherwise, std::size_t n) {
        std::vector<std::int64_t> l = c.integers(name);
        if (l.empty()) l.assign(n, otherwise);
        if (l.size() != n)
            c.wrong(std::string(name) + " has " + std::to_string(l.size()) + " numbers; " + std::to_string(n) +
                    " are needed");
        for (const std::int64_t v : l) (void)small(c, v, name);
        return l;
    };
    const auto strides = list("strides", 1, count), dilations = list("dilations", 1, count),
               pads = list("pads", 0, 2 * count);
    const std::string automatic = c.text("auto_pad", "NOTSET");
    std::vector<window_side> sides(count);
    for (std::size_t i = 0; i < count; ++i) {
        window_side& s = sides[i];
        s = {strides[i], dilations[i], 0, 0};
        if (s.stride < 1 || s.dilation < 1) c.wrong("a stride or dilation is 0");
        if (automatic == "NOTSET") {
            s.before = pads[i];
            s.after = pads[i + count];
        } else if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
            const std::int64_t reach = (kernel[i] - 1) * s.dilation + 1;
            std::int64_t all = reach - 1; // of stride 1, whatever the size
            if (s.stride != 1) {
                const std::int64_t n = within(c, number_of(c, sizes[i], "a size of the image"), 0,
                                              std::int64_t{1} << 30, "a size of the image");
                all = std::max<std::int64_t>((std::max<std::int64_t>(n, 1) - 1) / s.stride * s.stride + reach - n, 0);
            }
            s.before = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
            s.after = all - s.before;
        } else if (automatic != "VALID") c.wrong("auto_pad is \"" + automatic + '"');
    }
    return sides;
}

// An image of one dimension is one of height 1.
inline any_tensor with_height(const any_tensor& x) { return untyped::expand_dims(x, {2}); }

// Input 0 with channels last; of rank 3 it is given a height.
inline any_tensor image(const call& c, int rank) {
    if (rank == 4) return c.last();
    return untyped::transpose(with_height(c.x()), {0, 2, 3, 1});
}
inline void give_image(const call& c, const any_tensor& y, int rank) {
    if (rank == 4) return c.give_last(y);
    c.give(untyped::squeeze(untyped::transpose(y, {0, 3, 1, 2}), {2}));
}
inline int image_rank(const call& c) {
    const int rank = c.is_last(0) ? 4 : c.x().rank();
    if (rank == 5) c.refuse("images of 3 dimensions");
    if (rank != 3 && rank != 4) c.wrong("its input has " + std::to_string(rank) + " dimensions; 3 or 4 are needed");
    return rank;
}
inline std::vector<extent> spatial_sizes(const call& c, int rank) {
    if (rank == 4 && c.is_last(0)) {
        const any_tensor x = c.last();
        return {x.extents()[1], x.extents()[2]};
    }
    const any_tensor x = c.x();
    std::vector<extent> sizes;
    for (int i = 2; i < rank; ++i) sizes.push_back(x.extents()[i]);
    return sizes;
}

inline conv2d_options convolution_options(const call& c, const std::vector<window_side>& sides) {
    const window_side one, &h = sides.size() == 2 ? sides[0] : one, &w = sides.back();
    const auto of = [&](std::int64_t n) { return small(c, n, "a number of the window"); };
    return {{of(h.stride), of(w.stride)},
            tenon::pad(of(h.before), of(h.after), of(w.before), of(w.after)),
            {of(h.dilation), of(w.dilation)},
            small(c, c.integer("group", 1), "group")};
}

// The window's sizes, which the weights say: [outputs, channels, spatial...].
inline std::vector<std::int64_t> kernel_of(const call& c, const any_tensor& w, int rank) {
    if (w.rank() != rank)
        c.wrong("its weights have " + std::to_string(w.rank()) + " dimensions, its input " + std::to_string(rank));
    std::vector<std::int64_t> kernel;
    for (int i = 2; i < rank; ++i)
        kernel.push_back(small(c, number_of(c, w.extents()[i], "a size of the weights"), "a size of the weights"));
    return kernel;
}

inline void convolve(const call& c) {
    const int rank = image_rank(c);
    const any_tensor w = c.x(1);
    const auto sides =
        window_sides(c, static_cast<std::size_t>(rank - 2), spatial_sizes(c, rank), kernel_of(c, w, rank));
    const any_tensor window = untyped::transpose(rank == 4 ? w : with_height(w), {2, 3, 1, 0});
    any_tensor y = untyped::conv2d(image(c, rank), window, convolution_options(c, sides));
    if (c.has(2)) y = untyped::add(y, c.x(2));
    give_image(c, y, rank);
}

inline void convolve_transposed(const call& c) {
    const int rank = image_rank(c);
    const auto count = static_cast<std::size_t>(rank - 2);
    const any_tensor w = c.x(1);
    const std::vector<std::int64_t> kernel = kernel_of(c, w, rank);
    const std::vector<extent> sizes = spatial_sizes(c, rank);
    std::vector<std::int64_t> more = c.integers("output_padding"), wanted = c.integers("output_shape");
    more.resize(count);
    for (const auto* list : {&more, &wanted})
        for (const std::int64_t n : *list) (void)small(c, n, "a size that is asked for");
    const std::string automatic = c.text("auto_pad", "NOTSET");
    std::vector<window_side> sides;
    std::vector<margin> outside(4); // where more is asked for than windows reach
    if (automatic == "NOTSET" && wanted.empty()) sides = window_sides(c, count, sizes, kernel);
    else {
        std::vector<std::int64_t> strides = c.integers("strides"), dilations = c.integers("dilations");
        strides.resize(count, 1);
        dilations.resize(count, 1);
        if (wanted.size() > count) wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(count));
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t n = within(c, number_of(c, sizes[i], "a size of the image"), 0, std::int64_t{1} << 30,
                                          "a size of the image");
            window_side s{small(c, strides[i], "a stride"), small(c, dilations[i], "a dilation"), 0, 0};
            const std::int64_t reach = (kernel[i] - 1) * s.dilation + 1;
            const std::int64_t target = !wanted.empty()        ? wanted[i]
                                        : automatic == "VALID" ? s.stride * (n - 1) + more[i] + reach
                                                               : n * s.stride;
            const std::int64_t all = s.stride * (n - 1) + more[i] + reach - target;
            s.before = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
            if (automatic == "NOTSET") s.before = all / 2;
            s.after = all - s.before;
            sides.push_back(s);
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        window_side& s = sides[i];
        margin& m = outside[i + 3 - count];
        s.after -= more[i];
        if (s.after < 0) m.after = std::exchange(s.after, 0) * -1;
        if (s.before < 0) m.before = std::exchange(s.before, 0) * -1;
    }
    const any_tensor window = untyped::transpose(rank == 4 ? w : with_height(w), {2, 3, 1, 0});
    any_tensor y = untyped::conv2d_transpose(image(c, rank), window, convolution_options(c, sides));
    for (const margin& m : outside)
        if (m.before != 0 || m.after != 0) {
            y = untyped::pad(y, outside);
            break;
        }
    if (c.has(2)) y = untyped::add(y, c.x(2));
    give_image(c, y, rank);
}

template <bool Average> void pool(const call& c) {
    const int rank = image_rank(c);
    const auto count = static_cast<std::size_t>(rank - 2);
    const std::vector<std::int64_t> kernel = c.integers("kernel_shape");
    if (kernel.size() != count) c.wrong("its window has " + std::to_string(kernel.size()) + " sizes");
    for (const std::int64_t k : kernel) (void)small(c, k, "a size of its window");
    if (c.wants(1)) c.refuse("where the largest elements are (its output Indices)");
    const std::vector<extent> sizes = spatial_sizes(c, rank);
    std::vector<window_side> sides = window_sides(c, count, sizes, kernel);
    any_tensor x = image(c, rank);
    const element_type own = x.element();
    if (!Average && is_integer(own) && size_of(own) <= 2)
        x = untyped::cast(x, element_type::float32); // which holds them
    bool padded = false;
    for (std::size_t i = 0; i < count; ++i) {
        window_side& s = sides[i];
        if (s.dilation != 1) c.refuse("windows with dilation");
        padded = padded || s.before != 0 || s.after != 0;
        if (c.integer("ceil_mode", 0) == 0) continue;
        const std::int64_t n =
            within(c, number_of(c, sizes[i], "a size of the image"), 0, std::int64_t{1} << 30, "a size of the image") +
            s.before + s.after - kernel[i];
        if (n < 0) continue;
        std::int64_t windows = (n + s.stride - 1) / s.stride + 1;
        // One that would begin in the padding behind the image is none.
        if ((windows - 1) * s.stride >= n - s.after + kernel[i]) --windows;
        const std::int64_t more = (windows - 1) * s.stride - n;
        if (Average && more > 0 && c.integer("count_include_pad", 0) != 0)
            c.refuse("means that count padding, with ceil_mode = 1");
        s.after += std::max<std::int64_t>(more, 0);
    }
    const window_side one, &h = count == 2 ? sides[0] : one, &w = sides.back();
    if (Average && padded && c.integer("count_include_pad", 0) != 0) {
        x = untyped::pad(x, {{0, 0}, {h.before, h.after}, {w.before, w.after}, {0, 0}});
        for (window_side& s : sides) s.before = s.after = 0;
    }
    const auto of = [&](std::int64_t n) { return small(c, n, "a number of the window"); };
    const pool2d_options o{{count == 2 ? of(kernel[0]) : 1, of(kernel.back())},
                           {of(h.stride), of(w.stride)},
                           tenon::pad(of(h.before), of(h.after), of(w.before), of(w.after))};
    give_image(c, untyped::cast(Average ? untyped::average_pool2d(x, o) : untyped::max_pool2d(x, o), own), rank);
}

template <any_tensor (*F)(const any_tensor&, const index_list&, bool)> void global_pool(const call& c) {
    if (c.is_last(0)) return c.give_last(F(c.last(), {1, 2}, true));
    const any_tensor x = c.x();
    index_list axes;
    for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
    c.give(axes.count == 0 ? x : F(x, axes, true));
}

// Quantised numbers: (q - zero point) * scale. A scale of one dimension is along an axis of x.
inline any_tensor along_axis(const call& c, const any_tensor& scale, const any_tensor& x) {
    if (scale.rank() == 0) return scale;
    if (scale.rank() != 1) c.refuse("scales of blocks");
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
inline void dequantize(const call& c) {
    if (c.integer("block_size", 0) != 0) c.refuse("scales of blocks");
    c.give(dequantized(c, c.x(), c.x(1), optional_input(c, 2)));
}
inline void quantize(const call& c) {
    if (c.integer("block_size", 0) != 0) c.refuse("scales of blocks");
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

TENON_INLINE std::vector<entry> layer_operators() {
    return {{"AveragePool", pool<true>},
            {"Conv", convolve},
            {"ConvTranspose", convolve_transposed},
            {"DequantizeLinear", dequantize},
            {"DynamicQuantizeLinear", dynamic_quantize},
            {"Gemm", gemm},
            {"GlobalAveragePool", global_pool<untyped::mean>},
            {"GlobalMaxPool", global_pool<untyped::max>},
            {"MatMul", onnx::matmul},
            {"MatMulInteger", matmul_integer},
            {"MaxPool", pool<false>},
            {"QLinearMatMul", quantized_matmul},
            {"QuantizeLinear", quantize}};
}

} // namespace tenon::detail::onnx
