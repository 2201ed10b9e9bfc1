#pragma once

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/fill.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Diagonals and triangles of matrices, which are the last two dimensions; those before them are batches.
///
///     auto l = tn::tril(x);                // 0 above the diagonal: [.., n, m]
///     auto s = tn::triu(x, 1);             // 0 on it and below
///     auto d = tn::diag(v);                // [n] -> [n, n]
///     auto v = tn::diag<1>(x);             // [.., n, m] -> [.., min(n, m - 1)]: the diagonal above the main one
///     auto t = tn::matrix_trace(x);        // [.., n, m] -> [..]
///
/// Diagonal k is the elements [i, i + k]: 0 is the main one, 1 that above it, -1 that below it.

namespace tenon {

namespace detail {

// How many elements diagonal k of n x m has, where all are known.
constexpr extent diagonal_size(const extent& n, const extent& m, std::int64_t k) {
    if (k == 0 && n == m) return n;
    if (!n.is_number() || !m.is_number()) return dynamic_extent;
    const std::int64_t rows = n.size + (k < 0 ? k : 0), columns = m.size - (k > 0 ? k : 0);
    const std::int64_t size = rows < columns ? rows : columns;
    return size > 0 ? size : 0;
}
inline constexpr std::int64_t most_diagonal = std::int64_t{1} << 31;
inline constexpr char k_is_out_of_range[] = "k must be between -2^31 and 2^31";

} // namespace detail

/// in: x, [.., n, m]. Its diagonal k: [.., size].
struct diagonal_op {
    static constexpr const char* name = "diagonal";
    struct attributes {
        std::int64_t k = 0;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (in[0].element == element_type::string) return fault::element_type_not_supported;
        if (a.k > detail::most_diagonal || a.k < -detail::most_diagonal) return detail::k_is_out_of_range;
        const extents& x = in[0].extents;
        if (x.rank() < 2) return fault::rank_too_low;
        extents sizes;
        for (int d = 0; d + 2 < x.rank(); ++d) sizes.push_back(x[d]);
        sizes.push_back(detail::diagonal_size(x[x.rank() - 2], x[x.rank() - 1], a.k));
        return inferred(in[0].element, sizes);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(diagonal, diagonal);

/// in: v, [.., size]; x, [.., n, m], whose value does not matter. Zeros of x's sizes with v as diagonal k.
struct put_diagonal_op {
    static constexpr const char* name = "put_diagonal";
    using attributes = diagonal_op::attributes;
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        const inferred r = diagonal_op::infer(a, type_list(&in[1], 1), 0);
        if (!r) return r;
        if (in[0].element == element_type::string) return fault::element_type_not_supported;
        const merged_extents m = equal_shapes(r.type.extents, in[0].extents);
        return m.what == fault::none ? inferred(in[0].element, in[1].extents) : inferred(m.what);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(diagonal, put_diagonal);

/// in: v, [.., n]. The square matrix of which it is diagonal k, [.., n + |k|, n + |k|], else zeros.
struct diag_op {
    static constexpr const char* name = "diag";
    using attributes = diagonal_op::attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (in[0].element == element_type::string) return fault::element_type_not_supported;
        if (a.k > detail::most_diagonal || a.k < -detail::most_diagonal) return detail::k_is_out_of_range;
        extents sizes = in[0].extents;
        if (sizes.rank() < 1) return fault::rank_too_low;
        if (sizes.rank() == max_rank) return fault::too_many_dimensions;
        extent& side = sizes[sizes.rank() - 1];
        if (a.k != 0) {
            const merged_extent m = add_sizes(side, a.k < 0 ? -a.k : a.k);
            if (m.what != fault::none) return m.what;
            side = m.size;
        }
        sizes.push_back(side);
        return inferred(in[0].element, sizes);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(diagonal, diag);

namespace untyped {
any_tensor tril(const any_tensor& x, std::int64_t k = 0, called_from here = caller());
any_tensor triu(const any_tensor& x, std::int64_t k = 0, called_from here = caller());
any_tensor diagonal(const any_tensor& x, std::int64_t k = 0, called_from here = caller());
any_tensor diag_embed(const any_tensor& v, std::int64_t k = 0, called_from here = caller());
/// A vector as a matrix's diagonal; of a matrix, or matrices, the diagonal.
any_tensor diag(const any_tensor& x, std::int64_t k = 0, called_from here = caller());
any_tensor matrix_trace(const any_tensor& x, std::int64_t k = 0, called_from here = caller());
} // namespace untyped

namespace detail {
template <class Name> struct matrix_rule {
    static constexpr const char* name = Name::text;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in[0].element == element_type::string) return fault::element_type_not_supported;
        return in[0].extents.rank() < 2 ? inferred(fault::rank_too_low) : inferred(in[0]);
    }
};
struct tril_name {
    static constexpr char text[] = "tril";
};
struct triu_name {
    static constexpr char text[] = "triu";
};
struct tril_rule : matrix_rule<tril_name> {};
struct triu_rule : matrix_rule<triu_name> {};

// Where an element of x is: its row as [n, 1], its column as [m].
template <class X> auto rows_of_matrix(const X& x) { return expand_dims<1>(arange_like<std::int64_t, -2>(x)); }
template <class X> auto columns_of_matrix(const X& x) { return arange_like<std::int64_t, -1>(x); }
} // namespace detail

/// x, but 0 above diagonal k: x[.., i, j] where j <= i + k. An elementwise expression, which runs in one pass with what is around it; of any
/// elements but strings. The gradient is tril of the result's.
template <detail::ForwardedOperand X> auto tril(X&& x, std::int64_t k = 0, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::tril_rule, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else {
        const auto sizes = detail::as_tensor(x);
        return select(detail::columns_of_matrix(sizes) <= detail::rows_of_matrix(sizes) + k, static_cast<X&&>(x),
                      zeros<typename std::remove_cvref_t<X>::element_type>());
    }
}
/// x, but 0 below diagonal k: x[.., i, j] where j >= i + k. As tril.
template <detail::ForwardedOperand X> auto triu(X&& x, std::int64_t k = 0, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::triu_rule, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else {
        const auto sizes = detail::as_tensor(x);
        return select(detail::columns_of_matrix(sizes) >= detail::rows_of_matrix(sizes) + k, static_cast<X&&>(x),
                      zeros<typename std::remove_cvref_t<X>::element_type>());
    }
}

/// The elements x[.., i, i + K]: [.., n, m] gives [.., min(n, m - K)], or for negative K [.., min(n + K, m)]; with nothing left, none. Of any
/// element type but strings. The gradient goes to the diagonal.
template <std::int64_t K = 0, OperandOrIllShaped X> auto diagonal(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<diagonal_op, diagonal_op::attributes{K}>(x);
}
/// Square matrices with v as diagonal K, else zeros: [.., n] gives [.., n + |K|, n + |K|]. Of any element type but strings.
template <std::int64_t K = 0, OperandOrIllShaped V> auto diag_embed(const V& v, called_from here = caller()) {
    const making made(here);
    return apply_op<diag_op, diagonal_op::attributes{K}>(v);
}
/// NumPy's diag: of a vector the square matrix with it as diagonal K, as diag_embed; of a matrix its diagonal K, as diagonal, and so of
/// batches of matrices.
template <std::int64_t K = 0, OperandOrIllShaped X> auto diag(const X& x, called_from here = caller()) {
    const making made(here);
    if constexpr (X::shape_type::rank <= 1) return apply_op<diag_op, diagonal_op::attributes{K}>(x);
    else return apply_op<diagonal_op, diagonal_op::attributes{K}>(x);
}
/// The sum of the elements x[.., i, i + K]: [.., n, m] gives [..]. Of numbers.
template <std::int64_t K = 0, OperandOrIllShaped X> auto matrix_trace(const X& x, called_from here = caller()) {
    const making made(here);
    return sum<-1>(diagonal<K>(x));
}

/// 1 where row and column are the same number, else 0: [n, m], where n and m are the sizes of `like` along Rows and Columns. T: any type of
/// numbers. (eye<T, N, M>() is of sizes that are numbers.) An elementwise expression; no gradient flows.
template <Element T, int Rows = -2, int Columns = -1, OperandOrIllShaped X>
auto eye_like(const X& like, called_from here = caller()) {
    const making made(here);
    return cast<T>(expand_dims<1>(arange_like<std::int64_t, Rows>(like)) == arange_like<std::int64_t, Columns>(like));
}
namespace untyped {
any_tensor eye_like(const any_tensor& like, element_type element, int rows = -2, int columns = -1,
                    called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_diagonal)

#include <tenon/dense/strided_copy.hpp>
#include <tenon/ops/elementwise/for_elements_kernel.hpp>
#include <tenon/ops/linear/diagonal_view.hpp>
#include <tenon/ops/shape/placed_copy_kernel.hpp>

namespace tenon {

namespace detail {
template <class Rule> void check_rule(const any_tensor& x) {
    const tensor_type type = x.type();
    const type_list operands(&type, 1);
    if (const inferred r = Rule::infer({}, operands, 0); !r) refuse_operands(Rule::name, r, operands);
}
} // namespace detail

namespace untyped {
TENON_INLINE any_tensor tril(const any_tensor& x, std::int64_t k, called_from here) {
    const making made(here);
    detail::check_rule<detail::tril_rule>(x);
    const any_tensor row = expand_dims(arange_like(x, element_type::int64, -2), 1),
                     column = arange_like(x, element_type::int64, -1);
    return select(less_equal(column, add(row, k)), x, zeros(x.element()));
}
TENON_INLINE any_tensor triu(const any_tensor& x, std::int64_t k, called_from here) {
    const making made(here);
    detail::check_rule<detail::triu_rule>(x);
    const any_tensor row = expand_dims(arange_like(x, element_type::int64, -2), 1),
                     column = arange_like(x, element_type::int64, -1);
    return select(greater_equal(column, add(row, k)), x, zeros(x.element()));
}
TENON_INLINE any_tensor diagonal(const any_tensor& x, std::int64_t k, called_from here) {
    return tenon::add<diagonal_op>({k}, {x}, here);
}
TENON_INLINE any_tensor diag_embed(const any_tensor& v, std::int64_t k, called_from here) {
    return tenon::add<diag_op>({k}, {v}, here);
}
TENON_INLINE any_tensor diag(const any_tensor& x, std::int64_t k, called_from here) {
    const making made(here);
    return x.rank() <= 1 ? diag_embed(x, k) : diagonal(x, k);
}
TENON_INLINE any_tensor matrix_trace(const any_tensor& x, std::int64_t k, called_from here) {
    const making made(here);
    return sum(diagonal(x, k), -1);
}
TENON_INLINE any_tensor eye_like(const any_tensor& like, element_type element, int rows, int columns,
                                 called_from here) {
    return cast(equal(expand_dims(arange_like(like, element_type::int64, rows), 1),
                      arange_like(like, element_type::int64, columns)),
                element, here);
}
} // namespace untyped

TENON_INLINE void diagonal_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<put_diagonal_op>(g.attributes<attributes>(), {g.output_gradient(), g.input(0)}));
}
TENON_INLINE void put_diagonal_op::gradient(gradient_context& g) {
    g.set(0, untyped::diagonal(g.output_gradient(), g.attributes<attributes>().k));
}
TENON_INLINE void diag_op::gradient(gradient_context& g) {
    const any_tensor d = untyped::diagonal(g.output_gradient(), g.attributes<attributes>().k);
    g.set(0, untyped::reshape_like(d, g.input(0)));
}

namespace detail {

inline kernel_pointer prepare_diagonal(const kernel_setup& s, const extents& matrix, const extents& vector, bool into) {
    const diagonal_view v(matrix, vector, decode<diagonal_op::attributes>(s.attrs).k, into);
    const std::size_t bytes = size_of(s.inputs[0].element);
    return std::make_unique<placed_copy_kernel>(strided_copy(v.view.dims, v.view.rank, bytes), bytes,
                                                into ? 0 : v.offset, into ? v.offset : 0, into ? matrix.elements() : 0,
                                                0);
}

} // namespace detail

TENON_INLINE kernel_pointer diagonal_op::prepare(const kernel_setup& s) {
    return detail::prepare_diagonal(s, s.inputs[0].extents, s.outputs[0].extents, false);
}
TENON_INLINE kernel_pointer put_diagonal_op::prepare(const kernel_setup& s) {
    return detail::prepare_diagonal(s, s.outputs[0].extents, s.inputs[0].extents, true);
}
TENON_INLINE kernel_pointer diag_op::prepare(const kernel_setup& s) {
    return detail::prepare_diagonal(s, s.outputs[0].extents, s.inputs[0].extents, true);
}

} // namespace tenon

#endif
