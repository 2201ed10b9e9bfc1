#include <cuda/kernels/elementwise/add_n.hpp>
#include <cuda/ops/kernel_table.hpp>

namespace tenon::cuda {

namespace {

struct add_n_kernel final : kernel {
    explicit add_n_kernel(const kernel_setup& s) :
        element(s.outputs[0].element), inputs(s.inputs.size()), elements(s.outputs[0].extents.elements()) {}
    std::size_t scratch_bytes() const override { return add_n_scratch_bytes(element, inputs, elements); }
    // A second pass reads inputs when the first has written.
    bool may_share(int, int) const override { return inputs <= most_added_at_once; }
    void run(const kernel_run& r) override {
        if (r.out[0]) add_n(element, r.in, inputs, r.out[0], elements, r.scratch, r.stream);
    }

    const element_type element;
    const int inputs;
    const std::int64_t elements;
};
} // namespace

void register_add_n() { enter({{"add_n", prepare<add_n_kernel>}}); }

} // namespace tenon::cuda
