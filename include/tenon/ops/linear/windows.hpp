#pragma once

#include <vector>

#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/linear/pooling.hpp>

/// Convolutions and pools in one dimension and in three, made of those of images (convolution.hpp, pooling.hpp), so that they run where
/// those do, with their element types and gradients.
///
///     auto y = tn::conv1d(x, w);                        // [b, 100, 8] and [5, 8, 16] -> [b, 96, 16]
///     auto y = tn::conv1d<2, tn::same>(x, w);           // -> [b, 50, 16]
///     auto c = tn::conv1d<tn::conv1d_options{.padding = tn::pad(0, 0, 8, 0), .dilation = 2}>(x, w); // causal: [b, 100, 16]
///     auto u = tn::conv1d_transpose<2>(y, v);           // makes longer by the stride; v: [size, outputs, channels]
///     auto v = tn::conv3d<1, tn::same>(video, w);       // [b, 8, 28, 28, 3] and [3, 3, 3, 3, 16] -> [b, 8, 28, 28, 16]
///     auto m = tn::max_pool1d<2>(x);                    // [b, 100, 8] -> [b, 50, 8]
///     auto a = tn::average_pool3d<2>(v);                // [b, 8, 28, 28, 16] -> [b, 4, 14, 14, 16]
///
/// In one dimension x is [batch, length, channels], w [size, channels / groups, outputs], and of a padding what it says of columns counts:
/// pad(2) is 2 before and after, pad(0, 0, 4, 0) is 4 before. In three x is [batch, depth, height, width, channels], w
/// [depths, rows, columns, channels / groups, outputs], as conv2d's w with a dimension before; a padding of images, as pad(1), adds no planes, pad_volume(1) does:
///
///     y[b, i, j, k, o] = sum over p, q, r, c of x[b, i * stride + p * dilation - front, .., c] * w[p, q, r, c, o]

namespace tenon {

/// How a window moves along a line.
struct conv1d_options {
    int stride = 1;
    tenon::padding padding = valid;
    int dilation = 1;
    int groups = 1;
    friend constexpr bool operator==(const conv1d_options&, const conv1d_options&) = default;
};
/// Stride 0: as far as the window is long.
struct pool1d_options {
    int window = 2;
    int stride = 0;
    tenon::padding padding = valid;
    bool ceil_mode = false; ///< as pool2d_options has it
    int dilation = 1;
    friend constexpr bool operator==(const pool1d_options&, const pool1d_options&) = default;
};

/// A number for each of depth, height and width; one alone stands for all.
struct depth_height_width {
    int depth = 1, height = 1, width = 1;
    constexpr depth_height_width(int all) :
        depth(all), height(all), width(all) {} // NOLINT: a number is three equal ones
    constexpr depth_height_width(int d, int h, int w) : depth(d), height(h), width(w) {}
    friend constexpr bool operator==(const depth_height_width&, const depth_height_width&) = default;
};
/// A padding with numbers of planes before and after: `valid` and `same` are those of images in depth too; pad(rows, columns) has none.
struct volume_padding {
    padding plane;
    int front = 0, back = 0;
    constexpr volume_padding(padding p) : plane(p) {} // NOLINT: an image's is a volume's
    constexpr volume_padding(padding p, int before, int after) : plane(p), front(before), back(after) {}
    friend constexpr bool operator==(const volume_padding&, const volume_padding&) = default;
};
constexpr volume_padding pad_volume(int depth, int rows, int columns) { return {pad(rows, columns), depth, depth}; }
constexpr volume_padding pad_volume(int all) { return pad_volume(all, all, all); }

/// How a window moves in a volume.
struct conv3d_options {
    depth_height_width stride = 1;
    volume_padding padding = valid;
    depth_height_width dilation = 1;
    int groups = 1;
    friend constexpr bool operator==(const conv3d_options&, const conv3d_options&) = default;
};
/// Stride 0: as far as the window is large.
struct pool3d_options {
    depth_height_width window = 2;
    depth_height_width stride = 0;
    volume_padding padding = valid;
    bool ceil_mode = false; ///< as pool2d_options has it
    depth_height_width dilation = 1;
    friend constexpr bool operator==(const pool3d_options&, const pool3d_options&) = default;
};

namespace detail {

inline constexpr char rank_must_be_3[] = "rank must be 3 (batch, length, channels; size, channels, outputs)";
inline constexpr char rank_must_be_5[] = "rank must be 5 (batch, depth, height, width, channels)";
inline constexpr char depth_must_be_known[] =
    "depth, and of a convolution with groups the number of channels, must be numbers";
inline constexpr char volume_must_be_known[] = "height, width, and one of batch and depth must be numbers";
inline constexpr char no_planes[] = "a volume has no planes";

constexpr padding along_columns(padding p) {
    p.top = p.bottom = 0;
    return p;
}
constexpr conv2d_attributes attributes_of(const conv1d_options& o) noexcept {
    return attributes_of(conv2d_options{{1, o.stride}, along_columns(o.padding), {1, o.dilation}, o.groups});
}
constexpr pool2d_attributes attributes_of(const pool1d_options& o, bool average) noexcept {
    return attributes_of(pool2d_options{{1, o.window},
                                        {1, o.stride == 0 ? o.window : o.stride},
                                        along_columns(o.padding),
                                        o.ceil_mode,
                                        {1, o.dilation}},
                         average);
}
constexpr conv2d_attributes plane_of(const conv3d_options& o) noexcept {
    return attributes_of(conv2d_options{
        {o.stride.height, o.stride.width}, o.padding.plane, {o.dilation.height, o.dilation.width}, o.groups});
}
constexpr window_axis depth_of(const conv3d_options& o) noexcept {
    return {o.padding.plane.kind, o.stride.depth, o.dilation.depth, o.padding.front, o.padding.back};
}
constexpr pool2d_attributes plane_of(const pool3d_options& o, bool average) noexcept {
    const depth_height_width &w = o.window, &s = o.stride;
    return attributes_of(pool2d_options{{w.height, w.width},
                                        {s.height ? s.height : w.height, s.width ? s.width : w.width},
                                        o.padding.plane,
                                        o.ceil_mode,
                                        {o.dilation.height, o.dilation.width}},
                         average);
}
/// Of [batch, depth, height * width, channels].
constexpr pool2d_attributes depth_of(const pool3d_options& o, bool average) noexcept {
    padding p = o.padding.plane;
    p.left = p.right = 0;
    p.top = o.padding.front;
    p.bottom = o.padding.back;
    return attributes_of(pool2d_options{{o.window.depth, 1},
                                        {o.stride.depth ? o.stride.depth : o.window.depth, 1},
                                        p,
                                        o.ceil_mode,
                                        {o.dilation.depth, 1}},
                         average);
}

/// x with a dimension of 1 at `axis`, or without it.
constexpr tensor_type with_one(tensor_type t, int axis) {
    t.extents.insert(axis, 1);
    return t;
}
constexpr inferred without_one(inferred r, int axis) {
    if (r) r.type.extents.erase(axis);
    return r;
}

template <bool Transpose> struct conv1d_rule {
    static constexpr const char* name = Transpose ? "conv1d_transpose" : "conv1d";
    static constexpr inferred infer(const conv1d_options& o, type_list in, int) {
        if (in[0].extents.rank() != 3 || in[1].extents.rank() != 3) return rank_must_be_3;
        const tensor_type both[] = {with_one(in[0], 1), with_one(in[1], 0)};
        const conv2d_attributes a = attributes_of(o);
        return without_one(Transpose ? conv2d_transpose_op::infer(a, type_list(both, 2), 0)
                                     : infer_convolution(a, both[0], both[1]),
                           1);
    }
};
template <bool Average> struct pool1d_rule {
    static constexpr const char* name = Average ? "average_pool1d" : "max_pool1d";
    static constexpr inferred infer(const pool1d_options& o, type_list in, int) {
        if (in[0].extents.rank() != 3) return rank_must_be_3;
        return without_one(infer_pool(attributes_of(o, Average), with_one(in[0], 1)), 1);
    }
};
template <bool Transpose> struct conv3d_rule {
    static constexpr const char* name = Transpose ? "conv3d_transpose" : "conv3d";
    static constexpr inferred infer(const conv3d_options& o, type_list in, int) {
        tensor_type x = in[0], w = in[1];
        if (x.extents.rank() != 5 || w.extents.rank() != 5) return rank_must_be_5;
        const extent depth = x.extents[1], depths = w.extents[0];
        if (!depth.is_number() || !depths.is_number() || (o.groups > 1 && !x.extents[4].is_number()))
            return depth_must_be_known;
        const window_axis along = depth_of(o);
        if (!along.possible()) return fault::window_not_possible;
        if (depth.size == 0) return no_planes;
        x.extents.erase(1);
        w.extents.erase(0);
        const tensor_type both[] = {x, w};
        inferred r = Transpose ? conv2d_transpose_op::infer(plane_of(o), type_list(both, 2), 0)
                               : infer_convolution(plane_of(o), x, w);
        if (!r) return r;
        const merged_extent planes = Transpose ? along.image(depth, depths) : along.windows(depth, depths);
        if (planes.what != fault::none) return planes.what;
        extents e = r.type.extents;
        e.insert(1, planes.size);
        return inferred(r.type.element, e);
    }
};
template <bool Average> struct pool3d_rule {
    static constexpr const char* name = Average ? "average_pool3d" : "max_pool3d";
    static constexpr inferred infer(const pool3d_options& o, type_list in, int) {
        const extents& x = in[0].extents;
        if (x.rank() != 5) return rank_must_be_5;
        if (!x[2].is_number() || !x[3].is_number() || (!x[0].is_number() && !x[1].is_number()))
            return volume_must_be_known;
        const merged_extent pixels = multiply_size(x[2], x[3].size);
        if (pixels.what != fault::none) return pixels.what;
        const inferred deep = infer_pool(depth_of(o, Average), {in[0].element, extents{x[0], x[1], pixels.size, x[4]}});
        if (!deep) return deep;
        const inferred flat = infer_pool(plane_of(o, Average), {in[0].element, extents{x[0], x[2], x[3], x[4]}});
        if (!flat) return flat;
        return inferred(in[0].element,
                        extents{x[0], deep.type.extents[1], flat.type.extents[1], flat.type.extents[2], x[4]});
    }
};

} // namespace detail

namespace untyped {
any_tensor conv1d(const any_tensor& x, const any_tensor& w, const conv1d_options& o = {}, called_from here = caller());
any_tensor conv1d_transpose(const any_tensor& x, const any_tensor& w, const conv1d_options& o = {},
                            called_from here = caller());
any_tensor conv3d(const any_tensor& x, const any_tensor& w, const conv3d_options& o = {}, called_from here = caller());
any_tensor conv3d_transpose(const any_tensor& x, const any_tensor& w, const conv3d_options& o = {},
                            called_from here = caller());
any_tensor max_pool1d(const any_tensor& x, const pool1d_options& o, called_from here = caller());
any_tensor average_pool1d(const any_tensor& x, const pool1d_options& o, called_from here = caller());
any_tensor max_pool3d(const any_tensor& x, const pool3d_options& o, called_from here = caller());
any_tensor average_pool3d(const any_tensor& x, const pool3d_options& o, called_from here = caller());
} // namespace untyped

// A function of x, or of x and w, that a rule judges by options, here, so that the complaint is short; its twin makes the result.
#define TENON_OF_ONE(OPTIONS, RULE, TWIN)                                                           \
    const making made(here);                                                                        \
    using how = detail::constant_attributes<OPTIONS>;                                               \
    using verdict = detail::verdict_of<detail::RULE, how, detail::operand_of_t<X>>;                 \
    static_assert(verdict::agree, "tenon: shapes do not agree");                                    \
    if constexpr (!verdict::fits) return ill_shaped{};                                              \
    else                                                                                            \
        return detail::op_result_t<detail::RULE, how, 0, void, detail::operand_of_t<X>>::unchecked( \
            untyped::TWIN(detail::as_tensor(x), OPTIONS))
#define TENON_OF_TWO(OPTIONS, RULE, TWIN)                                                                    \
    const making made(here);                                                                                 \
    using how = detail::constant_attributes<OPTIONS>;                                                        \
    using verdict = detail::verdict_of<detail::RULE, how, detail::operand_of_t<X>, detail::operand_of_t<W>>; \
    static_assert(verdict::agree, "tenon: shapes do not agree");                                             \
    if constexpr (!verdict::fits) return ill_shaped{};                                                       \
    else                                                                                                     \
        return detail::op_result_t<detail::RULE, how, 0, void, detail::operand_of_t<X>,                      \
                                   detail::operand_of_t<W>>::unchecked(untyped::TWIN(detail::as_tensor(x),   \
                                                                                     detail::as_tensor(w), OPTIONS))

/// The convolution of lines x with windows w.
template <conv1d_options Options = conv1d_options{}, OperandOrIllShaped X, OperandOrIllShaped W>
auto conv1d(const X& x, const W& w, called_from here = caller()) {
    TENON_OF_TWO(Options, conv1d_rule<false>, conv1d);
}
/// conv1d<2, same>(x, w): with a stride, and a padding.
template <int Stride, padding Padding = valid, OperandOrIllShaped X, OperandOrIllShaped W>
auto conv1d(const X& x, const W& w, called_from here = caller()) {
    TENON_OF_TWO((conv1d_options{Stride, Padding}), conv1d_rule<false>, conv1d);
}

/// The transposed convolution: makes lines longer by the stride, to length * stride (same), or (length - 1) * stride + reach of the window -
/// padding. w: [size, outputs / groups, channels].
template <conv1d_options Options = conv1d_options{}, OperandOrIllShaped X, OperandOrIllShaped W>
auto conv1d_transpose(const X& x, const W& w, called_from here = caller()) {
    TENON_OF_TWO(Options, conv1d_rule<true>, conv1d_transpose);
}
template <int Stride, padding Padding = valid, OperandOrIllShaped X, OperandOrIllShaped W>
auto conv1d_transpose(const X& x, const W& w, called_from here = caller()) {
    TENON_OF_TWO((conv1d_options{Stride, Padding}), conv1d_rule<true>, conv1d_transpose);
}

/// The convolution of volumes x with windows w, as one of images whose channels are those of all the planes that a window sees. x's and w's
/// depths are numbers.
template <conv3d_options Options = conv3d_options{}, OperandOrIllShaped X, OperandOrIllShaped W>
auto conv3d(const X& x, const W& w, called_from here = caller()) {
    TENON_OF_TWO(Options, conv3d_rule<false>, conv3d);
}
template <int Stride, padding Padding = valid, OperandOrIllShaped X, OperandOrIllShaped W>
auto conv3d(const X& x, const W& w, called_from here = caller()) {
    TENON_OF_TWO((conv3d_options{Stride, Padding}), conv3d_rule<false>, conv3d);
}

/// The transposed convolution of volumes. w: [depths, rows, columns, outputs / groups, channels].
template <conv3d_options Options = conv3d_options{}, OperandOrIllShaped X, OperandOrIllShaped W>
auto conv3d_transpose(const X& x, const W& w, called_from here = caller()) {
    TENON_OF_TWO(Options, conv3d_rule<true>, conv3d_transpose);
}
template <int Stride, padding Padding = valid, OperandOrIllShaped X, OperandOrIllShaped W>
auto conv3d_transpose(const X& x, const W& w, called_from here = caller()) {
    TENON_OF_TWO((conv3d_options{Stride, Padding}), conv3d_rule<true>, conv3d_transpose);
}

/// The largest element of each window of a line, channel by channel.
template <pool1d_options Options, OperandOrIllShaped X> auto max_pool1d(const X& x, called_from here = caller()) {
    TENON_OF_ONE(Options, pool1d_rule<false>, max_pool1d);
}
template <int Window, int Stride = Window, padding Padding = valid, OperandOrIllShaped X>
auto max_pool1d(const X& x, called_from here = caller()) {
    TENON_OF_ONE((pool1d_options{Window, Stride, Padding}), pool1d_rule<false>, max_pool1d);
}
/// The mean of each window, of its elements inside the line.
template <pool1d_options Options, OperandOrIllShaped X> auto average_pool1d(const X& x, called_from here = caller()) {
    TENON_OF_ONE(Options, pool1d_rule<true>, average_pool1d);
}
template <int Window, int Stride = Window, padding Padding = valid, OperandOrIllShaped X>
auto average_pool1d(const X& x, called_from here = caller()) {
    TENON_OF_ONE((pool1d_options{Window, Stride, Padding}), pool1d_rule<true>, average_pool1d);
}

/// The largest element of each window of a volume, channel by channel. Height, width and one of batch and depth are numbers. Of equal
/// largest elements the first (in row-major order) gets the gradient.
template <pool3d_options Options, OperandOrIllShaped X> auto max_pool3d(const X& x, called_from here = caller()) {
    TENON_OF_ONE(Options, pool3d_rule<false>, max_pool3d);
}
template <int Window, int Stride = Window, padding Padding = valid, OperandOrIllShaped X>
auto max_pool3d(const X& x, called_from here = caller()) {
    TENON_OF_ONE((pool3d_options{Window, Stride, Padding}), pool3d_rule<false>, max_pool3d);
}
/// The mean of each window of a volume, of its elements inside.
template <pool3d_options Options, OperandOrIllShaped X> auto average_pool3d(const X& x, called_from here = caller()) {
    TENON_OF_ONE(Options, pool3d_rule<true>, average_pool3d);
}
template <int Window, int Stride = Window, padding Padding = valid, OperandOrIllShaped X>
auto average_pool3d(const X& x, called_from here = caller()) {
    TENON_OF_ONE((pool3d_options{Window, Stride, Padding}), pool3d_rule<true>, average_pool3d);
}
#undef TENON_OF_ONE
#undef TENON_OF_TWO

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_windows)

#include <tenon/ops/elementwise/add_n.hpp>
#include <tenon/ops/linear/windows.inl>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/movement.hpp>

namespace tenon {

namespace untyped {

TENON_INLINE any_tensor conv1d(const any_tensor& x, const any_tensor& w, const conv1d_options& o, called_from here) {
    const making made(here);
    detail::check_operands<detail::conv1d_rule<false>>({x, w}, o);
    return squeeze(tenon::add<conv2d_op>(detail::attributes_of(o), {expand_dims(x, {1}), expand_dims(w, {0})}), {1});
}
TENON_INLINE any_tensor conv1d_transpose(const any_tensor& x, const any_tensor& w, const conv1d_options& o,
                                         called_from here) {
    const making made(here);
    detail::check_operands<detail::conv1d_rule<true>>({x, w}, o);
    return squeeze(
        tenon::add<conv2d_transpose_op>(detail::attributes_of(o), {expand_dims(x, {1}), expand_dims(w, {0})}), {1});
}
TENON_INLINE any_tensor max_pool1d(const any_tensor& x, const pool1d_options& o, called_from here) {
    const making made(here);
    detail::check_operands<detail::pool1d_rule<false>>({x}, o);
    return squeeze(tenon::add<max_pool2d_op>(detail::attributes_of(o, false), {expand_dims(x, {1})}), {1});
}
TENON_INLINE any_tensor average_pool1d(const any_tensor& x, const pool1d_options& o, called_from here) {
    const making made(here);
    detail::check_operands<detail::pool1d_rule<true>>({x}, o);
    return squeeze(tenon::add<average_pool2d_op>(detail::attributes_of(o, true), {expand_dims(x, {1})}), {1});
}
TENON_INLINE any_tensor max_pool3d(const any_tensor& x, const pool3d_options& o, called_from here) {
    const making made(here);
    const inferred r = detail::check_operands<detail::pool3d_rule<false>>({x}, o);
    return detail::pool_volume<max_pool2d_op>(x, o, false, r.type.extents);
}
TENON_INLINE any_tensor average_pool3d(const any_tensor& x, const pool3d_options& o, called_from here) {
    const making made(here);
    const inferred r = detail::check_operands<detail::pool3d_rule<true>>({x}, o);
    return detail::pool_volume<average_pool2d_op>(x, o, true, r.type.extents);
}

TENON_INLINE any_tensor conv3d(const any_tensor& x, const any_tensor& w, const conv3d_options& o, called_from here) {
    const making made(here);
    constexpr auto copied = reshape_op::copied;
    const extents result = detail::check_operands<detail::conv3d_rule<false>>({x, w}, o).type.extents;
    const detail::window_axis::amounts around =
        detail::depth_of(o).padding_of(x.extents()[1].size, w.extents()[0].size);
    const std::int64_t depths = w.extents()[0].size, planes = result[1].size, stride = o.stride.depth;
    const std::int64_t channels = x.extents()[4].size, groups = o.groups;
    const any_tensor padded =
        around.before + around.after == 0 ? x : pad(x, {margin{}, margin{around.before, around.after}});
    std::vector<any_tensor> seen; // by each of a window's planes
    for (std::int64_t p = 0; p < depths; ++p) {
        const std::int64_t first = p * o.dilation.depth;
        const range through{first, planes > 0 ? first + (planes - 1) * stride + 1 : first, stride};
        const any_tensor images = detail::as_images(slice(padded, {range{}, through}));
        seen.push_back(groups == 1
                           ? images
                           : detail::in_sizes(images, {copied(0), copied(1), copied(2), groups, channels / groups}));
    }
    any_tensor all = groups == 1 ? concat(seen, 3) : stack(seen, 4);
    if (groups > 1) all = detail::in_sizes(all, {copied(0), copied(1), copied(2), channels * depths});
    const any_tensor windows =
        detail::in_sizes(transpose(w, {1, 2, 0, 3, 4}), {copied(0), copied(1), reshape_op::deduced, copied(4)});
    const any_tensor y = tenon::add<conv2d_op>(detail::plane_of(o), {all, windows});
    return detail::as_volumes(y, x.extents()[0], result[1]);
}

TENON_INLINE any_tensor conv3d_transpose(const any_tensor& x, const any_tensor& w, const conv3d_options& o,
                                         called_from here) {
    const making made(here);
    constexpr auto copied = reshape_op::copied;
    const extents result = detail::check_operands<detail::conv3d_rule<true>>({x, w}, o).type.extents;
    const std::int64_t depths = w.extents()[0].size, depth = x.extents()[1].size, planes = result[1].size,
                       stride = o.stride.depth;
    const any_tensor images = detail::as_images(x);
    std::vector<any_tensor> parts; // of each of a window's planes: where it puts what each of x's planes gives
    for (std::int64_t p = 0; p < depths; ++p) {
        any_tensor y = tenon::add<conv2d_transpose_op>(detail::plane_of(o), {images, detail::plane(w, p)});
        y = detail::as_volumes(y, x.extents()[0], extent(depth));
        if (stride > 1) {
            const any_tensor apart = pad(expand_dims(y, {2}), {margin{}, margin{}, margin{0, stride - 1}});
            y = detail::in_sizes(apart, {copied(0), depth * stride, copied(3), copied(4), copied(5)});
        }
        const std::int64_t before = p * o.dilation.depth, after = (depths - 1 - p) * o.dilation.depth;
        parts.push_back(before + after == 0 ? y : pad(y, {margin{}, margin{before, after}}));
    }
    const std::int64_t front = detail::depth_of(o).padding_of(planes, depths).before;
    return slice(add_n(parts), {range{}, range{front, front + planes}});
}

} // namespace untyped

} // namespace tenon

#endif
