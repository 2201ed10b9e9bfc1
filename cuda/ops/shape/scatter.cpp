// Updates of some rows of a variable.

#include <tenon/ops/shape/scatter.hpp>

#include <cuda/device/error.hpp>
#include <cuda/kernels/shape/scatter.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/indices.hpp>

namespace tenon::cuda {

namespace {

constexpr row_update update_of(scatter_op::way how) {
    constexpr row_update all[] = {row_update::assign, row_update::add,     row_update::subtract, row_update::multiply,
                                  row_update::divide, row_update::minimum, row_update::maximum};
    return all[static_cast<int>(how)];
}

// Nothing of the variable is changed before all indices are known to be in range.
class scatter_kernel final : public kernel {
public:
    explicit scatter_kernel(const kernel_setup& s) :
        how_(decode<scatter_op::attributes>(s.attrs).how),
        name_(std::string(detail::name_of(how_)) + " (" + s.node.name + ")"),
        variable_(s.node.inputs[0].node->name),
        variable_bytes_(static_cast<std::size_t>(bytes_of(s.inputs[0]))),
        indices_(s.inputs[1]),
        size_(s.inputs[0].extents[0].size),
        inner_(size_ == 0 ? 0 : s.inputs[0].extents.elements() / size_),
        one_for_all_(s.inputs[2].extents.rank() == 0),
        element_(s.inputs[0].element),
        sort_(s, indices_, size_) {}
    std::size_t scratch_bytes() const override {
        memory_pieces of;
        of.take(sort_.bytes());
        of.take(index_parts * sizeof(unsigned));
        return of.taken();
    }
    void check(const kernel_run& r) const override { // of what is known before the card runs it
        if (!r.in[0]) throw failed_precondition_error(detail::changed_without_value(name_, variable_));
    }
    void run(const kernel_run& r) override {
        check(r);
        if (r.out[0] != r.in[0] && variable_bytes_ > 0)
            cuda::check(cudaMemcpyAsync(r.out[0], r.in[0], variable_bytes_, cudaMemcpyDeviceToDevice,
                                        static_cast<cudaStream_t>(r.stream)),
                        "cudaMemcpyAsync");
        memory_pieces scratch(r.scratch);
        auto* const refused = scratch.take<unsigned>(index_parts * sizeof(unsigned));
        const sorted_rows rows = sort_.sort(scratch, r.in[1], refusable_indices::found(r.told), refused, r.stream);
        scatter_rows(update_of(how_), element_, r.out[0], rows, r.in[2], one_for_all_, inner_,
                     {refused, index_parts_of(indices_.count)}, r.stream);
    }
    bool may_refuse() const override { return true; }
    std::size_t told_bytes() const override { return refusable_indices::bytes; }
    void tell(std::byte* to) override { refusable_indices::tell(to); }
    void refuse(const std::byte* told) const override {
        refusable_indices::check(told, indices_, [&](const std::string& shown) {
            return detail::outside_variable(name_, shown, size_, variable_);
        });
    }

private:
    const scatter_op::way how_;
    const std::string name_, variable_;
    const std::size_t variable_bytes_;
    const detail::row_indices indices_;
    const std::int64_t size_, inner_;
    const bool one_for_all_;
    const element_type element_;
    const index_sort sort_;
};

} // namespace

void register_scatter() { enter({{"scatter", prepare<scatter_kernel>}}); }

} // namespace tenon::cuda
