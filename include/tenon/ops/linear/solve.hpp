#pragma once

#include <tuple>
#include <vector>

#include <tenon/ops/linear/matrices.hpp>

/// Systems of linear equations, inverses and determinants, by L U with exchanged rows. Of float and double, in batches: [.., n, n].
///
///     auto x = tn::solve(a, b);                  // a x = b; [batch, n, n], [batch, n, m] -> [batch, n, m]
///     auto i = tn::inverse(a);
///     auto d = tn::determinant(a);               // [batch, n, n] -> [batch]
///     auto [sign, log] = tn::slogdet(a);         // determinant(a) = sign exp(log), where that would be too large or small

namespace tenon {

/// in: a, b. x with a x = b, or a^T x = b.
struct solve_op {
    static constexpr const char* name = "solve";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        bool transposed = false;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() == 2 ? detail::solution_type(in[0], in[1]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(solve, solve);

/// in: a.
struct inverse_op {
    static constexpr const char* name = "inverse";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() == 1 ? detail::square_matrices(in[0]) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(solve, inverse);

/// in: a.
struct determinant_op {
    static constexpr const char* name = "determinant";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        const inferred r = detail::square_matrices(in[0]);
        return r ? inferred(r.type.element, detail::batch_dimensions(r.type.extents)) : r;
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(solve, determinant);

/// in: a. Outputs: the determinant's sign, and the logarithm of its absolute value.
struct slogdet_op {
    static constexpr const char* name = "slogdet";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes&, type_list in, int) { return determinant_op::infer({}, in, 0); }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(solve, slogdet);

namespace untyped {
any_tensor solve(const any_tensor& a, const any_tensor& b, called_from here = caller());
any_tensor inverse(const any_tensor& a, called_from here = caller());
any_tensor determinant(const any_tensor& a, called_from here = caller());
/// The signs, and the logarithms.
std::vector<any_tensor> slogdet(const any_tensor& a, called_from here = caller());
} // namespace untyped

/// x with a x = b. a: [.., n, n]; b: [.., n, m], or [n]: one column for all of the batch. What stands before the matrices broadcasts.
/// Where a matrix is singular to the accuracy of its elements the step fails with invalid_argument_error, which says which of the batch
/// it is.
template <OperandOrIllShaped A, OperandOrIllShaped B> auto solve(const A& a, const B& b, called_from here = caller()) {
    const making made(here);
    return apply_op<solve_op, solve_op::attributes{}>(a, b);
}

/// The inverse of each matrix of a [.., n, n]; a singular one is an error, as for solve, which is faster and more accurate where the
/// inverse is only multiplied by something.
template <OperandOrIllShaped A> auto inverse(const A& a, called_from here = caller()) {
    const making made(here);
    return apply_op<inverse_op, no_attributes{}>(a);
}

/// The determinant of each matrix of a: [.., n, n] -> [..]; 1 of one without elements. The gradient, d inverse(a)^T, needs matrices that
/// are not singular.
template <OperandOrIllShaped A> auto determinant(const A& a, called_from here = caller()) {
    const making made(here);
    return apply_op<determinant_op, no_attributes{}>(a);
}

/// (sign, log) as std::tuple: sign is 1, -1, or 0 where the determinant is 0, and determinant = sign exp(log). [.., n, n] -> [..] each. A
/// gradient flows to the logarithm, and needs matrices that are not singular.
template <OperandOrIllShaped A> auto slogdet(const A& a, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<slogdet_op, A>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return std::tuple<ill_shaped, ill_shaped>{};
    else {
        using result = detail::op_result_t<slogdet_op, detail::without_attributes, 0, void, detail::operand_of_t<A>>;
        const std::vector<any_tensor> both = untyped::slogdet(detail::as_tensor(a));
        return std::tuple(result::unchecked(both[0]), result::unchecked(both[1]));
    }
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_solve)

#include <cmath>
#include <cstring>

#include <tenon/dense/decompose/decompositions.hpp>
#include <tenon/ops/linear/matrices_kernel.hpp>
#include <tenon/ops/shape/assembly.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor solve(const any_tensor& a, const any_tensor& b, called_from here) {
    return tenon::add<solve_op>({}, {a, b}, here);
}
TENON_INLINE any_tensor inverse(const any_tensor& a, called_from here) { return tenon::add<inverse_op>({}, {a}, here); }
TENON_INLINE any_tensor determinant(const any_tensor& a, called_from here) {
    return tenon::add<determinant_op>({}, {a}, here);
}
TENON_INLINE std::vector<any_tensor> slogdet(const any_tensor& a, called_from here) {
    const making made(here);
    return detail::outputs_of(add_node(definition_of<slogdet_op>(), {a}, {}));
}
} // namespace untyped

TENON_INLINE void solve_op::gradient(gradient_context& g) {
    const bool transposed = g.attributes<attributes>().transposed;
    detail::set_solution_gradients(
        g, transposed,
        [&](const any_tensor& a, const any_tensor& d) {
            return tenon::add<solve_op>({!transposed}, {a, d});
        },
        [](const any_tensor& da) { return da; });
}
TENON_INLINE void inverse_op::gradient(gradient_context& g) {
    using untyped::matmul;
    const any_tensor y = g.output();
    g.set(0, untyped::negative(matmul(matmul(y, g.output_gradient(), true), y, false, true)));
}
TENON_INLINE void determinant_op::gradient(gradient_context& g) {
    using namespace untyped;
    const any_tensor d = expand_dims(multiply(g.output_gradient(), g.output()), {-1, -2});
    g.set(0, multiply(d, detail::transposed(inverse(g.input(0)))));
}
TENON_INLINE void slogdet_op::gradient(gradient_context& g) {
    using namespace untyped;
    if (!g.output_gradient(1).node()) return;
    g.set(0, multiply(expand_dims(g.output_gradient(1), {-1, -2}), detail::transposed(inverse(g.input(0)))));
}

namespace detail {

// Each matrix is copied to the scratch memory, where its triangles take its place.
template <class T> T* copied_matrix(const T* a, const kernel_run& r, std::int64_t i, std::int64_t n) {
    T* to = reinterpret_cast<T*>(r.scratch) + i * n * n;
    if (n > 0) std::memcpy(to, a, static_cast<std::size_t>(n * n) * sizeof(T));
    return to;
}

template <class T> struct solve_kernel final : solution_kernel {
    explicit solve_kernel(const kernel_setup& s) :
        solution_kernel(s, 0.6), transposed(decode<solve_op::attributes>(s.attrs).transposed) {}
    std::size_t scratch_bytes() const override { return static_cast<std::size_t>(count * rows * rows) * sizeof(T); }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const std::int64_t n = rows, m = right_sides;
        each(r, "solve", singular, [&](std::int64_t i) {
            T* a = copied_matrix(r.input<T>(0) + repeated(a_batch, i) * n * n, r, i, n);
            return dense::solve_by_pivots(a, r.input<T>(1) + repeated(b_batch, i) * n * m, r.output<T>(0) + i * n * m,
                                          n, m, transposed);
        });
    }
    const bool transposed;
};

template <class T> struct inverse_kernel final : matrices_kernel {
    explicit inverse_kernel(const kernel_setup& s) : matrices_kernel(s.inputs[0].extents, 1.5) {}
    std::size_t scratch_bytes() const override { return static_cast<std::size_t>(count * rows * rows) * sizeof(T); }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const std::int64_t n = rows;
        each(r, "inverse", singular, [&](std::int64_t i) {
            return dense::invert_by_pivots(copied_matrix(r.input<T>(0) + i * n * n, r, i, n),
                                           r.output<T>(0) + i * n * n, n);
        });
    }
};

template <class T, bool Log> struct determinant_kernel : matrices_kernel {
    explicit determinant_kernel(const kernel_setup& s) : matrices_kernel(s.inputs[0].extents, 0.5) {}
    std::size_t scratch_bytes() const override { return static_cast<std::size_t>(count * rows * rows) * sizeof(T); }
    void run(const kernel_run& r) override {
        const std::int64_t n = rows;
        each(r, "determinant", "", [&](std::int64_t i) {
            const auto d = dense::determinant_by_pivots(copied_matrix(r.input<T>(0) + i * n * n, r, i, n), n);
            if constexpr (Log) {
                if (r.out[0]) r.output<T>(0)[i] = d.sign;
                if (r.out[1]) r.output<T>(1)[i] = d.log;
            } else if (r.out[0]) r.output<T>(0)[i] = d.product;
            return true;
        });
    }
};
template <class T> struct product_of_pivots_kernel final : determinant_kernel<T, false> {
    using determinant_kernel<T, false>::determinant_kernel;
};
template <class T> struct log_of_pivots_kernel final : determinant_kernel<T, true> {
    using determinant_kernel<T, true>::determinant_kernel;
};

} // namespace detail

TENON_INLINE kernel_pointer solve_op::prepare(const kernel_setup& s) {
    return detail::prepare_matrices<detail::solve_kernel>(s);
}
TENON_INLINE kernel_pointer inverse_op::prepare(const kernel_setup& s) {
    return detail::prepare_matrices<detail::inverse_kernel>(s);
}
TENON_INLINE kernel_pointer determinant_op::prepare(const kernel_setup& s) {
    return detail::prepare_matrices<detail::product_of_pivots_kernel>(s);
}
TENON_INLINE kernel_pointer slogdet_op::prepare(const kernel_setup& s) {
    return detail::prepare_matrices<detail::log_of_pivots_kernel>(s);
}

} // namespace tenon

#endif
