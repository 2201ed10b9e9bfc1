#pragma once

#include <tenon/core/check.hpp>
#include <tenon/graph/graph.hpp>

/// The typed handle on a node's output.

namespace tenon {

namespace detail {

// The compile-time part of "may this shape stand where that one is asked for": every size equal, or dyn there.
constexpr bool is_less_static(const extents& to, const extents& from) noexcept {
    if (to.rank() != from.rank()) return false;
    for (int i = 0; i < to.rank(); ++i)
        if (!to[i].is_dynamic() && !(to[i] == from[i])) return false;
    return true;
}

/// t, with the sizes that are asked for where they say more than its own: by way of a node that checks them
/// (ops/control.hpp).
any_tensor checked_as(const any_tensor& t, const tensor_type& asked);

/// What elementwise operators are found through, by argument-dependent lookup.
struct operand {};

} // namespace detail

/// A lazy tensor of element type T and sizes S: a typed view of one output of a graph's node. Cheap to copy;
/// keeps its graph alive.
template <class T, class S> class tensor : public any_tensor, public detail::operand {
public:
    using element_type = T;
    using shape_type = S;
    static_assert(Element<T>,
                  "tenon::tensor: T must be float, double, half, bfloat16, an integer, bool or std::string");

    tensor() = default;
    /// For the authors of ops: the caller answers for the types.
    static tensor unchecked(any_tensor t) {
        tensor r;
        static_cast<any_tensor&>(r) = static_cast<any_tensor&&>(t);
        return r;
    }
    /// A tensor known more exactly may stand for one known less.
    template <class S2>
        requires(!std::is_same_v<S, S2> && detail::is_less_static(S::extents, S2::extents))
    tensor(const tensor<T, S2>& t) : any_tensor(t) {} // NOLINT

    static constexpr int rank() { return S::rank; }
};

/// An untyped tensor seen with types again. Throws invalid_argument_error naming both types when they cannot
/// agree; a size the graph does not know is checked in the step, and a named one is bound there.
template <class T, Shape S> tensor<T, canonical_t<S>> as(const any_tensor& t) {
    return tensor<T, canonical_t<S>>::unchecked(detail::checked_as(t, {element_type_of<T>, S::extents}));
}
/// What a mistaken call returned stays what it is.
template <class T, Shape S, class X>
    requires std::is_same_v<X, ill_shaped> ill_shaped as(const X&) { return {}; }

namespace detail {

template <class X> inline constexpr bool is_tensor = false;
template <class T, class S> inline constexpr bool is_tensor<tensor<T, S>> = true;

/// The operand_type of a tensor or an expression.
template <class X>
using operand_of_t =
    operand_type<typename std::remove_cvref_t<X>::element_type, typename std::remove_cvref_t<X>::shape_type>;

/// A tensor or an elementwise expression, as the tensor it is: an expression becomes a node.
template <class T, class S> const tensor<T, S>& as_tensor(const tensor<T, S>& t) { return t; }
template <class E>
    requires requires(const E& e) { e.materialize(); }
auto as_tensor(const E& e) { return e.materialize(); }

template <bool Fits, class Op, class Rule, class T, class... Operands> struct typed_result {
    using element = std::conditional_t<std::is_void_v<T>, element_t<Rule::answer.type.element>, T>;
    using type = tensor<element, shape_from_t<Rule, typename Operands::shape...>>;
};
template <class Op, class Rule, class T, class... Operands> struct typed_result<false, Op, Rule, T, Operands...> {
    static_assert(shapes_of<Op, Rule::answer.what, shown_of<Operands>...>::agree, "tenon: shapes do not agree");
    using type = ill_shaped;
};

/// Result of op Op with static attributes Static on Operands (operand_types), whose named sizes it may have: `type` is
/// a tensor, of element type T unless that is void, or ill_shaped where the rule finds a fault.
template <class Op, class Static, int Output, class T, class... Operands>
using op_result = typed_result<static_cast<bool>(inference<Op, Static, Output, Operands...>::answer), Op,
                               inference<Op, Static, Output, Operands...>, T, Operands...>;

} // namespace detail

/// A tensor, or an elementwise expression, of the typed world.
template <class X>
concept Operand = std::is_base_of_v<detail::operand, std::remove_cvref_t<X>>;

/// An operand, or what a mistaken call returned.
template <class X>
concept OperandOrIllShaped = Operand<X> || std::is_same_v<std::remove_cvref_t<X>, ill_shaped>;

/// Adds a node of op struct Op on typed operands, its rule checked by the compiler. Static gives the
/// attributes that shapes depend on (Static::value); `a` are the attributes stored.
template <class Op, class Static, class... Xs> auto apply_op(const typename Op::attributes& a, const Xs&... xs) {
    if constexpr ((std::is_same_v<Xs, ill_shaped> || ...)) return ill_shaped{};
    else if constexpr (constexpr fault what =
                           detail::inference<Op, Static, 0, detail::operand_of_t<Xs>...>::answer.what;
                       what != fault::none) {
        static_assert(detail::shapes_of<Op, what, detail::shown_of<detail::operand_of_t<Xs>>...,
                                        detail::asked_of<Static, what>>::agree,
                      "tenon: shapes do not agree");
        return ill_shaped{};
    } else {
        using result = typename detail::op_result<Op, Static, 0, void, detail::operand_of_t<Xs>...>::type;
        return result::unchecked(add<Op>(a, {detail::as_tensor(xs)...}));
    }
}

/// The same where the stored attributes are the static ones. Not by way of the other: the complaint would be longer.
template <class Op, auto Attributes, class... Xs> auto apply_op(const Xs&... xs) {
    using statics = detail::constant_attributes<Attributes>;
    if constexpr ((std::is_same_v<Xs, ill_shaped> || ...)) return ill_shaped{};
    else if constexpr (constexpr fault what =
                           detail::inference<Op, statics, 0, detail::operand_of_t<Xs>...>::answer.what;
                       what != fault::none) {
        static_assert(detail::shapes_of<Op, what, detail::shown_of<detail::operand_of_t<Xs>>...,
                                        detail::asked_of<statics, what>>::agree,
                      "tenon: shapes do not agree");
        return ill_shaped{};
    } else {
        using result = typename detail::op_result<Op, statics, 0, void, detail::operand_of_t<Xs>...>::type;
        return result::unchecked(add<Op>(Attributes, {detail::as_tensor(xs)...}));
    }
}

} // namespace tenon
