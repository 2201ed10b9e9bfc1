// Layer normalisation: ops/rows/normalization.hpp.

#include <cuda/kernels/rows/layer_norm.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/ops/rows/normalization.hpp>

namespace tenon::cuda {

namespace {

struct layer_norm_kernel final : kernel {
    explicit layer_norm_kernel(const kernel_setup& s) :
        element(s.inputs[0].element),
        rows(lay_lines(s.outputs[1].extents.elements(), s.inputs[1].extents[0].size, 1,
                       static_cast<std::int64_t>(size_of(element)))),
        epsilon(s.attrs.get<double>("epsilon")) {}
    void run(const kernel_run& r) override {
        layer_norm(element, r.in[0], r.in[1], r.in[2], r.out[0], r.out[1], r.out[2], rows, epsilon, r.stream);
    }
    double cost() const override { return 5000 + 0.004 * static_cast<double>(rows.count() * rows.n); }
    bool may_share(int i, int o) const override { return i == 0 && o == 0; }

    const element_type element;
    const line_layout rows;
    const double epsilon;
};

struct layer_norm_gradient_kernel final : kernel {
    explicit layer_norm_gradient_kernel(const kernel_setup& s) :
        element(s.inputs[0].element),
        rows(lay_gradient_rows(element, s.inputs[3].extents.elements(), s.inputs[1].extents[0].size)) {}
    void run(const kernel_run& r) override {
        layer_norm_gradient(element, r.in[0], r.in[1], r.in[2], r.in[3], r.in[4], r.out[0], r.out[1], r.out[2],
                            r.scratch, rows, r.stream);
    }
    std::size_t scratch_bytes() const override { return layer_norm_scratch_bytes(element, rows); }
    double cost() const override { return 8000 + 0.006 * static_cast<double>(rows.count() * rows.n); }
    bool may_share(int i, int o) const override { return (i == 0 || i == 2) && o == 0; }

    const element_type element;
    const line_layout rows;
};

} // namespace

void register_normalization() {
    enter({{"layer_norm", prepare<layer_norm_kernel>}, {"layer_norm_gradient", prepare<layer_norm_gradient_kernel>}});
}

} // namespace tenon::cuda
