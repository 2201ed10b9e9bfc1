#include <cuda/kernels/shape/joined_rows.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/op/axes.hpp>

namespace tenon::cuda {

namespace {

// Parts along the attribute `axis` of the whole: its length in rows, which are elements of what follows.
joined_rows rows_of(const kernel_setup& s, const tensor_type& whole, type_list parts) {
    const int axis = tenon::detail::axis_of(static_cast<int>(s.attrs.get<std::int64_t>("axis")), whole.extents.rank());
    std::int64_t rows = 1;
    for (int i = 0; i < axis; ++i) rows *= whole.extents[i].size;
    std::vector<std::int64_t> widths;
    for (const tensor_type& p : parts) widths.push_back(rows == 0 ? 0 : p.extents.elements() / rows);
    return {rows, std::move(widths), size_of(whole.element)};
}

struct join_kernel final : kernel {
    explicit join_kernel(const kernel_setup& s) : rows(rows_of(s, s.outputs[0], s.inputs)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) rows.join(r.in, r.out[0], r.stream);
    }
    const joined_rows rows;
};
struct take_apart_kernel final : kernel {
    explicit take_apart_kernel(const kernel_setup& s) : rows(rows_of(s, s.inputs[0], s.outputs)) {}
    void run(const kernel_run& r) override { rows.take_apart(r.in[0], r.out, r.stream); }
    const joined_rows rows;
};
} // namespace

void register_assembly() {
    enter({{"concat", prepare<join_kernel>},
           {"stack", prepare<join_kernel>},
           {"split_like", prepare<take_apart_kernel>},
           {"split", prepare<take_apart_kernel>},
           {"split_evenly", prepare<take_apart_kernel>},
           {"unstack", prepare<take_apart_kernel>}});
}

} // namespace tenon::cuda
