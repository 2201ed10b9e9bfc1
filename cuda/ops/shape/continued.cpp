// Tensors padded with their own elements.

#include <cuda/kernels/shape/continued.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/ops/shape/continued.hpp>

namespace tenon::cuda {

namespace {

continued_sizes sizes_of(const kernel_setup& s, const extents& x) {
    const auto a = decode<continue_axis_op::attributes>(s.attrs);
    const int axis = tenon::detail::axis_of(a.axis, x.rank());
    const std::int64_t n = x[axis].size;
    continued_sizes of{1, n, a.before + n + a.after, 1, a.before, static_cast<continued>(a.mode)};
    for (int d = 0; d < x.rank(); ++d)
        if (d != axis) (d < axis ? of.outer : of.inner) *= x[d].size;
    return of;
}

struct continue_axis_kernel final : kernel {
    explicit continue_axis_kernel(const kernel_setup& s) :
        bytes(size_of(s.inputs[0].element)), of(sizes_of(s, s.inputs[0].extents)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) continue_axis(r.in[0], r.out[0], bytes, of, r.stream);
    }

    const std::size_t bytes;
    const continued_sizes of;
};
struct continue_axis_gradient_kernel final : kernel {
    explicit continue_axis_gradient_kernel(const kernel_setup& s) :
        element(s.inputs[0].element), of(sizes_of(s, s.inputs[1].extents)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) sum_continued(element, r.in[0], r.out[0], of, r.stream);
    }

    const element_type element;
    const continued_sizes of;
};

} // namespace

void register_continued() {
    enter({{"continue_axis", prepare<continue_axis_kernel>},
           {"continue_axis_gradient", prepare<continue_axis_gradient_kernel>}});
}

} // namespace tenon::cuda
