#include <cuda/dnn/pooling.hpp>

namespace tenon::cuda::dnn {

namespace {

// What is behind an image of n pixels, so that `count` windows move over it and no more.
std::int64_t padding_after(std::int64_t n, std::int64_t before, std::int64_t size, std::int64_t stride,
                           std::int64_t count) {
    const std::int64_t after = (count - 1) * stride + size - n - before;
    return after < 0 ? 0 : after;
}

} // namespace

graph pooling_graph(operation_kind which, const pooling_sizes& s, element_type e) {
    graph g;
    g.name = which == operation_kind::max_pool       ? "max_pool2d"
             : which == operation_kind::average_pool ? "average_pool2d"
                                                     : "pool2d_gradient";
    g.compute = compute_type(e);
    window w;
    w.size = {s.window_h, s.window_w};
    w.stride = {s.stride_h, s.stride_w};
    w.before = {s.pad_top, s.pad_left};
    w.after = {padding_after(s.height, s.pad_top, s.window_h, s.stride_h, s.out_height),
               padding_after(s.width, s.pad_left, s.window_w, s.stride_w, s.out_width)};
    const tensor x = image(s.batch, s.height, s.width, s.channels, e);
    const tensor y = image(s.batch, s.out_height, s.out_width, s.channels, e);
    const bool backward = which == operation_kind::average_pool_backward;
    const int from = g.add(backward ? y : x), to = g.add(backward ? x : y);
    g.operations.push_back({which, {from, to}, w});
    return g;
}

} // namespace tenon::cuda::dnn
