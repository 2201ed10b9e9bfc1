#include <algorithm>

#include <cuda/kernels/convolution.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/ops/convolution.hpp>

namespace tenon::cuda {

namespace {

convolution_sizes sizes_of(const detail::conv2d_attributes& a, const extents& x, const extents& w, const extents& y) {
    convolution_sizes s;
    s.batch = x[0].size;
    s.height = x[1].size;
    s.width = x[2].size;
    s.in_channels = x[3].size;
    s.kernel_h = w[0].size;
    s.kernel_w = w[1].size;
    s.out_channels = w[3].size;
    s.out_height = y[1].size;
    s.out_width = y[2].size;
    s.stride_h = a.stride_h;
    s.stride_w = a.stride_w;
    s.dilation_h = a.dilation_h;
    s.dilation_w = a.dilation_w;
    s.pad_top = a.vertical().padding_of(x[1].size, w[0].size).before;
    s.pad_left = a.horizontal().padding_of(x[2].size, w[1].size).before;
    s.groups = a.groups;
    return s;
}

struct conv2d_kernel final : kernel {
    conv2d_kernel(const kernel_setup& s, const detail::conv2d_attributes& a, bool with_relu) :
        sizes(sizes_of(a, s.inputs[0].extents, s.inputs[1].extents, s.outputs[0].extents)),
        element(s.outputs[0].element),
        bias(s.inputs.size() == 3),
        relu(with_relu) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) convolve(sizes, element, r.in[0], r.in[1], bias ? r.in[2] : nullptr, relu, r.out[0], r.stream);
    }

    const convolution_sizes sizes;
    const element_type element;
    const bool bias, relu;
};

// in: dy, w.
struct backward_input_kernel final : kernel {
    backward_input_kernel(const kernel_setup& s, const extents& x) :
        sizes(sizes_of(decode<detail::conv2d_attributes>(s.attrs), x, s.inputs[1].extents, s.inputs[0].extents)),
        element(s.outputs[0].element) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) convolve_backward_input(sizes, element, r.in[0], r.in[1], r.out[0], r.stream);
    }

    const convolution_sizes sizes;
    const element_type element;
};

struct backward_filter_kernel final : kernel {
    backward_filter_kernel(const kernel_setup& s, const conv2d_backward_filter_op::attributes& a) :
        sizes(sizes_of(a, s.inputs[0].extents, s.inputs[2].extents, s.inputs[1].extents)),
        element(s.outputs[0].element),
        bias(a.bias) {}
    std::size_t scratch_bytes() const override {
        const std::size_t sums = bias ? sum_pixels_scratch(sizes.pixels(), sizes.out_channels) : 0;
        return std::max(convolve_backward_filter_scratch(sizes, element), sums);
    }
    void run(const kernel_run& r) override {
        if (r.out[0]) convolve_backward_filter(sizes, element, r.in[0], r.in[1], r.out[0], r.scratch, r.stream);
        if (bias && r.out[1])
            sum_pixels(r.in[1], sizes.pixels(), sizes.out_channels, element, r.out[1], r.scratch, r.stream);
    }

    const convolution_sizes sizes;
    const element_type element;
    const bool bias;
};

kernel_pointer prepare_conv2d(const kernel_setup& s) {
    return std::make_unique<conv2d_kernel>(s, decode<conv2d_op::attributes>(s.attrs), false);
}
kernel_pointer prepare_conv2d_bias(const kernel_setup& s) {
    const auto a = decode<conv2d_bias_op::attributes>(s.attrs);
    return std::make_unique<conv2d_kernel>(s, a, a.relu);
}
kernel_pointer prepare_backward_input(const kernel_setup& s) {
    return std::make_unique<backward_input_kernel>(s, s.inputs[2].extents);
}
kernel_pointer prepare_transpose(const kernel_setup& s) {
    return std::make_unique<backward_input_kernel>(s, s.outputs[0].extents);
}
kernel_pointer prepare_backward_filter(const kernel_setup& s) {
    return std::make_unique<backward_filter_kernel>(s, decode<conv2d_backward_filter_op::attributes>(s.attrs));
}

} // namespace

void register_convolution() {
    enter({{"conv2d", prepare_conv2d},
           {"conv2d_bias", prepare_conv2d_bias},
           {"conv2d_backward_input", prepare_backward_input},
           {"conv2d_transpose", prepare_transpose},
           {"conv2d_backward_filter", prepare_backward_filter}});
}

} // namespace tenon::cuda
