#include <algorithm>
#include <vector>

#include <cuda/device/context.hpp>
#include <cuda/device/wish.hpp>
#include <cuda/dnn/convolution.hpp>
#include <cuda/kernels/linear/convolution.hpp>
#include <cuda/kernels/linear/filter_gradient.hpp>
#include <cuda/kernels/linear/input_gradient.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/memory_pieces.hpp>
#include <tenon/ops/linear/convolution.hpp>

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

// "own" in TENON_CUDA_CONVOLUTIONS: cuDNN is not asked.
bool asks_dnn() { return !is_wished("TENON_CUDA_CONVOLUTIONS", "own"); }

// One of a convolution's products: by cuDNN where it has a plan, which wants filters in another order, otherwise by our own kernels.
class product {
public:
    product(const kernel_setup& s, const convolution_sizes& of, dnn::operation_kind which,
            dnn::after_convolution after) :
        sizes(of), element(s.outputs[0].element) {
        if (!s.gpu || !asks_dnn() || !dnn::may_take(of) || is_faster_without(which, s) ||
            !s.gpu->has_products_of(element))
            return;
        const auto find = [&](dnn::after_convolution a) {
            auto found = dnn::find_plan(*s.gpu, dnn::convolution_graph(which, of, element, a, s.allow_tf32));
            return found && found->is_direct() && has_many_channels() ? nullptr : found;
        };
        plan_ = find(after);
        has_after_ = plan_ != nullptr;
        if (!plan_ && after != dnn::after_convolution::nothing) plan_ = find(dnn::after_convolution::nothing);
    }
    bool by_dnn(std::initializer_list<const void*> pointers) const { return plan_ && dnn::are_aligned(pointers); }
    // False where the plan leaves bias and relu to us.
    bool has_after() const { return has_after_; }

    std::size_t scratch_bytes() const {
        return plan_ ? turned_bytes() + plan_->workspace_bytes() + memory_pieces::slack : 0;
    }
    // Filters turned for cuDNN lie at the start of the scratch memory.
    void turn(const void* w, const kernel_run& r) const {
        filters_by_output(w, r.scratch, sizes.kernel_h * sizes.kernel_w, sizes.group_in(), sizes.out_channels,
                          size_of(element), r.stream);
    }
    void turn_back(void* w, const kernel_run& r) const {
        filters_by_pixel(r.scratch, w, sizes.kernel_h * sizes.kernel_w, sizes.group_in(), sizes.out_channels,
                         size_of(element), r.stream);
    }
    void run(const kernel_run& r, std::initializer_list<const void*> operands) const {
        std::vector<void*> data;
        for (const void* p : operands) data.push_back(const_cast<void*>(p));
        plan_->run(r.stream, data,
                   plan_->workspace_bytes() ? memory_pieces::aligned(r.scratch + turned_bytes()) : nullptr);
    }

    const convolution_sizes sizes;
    const element_type element;

private:
    // Exact gradients of float are products of matrices on the cores for float. cuDNN's engines that are the same in every run have for an
    // image's tiles of 32 x 64, if any, but on 7.5, 8.6 and 8.9; and of a filter's too few, for they do not divide its sums.
    bool is_faster_without(dnn::operation_kind which, const kernel_setup& s) const {
        if (element != element_type::float32 || s.allow_tf32 || sizes.groups > 1) return false;
        const int capability = s.gpu->capability;
        const bool has_tiles = capability < 80 || (capability > 80 && capability < 90);
        switch (which) {
        case dnn::operation_kind::convolution_backward_input:
            return !has_tiles && has_input_gradient(sizes) && has_many_pixels(sizes) && has_many_channels();
        case dnn::operation_kind::convolution_backward_filter:
            return has_filter_gradient(sizes) && has_few_filters(sizes);
        default: return false;
        }
    }
    // Those of a tile of our own kernels are used well.
    bool has_many_channels() const { return sizes.group_in() >= 16 && sizes.group_out() >= 16; }
    std::size_t turned_bytes() const {
        return (static_cast<std::size_t>(sizes.w_elements()) * size_of(element) + 255) / 256 * 256;
    }
    std::shared_ptr<const dnn::plan> plan_;
    bool has_after_ = false;
};

// in: x, w, (bias).
struct conv2d_kernel final : kernel {
    conv2d_kernel(const kernel_setup& s, const detail::conv2d_attributes& a, bool with_relu) :
        bias(s.inputs.size() == 3),
        relu(with_relu),
        of(s, sizes_of(a, s.inputs[0].extents, s.inputs[1].extents, s.outputs[0].extents),
           dnn::operation_kind::convolution,
           relu   ? dnn::after_convolution::bias_relu
           : bias ? dnn::after_convolution::bias
                  : dnn::after_convolution::nothing) {}
    std::size_t scratch_bytes() const override { return of.scratch_bytes(); }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const void* b = bias ? r.in[2] : nullptr;
        if (!of.by_dnn({r.in[0], b, r.out[0]})) {
            convolve(of.sizes, of.element, r.in[0], r.in[1], b, relu, r.out[0], r.stream);
            return;
        }
        of.turn(r.in[1], r);
        if (bias && of.has_after()) of.run(r, {r.in[0], r.scratch, b, r.out[0]});
        else {
            of.run(r, {r.in[0], r.scratch, r.out[0]});
            if (bias) add_bias(r.out[0], b, relu, of.sizes.pixels(), of.sizes.out_channels, of.element, r.stream);
        }
    }

    const bool bias, relu;
    const product of;
};

// in: dy, w.
struct backward_input_kernel final : kernel {
    backward_input_kernel(const kernel_setup& s, const extents& x) :
        of(s, sizes_of(decode<detail::conv2d_attributes>(s.attrs), x, s.inputs[1].extents, s.inputs[0].extents),
           dnn::operation_kind::convolution_backward_input, dnn::after_convolution::nothing) {}
    std::size_t scratch_bytes() const override { return of.scratch_bytes(); }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        if (!of.by_dnn({r.in[0], r.out[0]})) {
            convolve_backward_input(of.sizes, of.element, r.in[0], r.in[1], r.out[0], r.stream);
            return;
        }
        of.turn(r.in[1], r);
        of.run(r, {r.in[0], r.scratch, r.out[0]});
    }

    const product of;
};

// in: x, dy.
struct backward_filter_kernel final : kernel {
    backward_filter_kernel(const kernel_setup& s, const conv2d_backward_filter_op::attributes& a) :
        of(s, sizes_of(a.convolution, s.inputs[0].extents, s.inputs[2].extents, s.inputs[1].extents),
           dnn::operation_kind::convolution_backward_filter, dnn::after_convolution::nothing),
        bias(a.bias) {}
    std::size_t scratch_bytes() const override {
        const std::size_t sums = bias ? sum_pixels_scratch(of.sizes.pixels(), of.sizes.out_channels) : 0;
        return std::max({of.scratch_bytes(), convolve_backward_filter_scratch(of.sizes, of.element), sums});
    }
    void run(const kernel_run& r) override {
        if (r.out[0] && of.by_dnn({r.in[0], r.in[1]})) {
            of.run(r, {r.in[0], r.in[1], r.scratch});
            of.turn_back(r.out[0], r);
        } else if (r.out[0])
            convolve_backward_filter(of.sizes, of.element, r.in[0], r.in[1], r.out[0], r.scratch, r.stream);
        if (bias && r.out[1])
            sum_pixels(r.in[1], of.sizes.pixels(), of.sizes.out_channels, of.element, r.out[1], r.scratch, r.stream);
    }

    const product of;
    const bool bias;
};

kernel_pointer prepare_conv2d(const kernel_setup& s) {
    return std::make_unique<conv2d_kernel>(s, decode<conv2d_op::attributes>(s.attrs), false);
}
kernel_pointer prepare_conv2d_bias(const kernel_setup& s) {
    const auto a = decode<conv2d_bias_op::attributes>(s.attrs);
    return std::make_unique<conv2d_kernel>(s, a.convolution, a.relu);
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
