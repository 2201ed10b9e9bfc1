// Numbers that follow a rule, in sizes of other tensors.

#include <cuda/kernels/elementwise/arange.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/copies.hpp>
#include <tenon/ops/control/sized.hpp>

namespace tenon::cuda {

namespace {

kernel_pointer prepare_fill_sizes(const kernel_setup& s) {
    const tensor_type& type = s.outputs[0];
    return std::make_unique<fill_kernel>(type, bits_of(decode<fill_sizes_op::attributes>(s.attrs).value, type.element));
}

struct arange_kernel final : kernel {
    explicit arange_kernel(const kernel_setup& s) : type(s.outputs[0]) {
        const auto a = decode<arange_like_op::attributes>(s.attrs);
        if (is_floating(type.element)) numbers = {0, 0, a.start.as_double(), a.step.as_double()};
        else numbers = {a.start.to<std::uint64_t>(), a.step.to<std::uint64_t>(), 0, 0};
    }
    void run(const kernel_run& r) override {
        if (r.out[0]) arange(type.element, r.out[0], type.extents.elements(), numbers, r.stream);
    }

    tensor_type type;
    number_steps numbers{};
};

} // namespace

void register_sized() { enter({{"fill_sizes", prepare_fill_sizes}, {"arange_like", prepare<arange_kernel>}}); }

} // namespace tenon::cuda
