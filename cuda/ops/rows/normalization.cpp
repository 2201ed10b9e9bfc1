// Layer normalisation: ops/rows/normalization.hpp.

#include <cuda/kernels/rows/layer_norm.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/ops/rows/normalization.hpp>

namespace tenon::cuda {

namespace {

// Of layer_norm, and of layer_norm_of_sum.
struct layer_norm_kernel final : kernel {
    explicit layer_norm_kernel(const kernel_setup& s) :
        element(s.inputs[0].element),
        rows(lay_lines(s.outputs[1].extents.elements(), s.inputs[1].extents[0].size, 1,
                       static_cast<std::int64_t>(size_of(element)))),
        epsilon(s.attrs.get<double>("epsilon")),
        inputs(s.inputs.size()) {}
    void run(const kernel_run& r) override {
        row_sum sum;
        if (inputs > 3) sum = {r.in[3], inputs > 4 ? r.in[4] : nullptr, r.out[3]};
        layer_norm(element, r.in[0], sum, r.in[1], r.in[2], r.out[0], r.out[1], r.out[2], rows, epsilon, r.stream);
    }
    double cost() const override { return 5000 + 0.004 * static_cast<double>(rows.count() * rows.n); }
    bool may_share(int i, int o) const override { return (i == 0 || i == 3) && (o == 0 || o == 3); }

    const element_type element;
    const line_layout rows;
    const double epsilon;
    const int inputs;
};

// Of layer_norm_gradient, and of layer_norm_gradient_plus.
struct layer_norm_gradient_kernel final : kernel {
    explicit layer_norm_gradient_kernel(const kernel_setup& s) :
        element(s.inputs[0].element),
        rows(lay_gradient_rows(element, s.inputs[3].extents.elements(), s.inputs[1].extents[0].size)),
        is_plus(s.inputs.size() > 5) {}
    void run(const kernel_run& r) override {
        layer_norm_gradient(element, r.in[0], r.in[1], r.in[2], r.in[3], r.in[4], is_plus ? r.in[5] : nullptr, r.out[0],
                            r.out[1], r.out[2], r.scratch, rows, r.stream);
    }
    std::size_t scratch_bytes() const override { return layer_norm_scratch_bytes(element, rows); }
    double cost() const override { return 8000 + 0.006 * static_cast<double>(rows.count() * rows.n); }
    bool may_share(int i, int o) const override { return (i == 0 || i == 2 || i == 5) && o == 0; }

    const element_type element;
    const line_layout rows;
    const bool is_plus;
};

} // namespace

void register_normalization() {
    enter({{"layer_norm", prepare<layer_norm_kernel>},
           {"layer_norm_of_sum", prepare<layer_norm_kernel>},
           {"layer_norm_gradient", prepare<layer_norm_gradient_kernel>},
           {"layer_norm_gradient_plus", prepare<layer_norm_gradient_kernel>}});
}

} // namespace tenon::cuda
