// Systems of equations, inverses and determinants: ops/linear/solve.hpp.

#include <cuda/kernels/matrices/pivots.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/linear/by_solver.hpp>
#include <tenon/ops/linear/solve.hpp>

namespace tenon::cuda {

namespace {

std::size_t working_bytes(const kernel_setup& s, std::int64_t count, std::int64_t right_sides) {
    const extents& a = s.inputs[0].extents;
    return static_cast<std::size_t>(count * pivot_elements(a[a.rank() - 1].size, right_sides)) *
           size_of(s.inputs[0].element);
}

class solve_kernel final : public matrices_kernel {
public:
    explicit solve_kernel(const kernel_setup& s) :
        solve_kernel(s, detail::solution_sizes(s.inputs[1].extents, s.outputs[0].extents)) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || count * rows == 0) return;
        solve_by_pivots(element, systems_, r.in[0], r.in[1], r.out[0], work(r), flags(r), r.stream);
        report(r);
    }

private:
    solve_kernel(const kernel_setup& s, const detail::solution_sizes& x) :
        matrices_kernel(s, x.batch, detail::singular, working_bytes(s, x.batch.elements(), x.right_sides)) {
        systems_ = {rows,
                    x.right_sides,
                    count,
                    repeated(batch, detail::batch_dimensions(s.inputs[0].extents)),
                    repeated(batch, detail::batch_dimensions(s.inputs[1].extents)),
                    decode<solve_op::attributes>(s.attrs).transposed};
    }

    general_systems systems_{};
};

class inverse_kernel final : public matrices_kernel {
public:
    explicit inverse_kernel(const kernel_setup& s) : inverse_kernel(s, detail::batch_dimensions(s.inputs[0].extents)) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || count * rows == 0) return;
        invert_by_pivots(element, r.in[0], r.out[0], rows, count, work(r), flags(r), r.stream);
        report(r);
    }

private:
    inverse_kernel(const kernel_setup& s, const extents& of_batch) :
        matrices_kernel(s, of_batch, detail::singular, working_bytes(s, of_batch.elements(), 0)) {}
};

// determinant, or slogdet.
class determinant_kernel final : public matrices_kernel {
public:
    determinant_kernel(const kernel_setup& s, bool logarithm) :
        determinant_kernel(s, logarithm, detail::batch_dimensions(s.inputs[0].extents)) {}
    void run(const kernel_run& r) override {
        if (count == 0) return;
        determinants_by_pivots(element, r.in[0], rows, count, logarithm_ ? nullptr : r.out[0],
                               logarithm_ ? r.out[0] : nullptr, logarithm_ ? r.out[1] : nullptr, work(r), r.stream);
    }

private:
    determinant_kernel(const kernel_setup& s, bool logarithm, const extents& of_batch) :
        matrices_kernel(s, of_batch, nullptr, working_bytes(s, of_batch.elements(), 0)), logarithm_(logarithm) {}

    const bool logarithm_;
};

// By cuSOLVER: triangles of a copy that lies columns first, and how its lines were measured before.
class pivots_kernel : public solver_kernel {
protected:
    /// `right_sides`: columns of memory for them.
    pivots_kernel(const kernel_setup& s, const extents& of_batch, const char* wrong, const std::shared_ptr<solver>& of,
                  std::int64_t right_sides) :
        pivots_kernel(s, of_batch, wrong, of, right_sides, s.inputs[0].extents[s.inputs[0].extents.rank() - 1].size,
                      size_of(s.inputs[0].element)) {}
    struct factored {
        void *lu, *scales;
        int* pivots;
        void* right;
    };
    factored factor(const kernel_run& r, const void* a) const {
        memory_pieces of = pieces(r);
        const std::size_t bytes = size_of(element);
        factored f{of.take(static_cast<std::size_t>(rows * rows) * bytes),
                   of.take(static_cast<std::size_t>(2 * rows) * bytes),
                   of.take<int>(static_cast<std::size_t>(rows) * sizeof(int)),
                   of.take(static_cast<std::size_t>(rows * right_sides_) * bytes)};
        measure_lines(element, a, f.scales, rows, r.stream);
        copy_transposed(element, a, element, f.lu, rows, rows, r.stream);
        by->factor(element, f.lu, rows, library_work(r), f.pivots, info(r), r.stream);
        return f;
    }

private:
    pivots_kernel(const kernel_setup& s, const extents& of_batch, const char* wrong, const std::shared_ptr<solver>& of,
                  std::int64_t right_sides, std::int64_t n, std::size_t bytes) :
        solver_kernel(s, of_batch, wrong, of, of->pivots_bytes(s.inputs[0].element, n),
                      bytes_of({{n * n, bytes}, {2 * n, bytes}, {n, sizeof(int)}, {n * right_sides, bytes}})),
        right_sides_(right_sides) {}

    const std::int64_t right_sides_;
};

class large_solve_kernel final : public pivots_kernel {
public:
    large_solve_kernel(const kernel_setup& s, const std::shared_ptr<solver>& of) :
        large_solve_kernel(s, of, detail::solution_sizes(s.inputs[1].extents, s.outputs[0].extents)) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || right_sides_ == 0) return;
        for (std::int64_t i = 0; i < count; ++i) {
            const factored f = factor(r, matrix_in(r.in[0], a_.place(i), rows * rows));
            refuse_singular(element, f.lu, f.pivots, f.scales, rows, flags(r) + i, r.stream);
            const void* const b = matrix_in(r.in[1], b_.place(i), rows * right_sides_);
            copy_transposed(element, b, element, f.right, rows, right_sides_, r.stream);
            by->solve(element, f.lu, f.pivots, f.right, rows, right_sides_, transposed_, info(r), r.stream);
            copy_transposed(element, f.right, element, matrix_in(r.out[0], i, rows * right_sides_), right_sides_, rows,
                            r.stream);
        }
        report(r);
    }

private:
    large_solve_kernel(const kernel_setup& s, const std::shared_ptr<solver>& of, const detail::solution_sizes& x) :
        pivots_kernel(s, x.batch, detail::singular, of, x.right_sides),
        right_sides_(x.right_sides),
        a_(repeated(x.batch, detail::batch_dimensions(s.inputs[0].extents))),
        b_(repeated(x.batch, detail::batch_dimensions(s.inputs[1].extents))),
        transposed_(decode<solve_op::attributes>(s.attrs).transposed) {}

    const std::int64_t right_sides_;
    const repeated_batch a_, b_;
    const bool transposed_;
};

class large_inverse_kernel final : public pivots_kernel {
public:
    large_inverse_kernel(const kernel_setup& s, const std::shared_ptr<solver>& of) :
        pivots_kernel(s, detail::batch_dimensions(s.inputs[0].extents), detail::singular, of,
                      s.inputs[0].extents[s.inputs[0].extents.rank() - 1].size) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        for (std::int64_t i = 0; i < count; ++i) {
            const factored f = factor(r, matrix_in(r.in[0], i, rows * rows));
            refuse_singular(element, f.lu, f.pivots, f.scales, rows, flags(r) + i, r.stream);
            set_unit(element, f.right, rows, r.stream);
            by->solve(element, f.lu, f.pivots, f.right, rows, rows, false, info(r), r.stream);
            copy_transposed(element, f.right, element, matrix_in(r.out[0], i, rows * rows), rows, rows, r.stream);
        }
        report(r);
    }
};

template <bool Logarithm> class large_determinant_kernel final : public pivots_kernel {
public:
    large_determinant_kernel(const kernel_setup& s, const std::shared_ptr<solver>& of) :
        pivots_kernel(s, detail::batch_dimensions(s.inputs[0].extents), nullptr, of, 0) {}
    void run(const kernel_run& r) override {
        for (std::int64_t i = 0; i < count; ++i) {
            const factored f = factor(r, matrix_in(r.in[0], i, rows * rows));
            void* const first = matrix_in(r.out[0], i, 1);
            take_determinant(element, f.lu, f.pivots, rows, Logarithm ? nullptr : first, Logarithm ? first : nullptr,
                             Logarithm ? matrix_in(r.out[1], i, 1) : nullptr, r.stream);
        }
    }
};

kernel_pointer prepare_solve(const kernel_setup& s) {
    auto large = prepare_by_solver<large_solve_kernel>(
        s, detail::solution_sizes(s.inputs[1].extents, s.outputs[0].extents).batch);
    return large ? std::move(large) : prepare<solve_kernel>(s);
}
kernel_pointer prepare_inverse(const kernel_setup& s) {
    auto large = prepare_by_solver<large_inverse_kernel>(s, detail::batch_dimensions(s.inputs[0].extents));
    return large ? std::move(large) : prepare<inverse_kernel>(s);
}
template <bool Logarithm> kernel_pointer prepare_determinant(const kernel_setup& s) {
    auto large =
        prepare_by_solver<large_determinant_kernel<Logarithm>>(s, detail::batch_dimensions(s.inputs[0].extents));
    return large ? std::move(large) : std::make_unique<determinant_kernel>(s, Logarithm);
}

} // namespace

void register_solve() {
    enter({{"solve", prepare_solve},
           {"inverse", prepare_inverse},
           {"determinant", prepare_determinant<false>},
           {"slogdet", prepare_determinant<true>}});
}

} // namespace tenon::cuda
