#include <cstdint>

#include <cuda/device/wish.hpp>
#include <cuda/dnn/pooling.hpp>
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
    s.pad_top = a.vertical().padding_of(x[1].size, a.window_h).before;
    s.pad_left = a.horizontal().padding_of(x[2].size, a.window_w).before;
    s.out_height = y[1].size;
    s.out_width = y[2].size;
    return s;
}

// cuDNN is asked where TENON_CUDA_POOLING is "cudnn": our kernels read and write once what has to be read and written.
bool asks_dnn() { return is_wished("TENON_CUDA_POOLING", "cudnn"); }

struct pool_kernel : kernel {
    pool_kernel(const kernel_setup& s, const extents& y) :
        sizes(sizes_of(s.attrs, s.inputs[0].extents, y)), element(s.outputs[0].element) {}
    void ask_dnn(const kernel_setup& s, dnn::operation_kind which) {
        // On an H100 cuDNN 9 did not always find the largest of bfloat16, and did not run gradients of windows of one pixel.
        if (element == element_type::bfloat16 || sizes.window_h * sizes.window_w == 1) return;
        const std::int64_t most = std::int64_t{1} << 31, n = sizes.batch * sizes.channels;
        const std::int64_t x = n * sizes.height * sizes.width, y = n * sizes.out_height * sizes.out_width;
        if (s.gpu && asks_dnn() && x > 0 && y > 0 && x < most && y < most)
            plan = dnn::find_plan(*s.gpu, dnn::pooling_graph(which, sizes, element));
    }
    // False where there is no plan, or none for these pointers.
    bool by_dnn(const kernel_run& r, const void* from) const {
        for (const void* p : {from, static_cast<const void*>(r.out[0])})
            if (!plan || reinterpret_cast<std::uintptr_t>(p) % dnn::alignment != 0) return false;
        plan->run(r.stream, {const_cast<void*>(from), r.out[0]}, plan->workspace_bytes() ? r.scratch : nullptr);
        return true;
    }
    std::size_t scratch_bytes() const override { return plan ? plan->workspace_bytes() : 0; }

    const pooling_sizes sizes;
    const element_type element;
    std::shared_ptr<const dnn::plan> plan;
};

struct pool2d_kernel final : pool_kernel {
    explicit pool2d_kernel(const kernel_setup& s) : pool_kernel(s, s.outputs[0].extents) {
        ask_dnn(s, sizes.average ? dnn::operation_kind::average_pool : dnn::operation_kind::max_pool);
    }
    void run(const kernel_run& r) override {
        if (r.out[0] && !by_dnn(r, r.in[0])) pool(sizes, element, r.in[0], r.out[0], r.stream);
    }
};

struct pool2d_gradient_kernel final : pool_kernel {
    explicit pool2d_gradient_kernel(const kernel_setup& s) : pool_kernel(s, s.inputs[2].extents) {
        if (sizes.average) ask_dnn(s, dnn::operation_kind::average_pool_backward);
    }
    void run(const kernel_run& r) override {
        if (r.out[0] && !by_dnn(r, r.in[2]))
            pool_backward(sizes, element, r.in[0], r.in[1], r.in[2], r.out[0], r.stream);
    }
};

struct max_pool2d_pick_kernel final : pool_kernel {
    explicit max_pool2d_pick_kernel(const kernel_setup& s) : pool_kernel(s, s.outputs[0].extents) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) pool_pick(sizes, element, r.in[0], r.in[1], r.in[2], r.out[0], r.stream);
    }
};

template <class Kernel> kernel_pointer prepare(const kernel_setup& s) { return std::make_unique<Kernel>(s); }

} // namespace

void register_pooling() {
    enter({{"max_pool2d", prepare<pool2d_kernel>},
           {"average_pool2d", prepare<pool2d_kernel>},
           {"pool2d_gradient", prepare<pool2d_gradient_kernel>},
           {"max_pool2d_pick", prepare<max_pool2d_pick_kernel>}});
}

} // namespace tenon::cuda
