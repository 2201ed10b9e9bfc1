#pragma once

#include <algorithm>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/window.hpp>
#include <tenon/ops/reduce/reduction.hpp>

/// The largest element or the mean of the windows of an image, channel by channel. x: [batch, height, width, channels].
///
///     auto y = tn::max_pool2d<2>(x);                  // windows 2 x 2 side by side: [b, 28, 28, c] -> [b, 14, 14, c]
///     auto y = tn::max_pool2d<3, 2, tn::same>(x);     // 3 x 3, two apart, zeros around
///     auto y = tn::average_pool2d<tn::pool2d_options{.window = {2, 3}, .stride = 2, .padding = tn::pad(0, 1)}>(x);
///     auto y = tn::max_pool2d<tn::pool2d_options{.window = 2, .ceil_mode = true}>(x); // [b, 5, 5, c] -> [b, 3, 3, c]
///     auto y = tn::max_pool2d<tn::pool2d_options{.window = 3, .stride = 1, .padding = tn::same, .dilation = 2}>(x); // every other pixel
///     auto y = tn::global_average_pool(x);            // [b, h, w, c] -> [b, c]
///
/// What lies outside of the image takes no part: neither in the largest element nor in the count of a mean. (A dilated window that sees
/// nothing else gives -infinity or NaN.) Of equal
/// largest elements the first (in row-major order) gets the gradient. float, double, half, bfloat16.

namespace tenon {

/// How a pool's window moves; stride 0: as far as the window is large. `ceil_mode`: what is left over at the bottom and the right has a
/// window of its own, so that the number of windows is rounded up, not down; it begins inside the image or the padding before it. With
/// `same` padding nothing is left over.
struct pool2d_options {
    height_width window = 2;
    height_width stride = 0;
    tenon::padding padding = valid;
    bool ceil_mode = false;
    height_width dilation = 1; ///< pixels from one that a window sees to the next
    friend constexpr bool operator==(const pool2d_options&, const pool2d_options&) = default;
};

namespace detail {

struct pool2d_attributes {
    bool average = false;
    int window_h = 1, window_w = 1;
    int stride_h = 1, stride_w = 1;
    tenon::padding::rule padding = tenon::padding::rule::valid;
    int top = 0, bottom = 0, left = 0, right = 0;
    int dilation_h = 1, dilation_w = 1;

    constexpr window_axis vertical() const noexcept { return {padding, stride_h, dilation_h, top, bottom}; }
    constexpr window_axis horizontal() const noexcept { return {padding, stride_w, dilation_w, left, right}; }
};

constexpr pool2d_attributes attributes_of(const pool2d_options& o, bool average) noexcept {
    const padding& p = o.padding;
    return {average,
            o.window.height,
            o.window.width,
            o.stride.height == 0 ? o.window.height : o.stride.height,
            o.stride.width == 0 ? o.window.width : o.stride.width,
            o.ceil_mode && p.kind != padding::rule::same ? padding::rule::rounded_up : p.kind,
            p.top,
            p.bottom,
            p.left,
            p.right,
            o.dilation.height,
            o.dilation.width};
}

constexpr inferred infer_pool(const pool2d_attributes& a, const tensor_type& x) noexcept {
    if (!is_floating(x.element)) return fault::element_type_must_be_floating;
    if (x.extents.rank() != 4) return fault::rank_must_be_4;
    if (!a.vertical().possible() || !a.horizontal().possible()) return fault::window_not_possible;
    // Every window must meet the image.
    const checked_size down = a.vertical().reach(a.window_h), across = a.horizontal().reach(a.window_w);
    if ((a.padding == padding::rule::given || a.padding == padding::rule::rounded_up) &&
        (std::max(a.top, a.bottom) >= down.saturated() || std::max(a.left, a.right) >= across.saturated()))
        return fault::window_not_possible;
    const merged_extent rows = a.vertical().windows(x.extents[1], extent(a.window_h));
    if (rows.what != fault::none) return rows.what;
    const merged_extent columns = a.horizontal().windows(x.extents[2], extent(a.window_w));
    if (columns.what != fault::none) return columns.what;
    // A window of an image without pixels would see nothing but padding.
    if ((x.extents[1] == extent(0) && !(rows.size == extent(0))) ||
        (x.extents[2] == extent(0) && !(columns.size == extent(0))))
        return fault::image_without_pixels;
    return inferred(x.element, extents{x.extents[0], rows.size, columns.size, x.extents[3]});
}

/// Of x, y and a third tensor of its element type: y's type, where y has it.
constexpr inferred infer_pooled(const pool2d_attributes& a, type_list in) noexcept {
    if (in.size() != 3) return fault::expects_more_operands;
    const inferred y = infer_pool(a, in[0]);
    if (!y) return y;
    for (int i = 1; i < 3; ++i)
        if (in[i].element != in[0].element) return fault::element_types_differ;
    if (equal_shapes(y.type.extents, in[1].extents).what != fault::none) return fault::gradient_shape_differs;
    return y;
}

} // namespace detail

namespace detail {
struct was_never_dilated {
    static void of_before(const graph&, node& n) {
        for (const char* name : {"dilation_h", "dilation_w"})
            if (!n.attributes.find(name)) n.attributes.set(name, std::int64_t{1});
    }
};
} // namespace detail

/// in: x.
struct max_pool2d_op : detail::was_never_dilated {
    static constexpr const char* name = "max_pool2d";
    using attributes = detail::pool2d_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return in.size() == 1 ? detail::infer_pool(a, in[0]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(pooling, max_pool2d);

/// in: x.
struct average_pool2d_op : detail::was_never_dilated {
    static constexpr const char* name = "average_pool2d";
    using attributes = detail::pool2d_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return in.size() == 1 ? detail::infer_pool(a, in[0]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(pooling, average_pool2d);

/// in: x, y = pool(x), dy. For a mean only dy's values and x's sizes matter.
struct pool2d_gradient_op : detail::was_never_dilated {
    static constexpr const char* name = "pool2d_gradient";
    static constexpr op_flags flags = op_flags::spreads; // where it reads x: of a largest element
    using attributes = detail::pool2d_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        const inferred y = detail::infer_pooled(a, in);
        if (!y) return y;
        if (equal_shapes(y.type.extents, in[2].extents).what != fault::none) return fault::gradient_shape_differs;
        return in[0];
    }
    static constexpr bool needs_value(const attributes& a, int input) { return !a.average || input == 2; }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(pooling, pool2d_gradient);

/// in: x, y = max_pool2d(x), h of x's sizes. For each window the element of h that lies where its largest does.
struct max_pool2d_pick_op : detail::was_never_dilated {
    static constexpr const char* name = "max_pool2d_pick";
    using attributes = detail::pool2d_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        const inferred y = detail::infer_pooled(a, in);
        if (y && equal_shapes(in[0].extents, in[2].extents).what != fault::none) return fault::gradient_shape_differs;
        return y;
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(pooling, max_pool2d_pick);

namespace detail {
struct global_average_pool_rule {
    static constexpr const char* name = "global_average_pool";
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (in[0].extents.rank() != 4) return fault::rank_must_be_4;
        return inferred(in[0].element, extents{in[0].extents[0], in[0].extents[3]});
    }
};
} // namespace detail

/// The largest element of each window.
template <pool2d_options Options, OperandOrIllShaped X> auto max_pool2d(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<max_pool2d_op, detail::attributes_of(Options, false)>(x);
}
template <int Window, int Stride = Window, padding Padding = valid, OperandOrIllShaped X>
auto max_pool2d(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<max_pool2d_op, detail::attributes_of(pool2d_options{Window, Stride, Padding}, false)>(x);
}
/// The mean of each window, of its elements inside the image.
template <pool2d_options Options, OperandOrIllShaped X> auto average_pool2d(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<average_pool2d_op, detail::attributes_of(Options, true)>(x);
}
template <int Window, int Stride = Window, padding Padding = valid, OperandOrIllShaped X>
auto average_pool2d(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<average_pool2d_op, detail::attributes_of(pool2d_options{Window, Stride, Padding}, true)>(x);
}
/// The mean of each channel of each image: [batch, channels].
template <OperandOrIllShaped X> auto global_average_pool(const X& x, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::global_average_pool_rule, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return mean<1, 2>(x);
}

namespace untyped {
any_tensor max_pool2d(const any_tensor& x, const pool2d_options& o, called_from here = caller());
any_tensor average_pool2d(const any_tensor& x, const pool2d_options& o, called_from here = caller());
any_tensor global_average_pool(const any_tensor& x, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_pooling)

#include <tenon/core/error.hpp>
#include <tenon/dense/pooling/pooling.hpp>
#include <tenon/op/widened.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor max_pool2d(const any_tensor& x, const pool2d_options& o, called_from here) {
    return tenon::add<max_pool2d_op>(detail::attributes_of(o, false), {x}, here);
}
TENON_INLINE any_tensor average_pool2d(const any_tensor& x, const pool2d_options& o, called_from here) {
    return tenon::add<average_pool2d_op>(detail::attributes_of(o, true), {x}, here);
}
TENON_INLINE any_tensor global_average_pool(const any_tensor& x, called_from here) {
    const making made(here);
    detail::check_operands<detail::global_average_pool_rule>({x});
    return mean(x, {1, 2});
}
} // namespace untyped

TENON_INLINE void max_pool2d_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<pool2d_gradient_op>(g.attributes<attributes>(), {g.input(0), g.output(), g.output_gradient()}));
}
TENON_INLINE void average_pool2d_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<pool2d_gradient_op>(g.attributes<attributes>(), {g.input(0), g.output(), g.output_gradient()}));
}
TENON_INLINE void pool2d_gradient_op::gradient(gradient_context& g) {
    // Linear in dy; where the largest elements lie changes nowhere smoothly.
    const auto a = g.attributes<attributes>();
    const any_tensor h = g.output_gradient();
    g.set(2, a.average ? tenon::add<average_pool2d_op>(a, {h})
                       : tenon::add<max_pool2d_pick_op>(a, {g.input(0), g.input(1), h}));
}
TENON_INLINE void max_pool2d_pick_op::gradient(gradient_context& g) {
    g.set(2, tenon::add<pool2d_gradient_op>(g.attributes<attributes>(), {g.input(0), g.input(1), g.output_gradient()}));
}

namespace detail {

inline dense::pooling_description describe(const pool2d_attributes& a, const extents& x, element_type e) {
    const window_axis::amounts v = a.vertical().padding_of(x[1].size, a.window_h);
    const window_axis::amounts h = a.horizontal().padding_of(x[2].size, a.window_w);
    dense::pooling_description d;
    d.kind = a.average ? dense::pooling_kind::average : dense::pooling_kind::maximum;
    d.batch = x[0].size;
    d.height = x[1].size;
    d.width = x[2].size;
    d.channels = x[3].size;
    d.window_h = a.window_h;
    d.window_w = a.window_w;
    d.stride_h = a.stride_h;
    d.stride_w = a.stride_w;
    d.dilation_h = a.dilation_h;
    d.dilation_w = a.dilation_w;
    d.pad_top = v.before;
    d.pad_bottom = v.after;
    d.pad_left = h.before;
    d.pad_right = h.after;
    d.element = compute_type(e);
    return d;
}

/// What the kernels share; the pool's result has the sizes `y`, and an element of a window takes `ns`.
class pool2d_kernel : public kernel {
public:
    std::size_t scratch_bytes() const override { return memory_.scratch_bytes(); }
    double cost() const override {
        return 50 + ns_ * windows_ * static_cast<double>(description_.window_h * description_.window_w);
    }

protected:
    pool2d_kernel(const kernel_setup& s, const extents& y, double ns) :
        description_(describe(decode<pool2d_attributes>(s.attrs), s.inputs[0].extents, s.outputs[0].element)),
        memory_(s),
        windows_(static_cast<double>(y.elements())),
        ns_(ns) {
        if (windows_ > 0) dense::check(description_);
    }
    dense::pooling_description description_;
    widened_arrays memory_;
    double windows_;

private:
    double ns_;
};

struct pool2d_forward_kernel final : pool2d_kernel {
    explicit pool2d_forward_kernel(const kernel_setup& s) : pool2d_kernel(s, s.outputs[0].extents, 0.05) {}
    void run(const kernel_run& r) override {
        if (windows_ == 0 || !r.out[0]) return;
        const widened_run m(memory_, r);
        dense::pooling(description_, m.input(0), m.output(0), r.pool);
        m.finish();
    }
};

struct pool2d_gradient_kernel final : pool2d_kernel {
    explicit pool2d_gradient_kernel(const kernel_setup& s) : pool2d_kernel(s, s.inputs[2].extents, 0.1) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const widened_run m(memory_, r);
        const bool average = description_.kind == dense::pooling_kind::average;
        if (windows_ == 0) m.clear(0);
        else
            dense::pooling_backward(description_, average ? nullptr : m.input(0), average ? nullptr : m.input(1),
                                    m.input(2), m.output(0), r.pool);
        m.finish();
    }
    /// Where windows cover the image once each element is read before its gradient is written.
    bool may_share(int i, int) const override {
        const dense::pooling_description& d = description_;
        return i == 0 && windows_ > 0 && d.dilation_h == 1 && d.dilation_w == 1 && d.stride_h == d.window_h &&
               d.stride_w == d.window_w && d.height == d.out_height() * d.window_h &&
               d.width == d.out_width() * d.window_w && d.pad_top == 0 && d.pad_left == 0;
    }
};

struct max_pool2d_pick_kernel final : pool2d_kernel {
    explicit max_pool2d_pick_kernel(const kernel_setup& s) : pool2d_kernel(s, s.outputs[0].extents, 0.1) {}
    void run(const kernel_run& r) override {
        if (windows_ == 0 || !r.out[0]) return;
        const widened_run m(memory_, r);
        dense::pooling_pick(description_, m.input(0), m.input(1), m.input(2), m.output(0), r.pool);
        m.finish();
    }
};

} // namespace detail

TENON_KERNEL(max_pool2d, detail::pool2d_forward_kernel);
TENON_KERNEL(average_pool2d, detail::pool2d_forward_kernel);
TENON_KERNEL(pool2d_gradient, detail::pool2d_gradient_kernel);
TENON_KERNEL(max_pool2d_pick, detail::max_pool2d_pick_kernel);

} // namespace tenon

#endif
