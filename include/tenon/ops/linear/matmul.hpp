#pragma once

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>

/// Products of matrices, of batches of them, and of vectors.
///
///     auto y = tn::matmul(x, w);                  // [batch, 784] x [784, 300] -> [batch, 300]
///     auto v = tn::matmul(a, x);                  // [m, k] x [k] -> [m]
///     auto s = tn::matmul<tn::transpose_b>(q, k); // [b, heads, n, 64] x [b, heads, m, 64] -> [b, heads, n, m]
///
///     y[.., i, j] = sum over l of a[.., i, l] * b[.., l, j]
///
/// The last two dimensions are the matrices'; the others broadcast. A vector is a row on the left, a column
/// on the right, and its dimension is dropped from the result: [k] x [k, n] -> [n], [k] x [k] -> []. float,
/// double, half and bfloat16 (accumulated in float), int32, int64 (wrapping around). The product of int8 is
/// int32, and so are its sums: exact for k < 131072, beyond which they may wrap around.

namespace tenon {

/// in: a, b.
struct matmul_op {
    static constexpr const char* name = "matmul";
    static constexpr const char* with_bias = "matmul_bias";
    static const op_definition& with_addend(); ///< "matmul_add"
    // GPUs' libraries have these, CPUs do not.
    static const op_definition& with_row_sums(); ///< "matmul_row_sums"
    static const op_definition& with_gelu();     ///< "matmul_gelu_gradient"
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        bool transpose_a = false; ///< a's matrices lie in memory as [k, m]
        bool transpose_b = false; ///< b's as [n, k]
    };

    /// The elements of a product: those of its operands, but int32 of int8; none: there is no such product.
    static constexpr element_type result_of(element_type e) {
        if (e == element_type::int8) return element_type::int32;
        return is_floating(e) || e == element_type::int32 || e == element_type::int64 ? e : element_type::none;
    }
    /// The type of the product of a and b.
    static constexpr inferred product(const attributes& t, const tensor_type& a, const tensor_type& b) {
        if (a.element != b.element) return fault::element_types_differ;
        if (result_of(a.element) == element_type::none) return fault::element_type_not_supported;
        const int ra = a.extents.rank(), rb = b.extents.rank();
        if (ra < (t.transpose_a ? 2 : 1) || rb < (t.transpose_b ? 2 : 1)) return fault::rank_too_low;
        const extent ka = a.extents[t.transpose_a ? ra - 2 : ra - 1];
        const extent kb = b.extents[rb == 1 || t.transpose_b ? rb - 1 : rb - 2];
        if (equal_sizes(ka, kb).what != fault::none) return fault::inner_dimensions_differ;
        extents batch_a, batch_b;
        for (int i = 0; i + 2 < ra; ++i) batch_a.push_back(a.extents[i]);
        for (int i = 0; i + 2 < rb; ++i) batch_b.push_back(b.extents[i]);
        merged_extents result = broadcast(batch_a, batch_b);
        if (result.what != fault::none) return result.what;
        if (ra > 1) result.extents.push_back(a.extents[t.transpose_a ? ra - 1 : ra - 2]);
        if (rb > 1) result.extents.push_back(b.extents[t.transpose_b ? rb - 2 : rb - 1]);
        return inferred(result_of(a.element), result.extents);
    }
    static constexpr inferred infer(const attributes& t, type_list in, int) {
        return in.size() == 2 ? product(t, in[0], in[1]) : inferred(fault::expects_more_operands);
    }
    static double operations(const attributes& t, type_list in, type_list out) {
        const extents& a = in[0].extents;
        return 2.0 * static_cast<double>(out[0].extents.elements()) *
               static_cast<double>(a[a.rank() - (t.transpose_a ? 2 : 1)].size);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(matmul, matmul);

/// in: a, b, bias [n]. max(matmul(a, b) + bias, 0), or without the max, in one pass. The planner makes it of
/// a product and what follows it. All types of elements but int8.
struct matmul_bias_op {
    static constexpr const char* name = "matmul_bias";
    static constexpr op_flags flags = op_flags::alike;
    static const op_definition& with_gelu(); ///< "matmul_gelu": GPUs' libraries have it, CPUs do not
    struct attributes {
        bool transpose_a = false;
        bool transpose_b = false;
        bool relu = false;
    };
    static constexpr inferred infer(const attributes& t, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        inferred r = matmul_op::product({t.transpose_a, t.transpose_b}, in[0], in[1]);
        if (!r) return r;
        if (in[0].element != r.type.element) return fault::element_type_not_supported;
        if (in[2].element != r.type.element) return fault::element_types_differ;
        if (in[2].extents.rank() != 1 || in[1].extents.rank() < 2) return fault::rank_too_low;
        const merged_extent n = equal_sizes(r.type.extents[r.type.extents.rank() - 1], in[2].extents[0]);
        if (n.what != fault::none) return n.what;
        r.type.extents[r.type.extents.rank() - 1] = n.size;
        return r;
    }
    static double operations(const attributes& t, type_list in, type_list out) {
        return matmul_op::operations({t.transpose_a, t.transpose_b}, in, out);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(matmul, matmul_bias);

/// Given to matmul: a's (b's) matrices are transposed first, at no cost. `transpose_a | transpose_b` for
/// both.
inline constexpr matmul_op::attributes transpose_a{true, false};
inline constexpr matmul_op::attributes transpose_b{false, true};
constexpr matmul_op::attributes operator|(const matmul_op::attributes& x, const matmul_op::attributes& y) {
    return {x.transpose_a || y.transpose_a, x.transpose_b || y.transpose_b};
}

/// The product of a and b: matmul(a, b), matmul<transpose_b>(a, b), ...
template <matmul_op::attributes T = matmul_op::attributes{}, OperandOrIllShaped A, OperandOrIllShaped B>
auto matmul(const A& a, const B& b, called_from here = caller()) {
    const making made(here);
    return apply_op<matmul_op, T>(a, b);
}

namespace untyped {
any_tensor matmul(const any_tensor& a, const any_tensor& b, bool a_transposed = false, bool b_transposed = false,
                  called_from here = caller());
any_tensor matmul_bias(const any_tensor& a, const any_tensor& b, const any_tensor& bias, bool relu,
                       bool a_transposed = false, bool b_transposed = false, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_matmul)

#include <tenon/expr/fused.hpp>
#include <tenon/ops/linear/matmul_kernel.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

namespace tenon {

namespace detail {
// A product that plans alone have: they know its sizes from the nodes that it stands for.
inline op_definition product_of_plans(const char* name) {
    op_definition d = definition_of<matmul_op>();
    d.name = name;
    d.infer = nullptr;
    d.gradient = nullptr;
    d.cpu = nullptr;
    d.with_bias = nullptr;
    d.with_addend = d.with_row_sums = d.with_gelu = nullptr;
    return d;
}

inline kernel_pointer prepare_matmul_add(const kernel_setup& s) {
    const auto t = decode<matmul_op::attributes>(s.attrs);
    return std::make_unique<matmul_add_kernel>(s, matmul_layout(s, t.transpose_a, t.transpose_b),
                                               s.attrs.get<double>("factor"));
}
} // namespace detail

TENON_INLINE const op_definition& matmul_op::with_addend() {
    static const op_definition made = [] {
        op_definition d = detail::product_of_plans("matmul_add");
        d.cpu = detail::prepare_matmul_add;
        return d;
    }();
    return made;
}
TENON_INLINE const op_definition& matmul_op::with_row_sums() {
    static const op_definition made = detail::product_of_plans("matmul_row_sums");
    return made;
}
TENON_INLINE const op_definition& matmul_op::with_gelu() {
    static const op_definition made = detail::product_of_plans("matmul_gelu_gradient");
    return made;
}
TENON_INLINE const op_definition& matmul_bias_op::with_gelu() {
    static const op_definition made = detail::product_of_plans("matmul_gelu");
    return made;
}

namespace untyped {
TENON_INLINE any_tensor matmul(const any_tensor& a, const any_tensor& b, bool a_transposed, bool b_transposed,
                               called_from here) {
    return tenon::add<matmul_op>({a_transposed, b_transposed}, {a, b}, here);
}
TENON_INLINE any_tensor matmul_bias(const any_tensor& a, const any_tensor& b, const any_tensor& bias, bool relu,
                                    bool a_transposed, bool b_transposed, called_from here) {
    return tenon::add<matmul_bias_op>({a_transposed, b_transposed, relu}, {a, b, bias}, here);
}
} // namespace untyped

namespace detail {

// The gradient `d` of an operand x of a product, whose batch may have been repeated, in x's sizes.
inline any_tensor summed_to(const any_tensor& d, const any_tensor& x) {
    bool repeated = d.rank() != x.rank();
    for (int i = 0; i + 2 < d.rank() && !repeated; ++i)
        repeated = x.extents()[i].is_dynamic() || !(d.extents()[i] == x.extents()[i]);
    return repeated ? untyped::sum_like(d, x) : d;
}

// The rows of all matrices of x as one matrix.
inline any_tensor as_rows(const any_tensor& x) {
    const int last = x.rank() - 1;
    return tenon::add<reshape_op>({{reshape_op::deduced, reshape_op::copied(last)}, {extent{}, x.extents()[last]}},
                                  {x});
}

// Sets the gradients of inputs 0 and 1 where `d` flows into their product.
inline void set_product_gradients(gradient_context& g, any_tensor d, bool ta, bool tb) {
    using untyped::matmul;
    any_tensor a = g.input(0), b = g.input(1);
    const bool row = a.rank() == 1, column = b.rank() == 1;
    if (column) d = untyped::expand_dims(d, {-1});
    if (row) d = untyped::expand_dims(d, {column ? 0 : -2});
    if (row) a = untyped::expand_dims(a, {0});
    if (column) b = untyped::expand_dims(b, {1});
    const any_tensor da = ta ? matmul(b, d, tb, true) : matmul(d, b, false, !tb);
    // Of a batch with one matrix one product, which sums over the batch too.
    const bool is_one = a.rank() > 2 && b.rank() == 2 && !ta;
    const any_tensor rows = is_one ? as_rows(a) : a, d_rows = is_one ? as_rows(d) : d;
    const any_tensor db = tb ? matmul(d_rows, rows, true, ta) : matmul(rows, d_rows, !ta, false);
    const auto finished = [](const any_tensor& dx, const any_tensor& x, bool vector, int axis) {
        const any_tensor sum = summed_to(dx, x);
        return vector ? untyped::squeeze(sum, {axis}) : sum;
    };
    g.set(0, finished(da, a, row, 0));
    g.set(1, finished(db, b, column, 1));
}

} // namespace detail

TENON_INLINE void matmul_op::gradient(gradient_context& g) {
    const attributes t = g.attributes<attributes>();
    detail::set_product_gradients(g, g.output_gradient(), t.transpose_a, t.transpose_b);
}

TENON_INLINE void matmul_bias_op::gradient(gradient_context& g) {
    const attributes t = g.attributes<attributes>();
    any_tensor d = g.output_gradient();
    if (t.relu) {
        const any_tensor zero = detail::scalar_constant(0, d.element());
        const any_tensor open = detail::add_instruction(opcode::greater, {g.output(), zero});
        d = detail::add_instruction(opcode::select, {open, d, zero});
    }
    detail::set_product_gradients(g, d, t.transpose_a, t.transpose_b);
    g.set(2, untyped::sum_like(d, g.input(2)));
}

TENON_INLINE kernel_pointer matmul_op::prepare(const kernel_setup& s) {
    const attributes t = decode<attributes>(s.attrs);
    return detail::prepare_matmul(s, t.transpose_a, t.transpose_b, dense::epilogue::none);
}
TENON_INLINE kernel_pointer matmul_bias_op::prepare(const kernel_setup& s) {
    const attributes t = decode<attributes>(s.attrs);
    return detail::prepare_matmul(s, t.transpose_a, t.transpose_b,
                                  t.relu ? dense::epilogue::bias_relu : dense::epilogue::bias);
}

} // namespace tenon

#endif
