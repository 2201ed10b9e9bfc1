// Reductions over any axes: ops/reduce/reduction.hpp.

#include <cuda/kernels/reduce/prod_gradient.hpp>
#include <cuda/kernels/reduce/reduce.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/core/error.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/ops/reduce/reduction.hpp>

namespace tenon::cuda {

namespace {

struct sizes_of {
    explicit sizes_of(const extents& x) {
        for (int i = 0; i < x.rank(); ++i) at[i] = x[i].size;
    }
    std::int64_t at[max_rank]{};
};

struct reduction_kernel final : kernel {
    reduction_kernel(const kernel_setup& s, reduction how, const detail::axis_set& axes, std::int64_t ddof = 0) {
        const extents& x = s.inputs[0].extents;
        plan = plan_reduction(how, s.inputs[0].element, sizes_of(x).at, x.rank(), axes.bits, ddof);
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

struct prod_gradient_kernel final : kernel {
    explicit prod_gradient_kernel(const kernel_setup& s) {
        const extents& x = s.inputs[1].extents;
        const int directions = s.inputs.size() - 2;
        if (directions > prod_gradient_plan::most_directions)
            throw unimplemented_error("prod (" + s.node.name + ") is differentiated " + std::to_string(directions + 1) +
                                      " times; at most " + std::to_string(prod_gradient_plan::most_directions + 1) +
                                      " are possible");
        const detail::axis_set axes = detail::axes_or_all(decode<reduction_attributes>(s.attrs).axes, x.rank());
        plan = plan_prod_gradient(s.inputs[1].element, sizes_of(x).at, x.rank(), axes.bits, directions);
    }
    void run(const kernel_run& r) override {
        if (r.out[0]) prod_gradient(plan, r.in[0], r.in[1], r.in + 2, r.out[0], r.scratch, r.stream);
    }
    std::size_t scratch_bytes() const override { return plan.scratch_bytes; }
    double cost() const override {
        return 5000 + 0.1 * static_cast<double>((plan.group_count * plan.outer_count) << plan.directions);
    }

    prod_gradient_plan plan;
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
           {"sum_like", prepare_sum_like},
           {"prod_gradient", prepare<prod_gradient_kernel>}});
}

} // namespace tenon::cuda
