#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/copies.hpp>
#include <tenon/ops/shape/movement.hpp>

namespace tenon::cuda {

namespace {

kernel_pointer prepare_transpose(const kernel_setup& s) {
    const extents& out = s.outputs[0].extents;
    const regular_part part = transpose_op::part(decode<transpose_op::attributes>(s.attrs), s.inputs[0].extents, out);
    return prepare_copy(tenon::detail::part_view(part, out), s);
}
kernel_pointer prepare_broadcast_to(const kernel_setup& s) {
    return prepare_copy(tenon::detail::repeated_view(s.inputs[0].extents, s.outputs[0].extents), s);
}
kernel_pointer prepare_broadcast_like(const kernel_setup& s) {
    const extents x = broadcast_like_op::repeated(decode<broadcast_like_op::attributes>(s.attrs), s.inputs[0].extents,
                                                  s.inputs[1].extents);
    return prepare_copy(tenon::detail::repeated_view(x, s.outputs[0].extents), s);
}

} // namespace

void register_movement() {
    enter({{"transpose", prepare_transpose},
           {"broadcast_to", prepare_broadcast_to},
           {"broadcast_like", prepare_broadcast_like}});
}

} // namespace tenon::cuda
