// Cholesky's decomposition and triangular systems: ops/linear/triangular.hpp.

#include <cuda/kernels/matrices/triangular.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/linear/by_solver.hpp>
#include <tenon/ops/linear/triangular.hpp>

namespace tenon::cuda {

namespace {

class cholesky_kernel final : public matrices_kernel {
public:
    explicit cholesky_kernel(const kernel_setup& s) :
        matrices_kernel(s, detail::batch_dimensions(s.inputs[0].extents), detail::not_definite, 0) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || count * rows == 0) return;
        factor_cholesky(element, r.in[0], r.out[0], rows, count, flags(r), r.stream);
        report(r);
    }
};

class large_cholesky_kernel final : public solver_kernel {
public:
    large_cholesky_kernel(const kernel_setup& s, std::shared_ptr<solver> of) :
        solver_kernel(s, detail::batch_dimensions(s.inputs[0].extents), detail::not_definite, of,
                      of->cholesky_bytes(s.inputs[0].element, s.inputs[0].extents[s.inputs[0].extents.rank() - 1].size),
                      0) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        for (std::int64_t i = 0; i < count; ++i) {
            void* const l = matrix_in(r.out[0], i, rows * rows);
            take_symmetric(element, matrix_in(r.in[0], i, rows * rows), element, l, rows, true, r.stream);
            by->cholesky(element, l, rows, library_work(r), info(r), r.stream);
            refuse_not_positive(element, l, rows, info(r), flags(r) + i, r.stream);
        }
        report(r);
    }
};
kernel_pointer prepare_cholesky(const kernel_setup& s) {
    auto large = prepare_by_solver<large_cholesky_kernel>(s, detail::batch_dimensions(s.inputs[0].extents));
    return large ? std::move(large) : prepare<cholesky_kernel>(s);
}

class triangular_solve_kernel final : public matrices_kernel {
public:
    explicit triangular_solve_kernel(const kernel_setup& s) :
        triangular_solve_kernel(s, detail::solution_sizes(s.inputs[1].extents, s.outputs[0].extents)) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || count * rows == 0) return;
        solve_triangular(element, systems_, r.in[0], r.in[1], r.out[0], flags(r), r.stream);
        report(r);
    }

private:
    triangular_solve_kernel(const kernel_setup& s, const detail::solution_sizes& x) :
        matrices_kernel(s, x.batch, detail::zero_on_diagonal, 0) {
        const auto how = decode<triangular_options>(s.attrs);
        systems_ = {rows,
                    x.right_sides,
                    count,
                    repeated(batch, detail::batch_dimensions(s.inputs[0].extents)),
                    repeated(batch, detail::batch_dimensions(s.inputs[1].extents)),
                    how.lower,
                    how.transposed};
    }

    triangular_systems systems_{};
};

} // namespace

void register_triangular() {
    enter({{"cholesky", prepare_cholesky}, {"triangular_solve", prepare<triangular_solve_kernel>}});
}

} // namespace tenon::cuda
