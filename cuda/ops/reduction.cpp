// Reductions over any axes: ops/reduction.hpp.

#include <cuda/kernels/reduce.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/graph/axes.hpp>
#include <tenon/ops/reduction.hpp>

namespace tenon::cuda {

namespace {

struct reduction_kernel final : kernel {
    reduction_kernel(const kernel_setup& s, reduction how, const detail::axis_set& axes, std::int64_t ddof = 0) {
        const extents& x = s.inputs[0].extents;
        std::int64_t sizes[max_rank]{};
        for (int i = 0; i < x.rank(); ++i) sizes[i] = x[i].size;
        plan = plan_reduction(how, s.inputs[0].element, sizes, x.rank(), axes.bits, ddof);
        elements = x.elements();
    }
    void run(const kernel_run& r) override {
        if (r.out[0]) reduce(plan, r.in[0], r.out[0], r.scratch, r.stream);
    }
    std::size_t scratch_bytes() const override { return plan.scratch_bytes; }
    double cost() const override { return 5000 + 0.002 * static_cast<double>(elements); }

    reduction_plan plan;
    std::int64_t elements;
};

detail::axis_set axes_of(const kernel_setup& s, const index_list& axes) {
    return detail::axes_or_all(axes, s.inputs[0].extents.rank());
}

template <reduction How> kernel_pointer prepare_reduction(const kernel_setup& s) {
    return std::make_unique<reduction_kernel>(s, How, axes_of(s, decode<reduction_attributes>(s.attrs).axes));
}

kernel_pointer prepare_variance(const kernel_setup& s) {
    const auto a = decode<variance_op::attributes>(s.attrs);
    return std::make_unique<reduction_kernel>(s, a.root ? reduction::deviation : reduction::variance,
                                              axes_of(s, a.axes), a.ddof);
}

kernel_pointer prepare_norm(const kernel_setup& s) {
    const auto a = decode<norm_op::attributes>(s.attrs);
    return std::make_unique<reduction_kernel>(s,
                                              a.order == 1   ? reduction::sum_of_magnitudes
                                              : a.order == 2 ? reduction::root_of_squares
                                                             : reduction::largest_magnitude,
                                              axes_of(s, a.axes));
}

kernel_pointer prepare_sum_like(const kernel_setup& s) {
    const extents& x = s.inputs[0].extents;
    const extents sizes = sum_like_op::aligned(decode<sum_like_op::attributes>(s.attrs), x, s.inputs[1].extents);
    detail::axis_set axes;
    for (int i = 0; i < x.rank(); ++i)
        if (sizes[i].size != x[i].size) axes.bits |= 1U << i;
    return std::make_unique<reduction_kernel>(s, reduction::sum, axes);
}

} // namespace

void register_reduction() {
    enter({{"sum", prepare_reduction<reduction::sum>},
           {"mean", prepare_reduction<reduction::mean>},
           {"prod", prepare_reduction<reduction::product>},
           {"min", prepare_reduction<reduction::least>},
           {"max", prepare_reduction<reduction::largest>},
           {"argmin", prepare_reduction<reduction::position_of_least>},
           {"argmax", prepare_reduction<reduction::position_of_largest>},
           {"any", prepare_reduction<reduction::any>},
           {"all", prepare_reduction<reduction::all>},
           {"count_nonzero", prepare_reduction<reduction::count_nonzero>},
           {"logsumexp", prepare_reduction<reduction::log_sum_exp>},
           {"variance", prepare_variance},
           {"norm", prepare_norm},
           {"sum_like", prepare_sum_like}});
}

} // namespace tenon::cuda
