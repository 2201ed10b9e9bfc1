// Ops that hand their input on: where one cannot be left out of a plan, it is a copy. Other sizes of the same elements, too.

#include <cuda/device/error.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/copies.hpp>
#include <tenon/ops/control/control.hpp>

namespace tenon::cuda {

namespace {

struct copy_kernel final : kernel {
    explicit copy_kernel(const kernel_setup& s, bool may_vanish = true) :
        vanishes(may_vanish),
        bytes(static_cast<std::size_t>(s.outputs[0].extents.elements()) * size_of(s.outputs[0].element)) {}
    void run(const kernel_run& r) override {
        if (bytes == 0 || !r.out[0] || r.in[0] == r.out[0]) return;
        cuda::check(
            cudaMemcpyAsync(r.out[0], r.in[0], bytes, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(r.stream)),
            "cudaMemcpyAsync");
    }
    bool may_share(int i, int) const override { return i == 0 && vanishes; }

    const bool vanishes;
    const std::size_t bytes;
};

// The device's streams copy in its place.
kernel_pointer prepare_transfer(const kernel_setup& s) { return std::make_unique<copy_kernel>(s, false); }

kernel_pointer prepare_fill_like(const kernel_setup& s) {
    const tensor_type& type = s.outputs[0];
    return std::make_unique<fill_kernel>(type, bits_of(decode<fill_like_op::attributes>(s.attrs).value, type.element));
}

} // namespace

void register_control() {
    enter({{"identity", prepare<copy_kernel>},
           {"stop_gradient", prepare<copy_kernel>},
           {"ensure_shape", prepare<copy_kernel>},
           {"einsum_operand", prepare<copy_kernel>},
           {"placeholder_with_default", prepare<copy_kernel>},
           {"reshape", prepare<copy_kernel>},
           {"reshape_like", prepare<copy_kernel>},
           {"squeeze", prepare<copy_kernel>},
           {"expand_dims", prepare<copy_kernel>},
           {"bit_cast", prepare<copy_kernel>},
           {"fill_like", prepare_fill_like},
           {"transfer", prepare_transfer},
           {"no_op", no_op_op::prepare}}); // which does nothing, anywhere
}

} // namespace tenon::cuda
