// Softmax and the losses of classifiers: ops/rows/softmax.hpp.

#include <cuda/kernels/rows/softmax.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/indices.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/ops/rows/softmax.hpp>

namespace tenon::cuda {

namespace {

line_layout lines_along(const tensor_type& x, int axis) {
    const int at = detail::axis_of(axis, x.extents.rank());
    std::int64_t outer = 1, inner = 1;
    for (int i = 0; i < at; ++i) outer *= x.extents[i].size;
    for (int i = at + 1; i < x.extents.rank(); ++i) inner *= x.extents[i].size;
    return lay_lines(outer, x.extents[at].size, inner, static_cast<std::int64_t>(size_of(x.element)));
}

struct lines_kernel : kernel {
    lines_kernel(const kernel_setup& s, int axis) :
        element(s.inputs[0].element), lines(lines_along(s.inputs[0], axis)) {}
    double cost() const override { return 5000 + 0.004 * static_cast<double>(lines.count() * lines.n); }

    const element_type element;
    const line_layout lines;
};

struct softmax_kernel final : lines_kernel {
    softmax_kernel(const kernel_setup& s, bool take_logarithm) :
        lines_kernel(s, decode<softmax_op::attributes>(s.attrs).axis), logarithm(take_logarithm) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) softmax(element, r.in[0], r.out[0], lines, logarithm, r.stream);
    }
    bool may_share(int, int) const override { return true; }

    const bool logarithm;
};

struct softmax_gradient_kernel final : lines_kernel {
    softmax_gradient_kernel(const kernel_setup& s, const softmax_gradient_op::attributes& a) :
        lines_kernel(s, a.axis), logarithm(a.logarithm) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) softmax_gradient(element, r.in[0], r.in[1], r.out[0], lines, logarithm, r.stream);
    }
    bool may_share(int, int) const override { return true; }

    const bool logarithm;
};

struct sparse_cross_entropy_kernel final : lines_kernel {
    explicit sparse_cross_entropy_kernel(const kernel_setup& s) :
        lines_kernel(s, -1), wide_labels(s.inputs[1].element == element_type::int64), node_name(s.node.name) {}
    std::size_t told_bytes() const override { return refusable_indices::bytes; }
    void tell(std::byte* to) override { refusable_indices::tell(to); }
    bool may_refuse() const override { return true; }
    void refuse(const std::byte* told) const override {
        if (const bad_index* const first = refusable_indices::first_of(told))
            throw invalid_argument_error(
                sparse_softmax_cross_entropy_op::refusal(node_name, first->value, first->place, lines.n));
    }
    void run(const kernel_run& r) override {
        sparse_cross_entropy(element, r.in[0], r.in[1], wide_labels, r.out[0], r.out[1], lines,
                             refusable_indices::found(r.told), r.stream);
    }
    bool may_share(int i, int o) const override { return i == 0 && o == 1; }

    const bool wide_labels;
    const std::string node_name;
};

struct cross_entropy_kernel final : lines_kernel {
    explicit cross_entropy_kernel(const kernel_setup& s) : lines_kernel(s, -1) {}
    void run(const kernel_run& r) override {
        cross_entropy(element, r.in[0], r.in[1], r.out[0], r.out[1], lines, r.stream);
    }
    bool may_share(int, int o) const override { return o == 1; }
};

template <bool Logarithm> kernel_pointer prepare_softmax(const kernel_setup& s) {
    return std::make_unique<softmax_kernel>(s, Logarithm);
}
kernel_pointer prepare_softmax_gradient(const kernel_setup& s) {
    return std::make_unique<softmax_gradient_kernel>(s, decode<softmax_gradient_op::attributes>(s.attrs));
}
} // namespace

void register_softmax() {
    enter({{"softmax", prepare_softmax<false>},
           {"log_softmax", prepare_softmax<true>},
           {"softmax_gradient", prepare_softmax_gradient},
           {"sparse_softmax_cross_entropy", prepare<sparse_cross_entropy_kernel>},
           {"softmax_cross_entropy", prepare<cross_entropy_kernel>}});
}

} // namespace tenon::cuda
