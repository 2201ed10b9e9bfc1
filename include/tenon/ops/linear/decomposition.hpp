#pragma once

#include <tuple>
#include <vector>

#include <tenon/ops/linear/matrices.hpp>

/// Decompositions of matrices with orthonormal columns. Of float (computed in double) and double, in batches: [.., m, n]. All are
/// reduced: k = min(m, n).
///
///     auto [q, r] = tn::qr(a);              // a = q r; [b, m, n] -> [b, m, k], [b, k, n]
///     auto [u, s, vt] = tn::svd(a);         // a = u diag(s) vt; -> [b, m, k], [b, k], [b, k, n]
///     auto s = tn::singular_values(a);      // s alone, which is faster
///     auto [w, v] = tn::eigh(a);            // a v = v diag(w), of symmetric matrices; [b, n, n] -> [b, n], [b, n, n]
///
/// For svd, singular_values and eigh elements that are not finite are an invalid_argument_error in the step, which says which matrix of
/// the batch has them; what qr gives of them is not finite, either.

namespace tenon {

/// in: a. Outputs: q, r.
struct qr_op {
    static constexpr const char* name = "qr";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes&, type_list in, int output) {
        if (in.size() != 1) return fault::expects_more_operands;
        inferred r = detail::any_matrices(in[0]);
        if (!r) return r;
        extents& e = r.type.extents;
        e[e.rank() - (output == 0 ? 1 : 2)] = detail::lesser_size(e[e.rank() - 2], e[e.rank() - 1]);
        return r;
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(decomposition, qr);

/// in: a. Outputs: s, and of `vectors` u and vt.
struct svd_op {
    static constexpr const char* name = "svd";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        bool vectors = true;
    };
    static constexpr int outputs(const attributes& a, int) { return a.vectors ? 3 : 1; }
    static constexpr inferred infer(const attributes&, type_list in, int output) {
        if (in.size() != 1) return fault::expects_more_operands;
        inferred r = detail::any_matrices(in[0]);
        if (!r) return r;
        extents& e = r.type.extents;
        const int rank = e.rank();
        const extent k = detail::lesser_size(e[rank - 2], e[rank - 1]);
        e[rank - (output == 1 ? 1 : 2)] = k;
        if (output == 0) e.erase(rank - 1);
        return r;
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(decomposition, svd);

/// in: a. Outputs: w, v, of (a + a^T) / 2.
struct eigh_op {
    static constexpr const char* name = "eigh";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes&, type_list in, int output) {
        if (in.size() != 1) return fault::expects_more_operands;
        inferred r = detail::square_matrices(in[0]);
        if (r && output == 0) r.type.extents.erase(r.type.extents.rank() - 1);
        return r;
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(decomposition, eigh);

namespace untyped {
/// q and r; u, s and vt; s; w and v.
std::vector<any_tensor> qr(const any_tensor& a, called_from here = caller());
std::vector<any_tensor> svd(const any_tensor& a, called_from here = caller());
any_tensor singular_values(const any_tensor& a, called_from here = caller());
std::vector<any_tensor> eigh(const any_tensor& a, called_from here = caller());
} // namespace untyped

/// (q, r) as std::tuple: a = q r, with orthonormal columns of q and r zero below its diagonal, whose elements have either sign. The
/// gradient needs a's first k columns to be independent, and takes matrices whose sizes are not both known to be as high as wide.
template <OperandOrIllShaped A> auto qr(const A& a, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<qr_op, A>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return std::tuple<ill_shaped, ill_shaped>{};
    else {
        using none = detail::without_attributes;
        const std::vector<any_tensor> both = untyped::qr(detail::as_tensor(a));
        return std::tuple(detail::op_result_t<qr_op, none, 0, void, detail::operand_of_t<A>>::unchecked(both[0]),
                          detail::op_result_t<qr_op, none, 1, void, detail::operand_of_t<A>>::unchecked(both[1]));
    }
}

/// (u, s, vt) as std::tuple: a = u diag(s) vt, with orthonormal columns of u and rows of vt; s is not negative, and falls. Which way
/// vectors point is the same on all devices: of each row of vt the first element that is as large as any is not negative. The gradient
/// is infinite or NaN where two of s are equal and something flows to u or vt, and where one is 0 and a is not square.
template <OperandOrIllShaped A> auto svd(const A& a, called_from here = caller()) {
    const making made(here);
    using how = detail::constant_attributes<svd_op::attributes{}>;
    using verdict = detail::verdict_of<svd_op, how, detail::operand_of_t<A>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return std::tuple<ill_shaped, ill_shaped, ill_shaped>{};
    else {
        const std::vector<any_tensor> all = untyped::svd(detail::as_tensor(a));
        return std::tuple(detail::op_result_t<svd_op, how, 1, void, detail::operand_of_t<A>>::unchecked(all[0]),
                          detail::op_result_t<svd_op, how, 0, void, detail::operand_of_t<A>>::unchecked(all[1]),
                          detail::op_result_t<svd_op, how, 2, void, detail::operand_of_t<A>>::unchecked(all[2]));
    }
}
/// The singular values alone, falling: [.., m, n] -> [.., k]. Their gradient is finite everywhere.
template <OperandOrIllShaped A> auto singular_values(const A& a, called_from here = caller()) {
    const making made(here);
    return apply_op<svd_op, svd_op::attributes{false}>(a);
}

/// (w, v) as std::tuple: the eigenvalues of the symmetric part (a + a^T) / 2, rising, and its eigenvectors, the columns of v,
/// whose first element that is as large as any is not negative, on all devices. The gradient
/// is infinite or NaN where two of w are equal and something flows to v.
template <OperandOrIllShaped A> auto eigh(const A& a, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<eigh_op, A>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return std::tuple<ill_shaped, ill_shaped>{};
    else {
        using none = detail::without_attributes;
        const std::vector<any_tensor> both = untyped::eigh(detail::as_tensor(a));
        return std::tuple(detail::op_result_t<eigh_op, none, 0, void, detail::operand_of_t<A>>::unchecked(both[0]),
                          detail::op_result_t<eigh_op, none, 1, void, detail::operand_of_t<A>>::unchecked(both[1]));
    }
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_decomposition)
#include <tenon/ops/linear/decomposition.inl>
#endif
