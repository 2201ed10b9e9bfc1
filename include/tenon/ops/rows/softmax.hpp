#pragma once

#include <tenon/expr/tree.hpp>
#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/axes.hpp>

/// Softmax and the losses of classifiers. In formulas c runs over the classes, the last axis.
///
///     softmax(x)[.., c] = e^x[.., c] / sum over k of e^x[.., k]
///
///     auto p = tn::softmax(logits);                                   // [batch, 10] -> [batch, 10]
///     auto q = tn::log_softmax<1>(x);                                 // along axis 1 of any number of axes
///     auto loss = tn::mean(tn::sparse_softmax_cross_entropy(logits, labels));   // [batch, 10] x int32[batch] -> []
///
/// The largest element is subtracted before e^x is taken, so that nothing overflows; a class at -inf has probability 0.
/// Element types float, double, half and bfloat16; the 16-bit types are computed in float.

namespace tenon {

namespace detail {

constexpr inferred infer_softmax(int axis, type_list in, int operands) {
    if (in.size() != operands) return fault::expects_more_operands;
    if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
    if (in[0].extents.rank() < 1) return fault::rank_too_low;
    if (axis_of(axis, in[0].extents.rank()) < 0) return fault::axis_out_of_range;
    return equal_types(in);
}
/// The largest, its distance, e^x, their sum, and of that a part: of each element.
inline double softmax_operations(const tensor_type& x) { return 5.0 * static_cast<double>(x.extents.elements()); }

} // namespace detail

struct softmax_op {
    static constexpr const char* name = "softmax";
    struct attributes {
        int axis = -1;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return detail::infer_softmax(a.axis, in, 1);
    }
    static double operations(const attributes&, type_list in, type_list) { return detail::softmax_operations(in[0]); }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(softmax, softmax);

struct log_softmax_op {
    static constexpr const char* name = "log_softmax";
    using attributes = softmax_op::attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return detail::infer_softmax(a.axis, in, 1);
    }
    static double operations(const attributes&, type_list in, type_list) { return detail::softmax_operations(in[0]); }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(softmax, log_softmax);

/// From y = softmax(x) and the gradient of y that of x: y (dy - sum over c of dy y); or, from y = log_softmax(x),
/// dy - e^y sum over c of dy.
struct softmax_gradient_op {
    static constexpr const char* name = "softmax_gradient";
    struct attributes {
        int axis = -1;
        bool logarithm = false;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return detail::infer_softmax(a.axis, in, 2);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(softmax, softmax_gradient);

/// Inputs: logits [.., classes] and labels [..], int32 or int64. Outputs: loss [..] = ln(sum over c of e^x[.., c]) -
/// x[.., label], and softmax(x) - onehot(label) [.., classes], from which the gradient is made without another e^x.
struct sparse_softmax_cross_entropy_op {
    static constexpr const char* name = "sparse_softmax_cross_entropy";
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes&, type_list in, int output) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (in[1].element != element_type::int32 && in[1].element != element_type::int64)
            return fault::element_type_must_be_integer;
        const int rank = in[0].extents.rank();
        if (rank < 1) return fault::rank_too_low;
        if (in[1].extents.rank() != rank - 1) return fault::ranks_differ;
        extents rows = in[0].extents;
        rows.erase(rank - 1);
        const merged_extents m = equal_shapes(rows, in[1].extents);
        if (m.what == fault::sizes_differ) return fault::batch_sizes_differ;
        if (m.what != fault::none) return m.what;
        rows = m.extents;
        if (output == 1) rows.push_back(in[0].extents[rank - 1]);
        return inferred(in[0].element, rows);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
    /// What is said of a label that is none of the classes.
    static std::string refusal(const std::string& node, std::int64_t label, std::int64_t row, std::int64_t classes);
};
TENON_OP(softmax, sparse_softmax_cross_entropy);

/// Inputs: logits x and weights p, both [.., classes]; p is a distribution where a gradient in the usual sense is
/// wanted, but need not be. Outputs: loss [..] = sum over c of p[.., c] (ln(sum over k of e^x[.., k]) - x[.., c]),
/// where p = 0 gives 0; and softmax(x) (sum over c of p) - p.
struct softmax_cross_entropy_op {
    static constexpr const char* name = "softmax_cross_entropy";
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes&, type_list in, int output) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (in[1].element != in[0].element) return fault::element_types_differ;
        const int rank = in[0].extents.rank();
        if (rank < 1 || in[1].extents.rank() < 1) return fault::rank_too_low;
        if (in[1].extents.rank() != rank) return fault::ranks_differ;
        const merged_extent classes = equal_sizes(in[0].extents[rank - 1], in[1].extents[rank - 1]);
        if (classes.what == fault::sizes_differ) return fault::classes_differ;
        const merged_extents m = equal_shapes(in[0].extents, in[1].extents);
        if (m.what == fault::sizes_differ) return fault::batch_sizes_differ;
        if (m.what != fault::none) return m.what;
        extents sizes = m.extents;
        if (output == 0) sizes.erase(rank - 1);
        return inferred(in[0].element, sizes);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(softmax, softmax_cross_entropy);

/// The rule of sigmoid_cross_entropy: two floating tensors of equal sizes.
struct sigmoid_cross_entropy_rule {
    static constexpr const char* name = "sigmoid_cross_entropy";
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (in[1].element != in[0].element) return fault::element_types_differ;
        const merged_extents m = equal_shapes(in[0].extents, in[1].extents);
        return m.what == fault::none ? inferred(in[0].element, m.extents) : inferred(m.what);
    }
};

/// e^x / sum of e^x along the axis (negative axes count from the last).
template <int Axis = -1, OperandOrIllShaped X> auto softmax(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<softmax_op, softmax_op::attributes{Axis}>(x);
}
/// Its logarithm, x - ln(sum of e^x), exact where the probability itself would be rounded to 0 or 1.
template <int Axis = -1, OperandOrIllShaped X> auto log_softmax(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<log_softmax_op, log_softmax_op::attributes{Axis}>(x);
}

/// The loss of each example: -ln(softmax(logits)[.., label]). logits [.., classes], labels [..] of int32 or int64. A
/// label outside of 0 .. classes-1 fails the step with invalid_argument_error, which names it.
template <OperandOrIllShaped X, OperandOrIllShaped L>
auto sparse_softmax_cross_entropy(const X& logits, const L& labels, called_from here = caller()) {
    const making made(here);
    return apply_op<sparse_softmax_cross_entropy_op, no_attributes{}>(logits, labels);
}
/// The loss of each example: -sum over c of p[.., c] ln(softmax(logits)[.., c]).
template <OperandOrIllShaped X, OperandOrIllShaped P>
auto softmax_cross_entropy(const X& logits, const P& probabilities, called_from here = caller()) {
    const making made(here);
    return apply_op<softmax_cross_entropy_op, no_attributes{}>(logits, probabilities);
}

/// Of each element, -z ln(s(x)) - (1 - z) ln(1 - s(x)) with s(x) = 1 / (1 + e^-x): the loss of independent yes-or-no
/// questions with logits x and answers z in [0, 1]. Written as z ln(1 + e^-x) + (1 - z) ln(1 + e^x), of which nothing
/// overflows or cancels.
template <OperandOrIllShaped X, OperandOrIllShaped Z>
auto sigmoid_cross_entropy(const X& logits, const Z& labels, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<sigmoid_cross_entropy_rule, X, Z>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else {
        const auto x = detail::as_tensor(logits);
        const auto z = detail::as_tensor(labels);
        return elementwise<opcode::add>(
            elementwise<opcode::multiply>(z, elementwise<opcode::softplus>(elementwise<opcode::negative>(x))),
            elementwise<opcode::multiply>(elementwise<opcode::subtract>(1, z), elementwise<opcode::softplus>(x)));
    }
}

namespace untyped {
any_tensor softmax(const any_tensor& x, int axis = -1, called_from here = caller());
any_tensor log_softmax(const any_tensor& x, int axis = -1, called_from here = caller());
any_tensor sparse_softmax_cross_entropy(const any_tensor& logits, const any_tensor& labels,
                                        called_from here = caller());
any_tensor softmax_cross_entropy(const any_tensor& logits, const any_tensor& probabilities,
                                 called_from here = caller());
any_tensor sigmoid_cross_entropy(const any_tensor& logits, const any_tensor& labels, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_softmax)

#include <tenon/core/error.hpp>
#include <tenon/op/kernel_roles.hpp>
#include <tenon/op/widened.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/rows/rows.hpp>
#include <tenon/ops/shape/reshape.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor softmax(const any_tensor& x, int axis, called_from here) {
    return tenon::add<softmax_op>({axis}, {x}, here);
}
TENON_INLINE any_tensor log_softmax(const any_tensor& x, int axis, called_from here) {
    return tenon::add<log_softmax_op>({axis}, {x}, here);
}
TENON_INLINE any_tensor sparse_softmax_cross_entropy(const any_tensor& logits, const any_tensor& labels,
                                                     called_from here) {
    return tenon::add<sparse_softmax_cross_entropy_op>({}, {logits, labels}, here);
}
TENON_INLINE any_tensor softmax_cross_entropy(const any_tensor& logits, const any_tensor& probabilities,
                                              called_from here) {
    return tenon::add<softmax_cross_entropy_op>({}, {logits, probabilities}, here);
}
TENON_INLINE any_tensor sigmoid_cross_entropy(const any_tensor& x, const any_tensor& z, called_from here) {
    const making made(here);
    detail::check_operands<sigmoid_cross_entropy_rule>({x, z});
    return add(multiply(z, softplus(negative(x))), multiply(subtract(1, z), softplus(x)));
}
} // namespace untyped

TENON_INLINE void softmax_op::gradient(gradient_context& g) {
    g.set(0,
          tenon::add<softmax_gradient_op>({g.attributes<attributes>().axis, false}, {g.output(), g.output_gradient()}));
}
TENON_INLINE void log_softmax_op::gradient(gradient_context& g) {
    g.set(0,
          tenon::add<softmax_gradient_op>({g.attributes<attributes>().axis, true}, {g.output(), g.output_gradient()}));
}

TENON_INLINE void softmax_gradient_op::gradient(gradient_context& g) {
    using namespace untyped;
    const attributes a = g.attributes<attributes>();
    const any_tensor y = g.input(0), dy = g.input(1), h = g.output_gradient();
    const index_list axis{a.axis};
    if (a.logarithm) { // dy - e^y sum(dy)
        const any_tensor e = exp(y), weight = sum(multiply(h, e), axis, true);
        g.set(0, negative(multiply(multiply(h, e), sum(dy, axis, true))));
        g.set(1, subtract(h, weight));
    } else { // y dy - y sum(dy y)
        const any_tensor along = sum(multiply(dy, y), axis, true), weight = sum(multiply(h, y), axis, true);
        g.set(0, subtract(multiply(h, subtract(dy, along)), multiply(weight, dy)));
        g.set(1, multiply(y, subtract(h, weight)));
    }
}

namespace detail {
// g [..] as [.., 1].
inline any_tensor as_column(const any_tensor& g) { return untyped::expand_dims(g, {-1}); }
} // namespace detail

TENON_INLINE std::string sparse_softmax_cross_entropy_op::refusal(const std::string& node, std::int64_t label,
                                                                  std::int64_t row, std::int64_t classes) {
    const std::string which = node + ": label " + std::to_string(label) + " of row " + std::to_string(row);
    if (classes == 0) return which + " is of no class: the last size of the logits is 0, so there is none";
    return which + " is not one of the " + std::to_string(classes) + " classes; labels run from 0 to " +
           std::to_string(classes - 1);
}
TENON_INLINE void sparse_softmax_cross_entropy_op::gradient(gradient_context& g) {
    any_tensor dx;
    if (g.output_gradient(0).node()) dx = untyped::multiply(g.output(1), detail::as_column(g.output_gradient(0)));
    if (g.output_gradient(1).node()) { // of second order
        const any_tensor more =
            tenon::add<softmax_gradient_op>({-1, false}, {untyped::softmax(g.input(0)), g.output_gradient(1)});
        dx = dx.node() ? untyped::add(dx, more) : more;
    }
    g.set(0, dx);
}

TENON_INLINE void softmax_cross_entropy_op::gradient(gradient_context& g) {
    using namespace untyped;
    any_tensor dx, dp;
    if (g.output_gradient(0).node()) {
        const any_tensor column = detail::as_column(g.output_gradient(0));
        dx = multiply(g.output(1), column);
        dp = negative(multiply(log_softmax(g.input(0)), column));
    }
    if (const any_tensor& h = g.output_gradient(1); h.node()) { // of second order
        const any_tensor y = softmax(g.input(0));
        const any_tensor more =
            multiply(sum(g.input(1), {-1}, true), tenon::add<softmax_gradient_op>({-1, false}, {y, h}));
        const any_tensor more_p = subtract(sum(multiply(h, y), {-1}, true), h);
        dx = dx.node() ? add(dx, more) : more;
        dp = dp.node() ? add(dp, more_p) : more_p;
    }
    g.set(0, dx);
    g.set(1, dp);
}

namespace detail {

inline axis_view view_along(const extents& sizes, int axis) {
    axis_view v;
    const int at = axis_of(axis, sizes.rank());
    for (int i = 0; i < sizes.rank(); ++i) (i < at ? v.outer : i == at ? v.size : v.inner) *= sizes[i].size;
    return v;
}

template <class T> struct softmax_kernel final : kernel {
    softmax_kernel(const kernel_setup& s, int axis, bool take_logarithm) :
        view(view_along(s.inputs[0].extents, axis)), logarithm(take_logarithm), threads(s.threads) {}
    void run(const kernel_run& r) override {
        softmax_along(r.input<T>(0), r.output<T>(0), view, logarithm, reinterpret_cast<T*>(r.scratch), threads, r.pool);
    }
    std::size_t scratch_bytes() const override {
        return static_cast<std::size_t>(softmax_terms<T>(view, threads)) * sizeof(T);
    }
    double cost() const override {
        return 30 + 0.5 * static_cast<double>(view.elements()) + 10 * static_cast<double>(view.outer);
    }
    bool may_share(int, int) const override { return true; }
    axis_view view;
    bool logarithm;
    int threads;
};

template <class T> struct softmax_gradient_kernel final : kernel {
    softmax_gradient_kernel(const kernel_setup& s, const softmax_gradient_op::attributes& a) :
        view(view_along(s.inputs[0].extents, a.axis)), logarithm(a.logarithm) {}
    void run(const kernel_run& r) override {
        softmax_backward_along(r.input<T>(0), r.input<T>(1), r.output<T>(0), view, logarithm, r.pool);
    }
    double cost() const override {
        return 30 + 0.3 * static_cast<double>(view.elements()) + 5 * static_cast<double>(view.outer);
    }
    bool may_share(int, int) const override { return true; }
    axis_view view;
    bool logarithm;
};

template <class T> struct sparse_cross_entropy_kernel final : kernel, row_kernel {
    explicit sparse_cross_entropy_kernel(const kernel_setup& s) :
        node_name(s.node.name),
        view(view_along(s.inputs[0].extents, -1)),
        wide_labels(s.inputs[1].element == element_type::int64),
        first_size(s.inputs[0].extents.rank() > 1 ? s.inputs[0].extents[0].size : 0) {}
    void run(const kernel_run& r) override { run_rows(r, 0, view.outer, r.pool); }
    std::int64_t rows() const override { return first_size; }
    bool is_by_rows(int) const override { return true; }
    void divide(int n) override { shares = n; }
    void run_share(const kernel_run& r, int share) const override {
        const std::int64_t each = view.outer / first_size;
        run_rows(r, each * begin_of(first_size, share, shares), each * begin_of(first_size, share + 1, shares),
                 nullptr);
    }
    void run_rows(const kernel_run& r, std::int64_t begin, std::int64_t end, thread_pool* pool) const {
        const label_list labels{r.in[1], wide_labels};
        T* const loss = r.output<T>(0);
        T* const dx = r.output<T>(1);
        std::int64_t bad =
            sparse_cross_entropy(r.input<T>(0) + begin * view.size, labels.from(begin), loss ? loss + begin : nullptr,
                                 dx ? dx + begin * view.size : nullptr, end - begin, view.size, pool);
        if (bad < 0) return;
        bad += begin;
        for (std::int64_t row = begin; row-- > 0;) // the first of all is complained of, whoever finds one
            if (labels[row] < 0 || labels[row] >= view.size) bad = row;
        throw invalid_argument_error(sparse_softmax_cross_entropy_op::refusal(node_name, labels[bad], bad, view.size));
    }
    double cost() const override {
        return 30 + 0.5 * static_cast<double>(view.elements()) + 20 * static_cast<double>(view.outer);
    }
    bool may_share(int i, int o) const override { return i == 0 && o == 1; }
    std::string node_name;
    axis_view view;
    bool wide_labels;
    std::int64_t first_size; // of more than one dimension
    int shares = 1;
};

template <class T> struct cross_entropy_kernel final : kernel {
    explicit cross_entropy_kernel(const kernel_setup& s) : view(view_along(s.inputs[0].extents, -1)) {}
    void run(const kernel_run& r) override {
        cross_entropy(r.input<T>(0), r.input<T>(1), r.output<T>(0), r.output<T>(1), view.outer, view.size, r.pool);
    }
    double cost() const override {
        return 30 + 0.6 * static_cast<double>(view.elements()) + 20 * static_cast<double>(view.outer);
    }
    axis_view view;
};

} // namespace detail

TENON_INLINE kernel_pointer softmax_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::softmax_kernel>(s, decode<attributes>(s.attrs).axis, false);
}
TENON_INLINE kernel_pointer log_softmax_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::softmax_kernel>(s, decode<attributes>(s.attrs).axis, true);
}
TENON_INLINE kernel_pointer softmax_gradient_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::softmax_gradient_kernel>(s, decode<attributes>(s.attrs));
}
TENON_INLINE kernel_pointer sparse_softmax_cross_entropy_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::sparse_cross_entropy_kernel>(s);
}
TENON_INLINE kernel_pointer softmax_cross_entropy_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::cross_entropy_kernel>(s);
}

} // namespace tenon

#endif
