// Running operations along an axis: ops/reduce/scan.hpp.

#include <cuda/kernels/scan/scan.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/ops/reduce/scan.hpp>

namespace tenon::cuda {

namespace {

struct scan_kernel final : kernel {
    scan_kernel(const kernel_setup& s, scan how, int given_axis, bool exclusive, bool reversed) {
        const extents& x = s.inputs[0].extents;
        const int axis = detail::axis_of(given_axis, x.rank());
        std::int64_t outer = 1, inner = 1;
        for (int i = 0; i < axis; ++i) outer *= x[i].size;
        for (int i = axis + 1; i < x.rank(); ++i) inner *= x[i].size;
        plan = plan_scan(how, s.inputs[0].element, outer, x[axis].size, inner, exclusive, reversed);
        has_weights = s.inputs.size() > 1;
    }
    void run(const kernel_run& r) override {
        if (r.out[0]) run_scan(plan, r.in[0], has_weights ? r.in[1] : nullptr, r.out[0], r.scratch, r.stream);
    }
    std::size_t scratch_bytes() const override { return plan.scratch_bytes; }
    double cost() const override { return 5000 + 0.005 * static_cast<double>(plan.lines() * plan.n); }
    // An earlier weight may be read by a thread after another has written its result.
    bool may_share(int i, int) const override { return i == 0 || plan.how != scan::recurrence_later; }

    scan_plan plan;
    bool has_weights;
};

template <scan How> kernel_pointer prepare_scan(const kernel_setup& s) {
    const auto a = decode<detail::scan_attributes>(s.attrs);
    return std::make_unique<scan_kernel>(s, How, a.axis, a.exclusive, a.reversed);
}

kernel_pointer prepare_recurrence(const kernel_setup& s) {
    const auto a = decode<recurrence_op::attributes>(s.attrs);
    return std::make_unique<scan_kernel>(s, a.later ? scan::recurrence_later : scan::recurrence, a.axis,
                                         !a.later && a.exclusive, a.reversed);
}

} // namespace

void register_scan() {
    enter({{"cumsum", prepare_scan<scan::sum>},
           {"cumprod", prepare_scan<scan::product>},
           {"cummax", prepare_scan<scan::largest>},
           {"cummin", prepare_scan<scan::least>},
           {"cumlogsumexp", prepare_scan<scan::log_sum_exp>},
           {"recurrence", prepare_recurrence}});
}

} // namespace tenon::cuda
