#pragma once

#include <tenon/ops/linear/matrices.hpp>

/// Cholesky's decomposition, and systems of equations with triangular matrices. Of float and double, in batches: [.., n, n].
///
///     auto l = tn::cholesky(a);                                      // a = l l^T; [b, n, n]
///     auto y = tn::triangular_solve(l, x);                           // l y = x; [b, n, n], [b, n, m] -> [b, n, m]
///     auto z = tn::triangular_solve(l, y, {.transposed = true});     // l^T z = y: together a z = x

namespace tenon {

/// in: a. The lower triangle l with l l^T = (a + a^T) / 2.
struct cholesky_op {
    static constexpr const char* name = "cholesky";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() == 1 ? detail::square_matrices(in[0]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(triangular, cholesky);

/// Which triangle, and whether its transpose is meant.
struct triangular_options {
    bool lower = true;
    bool transposed = false;
    friend constexpr bool operator==(const triangular_options&, const triangular_options&) = default;
};

/// in: a, b. x with a x = b, or a^T x = b, where a is taken as the triangle.
struct triangular_solve_op {
    static constexpr const char* name = "triangular_solve";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = triangular_options;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() == 2 ? detail::solution_type(in[0], in[1]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(triangular, triangular_solve);

/// The lower triangular l with l l^T = a, of the symmetric part (a + a^T) / 2 of each matrix of a [.., n, n]. Where that is not positive
/// definite the step fails with invalid_argument_error, which says which matrix of the batch it is. Gradient: symmetric.
template <OperandOrIllShaped A> auto cholesky(const A& a, called_from here = caller()) {
    const making made(here);
    return apply_op<cholesky_op, no_attributes{}>(a);
}

/// x with a x = b, or a^T x = b with `.transposed`, of the lower triangle of each matrix of a [.., n, n], or the upper one with
/// `.lower = false`; what else is in a does not count. b: [.., n, m], or [n]: one column for all of the batch. What stands before the
/// matrices broadcasts. invalid_argument_error in the step where a 0 is on a diagonal.
template <OperandOrIllShaped A, OperandOrIllShaped B>
auto triangular_solve(const A& a, const B& b, const triangular_options& o = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<triangular_solve_op, detail::default_attributes<triangular_solve_op>>(o, a, b);
}

namespace untyped {
any_tensor cholesky(const any_tensor& a, called_from here = caller());
any_tensor triangular_solve(const any_tensor& a, const any_tensor& b, const triangular_options& o = {},
                            called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_triangular)

#include <cstring>

#include <tenon/dense/decompose/decompositions.hpp>
#include <tenon/ops/linear/matrices_kernel.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor cholesky(const any_tensor& a, called_from here) {
    return tenon::add<cholesky_op>({}, {a}, here);
}
TENON_INLINE any_tensor triangular_solve(const any_tensor& a, const any_tensor& b, const triangular_options& o,
                                         called_from here) {
    return tenon::add<triangular_solve_op>(o, {a, b}, here);
}
} // namespace untyped

// The symmetric part of l^-T P l^-1 (Murray, "Differentiation of the Cholesky decomposition", 2016), where P is the lower triangle of
// l^T dl with half of its diagonal.
TENON_INLINE void cholesky_op::gradient(gradient_context& g) {
    using namespace untyped;
    const any_tensor l = g.output(), inner = detail::triangle_of(matmul(l, g.output_gradient(), true), false);
    const any_tensor halved = detail::with_diagonal(inner, multiply(inner, scalar(0.5, inner.element())));
    const triangular_options turned{true, true};
    const any_tensor left = triangular_solve(l, halved, turned); // l^-T P
    const any_tensor both = triangular_solve(l, detail::transposed(left), turned);
    g.set(0, detail::symmetric_part(both));
}

TENON_INLINE void triangular_solve_op::gradient(gradient_context& g) {
    const auto o = g.attributes<attributes>();
    detail::set_solution_gradients(
        g, o.transposed,
        [&](const any_tensor& a, const any_tensor& d) {
            return untyped::triangular_solve(a, d, {o.lower, !o.transposed});
        },
        [&](const any_tensor& da) { return detail::triangle_of(da, !o.lower); });
}

namespace detail {

template <class T> struct cholesky_kernel final : matrices_kernel {
    explicit cholesky_kernel(const kernel_setup& s) : matrices_kernel(s.inputs[0].extents, 0.3) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const std::int64_t n = rows;
        each(r, "cholesky", not_definite, [&](std::int64_t i) {
            return dense::factor_cholesky(r.input<T>(0) + i * n * n, r.output<T>(0) + i * n * n, n);
        });
    }
};

template <class T> struct triangular_solve_kernel final : solution_kernel {
    explicit triangular_solve_kernel(const kernel_setup& s) :
        solution_kernel(s, 0.3), how(decode<triangular_options>(s.attrs)) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const std::int64_t n = rows, m = right_sides;
        each(r, "triangular_solve", zero_on_diagonal, [&](std::int64_t i) {
            T* x = r.output<T>(0) + i * n * m;
            const T* b = r.input<T>(1) + repeated(b_batch, i) * n * m;
            if (x != b && n * m > 0) std::memcpy(x, b, static_cast<std::size_t>(n * m) * sizeof(T));
            return dense::solve_triangular(r.input<T>(0) + repeated(a_batch, i) * n * n, x, n, m, how.lower,
                                           how.transposed);
        });
    }
    const triangular_options how;
};

} // namespace detail

TENON_INLINE kernel_pointer cholesky_op::prepare(const kernel_setup& s) {
    return detail::prepare_matrices<detail::cholesky_kernel>(s);
}
TENON_INLINE kernel_pointer triangular_solve_op::prepare(const kernel_setup& s) {
    return detail::prepare_matrices<detail::triangular_solve_kernel>(s);
}

} // namespace tenon

#endif
