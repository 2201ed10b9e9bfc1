// Sorted lines, by CUB's radix sort, and where values belong among sorted ones.

#include <algorithm>

#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/reduce/line_sort.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/ops/reduce/sort.hpp>

namespace tenon::cuda {

namespace {

class sort_kernel final : public kernel {
public:
    explicit sort_kernel(const kernel_setup& s) :
        element_(s.inputs[0].element),
        sort_(s, element_, lines_of(s), decode<sort_op::attributes>(s.attrs).descending) {}
    std::size_t scratch_bytes() const override { return sort_.bytes(); }
    double cost() const override { return 20000 + 0.1 * static_cast<double>(sort_.lines().elements()); }
    void run(const kernel_run& r) override {
        if (sort_.lines().elements() == 0 || (!r.out[0] && !r.out[1])) return;
        take_sorted(element_, r.in[0], sort_.lines(), sort_.places(r.in[0], r.scratch, r.stream), r.out[0],
                    r.output<std::int64_t>(1), r.stream);
    }

private:
    static sorted_lines lines_of(const kernel_setup& s) {
        const extents& x = s.inputs[0].extents;
        const int axis = tenon::detail::axis_of(decode<sort_op::attributes>(s.attrs).axis, x.rank());
        sorted_lines lines{1, x[axis].size, 1};
        for (int d = 0; d < x.rank(); ++d)
            if (d != axis) (d < axis ? lines.outer : lines.inner) *= x[d].size;
        return lines;
    }

    const element_type element_;
    const line_sort sort_;
};

class searchsorted_kernel final : public kernel {
public:
    explicit searchsorted_kernel(const kernel_setup& s) :
        right_(decode<searchsorted_op::attributes>(s.attrs).right),
        element_(s.inputs[0].element),
        n_(s.inputs[0].extents[s.inputs[0].extents.rank() - 1].size),
        count_(s.inputs[1].extents.elements()),
        per_row_(s.inputs[0].extents.rank() == 1 ? std::max<std::int64_t>(1, count_)
                                                 : s.inputs[1].extents[s.inputs[1].extents.rank() - 1].size) {}
    void run(const kernel_run& r) override {
        if (r.out[0])
            search_sorted(element_, r.in[0], n_, r.in[1], count_, per_row_, right_, r.output<std::int64_t>(0),
                          r.stream);
    }

private:
    const bool right_;
    const element_type element_;
    const std::int64_t n_, count_, per_row_;
};

} // namespace

void register_sort() { enter({{"sort", prepare<sort_kernel>}, {"searchsorted", prepare<searchsorted_kernel>}}); }

} // namespace tenon::cuda
