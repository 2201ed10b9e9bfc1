#pragma once

#include <tenon/dense/decompose/decompositions.hpp>
#include <tenon/ops/linear/matrices_kernel.hpp>
#include <tenon/ops/linear/triangular.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/indexing.hpp>

// Gradients and kernels of ops/linear/decomposition.hpp.

namespace tenon {

namespace untyped {
TENON_INLINE std::vector<any_tensor> qr(const any_tensor& a, called_from here) {
    const making made(here);
    return detail::outputs_of(add_node(definition_of<qr_op>(), {a}, {}));
}
TENON_INLINE std::vector<any_tensor> svd(const any_tensor& a, called_from here) {
    const making made(here);
    node* n = add_node(definition_of<svd_op>(), {a}, encode(svd_op::attributes{true}));
    return {any_tensor({n, 1}), any_tensor({n, 0}), any_tensor({n, 2})};
}
TENON_INLINE any_tensor singular_values(const any_tensor& a, called_from here) {
    return tenon::add<svd_op>({false}, {a}, here);
}
TENON_INLINE std::vector<any_tensor> eigh(const any_tensor& a, called_from here) {
    const making made(here);
    return detail::outputs_of(add_node(definition_of<eigh_op>(), {a}, {}));
}
} // namespace untyped

namespace detail {

inline any_tensor sum_of(const any_tensor& a, const any_tensor& b) {
    return !a.node() ? b : !b.node() ? a : untyped::add(a, b);
}
inline any_tensor zero_in(const any_tensor& like) { return untyped::scalar(0, like.element()); }
// 1 / (s_j - s_i) at row i and column j, 0 on the diagonal.
inline any_tensor reciprocal_differences(const any_tensor& s, const any_tensor& matrix_like) {
    using namespace untyped;
    const any_tensor unit = scalar(1, s.element());
    const any_tensor differences = subtract(expand_dims(s, {-2}), expand_dims(s, {-1}));
    const any_tensor apart = equal(below_diagonal(matrix_like), scalar(0, element_type::int32));
    return select(apart, zero_in(s), divide(unit, select(apart, unit, differences)));
}
// x with column j times s_j, and with row i times s_i.
inline any_tensor times_columns(const any_tensor& x, const any_tensor& s) {
    return untyped::multiply(x, untyped::expand_dims(s, {-2}));
}
inline any_tensor times_rows(const any_tensor& s, const any_tensor& x) {
    return untyped::multiply(untyped::expand_dims(s, {-1}), x);
}

// Of matrices that are not wider than high (Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2018):
// (dq + q C) r^-T, with C the symmetric matrix of the lower triangle of r dr^T - dq^T q.
inline any_tensor high_qr_gradient(const any_tensor& q, const any_tensor& r, const any_tensor& dq,
                                   const any_tensor& dr) {
    using namespace untyped;
    any_tensor m;
    if (dr.node()) m = matmul(r, dr, false, true);
    if (dq.node()) m = sum_of(m, negative(matmul(dq, q, true, false)));
    const any_tensor below = triangle_of(m, false);
    const any_tensor c = with_diagonal(add(below, transposed(below)), m);
    const any_tensor flown = sum_of(dq, matmul(q, c));
    return transposed(triangular_solve(r, transposed(flown), {.lower = false}));
}

} // namespace detail

TENON_INLINE void qr_op::gradient(gradient_context& g) {
    using namespace untyped;
    const any_tensor q = g.output(0), r = g.output(1), a = g.input(0);
    any_tensor dq = g.output_gradient(0), dr = g.output_gradient(1);
    const int rank = a.rank();
    const extent &m = a.extents()[rank - 2], &n = a.extents()[rank - 1];
    if (!m.is_number() || !n.is_number() || m.size >= n.size) return g.set(0, detail::high_qr_gradient(q, r, dq, dr));
    // a = [x y] and r = [u v], with x = q u, v = q^T y.
    const auto columns = [&](const any_tensor& from, std::int64_t begin, std::int64_t end) {
        std::vector<range> ranges(static_cast<std::size_t>(rank));
        ranges.back() = {begin, end};
        return slice(from, ranges);
    };
    any_tensor dy, du;
    if (dr.node()) {
        const any_tensor dv = columns(dr, m.size, n.size);
        du = columns(dr, 0, m.size);
        dy = matmul(q, dv);
        dq = detail::sum_of(dq, matmul(columns(a, m.size, n.size), dv, false, true));
    }
    const any_tensor dx = detail::high_qr_gradient(q, columns(r, 0, m.size), dq, du);
    g.set(0, concat({dx, dy.node() ? dy : zeros_like(columns(a, m.size, n.size))}, rank - 1));
}

// Townsend, "Differentiating the singular value decomposition", 2016.
TENON_INLINE void svd_op::gradient(gradient_context& g) {
    using namespace untyped;
    using namespace detail;
    const any_tensor a = g.input(0);
    any_tensor u, s, vt;
    if (g.attributes<attributes>().vectors) {
        u = g.output(1);
        s = g.output(0);
        vt = g.output(2);
    } else {
        const std::vector<any_tensor> all = untyped::svd(a);
        u = all[0];
        s = all[1];
        vt = all[2];
    }
    any_tensor da;
    if (g.output_gradient(0).node()) da = matmul(times_columns(u, g.output_gradient(0)), vt);
    const any_tensor du = g.outputs() > 1 ? g.output_gradient(1) : any_tensor();
    const any_tensor dvt = g.outputs() > 1 ? g.output_gradient(2) : any_tensor();
    if (!du.node() && !dvt.node()) return g.set(0, da);
    const any_tensor f = reciprocal_differences(multiply(s, s), matmul(u, u, true));
    if (du.node()) {
        const any_tensor inner = matmul(u, du, true);
        const any_tensor turned = times_columns(multiply(f, subtract(inner, transposed(inner))), s);
        da = sum_of(da, matmul(matmul(u, turned), vt));
        const any_tensor outside = subtract(du, matmul(u, inner)); // of the columns of u
        da = sum_of(da, matmul(divide(outside, expand_dims(s, {-2})), vt));
    }
    if (dvt.node()) {
        const any_tensor inner = matmul(vt, dvt, false, true); // V^T dV
        const any_tensor turned = times_rows(s, multiply(f, subtract(inner, transposed(inner))));
        da = sum_of(da, matmul(u, matmul(turned, vt)));
        const any_tensor outside = subtract(dvt, matmul(transposed(inner), vt));
        da = sum_of(da, matmul(u, divide(outside, expand_dims(s, {-1}))));
    }
    g.set(0, da);
}

TENON_INLINE void eigh_op::gradient(gradient_context& g) {
    using namespace untyped;
    using namespace detail;
    const any_tensor w = g.output(0), v = g.output(1);
    any_tensor inner;
    if (g.output_gradient(1).node()) {
        const any_tensor turned = matmul(v, g.output_gradient(1), true);
        inner = matmul(v, multiply(reciprocal_differences(w, v), turned));
    }
    if (g.output_gradient(0).node()) inner = sum_of(inner, times_columns(v, g.output_gradient(0)));
    g.set(0, symmetric_part(matmul(inner, v, false, true)));
}

namespace detail {

/// One of the decompositions below: a's matrices as doubles, and results that are rounded to T.
template <class T> class decomposition_kernel : public matrices_kernel {
protected:
    using matrices_kernel::matrices_kernel;
    /// An operand or result of `n` elements: itself, or as doubles in `held`.
    static const double* widened(const T* x, std::int64_t n, std::vector<double>& held) {
        if constexpr (std::is_same_v<T, double>) return x;
        held.assign(x, x + n);
        return held.data();
    }
    struct result {
        result(const kernel_run& r, int output, std::int64_t i, std::int64_t n) :
            to(r.out[output] ? r.output<T>(output) + i * n : nullptr) {
            if (!std::is_same_v<T, double> || !to) held.resize(static_cast<std::size_t>(n));
        }
        double* data() {
            if constexpr (std::is_same_v<T, double>) return to ? to : held.data();
            return held.data();
        }
        void finish() const {
            if constexpr (!std::is_same_v<T, double>)
                for (std::size_t i = 0; to && i < held.size(); ++i) to[i] = static_cast<T>(held[i]);
        }
        T* to;
        std::vector<double> held;
    };
};

template <class T> struct qr_kernel final : decomposition_kernel<T> {
    explicit qr_kernel(const kernel_setup& s) : decomposition_kernel<T>(s.inputs[0].extents, 2) {}
    void run(const kernel_run& r) override {
        const std::int64_t m = this->rows, n = this->columns, k = m < n ? m : n;
        this->each(r, "qr", "", [&](std::int64_t i) {
            std::vector<double> held;
            typename decomposition_kernel<T>::result q(r, 0, i, m * k), upper(r, 1, i, k * n);
            dense::factor_qr(this->widened(r.input<T>(0) + i * m * n, m * n, held), q.data(), upper.data(), m, n);
            q.finish();
            upper.finish();
            return true;
        });
    }
};

template <class T> struct svd_kernel final : decomposition_kernel<T> {
    explicit svd_kernel(const kernel_setup& s) :
        decomposition_kernel<T>(s.inputs[0].extents, 20), vectors(decode<svd_op::attributes>(s.attrs).vectors) {}
    void run(const kernel_run& r) override {
        const std::int64_t m = this->rows, n = this->columns, k = m < n ? m : n;
        const bool with_vectors = vectors && (r.out[1] || r.out[2]);
        this->each(r, "svd", not_finite, [&](std::int64_t i) {
            using part = typename decomposition_kernel<T>::result;
            std::vector<double> held;
            const double* a = this->widened(r.input<T>(0) + i * m * n, m * n, held);
            part s(r, 0, i, k);
            if (!with_vectors) {
                if (!dense::factor_svd(a, nullptr, s.data(), nullptr, m, n)) return false;
                s.finish();
                return true;
            }
            part u(r, 1, i, m * k), vt(r, 2, i, k * n);
            if (!dense::factor_svd(a, u.data(), s.data(), vt.data(), m, n)) return false;
            for (part* made : {&u, &s, &vt}) made->finish();
            return true;
        });
    }
    const bool vectors;
};

template <class T> struct eigh_kernel final : decomposition_kernel<T> {
    explicit eigh_kernel(const kernel_setup& s) : decomposition_kernel<T>(s.inputs[0].extents, 9) {}
    void run(const kernel_run& r) override {
        const std::int64_t n = this->rows;
        this->each(r, "eigh", not_finite, [&](std::int64_t i) {
            std::vector<double> held;
            typename decomposition_kernel<T>::result w(r, 0, i, n), v(r, 1, i, n * n);
            if (!dense::factor_symmetric(this->widened(r.input<T>(0) + i * n * n, n * n, held), w.data(), v.data(), n))
                return false;
            w.finish();
            v.finish();
            return true;
        });
    }
};

} // namespace detail

TENON_INLINE kernel_pointer qr_op::prepare(const kernel_setup& s) {
    return detail::prepare_matrices<detail::qr_kernel>(s);
}
TENON_INLINE kernel_pointer svd_op::prepare(const kernel_setup& s) {
    return detail::prepare_matrices<detail::svd_kernel>(s);
}
TENON_INLINE kernel_pointer eigh_op::prepare(const kernel_setup& s) {
    return detail::prepare_matrices<detail::eigh_kernel>(s);
}

} // namespace tenon
