// The loss of sequences whose labels are not aligned with time: ops/rows/ctc.hpp.

#include <cuda/kernels/rows/ctc.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/memory_pieces.hpp>
#include <tenon/core/error.hpp>
#include <tenon/ops/rows/ctc.hpp>

namespace tenon::cuda {

namespace {

class ctc_kernel final : public kernel {
public:
    explicit ctc_kernel(const kernel_setup& s) :
        name_(s.node.name),
        element_(s.inputs[0].element),
        sizes_{s.inputs[0].extents[0].size, s.inputs[0].extents[1].size, s.inputs[0].extents[2].size,
               s.inputs[1].extents[1].size, decode<ctc_loss_op::attributes>(s.attrs).blank},
        wide_{s.inputs[1].element == element_type::int64, s.inputs[2].element == element_type::int64,
              s.inputs[3].element == element_type::int64} {}
    std::size_t scratch_bytes() const override {
        memory_pieces of;
        of.take(flag_bytes());
        of.take(table_bytes());
        return of.taken();
    }
    double cost() const override {
        return 20000 + 100 * static_cast<double>(sizes_.time) + static_cast<double>(sizes_.batch * sizes_.doubles());
    }
    void run(const kernel_run& r) override {
        if (sizes_.blank >= sizes_.classes) // of sizes, which the host knows
            throw invalid_argument_error(ctc_loss_op::refused_blank(name_, sizes_.blank, sizes_.classes));
        if (sizes_.batch == 0) return;
        memory_pieces scratch(r.scratch);
        auto* const refused = scratch.take<std::int32_t>(flag_bytes());
        const index_list labels{r.in[1], wide_[0], sizes_.batch * sizes_.most}, times{r.in[2], wide_[1], sizes_.batch},
            lengths{r.in[3], wide_[2], sizes_.batch};
        check_sequences(sizes_, labels, times, lengths, refused, fault_in(r.told), r.stream);
        ctc_loss(element_, sizes_, r.in[0], labels, times, lengths, refused, r.out[0], r.out[1],
                 scratch.take<double>(table_bytes()), r.stream);
    }
    bool may_refuse() const override { return true; }
    std::size_t told_bytes() const override { return sizeof(ctc_fault); }
    void tell(std::byte* to) override { *fault_in(to) = {-1, 0, 0, 0}; }
    void refuse(const std::byte* told) const override {
        const auto* const found = reinterpret_cast<const ctc_fault*>(told);
        if (found->sequence < 0) return;
        const auto what = static_cast<ctc_loss_op::wrong>(found->what);
        throw invalid_argument_error(ctc_loss_op::refusal(name_, found->sequence, what, found->value, found->label,
                                                          what == ctc_loss_op::wrong::times ? sizes_.time : sizes_.most,
                                                          sizes_.blank));
    }

private:
    static ctc_fault* fault_in(std::byte* told) { return reinterpret_cast<ctc_fault*>(told); }
    std::size_t flag_bytes() const { return static_cast<std::size_t>(sizes_.batch) * sizeof(std::int32_t); }
    std::size_t table_bytes() const {
        return static_cast<std::size_t>(sizes_.batch * sizes_.doubles()) * sizeof(double);
    }

    const std::string name_;
    const element_type element_;
    const ctc_sizes sizes_;
    const bool wide_[3];
};

} // namespace

void register_ctc() { enter({{"ctc_loss", prepare<ctc_kernel>}}); }

} // namespace tenon::cuda
