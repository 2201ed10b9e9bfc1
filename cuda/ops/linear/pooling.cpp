#include <cuda/kernels/linear/pooling.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/ops/linear/pooling.hpp>

namespace tenon::cuda {

namespace {

pooling_sizes sizes_of(const attributes& of, const extents& x, const extents& y) {
    const auto a = decode<detail::pool2d_attributes>(of);
    pooling_sizes s;
    s.average = a.average;
    s.batch = x[0].size;
    s.height = x[1].size;
    s.width = x[2].size;
    s.channels = x[3].size;
    s.window_h = a.window_h;
    s.window_w = a.window_w;
    s.stride_h = a.stride_h;
    s.stride_w = a.stride_w;
    s.dilation_h = a.dilation_h;
    s.dilation_w = a.dilation_w;
    s.pad_top = a.vertical().padding_of(x[1].size, a.window_h).before;
    s.pad_left = a.horizontal().padding_of(x[2].size, a.window_w).before;
    s.out_height = y[1].size;
    s.out_width = y[2].size;
    return s;
}

struct pool_kernel : kernel {
    pool_kernel(const kernel_setup& s, const extents& y) :
        sizes(sizes_of(s.attrs, s.inputs[0].extents, y)), element(s.outputs[0].element) {}
    const pooling_sizes sizes;
    const element_type element;
};

struct pool2d_kernel final : pool_kernel {
    explicit pool2d_kernel(const kernel_setup& s) : pool_kernel(s, s.outputs[0].extents) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) pool(sizes, element, r.in[0], r.out[0], r.stream);
    }
};

struct pool2d_gradient_kernel final : pool_kernel {
    explicit pool2d_gradient_kernel(const kernel_setup& s) : pool_kernel(s, s.inputs[2].extents) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) pool_backward(sizes, element, r.in[0], r.in[1], r.in[2], r.out[0], r.stream);
    }
};

struct max_pool2d_pick_kernel final : pool_kernel {
    explicit max_pool2d_pick_kernel(const kernel_setup& s) : pool_kernel(s, s.outputs[0].extents) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) pool_pick(sizes, element, r.in[0], r.in[1], r.in[2], r.out[0], r.stream);
    }
};

} // namespace

void register_pooling() {
    enter({{"max_pool2d", prepare<pool2d_kernel>},
           {"average_pool2d", prepare<pool2d_kernel>},
           {"pool2d_gradient", prepare<pool2d_gradient_kernel>},
           {"max_pool2d_pick", prepare<max_pool2d_pick_kernel>}});
}

} // namespace tenon::cuda
