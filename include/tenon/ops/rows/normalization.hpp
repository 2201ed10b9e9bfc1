#pragma once

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/ops/control/control.hpp>

/// Layer normalisation. (J. Ba, J. Kiros, G. Hinton, "Layer normalization", 2016.)
///
///     y[.., c] = (x[.., c] - m[..]) / sqrt(v[..] + epsilon) * gamma[c] + beta[c]
///
/// with the mean m and the variance v (divided by n) of x over the n elements of the last axis.
///
///     auto y = tn::layer_norm(x, gamma, beta);      // [batch, 10, 64] x [64] x [64] -> [batch, 10, 64]
///
/// float, double, half and bfloat16, the last two computed in float.

namespace tenon {

/// in: x, gamma, beta. out: y; m and 1 / sqrt(v + epsilon), for the gradient, in the type that is computed in.
struct layer_norm_op {
    static constexpr const char* name = "layer_norm";
    struct attributes {
        double epsilon = 1e-5;
    };
    static constexpr int outputs(const attributes&, int) { return 3; }
    static constexpr inferred infer(const attributes&, type_list in, int output) {
        if (in.size() != 3) return fault::expects_more_operands;
        const tensor_type& x = in[0];
        if (!is_floating(x.element)) return fault::element_type_must_be_floating;
        const int rank = x.extents.rank();
        if (rank < 1) return fault::rank_too_low;
        extent n = x.extents[rank - 1];
        for (int i = 1; i < 3; ++i) {
            if (in[i].element != x.element) return fault::element_types_differ;
            if (in[i].extents.rank() != 1) return in[i].extents.rank() < 1 ? fault::rank_too_low : fault::rank_too_high;
            const merged_extent m = equal_sizes(n, in[i].extents[0]);
            if (m.what != fault::none) return m.what;
            n = m.size;
        }
        extents sizes = x.extents;
        sizes[rank - 1] = n;
        if (output == 0) return inferred(x.element, sizes);
        sizes.erase(rank - 1);
        return inferred(compute_type(x.element), sizes);
    }
    /// Mean, variance, and what is made of them.
    static double operations(const attributes&, type_list in, type_list) {
        return 8.0 * static_cast<double>(in[0].extents.elements());
    }
    static const op_definition& of_sum(); ///< "layer_norm_of_sum"
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(normalization, layer_norm);

/// in: x, gamma, dy, and layer_norm's outputs 1 and 2. out: the gradients of x, gamma and beta.
struct layer_norm_gradient_op {
    static constexpr const char* name = "layer_norm_gradient";
    using attributes = layer_norm_op::attributes;
    static constexpr int outputs(const attributes&, int) { return 3; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 5) return fault::expects_more_operands;
        const tensor_type forward[] = {in[0], in[1], in[1]};
        for (int i = 0; i < 3; ++i) {
            const inferred r = layer_norm_op::infer(a, type_list(forward, 3), i);
            if (!r) return r;
            if (in[2 + i].element != r.type.element) return fault::element_types_differ;
            if (equal_shapes(r.type.extents, in[2 + i].extents).what != fault::none)
                return fault::gradient_shape_differs;
        }
        return output == 0 ? inferred(in[0]) : inferred(in[1]);
    }
    static const op_definition& plus(); ///< "layer_norm_gradient_plus"
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(normalization, layer_norm_gradient);

namespace detail {
struct layer_norm_statics { // sizes do not depend on epsilon
    static constexpr layer_norm_op::attributes value{};
};
} // namespace detail

/// x normalised over its last axis, times gamma plus beta. x: [.., n], gamma and beta: [n].
template <OperandOrIllShaped X, OperandOrIllShaped Gamma, OperandOrIllShaped Beta>
auto layer_norm(const X& x, const Gamma& gamma, const Beta& beta, double epsilon = 1e-5, called_from here = caller()) {
    const making made(here);
    return apply_op<layer_norm_op, detail::layer_norm_statics>(layer_norm_op::attributes{epsilon}, x, gamma, beta);
}

namespace untyped {
any_tensor layer_norm(const any_tensor& x, const any_tensor& gamma, const any_tensor& beta, double epsilon = 1e-5,
                      called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_normalization)

#include <tenon/op/widened.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/rows/rows.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor layer_norm(const any_tensor& x, const any_tensor& gamma, const any_tensor& beta, double epsilon,
                                   called_from here) {
    return tenon::add<layer_norm_op>({epsilon}, {x, gamma, beta}, here);
}
} // namespace untyped

// Both have the kernels of those without.
TENON_INLINE const op_definition& layer_norm_op::of_sum() {
    static const op_definition made = [] {
        op_definition d = definition_of<layer_norm_op>();
        d.name = "layer_norm_of_sum";
        d.outputs = [](const tenon::attributes&, int) -> int { return 4; };
        d.infer = [](const tenon::attributes& a, type_list in, int output) -> inferred {
            return output == 3 ? inferred(in[0]) : infer(decode<attributes>(a), type_list(in.begin(), 3), output);
        };
        d.gradient = nullptr;
        d.of_sum = nullptr;
        return d;
    }();
    return made;
}
TENON_INLINE const op_definition& layer_norm_gradient_op::plus() {
    static const op_definition made = [] {
        op_definition d = definition_of<layer_norm_gradient_op>();
        d.name = "layer_norm_gradient_plus";
        d.infer = [](const tenon::attributes& a, type_list in, int output) -> inferred {
            return infer(decode<attributes>(a), type_list(in.begin(), 5), output);
        };
        d.gradient = nullptr;
        d.plus = nullptr;
        return d;
    }();
    return made;
}

TENON_INLINE void layer_norm_op::gradient(gradient_context& g) {
    if (!g.output_gradient(0).node()) return; // the statistics are the gradient's own
    node* n = add_node(definition_of<layer_norm_gradient_op>(),
                       {g.input(0), g.input(1), g.output_gradient(0), g.output(1), g.output(2)},
                       encode(g.attributes<attributes>()));
    for (int i = 0; i < 3; ++i) g.set(i, any_tensor({n, i}));
}

// The formulas again, in ops that have gradients of any order, as functions of x, gamma and dy.
TENON_INLINE void layer_norm_gradient_op::gradient(gradient_context& g) {
    using namespace untyped;
    // Under names of their own: dy may depend on x, and only what these formulas do with each is asked for.
    const any_tensor x = identity(g.input(0)), gamma = identity(g.input(1)), dy = identity(g.input(2));
    const index_list last{-1};
    const any_tensor centered = subtract(x, mean(x, last, true));
    const any_tensor variance = mean(multiply(centered, centered), last, true);
    const any_tensor factor = rsqrt(untyped::add(variance, g.attributes<attributes>().epsilon));
    const any_tensor z = multiply(centered, factor), h = multiply(dy, gamma);
    const any_tensor from_mean = subtract(h, mean(h, last, true));
    index_list rows;
    for (int i = 0; i + 1 < x.rank(); ++i) rows.push_back(i);
    const auto over_rows = [&](const any_tensor& t) { return rows.count == 0 ? t : sum(t, rows); };
    const any_tensor formulas[] = {
        multiply(factor, subtract(from_mean, multiply(z, mean(multiply(h, z), last, true)))),
        over_rows(multiply(dy, z)),
        over_rows(dy),
    };
    std::vector<any_tensor> ys, flowing;
    for (int o = 0; o < 3; ++o)
        if (g.output_gradient(o).node()) {
            ys.push_back(formulas[o]);
            flowing.push_back(g.output_gradient(o));
        }
    const std::vector<any_tensor> d = detail::add_gradients(ys, {x, gamma, dy}, flowing);
    for (int i = 0; i < 3; ++i) g.set(i, d[static_cast<std::size_t>(i)]);
}

namespace detail {

// Of layer_norm, and of layer_norm_of_sum.
template <class T> struct layer_norm_kernel final : kernel {
    explicit layer_norm_kernel(const kernel_setup& s) :
        n(s.inputs[1].extents[0].size),
        rows(s.outputs[1].extents.elements()),
        epsilon(s.attrs.get<double>("epsilon")),
        inputs(s.inputs.size()) {}
    void run(const kernel_run& r) override {
        row_sum<T> sum;
        if (inputs > 3) sum = {r.input<T>(3), inputs > 4 ? r.input<T>(4) : nullptr, r.output<T>(3)};
        layer_norm(r.input<T>(0), sum, r.input<T>(1), r.input<T>(2), r.output<T>(0), r.output<T>(1), r.output<T>(2),
                   rows, n, epsilon, r.pool);
    }
    double cost() const override {
        return 30 + static_cast<double>(rows) * (15 + (inputs > 3 ? 0.45 : 0.3) * static_cast<double>(n));
    }
    bool may_share(int i, int o) const override { return (i == 0 || i == 3) && (o == 0 || o == 3); }
    std::int64_t n, rows;
    double epsilon;
    int inputs;
};

// Of layer_norm_gradient, and of layer_norm_gradient_plus.
template <class T> struct layer_norm_gradient_kernel final : kernel {
    explicit layer_norm_gradient_kernel(const kernel_setup& s) :
        n(s.inputs[1].extents[0].size), rows(s.inputs[3].extents.elements()), is_plus(s.inputs.size() > 5) {}
    void run(const kernel_run& r) override {
        layer_norm_backward(r.input<T>(0), r.input<T>(1), r.input<T>(2), r.input<T>(3), r.input<T>(4),
                            is_plus ? r.input<T>(5) : nullptr, r.output<T>(0), r.output<T>(1), r.output<T>(2),
                            reinterpret_cast<T*>(r.scratch), rows, n, r.pool);
    }
    std::size_t scratch_bytes() const override {
        return static_cast<std::size_t>(layer_norm_partials(rows) * 2 * n) * sizeof(T);
    }
    double cost() const override { return 30 + static_cast<double>(rows) * (15 + 0.5 * static_cast<double>(n)); }
    bool may_share(int i, int o) const override { return (i == 0 || i == 2 || i == 5) && o == 0; }
    std::int64_t n, rows;
    bool is_plus;
};

} // namespace detail

TENON_INLINE kernel_pointer layer_norm_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::layer_norm_kernel>(s);
}
TENON_INLINE kernel_pointer layer_norm_gradient_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::layer_norm_gradient_kernel>(s);
}

} // namespace tenon

#endif
