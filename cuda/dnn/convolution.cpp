#include <cuda/dnn/convolution.hpp>

namespace tenon::cuda::dnn {

namespace {

// The padding behind an image of n pixels over which `count` windows move. The same as before it where the number of windows
// stays the same: most engines take only that.
std::int64_t padding_after(std::int64_t n, std::int64_t before, std::int64_t reach, std::int64_t stride,
                           std::int64_t count) {
    if (n + 2 * before >= reach && (n + 2 * before - reach) / stride + 1 == count) return before;
    const std::int64_t after = (count - 1) * stride + reach - n - before;
    return after < 0 ? 0 : after;
}

} // namespace

bool may_take(const convolution_sizes& s) {
    for (const std::int64_t n : {s.x_elements(), s.w_elements(), s.y_elements()})
        if (n == 0 || n >= std::int64_t{1} << 31) return false;
    return true;
}

graph convolution_graph(operation_kind which, const convolution_sizes& s, element_type e, after_convolution after,
                        bool tf32) {
    graph g{.compute = compute_type(e), .tf32 = tf32 && e == element_type::float32};
    window w;
    w.stride = {s.stride_h, s.stride_w};
    w.dilation = {s.dilation_h, s.dilation_w};
    w.before = {s.pad_top, s.pad_left};
    w.after = {padding_after(s.height, s.pad_top, s.dilation_h * (s.kernel_h - 1) + 1, s.stride_h, s.out_height),
               padding_after(s.width, s.pad_left, s.dilation_w * (s.kernel_w - 1) + 1, s.stride_w, s.out_width)};
    const tensor image_x = image(s.batch, s.height, s.width, s.in_channels, e);
    const tensor windows = filters(s.out_channels, s.kernel_h, s.kernel_w, s.group_in(), e);
    const tensor image_y = image(s.batch, s.out_height, s.out_width, s.out_channels, e);
    switch (which) {
    case operation_kind::convolution_backward_input: {
        g.name = "conv2d_backward_input";
        const int dy = g.add(image_y), filter = g.add(windows), dx = g.add(image_x);
        g.operations.push_back({which, {dy, filter, dx}, w});
        return g;
    }
    case operation_kind::convolution_backward_filter: {
        g.name = "conv2d_backward_filter";
        const int x = g.add(image_x), dy = g.add(image_y), dw = g.add(windows);
        g.operations.push_back({which, {x, dy, dw}, w});
        return g;
    }
    default: break;
    }
    g.name = after == after_convolution::nothing ? "conv2d" : "conv2d_bias";
    const int x = g.add(image_x), filter = g.add(windows);
    if (after == after_convolution::nothing) {
        g.operations.push_back({which, {x, filter, g.add(image_y)}, w});
        return g;
    }
    const int bias = g.add(image(1, 1, 1, s.out_channels, e)), y = g.add(image_y), sums = g.add(between(image_y));
    g.operations.push_back({which, {x, filter, sums}, w});
    if (after == after_convolution::bias) g.operations.push_back({operation_kind::add, {sums, bias, y}});
    else {
        const int shifted = g.add(between(image_y));
        g.operations.push_back({operation_kind::add, {sums, bias, shifted}});
        g.operations.push_back({operation_kind::relu, {shifted, y}});
    }
    return g;
}

} // namespace tenon::cuda::dnn
