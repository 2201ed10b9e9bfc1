#pragma once

#include <algorithm>
#include <atomic>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/linear/matrices.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/reduce/scan.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// What the gradients and kernels of ops on batches of matrices are made of (ops/linear/matrices.hpp).

namespace tenon::detail {

/// The kernel of an op on batches of matrices. `work`: what a matrix takes, in multiples of the third power of its size.
class matrices_kernel : public kernel {
public:
    double cost() const override { return 200 + static_cast<double>(count) * nanoseconds; }

protected:
    matrices_kernel(const extents& a, double work) :
        batch(batch_dimensions(a)), rows(a[a.rank() - 2].size), columns(a[a.rank() - 1].size), count(batch.elements()) {
        const double most = static_cast<double>(std::max(rows, columns)),
                     least = static_cast<double>(std::min(rows, columns));
        nanoseconds = 50 + work * most * least * least;
    }
    /// visit(i) of each matrix of the batch; where it is false, invalid_argument_error with these words of the first such.
    template <class F> void each(const kernel_run& r, const char* op, const char* words, const F& visit) const {
        std::atomic<std::int64_t> failed{count};
        const auto some = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                if (visit(i)) continue;
                std::int64_t before = failed;
                while (i < before && !failed.compare_exchange_weak(before, i)) {
                }
            }
        };
        const auto worth_a_thread = static_cast<std::int64_t>(20'000 / nanoseconds) + 1;
        parallel_for(r.pool, count, worth_a_thread, some);
        if (failed < count) throw invalid_argument_error(refused_matrix(op, batch, failed, words));
    }
    /// The matrix of an operand whose batch is repeated to this one's.
    std::int64_t repeated(const extents& operand_batch, std::int64_t i) const {
        std::int64_t place = 0, step = 1;
        for (int d = batch.rank(), o = operand_batch.rank(); d-- > 0; i /= batch[d].size) {
            if (--o < 0) break;
            if (operand_batch[o].size > 1) place += i % batch[d].size * step;
            step *= operand_batch[o].size;
        }
        return place;
    }

    const extents batch;
    const std::int64_t rows, columns, count;
    double nanoseconds;
};

/// What kernels of a x = b share: where the matrices and right sides of each x are.
struct solution_kernel : matrices_kernel {
    solution_kernel(const kernel_setup& s, double work) :
        matrices_kernel(with_batch_of_x(s), work),
        a_batch(batch_dimensions(s.inputs[0].extents)),
        b_batch(batch_dimensions(s.inputs[1].extents)),
        right_sides(solution_sizes(s.inputs[1].extents, s.outputs[0].extents).right_sides) {}
    // The batch that x has, of matrices like a's.
    static extents with_batch_of_x(const kernel_setup& s) {
        const extents& a = s.inputs[0].extents;
        extents e = solution_sizes(s.inputs[1].extents, s.outputs[0].extents).batch;
        e.push_back(a[a.rank() - 2]);
        e.push_back(a[a.rank() - 1]);
        return e;
    }
    const extents a_batch, b_batch;
    const std::int64_t right_sides;
};

/// Kernel<float> or Kernel<double>.
template <template <class> class Kernel> kernel_pointer prepare_matrices(const kernel_setup& s) {
    if (s.inputs[0].element == element_type::float32) return std::make_unique<Kernel<float>>(s);
    return std::make_unique<Kernel<double>>(s);
}

inline any_tensor transposed(const any_tensor& a) { return untyped::swapaxes(a, -1, -2); }

/// Row less column of each element of a's matrices, int32: of sizes that are numbers [m, n], else of a's.
inline any_tensor below_diagonal(const any_tensor& a) {
    const int rank = a.rank();
    const extent &m = a.extents()[rank - 2], &n = a.extents()[rank - 1];
    if (m.is_number() && n.is_number())
        return untyped::subtract(untyped::expand_dims(untyped::arange(element_type::int32, m.size), {1}),
                                 untyped::arange(element_type::int32, n.size));
    const any_tensor ones = untyped::cast(untyped::ones_like(a), element_type::int32);
    return untyped::subtract(untyped::cumsum(ones, rank - 2), untyped::cumsum(ones, rank - 1));
}
/// a on and below its matrices' diagonals, or above for `upper`, else 0.
inline any_tensor triangle_of(const any_tensor& a, bool upper) {
    const any_tensor below = below_diagonal(a), none = untyped::scalar(0, element_type::int32);
    return untyped::select(upper ? untyped::less_equal(below, none) : untyped::greater_equal(below, none), a,
                           untyped::scalar(0, a.element()));
}
/// a, with `value` on the diagonals.
inline any_tensor with_diagonal(const any_tensor& a, const any_tensor& value) {
    return untyped::select(untyped::equal(below_diagonal(a), untyped::scalar(0, element_type::int32)), value, a);
}
inline any_tensor symmetric_part(const any_tensor& a) {
    return untyped::multiply(untyped::add(a, transposed(a)), untyped::scalar(0.5, a.element()));
}

/// Of the x of a x = b: what flows to b, of which `solve` makes the solution for another right side, then what flows to a.
template <class Solve, class Mask>
void set_solution_gradients(gradient_context& g, bool transpose, const Solve& solve, const Mask& mask) {
    any_tensor d = g.output_gradient(), x = g.output();
    const any_tensor a = g.input(0), b = g.input(1);
    const bool vector = b.rank() == 1;
    if (vector) {
        d = untyped::expand_dims(d, {-1});
        x = untyped::expand_dims(x, {-1});
    }
    const any_tensor db = solve(a, d);
    any_tensor da = transpose ? untyped::matmul(x, db, false, true) : untyped::matmul(db, x, false, true);
    da = mask(untyped::negative(da));
    g.set(0, untyped::sum_like(da, a));
    g.set(1, untyped::sum_like(vector ? untyped::squeeze(db, {-1}) : db, b));
}

} // namespace tenon::detail
