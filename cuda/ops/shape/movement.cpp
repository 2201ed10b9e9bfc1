#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/copies.hpp>
#include <tenon/ops/shape/movement.hpp>

namespace tenon::cuda {

namespace {

kernel_pointer prepare_transpose(const kernel_setup& s) {
    const extents &x = s.inputs[0].extents, &out = s.outputs[0].extents;
    const index_list axes = transpose_op::complete(decode<transpose_op::attributes>(s.attrs).axes, x.rank());
    const row_major_steps from(x), to(out);
    copied_dimension dims[max_rank];
    for (int i = 0; i < x.rank(); ++i) dims[i] = {out[i].size, from[tenon::detail::axis_of(axes[i], x.rank())], to[i]};
    const std::size_t bytes = size_of(s.inputs[0].element);
    return std::make_unique<strided_copy_kernel>(strided_copy(dims, x.rank(), bytes), bytes);
}

// x, aligned at the last dimension, is repeated to the sizes of the output.
kernel_pointer repeated_to_output(const kernel_setup& s, const extents& x) {
    const extents& out = s.outputs[0].extents;
    const row_major_steps from(x), to(out);
    copied_dimension dims[max_rank];
    for (int i = 0; i < out.rank(); ++i) {
        const int axis = i - (out.rank() - x.rank());
        dims[i] = {out[i].size, axis < 0 || x[axis].size == 1 ? 0 : from[axis], to[i]};
    }
    const std::size_t bytes = size_of(s.inputs[0].element);
    return std::make_unique<strided_copy_kernel>(strided_copy(dims, out.rank(), bytes), bytes);
}
kernel_pointer prepare_broadcast_to(const kernel_setup& s) { return repeated_to_output(s, s.inputs[0].extents); }
kernel_pointer prepare_broadcast_like(const kernel_setup& s) {
    return repeated_to_output(s, broadcast_like_op::repeated(decode<broadcast_like_op::attributes>(s.attrs),
                                                             s.inputs[0].extents, s.inputs[1].extents));
}

} // namespace

void register_movement() {
    enter({{"transpose", prepare_transpose},
           {"broadcast_to", prepare_broadcast_to},
           {"broadcast_like", prepare_broadcast_like}});
}

} // namespace tenon::cuda
