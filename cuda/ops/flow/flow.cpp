// Control flow. The runs of a scan's body are given to the stream one after another; bodies of cond and while_loop become parts of
// conditional nodes.

#include <cuda/ops/branches.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/ops/flow/cond_kernel.hpp>
#include <tenon/ops/flow/scan_slices.hpp>
#include <tenon/ops/flow/while_gradient_kernel.hpp>
#include <tenon/ops/flow/while_kernel.hpp>

namespace tenon::cuda {

namespace {

template <class Kernel> kernel_pointer prepare_branching(const kernel_setup& s) {
    return std::make_unique<Kernel>(s, make_branches(*s.gpu));
}

} // namespace

void register_flow() {
    enter({{"scan", scan_op::prepare},
           {"cond", prepare_branching<tenon::detail::cond_kernel>},
           {"while_loop", prepare_branching<tenon::detail::while_kernel>},
           {"while_gradient", prepare_branching<tenon::detail::while_gradient_kernel>}});
}

} // namespace tenon::cuda
