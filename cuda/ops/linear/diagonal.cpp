// Diagonals of matrices, read or written.

#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/copies.hpp>
#include <tenon/ops/linear/diagonal_view.hpp>
#include <tenon/ops/linear/diagonal.hpp>

namespace tenon::cuda {

namespace {

// Into a matrix: zeros, and a copy of a part of it.
class put_diagonal_kernel final : public kernel {
public:
    explicit put_diagonal_kernel(const kernel_setup& s) :
        view_(s.outputs[0].extents, s.inputs[0].extents, decode<diagonal_op::attributes>(s.attrs).k, true),
        bytes_(size_of(s.outputs[0].element)),
        copy_(view_.view.dims, view_.view.rank, bytes_),
        elements_(s.outputs[0].extents.elements()) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        fill(r.out[0], elements_, bytes_, 0, r.stream);
        copy_.run(r.in[0], r.output<std::byte>(0) + view_.offset * static_cast<std::int64_t>(bytes_), r.stream);
    }

private:
    const tenon::detail::diagonal_view view_;
    const std::size_t bytes_;
    strided_copy copy_;
    const std::int64_t elements_;
};

kernel_pointer prepare_diagonal(const kernel_setup& s) {
    const tenon::detail::diagonal_view v(s.inputs[0].extents, s.outputs[0].extents,
                                         decode<diagonal_op::attributes>(s.attrs).k, false);
    const std::size_t bytes = size_of(s.inputs[0].element);
    return std::make_unique<strided_copy_kernel>(strided_copy(v.view.dims, v.view.rank, bytes), bytes, v.offset);
}

} // namespace

void register_diagonal() {
    enter({{"diagonal", prepare_diagonal},
           {"put_diagonal", prepare<put_diagonal_kernel>},
           {"diag", prepare<put_diagonal_kernel>}});
}

} // namespace tenon::cuda
