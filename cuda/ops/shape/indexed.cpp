// Elements and rows that tuples of indices name.

#include <cuda/device/error.hpp>
#include <cuda/kernels/shape/scatter.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/indices.hpp>
#include <tenon/ops/shape/indexed.hpp>
#include <tenon/ops/shape/indexed_rows.hpp>

namespace tenon::cuda {

namespace {

class indexed_kernel : public kernel {
public:
    bool may_refuse() const override { return true; }
    std::size_t told_bytes() const override { return refusable_indices::bytes; }
    void tell(std::byte* to) override { refusable_indices::tell(to); }
    void refuse(const std::byte* told) const override {
        if (const bad_index* const first = refusable_indices::first_of(told))
            throw invalid_argument_error(complaint_.of(first->value, first->place));
    }

protected:
    indexed_kernel(const kernel_setup& s, const indexed_rows& rows) : rows_(rows), complaint_(s, rows) {}
    index_list list(const void* data) const { return list_of(complaint_.indices(), data); }
    const detail::row_indices& indices() const { return complaint_.indices(); }

    const indexed_rows rows_;

private:
    const detail::indexed_complaint complaint_;
};

class take_kernel final : public indexed_kernel {
public:
    take_kernel(const kernel_setup& s, const indexed_rows& rows) :
        indexed_kernel(s, rows), element_bytes_(size_of(s.inputs[0].element)) {}
    void run(const kernel_run& r) override {
        list_keys(list(r.in[1]), rows_, nullptr, nullptr, refusable_indices::found(r.told), nullptr, r.stream);
        if (r.out[0]) take_indexed(r.in[0], list(r.in[1]), rows_, r.out[0], element_bytes_, r.stream);
    }

private:
    const std::size_t element_bytes_;
};

class scatter_kernel final : public indexed_kernel {
public:
    scatter_kernel(const kernel_setup& s, const indexed_rows& rows, bool add) :
        indexed_kernel(s, rows),
        how_(add ? row_update::add : row_update::assign),
        element_(s.inputs[0].element),
        bytes_(static_cast<std::size_t>(bytes_of(s.inputs[0]))),
        sort_(s, indices(), rows.rows, rows.count) {}
    std::size_t scratch_bytes() const override {
        memory_pieces of;
        of.take(sort_.bytes());
        of.take(index_parts * sizeof(unsigned));
        return of.taken();
    }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        if (r.out[0] != r.in[0] && bytes_ > 0)
            cuda::check(cudaMemcpyAsync(r.out[0], r.in[0], bytes_, cudaMemcpyDeviceToDevice,
                                        static_cast<cudaStream_t>(r.stream)),
                        "cudaMemcpyAsync");
        memory_pieces scratch(r.scratch);
        auto* const refused = scratch.take<unsigned>(index_parts * sizeof(unsigned));
        const auto keys = [&](void* to, std::int64_t* places) {
            list_keys(list(r.in[1]), rows_, to, places, refusable_indices::found(r.told), refused, r.stream);
        };
        const sorted_rows rows = sort_.sort(scratch, keys, r.stream);
        scatter_rows(how_, element_, r.out[0], rows, r.in[2], false, rows_.elements,
                     {refused, index_parts_of(rows_.count)}, r.stream);
    }
    bool may_share(int i, int) const override { return i == 0; }

private:
    const row_update how_;
    const element_type element_;
    const std::size_t bytes_;
    const index_sort sort_;
};

template <indexed_rows (*Rows)(const kernel_setup&)> kernel_pointer prepare_take(const kernel_setup& s) {
    return std::make_unique<take_kernel>(s, Rows(s));
}
template <class Op, indexed_rows (*Rows)(const kernel_setup&)> kernel_pointer prepare_scatter(const kernel_setup& s) {
    return std::make_unique<scatter_kernel>(s, Rows(s), decode<typename Op::attributes>(s.attrs).add);
}

} // namespace

void register_indexed() {
    using detail::rows_along_axis, detail::rows_of_tuples;
    enter({{"take_along_axis", prepare_take<rows_along_axis>},
           {"scatter_along_axis", prepare_scatter<scatter_along_axis_op, rows_along_axis>},
           {"gather_nd", prepare_take<rows_of_tuples>},
           {"scatter_nd", prepare_scatter<scatter_nd_op, rows_of_tuples>}});
}

} // namespace tenon::cuda
