// Sorted lines, by CUB's radix sort, and where values belong among sorted ones.

#include <algorithm>
#include <bit>
#include <utility>

#include <cuda/device/context.hpp>
#include <cuda/kernels/reduce/sort.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/sorted_pairs.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/ops/reduce/sort.hpp>

namespace tenon::cuda {

namespace {

// Where keys and the numbers of lines fit into 64 bits all lines are sorted at once; else all elements are, and then, which keeps
// their order, by their lines.
class sort_kernel final : public kernel {
public:
    explicit sort_kernel(const kernel_setup& s) : element_(s.inputs[0].element) {
        const auto a = decode<sort_op::attributes>(s.attrs);
        const extents& x = s.inputs[0].extents;
        const int axis = tenon::detail::axis_of(a.axis, x.rank());
        descending_ = a.descending;
        lines_ = {1, x[axis].size, 1};
        for (int d = 0; d < x.rank(); ++d)
            if (d != axis) (d < axis ? lines_.outer : lines_.inner) *= x[d].size;
        count_ = lines_.elements();
        line_bits_ =
            lines_.lines() > 1 ? static_cast<int>(std::bit_width(static_cast<std::uint64_t>(lines_.lines() - 1))) : 0;
        const std::size_t bytes = size_of(element_);
        wide_ = bytes < 8 && line_bits_ > 0;
        apart_ = bytes == 8 && line_bits_ > 0;
        key_bytes_ = bytes == 8 || wide_ ? 8 : 4;
        key_bits_ = wide_       ? 32 + line_bits_
                    : bytes < 4 ? static_cast<int>(8 * bytes)
                                : static_cast<int>(8 * key_bytes_);
        s.gpu->use();
        sort_bytes_ = sort_pairs_bytes(count_, key_bytes_, key_bits_);
        if (apart_) sort_bytes_ = std::max(sort_bytes_, sort_pairs_bytes(count_, sizeof(std::uint32_t), line_bits_));
    }
    std::size_t scratch_bytes() const override { return pairs_to_sort::bytes(count_, key_bytes_, sort_bytes_); }
    double cost() const override { return 20000 + 0.1 * static_cast<double>(count_); }
    void run(const kernel_run& r) override {
        if (count_ == 0 || (!r.out[0] && !r.out[1])) return;
        memory_pieces scratch(r.scratch);
        pairs_to_sort m(scratch, count_, key_bytes_, sort_bytes_);
        list_sort_keys(element_, r.in[0], lines_, descending_, wide_, m.keys, m.places, r.stream);
        sort_pairs(m.sort, sort_bytes_, m.keys, m.sorted_keys, m.places, m.sorted_places, count_, key_bytes_, key_bits_,
                   r.stream);
        if (apart_) {
            list_line_keys(m.sorted_places, lines_, static_cast<std::uint32_t*>(m.keys), r.stream);
            sort_pairs(m.sort, sort_bytes_, m.keys, m.sorted_keys, m.sorted_places, m.places, count_,
                       sizeof(std::uint32_t), line_bits_, r.stream);
            std::swap(m.places, m.sorted_places);
        }
        take_sorted(element_, r.in[0], lines_, m.sorted_places, r.out[0], r.output<std::int64_t>(1), r.stream);
    }

private:
    const element_type element_;
    bool descending_ = false, wide_ = false, apart_ = false;
    sorted_lines lines_{};
    std::int64_t count_ = 0;
    int line_bits_ = 0, key_bits_ = 0;
    std::size_t key_bytes_ = 4, sort_bytes_ = 0;
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
