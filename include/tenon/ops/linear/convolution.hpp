#pragma once

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/window.hpp>

/// Convolutions of images. x: [batch, height, width, channels], w: [rows, columns, channels / groups, outputs],
///
///     y[b, i, j, o] = sum over p, q, c of
///         x[b, i * stride + p * dilation - top, j * stride + q * dilation - left, c] * w[p, q, c, o]
///
/// where x is zero outside of the image.
///
///     auto y = tn::conv2d(x, w);              // stride 1, no padding: [b, 28, 28, 1] -> [b, 24, 24, 32]
///     auto y = tn::conv2d<2, tn::same>(x, w); // stride 2, zeros around: [b, 28, 28, 1] -> [b, 14, 14, 32]
///     auto y = tn::conv2d<tn::conv2d_options{.stride = {2, 1}, .padding = tn::pad(1), .groups = 4}>(x, w);
///
/// With groups g output o sees the channels / g channels of its group o / (outputs / g). Element types float, double,
/// half and bfloat16 (computed in float).

namespace tenon {

/// How a convolution's window moves.
struct conv2d_options {
    height_width stride = 1;
    tenon::padding padding = valid;
    height_width dilation = 1;
    int groups = 1;
    friend constexpr bool operator==(const conv2d_options&, const conv2d_options&) = default;
};

namespace detail {

/// The same as a node keeps it.
struct conv2d_attributes {
    int stride_h = 1, stride_w = 1;
    tenon::padding::rule padding = tenon::padding::rule::valid;
    int top = 0, bottom = 0, left = 0, right = 0;
    int dilation_h = 1, dilation_w = 1;
    int groups = 1;

    constexpr window_axis vertical() const noexcept { return {padding, stride_h, dilation_h, top, bottom}; }
    constexpr window_axis horizontal() const noexcept { return {padding, stride_w, dilation_w, left, right}; }
};

constexpr conv2d_attributes attributes_of(const conv2d_options& o) noexcept {
    const padding& p = o.padding;
    return {o.stride.height, o.stride.width,    p.kind,           p.top,   p.bottom, p.left,
            p.right,         o.dilation.height, o.dilation.width, o.groups};
}

constexpr fault convolution_operands(const conv2d_attributes& a, const tensor_type& x, const tensor_type& w) noexcept {
    if (!is_floating(x.element)) return fault::element_type_must_be_floating;
    if (w.element != x.element) return fault::element_types_differ;
    if (x.extents.rank() != 4 || w.extents.rank() != 4) return fault::rank_must_be_4;
    if (!a.vertical().possible() || !a.horizontal().possible() || a.groups < 1 ||
        a.padding == padding::rule::rounded_up) // pools' alone
        return fault::window_not_possible;
    return fault::none;
}

/// The image a convolution gives.
constexpr inferred infer_convolution(const conv2d_attributes& a, const tensor_type& x, const tensor_type& w) noexcept {
    if (const fault f = convolution_operands(a, x, w); f != fault::none) return f;
    const extent &channels = x.extents[3], &seen = w.extents[2], &outputs = w.extents[3];
    if (a.groups == 1) {
        const merged_extent m = equal_sizes(channels, seen);
        if (m.what != fault::none) return m.what == fault::sizes_differ ? fault::channels_differ : m.what;
    } else {
        if (channels.is_number() && channels.size % a.groups != 0) return fault::channels_not_divisible_by_groups;
        if (outputs.is_number() && outputs.size % a.groups != 0) return fault::channels_not_divisible_by_groups;
        const merged_extent all = multiply_size(seen, a.groups);
        if (all.what != fault::none) return all.what;
        if (channels.is_number() && all.size.is_number() && !(channels == all.size)) return fault::channels_differ;
    }
    const merged_extent rows = a.vertical().windows(x.extents[1], w.extents[0]);
    if (rows.what != fault::none) return rows.what;
    const merged_extent columns = a.horizontal().windows(x.extents[2], w.extents[1]);
    if (columns.what != fault::none) return columns.what;
    return inferred(x.element, extents{x.extents[0], rows.size, columns.size, outputs});
}

/// Of a convolution that gives y with windows w, and of both its gradients.
inline double convolution_operations(const tensor_type& w, const tensor_type& y) {
    const double per_output = static_cast<double>(w.extents[0].size) * static_cast<double>(w.extents[1].size) *
                              static_cast<double>(w.extents[2].size);
    return 2 * per_output * static_cast<double>(y.extents.elements());
}

/// The gradient dy fits the convolution of x and w.
constexpr fault gradient_fits(const conv2d_attributes& a, const tensor_type& x, const tensor_type& w,
                              const tensor_type& dy) {
    const inferred y = infer_convolution(a, x, w);
    if (!y) return y.what;
    if (dy.element != y.type.element) return fault::element_types_differ;
    return equal_shapes(y.type.extents, dy.extents).what == fault::none ? fault::none : fault::gradient_shape_differs;
}

} // namespace detail

struct conv2d_op {
    static constexpr const char* name = "conv2d";
    static constexpr const char* with_bias = "conv2d_bias";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = detail::conv2d_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return in.size() == 2 ? detail::infer_convolution(a, in[0], in[1]) : inferred(fault::expects_more_operands);
    }
    static double operations(const attributes&, type_list in, type_list out) {
        return detail::convolution_operations(in[1], out[0]);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(convolution, conv2d);

/// in: x, w, bias [outputs]. conv2d(x, w) + bias, or max(that, 0), in one pass. The planner makes it of a convolution
/// and what follows it.
struct conv2d_bias_op {
    static constexpr const char* name = "conv2d_bias";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        detail::conv2d_attributes convolution;
        bool relu = false;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        const inferred r = detail::infer_convolution(a.convolution, in[0], in[1]);
        if (!r) return r;
        if (in[2].element != r.type.element) return fault::element_types_differ;
        if (in[2].extents.rank() != 1) return in[2].extents.rank() < 1 ? fault::rank_too_low : fault::rank_too_high;
        const merged_extent m = equal_sizes(r.type.extents[3], in[2].extents[0]);
        if (m.what != fault::none) return m.what == fault::sizes_differ ? fault::channels_differ : m.what;
        extents sizes = r.type.extents;
        sizes[3] = m.size;
        return inferred(r.type.element, sizes);
    }
    static double operations(const attributes&, type_list in, type_list out) {
        return detail::convolution_operations(in[1], out[0]);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(convolution, conv2d_bias);

/// in: dy, w, and x for its sizes. The gradient of conv2d in x.
struct conv2d_backward_input_op {
    static constexpr const char* name = "conv2d_backward_input";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = detail::conv2d_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        const fault f = detail::gradient_fits(a, in[2], in[1], in[0]);
        return f == fault::none ? inferred(in[2]) : inferred(f);
    }
    static double operations(const attributes&, type_list in, type_list) {
        return detail::convolution_operations(in[1], in[0]);
    }
    static constexpr bool needs_value(const attributes&, int input) { return input != 2; }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(convolution, conv2d_backward_input);

/// in: x, dy, and w for its sizes. The gradient of conv2d in w; and its second output, if asked for, in a bias
/// [outputs]: the sum of dy over batch, height and width.
struct conv2d_backward_filter_op {
    static constexpr const char* name = "conv2d_backward_filter";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        detail::conv2d_attributes convolution;
        bool bias = false;
    };
    static constexpr int outputs(const attributes& a, int) { return a.bias ? 2 : 1; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 3) return fault::expects_more_operands;
        if (const fault f = detail::gradient_fits(a.convolution, in[0], in[2], in[1]); f != fault::none) return f;
        return output == 0 ? inferred(in[2]) : inferred(in[2].element, extents{in[2].extents[3]});
    }
    static double operations(const attributes&, type_list in, type_list) {
        return detail::convolution_operations(in[2], in[1]);
    }
    static constexpr bool needs_value(const attributes&, int input) { return input != 2; }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(convolution, conv2d_backward_filter);

/// in: x [batch, height, width, channels], w [rows, columns, outputs / groups, channels]. What conv2d with these
/// attributes does to gradients: an image of height * stride (same padding), or (height - 1) * stride + reach of the
/// window - padding.
struct conv2d_transpose_op {
    static constexpr const char* name = "conv2d_transpose";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = detail::conv2d_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        const tensor_type &x = in[0], &w = in[1];
        if (const fault f = detail::convolution_operands(a, x, w); f != fault::none) return f;
        const merged_extent m = equal_sizes(x.extents[3], w.extents[3]);
        if (m.what != fault::none) return m.what == fault::sizes_differ ? fault::channels_differ : m.what;
        if (m.size.is_number() && m.size.size % a.groups != 0) return fault::channels_not_divisible_by_groups;
        const merged_extent rows = a.vertical().image(x.extents[1], w.extents[0]);
        if (rows.what != fault::none) return rows.what;
        const merged_extent columns = a.horizontal().image(x.extents[2], w.extents[1]);
        if (columns.what != fault::none) return columns.what;
        const merged_extent outputs = multiply_size(w.extents[2], a.groups);
        if (outputs.what != fault::none) return outputs.what;
        return inferred(x.element, extents{x.extents[0], rows.size, columns.size, outputs.size});
    }
    static double operations(const attributes&, type_list in, type_list) {
        return detail::convolution_operations(in[1], in[0]);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(convolution, conv2d_transpose);

/// The convolution of images x with windows w.
template <conv2d_options Options = conv2d_options{}, OperandOrIllShaped X, OperandOrIllShaped W>
auto conv2d(const X& x, const W& w, called_from here = caller()) {
    const making made(here);
    return apply_op<conv2d_op, detail::attributes_of(Options)>(x, w);
}
/// conv2d<2, same>(x, w): with a stride, and a padding.
template <int Stride, padding Padding = valid, OperandOrIllShaped X, OperandOrIllShaped W>
auto conv2d(const X& x, const W& w, called_from here = caller()) {
    const making made(here);
    return apply_op<conv2d_op, detail::attributes_of(conv2d_options{Stride, Padding, 1, 1})>(x, w);
}

/// The transposed convolution ("deconvolution"): makes images larger by the stride. w: [rows, columns, outputs /
/// groups, channels].
template <conv2d_options Options = conv2d_options{}, OperandOrIllShaped X, OperandOrIllShaped W>
auto conv2d_transpose(const X& x, const W& w, called_from here = caller()) {
    const making made(here);
    return apply_op<conv2d_transpose_op, detail::attributes_of(Options)>(x, w);
}
template <int Stride, padding Padding = valid, OperandOrIllShaped X, OperandOrIllShaped W>
auto conv2d_transpose(const X& x, const W& w, called_from here = caller()) {
    const making made(here);
    return apply_op<conv2d_transpose_op, detail::attributes_of(conv2d_options{Stride, Padding, 1, 1})>(x, w);
}

namespace untyped {
any_tensor conv2d(const any_tensor& x, const any_tensor& w, const conv2d_options& o = {}, called_from here = caller());
any_tensor conv2d_transpose(const any_tensor& x, const any_tensor& w, const conv2d_options& o = {},
                            called_from here = caller());
any_tensor conv2d_bias(const any_tensor& x, const any_tensor& w, const any_tensor& bias, bool relu,
                       const conv2d_options& o = {}, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_convolution)

#include <cmath>
#include <optional>

#include <tenon/dense/convolution.hpp>
#include <tenon/op/widened.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor conv2d(const any_tensor& x, const any_tensor& w, const conv2d_options& o, called_from here) {
    return tenon::add<conv2d_op>(detail::attributes_of(o), {x, w}, here);
}
TENON_INLINE any_tensor conv2d_transpose(const any_tensor& x, const any_tensor& w, const conv2d_options& o,
                                         called_from here) {
    return tenon::add<conv2d_transpose_op>(detail::attributes_of(o), {x, w}, here);
}
TENON_INLINE any_tensor conv2d_bias(const any_tensor& x, const any_tensor& w, const any_tensor& bias, bool relu,
                                    const conv2d_options& o, called_from here) {
    return tenon::add<conv2d_bias_op>({detail::attributes_of(o), relu}, {x, w, bias}, here);
}
} // namespace untyped

TENON_INLINE void conv2d_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    const any_tensor dy = g.output_gradient();
    g.set(0, tenon::add<conv2d_backward_input_op>(a, {dy, g.input(1), g.input(0)}));
    g.set(1, tenon::add<conv2d_backward_filter_op>({a, false}, {g.input(0), dy, g.input(1)}));
}

TENON_INLINE void conv2d_bias_op::gradient(gradient_context& g) {
    using namespace untyped;
    const auto a = g.attributes<attributes>();
    any_tensor dy = g.output_gradient();
    if (a.relu) {
        const any_tensor zero = scalar(0, dy.element());
        dy = select(greater(g.output(), zero), dy, zero);
    }
    g.set(0, tenon::add<conv2d_backward_input_op>(a.convolution, {dy, g.input(1), g.input(0)}));
    node* n = add_node(definition_of<conv2d_backward_filter_op>(), {g.input(0), dy, g.input(1)},
                       encode(conv2d_backward_filter_op::attributes{a.convolution, true}));
    g.set(1, any_tensor({n, 0}));
    g.set(2, any_tensor({n, 1}));
}

// The product is linear in dy, w and x, so its gradients are products of the same three kinds.
TENON_INLINE void conv2d_backward_input_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    const any_tensor h = g.output_gradient();
    g.set(0, tenon::add<conv2d_op>(a, {h, g.input(1)}));
    g.set(1, tenon::add<conv2d_backward_filter_op>({a, false}, {h, g.input(0), g.input(1)}));
}
TENON_INLINE void conv2d_backward_filter_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    any_tensor ddy;
    if (const any_tensor& h = g.output_gradient(0); h.node()) {
        g.set(0, tenon::add<conv2d_backward_input_op>(a.convolution, {g.input(1), h, g.input(0)}));
        ddy = tenon::add<conv2d_op>(a.convolution, {g.input(0), h});
    }
    if (a.bias && g.output_gradient(1).node()) { // the sum's: repeated for every pixel
        const any_tensor& h = g.output_gradient(1);
        ddy = untyped::add(ddy.node() ? ddy : untyped::multiply(g.input(1), 0.0), h);
    }
    g.set(1, ddy);
}
TENON_INLINE void conv2d_transpose_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    const any_tensor dy = g.output_gradient();
    g.set(0, tenon::add<conv2d_op>(a, {dy, g.input(1)}));
    g.set(1, tenon::add<conv2d_backward_filter_op>({a, false}, {dy, g.input(0), g.input(1)}));
}

namespace detail {

/// The dense product for an image x, windows w and a result y of numbers.
inline dense::convolution_description describe(const conv2d_attributes& a, const extents& x, const extents& w,
                                               const extents& y, element_type e, int threads) {
    const window_axis::amounts v = a.vertical().padding_of(x[1].size, w[0].size);
    const window_axis::amounts h = a.horizontal().padding_of(x[2].size, w[1].size);
    dense::convolution_description d;
    d.batch = x[0].size;
    d.height = x[1].size;
    d.width = x[2].size;
    d.in_channels = x[3].size;
    d.kernel_h = w[0].size;
    d.kernel_w = w[1].size;
    d.out_channels = w[3].size;
    d.stride_h = a.stride_h;
    d.stride_w = a.stride_w;
    d.dilation_h = a.dilation_h;
    d.dilation_w = a.dilation_w;
    d.pad_top = v.before;
    d.pad_bottom = v.after;
    d.pad_left = h.before;
    d.pad_right = h.after;
    d.groups = a.groups;
    d.element = compute_type(e);
    d.threads = threads;
    if (x.elements() > 0 && y.elements() > 0 && (d.out_height() != y[1].size || d.out_width() != y[2].size))
        throw internal_error("conv2d: " + to_string(x) + " gives " + std::to_string(d.out_height()) + " x " +
                             std::to_string(d.out_width()) + ", not " + to_string(y));
    return d;
}

/// What the three products share. Without elements anywhere there is no product: results are zero.
template <class Product> struct convolution_kernel : kernel {
    convolution_kernel(const kernel_setup& s, const dense::convolution_description& d, widened_arrays arrays) :
        memory(arrays) {
        double products = static_cast<double>(d.batch) * static_cast<double>(d.out_channels);
        for (const std::int64_t n : {d.out_height(), d.out_width(), d.kernel_h, d.kernel_w, d.in_channels / d.groups})
            products *= static_cast<double>(n);
        nanoseconds = 500 + std::abs(products) / 100;
        bool empty = products == 0;
        for (const tensor_type& t : s.inputs) empty = empty || t.extents.elements() == 0;
        for (const tensor_type& t : s.outputs) empty = empty || t.extents.elements() == 0;
        if (empty) return;
        dense::convolution_description counted = d;
        counted.memory = s.memory;
        product.emplace(counted);
    }
    std::size_t scratch_bytes() const override { return memory.scratch_bytes(); }
    double cost() const override { return nanoseconds; }

    widened_arrays memory;
    std::optional<Product> product;
    double nanoseconds;
};

struct conv2d_kernel final : convolution_kernel<dense::convolution> {
    conv2d_kernel(const kernel_setup& s, const conv2d_attributes& a, dense::epilogue after) :
        convolution_kernel(s,
                           with(describe(a, s.inputs[0].extents, s.inputs[1].extents, s.outputs[0].extents,
                                         s.outputs[0].element, s.threads),
                                after),
                           widened_arrays(s)),
        last(s.outputs[0].extents[3].size),
        rows(last == 0 ? 0 : s.outputs[0].extents.elements() / last),
        adds_bias(dense::adds_bias(after)),
        clips(dense::clips(after)) {}
    static dense::convolution_description with(dense::convolution_description d, dense::epilogue after) {
        d.after = after;
        return d;
    }
    void run(const kernel_run& r) override {
        const widened_run m(memory, r);
        if (product) product->run(m.input(0), m.input(1), adds_bias ? m.input(2) : nullptr, m.output(0), r.pool);
        else if (memory.compute() == element_type::float32) fill<float>(m);
        else fill<double>(m);
        m.finish();
    }
    template <class T> void fill(const widened_run& m) const { // an empty sum, and the bias
        T* y = static_cast<T*>(m.output(0));
        const T* bias = adds_bias ? static_cast<const T*>(m.input(2)) : nullptr;
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t k = 0; k < last; ++k) {
                const T b = bias ? bias[k] : T(0);
                y[i * last + k] = clips && !(b > 0) ? T(0) : b;
            }
    }
    std::int64_t last, rows;
    bool adds_bias, clips;
};

struct conv2d_backward_input_kernel final : convolution_kernel<dense::convolution_backward_data> {
    conv2d_backward_input_kernel(const kernel_setup& s, const dense::convolution_description& d) :
        convolution_kernel(s, d, widened_arrays(s, 2)) {}
    void run(const kernel_run& r) override {
        const widened_run m(memory, r);
        if (product) product->run(m.input(0), m.input(1), m.output(0), r.pool);
        else m.clear(0);
        m.finish();
    }
};

struct conv2d_backward_filter_kernel final : convolution_kernel<dense::convolution_backward_weights> {
    conv2d_backward_filter_kernel(const kernel_setup& s, const dense::convolution_description& d, bool with_bias) :
        convolution_kernel(s, d, widened_arrays(s, 2)),
        bias(with_bias),
        last(d.out_channels),
        rows(d.out_channels == 0 ? 0 : s.inputs[1].extents.elements() / d.out_channels) {}
    void run(const kernel_run& r) override {
        const widened_run m(memory, r);
        if (!r.out[0] && (!bias || !r.out[1])) return;
        if (!r.out[0]) {
            if (memory.compute() == element_type::float32) sum_only<float>(m);
            else sum_only<double>(m);
        } else if (product) product->run(m.input(0), m.input(1), m.output(0), bias ? m.output(1) : nullptr, r.pool);
        else {
            m.clear(0);
            if (bias) memory.compute() == element_type::float32 ? sum_only<float>(m) : sum_only<double>(m);
        }
        m.finish();
    }
    template <class T> void sum_only(const widened_run& m) const {
        T* sums = static_cast<T*>(m.output(1));
        const T* dy = static_cast<const T*>(m.input(1));
        m.clear(1);
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t k = 0; k < last; ++k) sums[k] += dy[i * last + k];
    }
    bool bias;
    std::int64_t last, rows;
};

} // namespace detail

TENON_INLINE kernel_pointer conv2d_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::conv2d_kernel>(s, decode<attributes>(s.attrs), dense::epilogue::none);
}
TENON_INLINE kernel_pointer conv2d_bias_op::prepare(const kernel_setup& s) {
    const auto a = decode<attributes>(s.attrs);
    return std::make_unique<detail::conv2d_kernel>(s, a.convolution,
                                                   a.relu ? dense::epilogue::bias_relu : dense::epilogue::bias);
}
TENON_INLINE kernel_pointer conv2d_backward_input_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::conv2d_backward_input_kernel>(
        s, detail::describe(decode<attributes>(s.attrs), s.inputs[2].extents, s.inputs[1].extents, s.inputs[0].extents,
                            s.outputs[0].element, s.threads));
}
TENON_INLINE kernel_pointer conv2d_backward_filter_op::prepare(const kernel_setup& s) {
    const auto a = decode<attributes>(s.attrs);
    return std::make_unique<detail::conv2d_backward_filter_kernel>(
        s,
        detail::describe(a.convolution, s.inputs[0].extents, s.inputs[2].extents, s.inputs[1].extents,
                         s.outputs[0].element, s.threads),
        a.bias);
}
TENON_INLINE kernel_pointer conv2d_transpose_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::conv2d_backward_input_kernel>(
        s, detail::describe(decode<attributes>(s.attrs), s.outputs[0].extents, s.inputs[1].extents, s.inputs[0].extents,
                            s.outputs[0].element, s.threads));
}

} // namespace tenon

#endif
