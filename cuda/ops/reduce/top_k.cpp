// The largest elements of rows, and elements by places in rows: ops/reduce/top_k.hpp.

#include <algorithm>
#include <optional>

#include <cuda/kernels/reduce/top_k.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/reduce/line_sort.hpp>
#include <cuda/ops/shape/indices.hpp>
#include <tenon/core/error.hpp>
#include <tenon/ops/reduce/top_k.hpp>

namespace tenon::cuda {

namespace {

struct rows_of {
    explicit rows_of(const extents& x) : n(x[x.rank() - 1].size) {
        for (int d = 0; d + 1 < x.rank(); ++d) count *= x[d].size;
    }
    std::int64_t n, count = 1;
};

class top_k_kernel final : public kernel {
public:
    explicit top_k_kernel(const kernel_setup& s) :
        element_(s.inputs[0].element), rows_(s.inputs[0].extents), k_(decode<top_k_op::attributes>(s.attrs).k) {
        if (k_ > most_sought) sort_.emplace(s, element_, sorted_lines{rows_.count, rows_.n, 1}, true);
    }
    std::size_t scratch_bytes() const override { return sort_ ? sort_->bytes() : 0; }
    double cost() const override {
        return 20000 + 0.01 * static_cast<double>(rows_.count * rows_.n * std::min(k_, most_sought));
    }
    void run(const kernel_run& r) override {
        if (!r.out[0] && !r.out[1]) return;
        auto* const places = r.output<std::int32_t>(1);
        if (!sort_) return find_largest(element_, r.in[0], rows_.count, rows_.n, k_, r.out[0], places, r.stream);
        take_largest(element_, r.in[0], rows_.count, rows_.n, k_, sort_->places(r.in[0], r.scratch, r.stream), r.out[0],
                     places, r.stream);
    }

private:
    const element_type element_;
    const rows_of rows_;
    const std::int64_t k_;
    std::optional<line_sort> sort_;
};

// take_places and put_places: of places that are checked on the device.
class places_kernel final : public kernel {
public:
    places_kernel(const kernel_setup& s, bool puts) :
        name_(std::string(s.node.op->name) + " (" + s.node.name + ")"),
        puts_(puts),
        element_(s.inputs[0].element),
        rows_(s.inputs[puts ? 2 : 0].extents),
        count_(s.inputs[1].extents[s.inputs[1].extents.rank() - 1].size) {}
    void run(const kernel_run& r) override {
        const auto* const places = r.input<std::int32_t>(1);
        check_indices({places, false, rows_.count * count_}, rows_.n, refusable_indices::found(r.told), nullptr,
                      r.stream);
        if (!r.out[0]) return;
        (puts_ ? put_places : take_places)(element_, r.in[0], places, rows_.count, rows_.n, count_, r.out[0], r.stream);
    }
    bool may_refuse() const override { return true; }
    std::size_t told_bytes() const override { return refusable_indices::bytes; }
    void tell(std::byte* to) override { refusable_indices::tell(to); }
    void refuse(const std::byte* told) const override {
        if (const bad_index* const first = refusable_indices::first_of(told))
            throw invalid_argument_error(detail::refused_place(name_, first->value, first->place / count_, rows_.n));
    }

private:
    const std::string name_;
    const bool puts_;
    const element_type element_;
    const rows_of rows_;
    const std::int64_t count_; // places in a row
};
template <bool Puts> kernel_pointer prepare_places(const kernel_setup& s) {
    return std::make_unique<places_kernel>(s, Puts);
}

} // namespace

void register_top_k() {
    enter({{"top_k", prepare<top_k_kernel>},
           {"take_places", prepare_places<false>},
           {"put_places", prepare_places<true>}});
}

} // namespace tenon::cuda
