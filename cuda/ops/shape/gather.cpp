// Parts of tensors that indices name, and sums of equal ones.

#include <tenon/ops/shape/gather.hpp>

#include <cuda/kernels/shape/gather.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/indices.hpp>

namespace tenon::cuda {

namespace {

// What gather and its gradient share: x seen as [outer, size, inner], and indices that must be below its size.
class rows_of_axis : public kernel {
public:
    rows_of_axis(const kernel_setup& s, const extents& x) :
        axis_(detail::axis_of(decode<gather_op::attributes>(s.attrs).axis, x.rank())),
        size_(x[axis_].size),
        indices_(s.inputs[1]),
        node_(s.node.name) {
        for (int i = 0; i < axis_; ++i) outer_ *= x[i].size;
        for (int i = axis_ + 1; i < x.rank(); ++i) inner_ *= x[i].size;
    }
    bool may_refuse() const override { return true; }
    std::size_t told_bytes() const override { return refusable_indices::bytes; }
    void tell(std::byte* to) override { refusable_indices::tell(to); }
    void refuse(const std::byte* told) const override {
        refusable_indices::check(told, indices_, [&](const std::string& shown) {
            return detail::outside_axis("gather (" + node_ + ")", shown, axis_, size_);
        });
    }

protected:
    const int axis_;
    std::int64_t outer_ = 1, size_, inner_ = 1;
    const detail::row_indices indices_;
    const std::string node_;
};

class gather_kernel final : public rows_of_axis {
public:
    explicit gather_kernel(const kernel_setup& s) :
        rows_of_axis(s, s.inputs[0].extents),
        row_bytes_(static_cast<std::size_t>(inner_) * size_of(s.inputs[0].element)) {}
    void run(const kernel_run& r) override {
        const index_list list = list_of(indices_, r.in[1]);
        check_indices(list, size_, refusable_indices::found(r.told), nullptr, r.stream);
        if (r.out[0]) gather_rows(r.in[0], list, r.out[0], outer_, size_, row_bytes_, r.stream);
    }

private:
    const std::size_t row_bytes_;
};

class gather_gradient_kernel final : public rows_of_axis {
public:
    explicit gather_gradient_kernel(const kernel_setup& s) :
        rows_of_axis(s, s.inputs[2].extents), element_(s.inputs[0].element), sort_(s, indices_, size_) {}
    std::size_t scratch_bytes() const override { return sort_.bytes() + sums_bytes(); }
    void run(const kernel_run& r) override {
        memory_pieces scratch(r.scratch);
        const sorted_rows rows = sort_.sort(scratch, r.in[1], refusable_indices::found(r.told), nullptr, r.stream);
        if (!r.out[0]) return;
        add_rows(element_, r.in[0], rows, r.out[0], outer_, size_, inner_, scratch.take<std::byte>(sums_bytes()),
                 r.stream);
    }

private:
    std::size_t sums_bytes() const { return row_sums_scratch_bytes(element_, indices_.count, outer_ * inner_); }

    const element_type element_;
    const index_sort sort_;
};

class sum_equal_rows_kernel final : public kernel {
public:
    explicit sum_equal_rows_kernel(const kernel_setup& s) :
        indices_(s.inputs[1]),
        element_(s.inputs[0].element),
        once_(decode<sum_equal_rows_op::attributes>(s.attrs).once),
        inner_(indices_.count == 0 ? 0 : s.inputs[0].extents.elements() / indices_.count),
        sort_(s, indices_, any_index) {}
    std::size_t scratch_bytes() const override { return sort_.bytes() + sums_bytes(); }
    void run(const kernel_run& r) override {
        if (!r.out[0] || inner_ == 0) return;
        memory_pieces scratch(r.scratch);
        const sorted_rows rows = sort_.sort(scratch, r.in[1], nullptr, nullptr, r.stream);
        sum_equal_rows(element_, r.in[0], rows, r.out[0], inner_, once_, scratch.take<std::byte>(sums_bytes()),
                       r.stream);
    }
    bool may_share(int i, int) const override { return i == 0; }

private:
    std::size_t sums_bytes() const { return row_sums_scratch_bytes(element_, indices_.count, inner_); }

    const detail::row_indices indices_;
    const element_type element_;
    const bool once_;
    const std::int64_t inner_;
    const index_sort sort_;
};

} // namespace

void register_gather() {
    enter({{"gather", prepare<gather_kernel>},
           {"gather_gradient", prepare<gather_gradient_kernel>},
           {"sum_equal_rows", prepare<sum_equal_rows_kernel>}});
}

} // namespace tenon::cuda
