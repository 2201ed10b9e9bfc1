#pragma once

#include <concepts>
#include <tuple>

#include <tenon/core/check.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/graph/graph.hpp>

/// The typed handle on a node's output.

namespace tenon {

template <class T, class S> class tensor;

namespace detail {

// The compile-time part of "may this shape stand where that one is asked for": every size equal, or dyn there.
constexpr bool is_less_static(const extents& to, const extents& from) noexcept {
    if (to.rank() != from.rank()) return false;
    for (int i = 0; i < to.rank(); ++i)
        if (!to[i].is_dynamic() && !(to[i] == from[i])) return false;
    return true;
}

constexpr bool has_dynamic(const extents& e) noexcept {
    for (const extent& size : e)
        if (size.is_dynamic()) return true;
    return false;
}

/// t, with the sizes that are asked for where they say more than its own: by way of a node that checks them
/// (ops/control/control.hpp).
any_tensor checked_as(const any_tensor& t, const tensor_type& asked);

// Whether To, declared without dyn, cannot stand for From. (What is declared with dyn may be one of several overloads for
// tensors of different ranks or elements, which a conversion that is deleted would make ambiguous.)
template <class To, class From> inline constexpr bool is_another = false;
template <class T, class S, class T2, class S2>
inline constexpr bool is_another<tensor<T, S>, tensor<T2, S2>> =
    !has_dynamic(S::extents) && !(std::is_same_v<T, T2> && is_less_static(S::extents, S2::extents));
// Seen in the error where one is given to the other.
struct declare_auto_or_the_type_it_has {};
struct write_as_or_constant {};

/// What elementwise operators are found through, by argument-dependent lookup.
struct operand {
    // clang-format off
    template <class I>
    void operator[](const I&) const = delete; // rows: gather(x, constant(0)), slice<range{0, 10}>(x)
    void item() const = delete; // nothing runs here: session.run(x).item()
    const ill_shaped* begin() const = delete; // rows: unstack<0>(x); in the graph a loop is scan; values: session.run(x)
    const ill_shaped* end() const;
    // clang-format on
};

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
    // clang-format off
    /// Another type is a mistake: declare it auto, or with the type that it has.
    template <class T2, class S2>
        requires(detail::is_another<tensor, tensor<T2, S2>>)
    tensor(const tensor<T2, S2>&, detail::declare_auto_or_the_type_it_has = {}) = delete;
    /// So is what has no type, or is a number: as<T, S>(x), constant(v).
    template <class V>
        requires(std::is_arithmetic_v<V> || std::is_same_v<V, any_tensor>)
    tensor(const V&, detail::write_as_or_constant = {}) = delete;
    // clang-format on

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
template <class T> ill_shaped as(const any_tensor&) {
    static_assert(detail::is_mistake<T>, "tenon::as: say the sizes, too: as<float, shape<batch, 10>>(x)");
    return {};
}
template <class T, class... S, class X>
    requires(!std::is_convertible_v<const X&, any_tensor>)
ill_shaped as(const X&) {
    static_assert(detail::is_mistake<X>,
                  "tenon::as: it gives a tensor its type; of a number or an array write constant(x)");
    return {};
}

namespace detail {

/// any_tensor itself: nothing that has a type at compile time.
template <class X>
concept UntypedTensor = std::is_same_v<X, any_tensor>;

template <class X> inline constexpr bool is_tensor = false;
template <class T, class S> inline constexpr bool is_tensor<tensor<T, S>> = true;
/// Of tensors, variables and expressions.
template <class X>
concept Typed = std::is_base_of_v<operand, std::remove_cvref_t<X>>;

/// What no arithmetic is of: an array, or a data set.
template <class X> inline constexpr bool is_on_the_host = std::is_convertible_v<const X&, const any_array&>;
// A value on the host, which is taken for a tensor: an array, or a list of numbers.
template <class X> inline constexpr bool is_host_value = std::is_convertible_v<const X&, const any_array&>;
template <class X>
    requires requires(const X& x) { x.data() + x.size(); }
inline constexpr bool is_host_value<X> =
    std::is_arithmetic_v<typename X::value_type> && !std::is_same_v<typename X::value_type, char>;
template <> inline constexpr bool is_host_value<ill_shaped> = false;

template <class X> struct operand_type_of { using type = std::conditional_t<is_host_value<X>, host_value, void>; };
template <class X>
    requires Typed<X>
struct operand_type_of<X> {
    using type = operand_type<typename X::element_type, typename X::shape_type>;
};
template <> struct operand_type_of<ill_shaped> { using type = ill_shaped; };
template <> struct operand_type_of<any_tensor> { using type = untyped_operand; };
// What a queue, an iterator or an op of several results gives, where one tensor is needed.
template <class X> inline constexpr bool is_tuple_of_tensors = false;
template <class... T>
    requires(sizeof...(T) > 0)
inline constexpr bool is_tuple_of_tensors<std::tuple<T...>> = (Typed<T> && ...);
template <class T, std::size_t N> inline constexpr bool is_tuple_of_tensors<std::array<T, N>> = Typed<T>;
template <class A, class B> inline constexpr bool is_tuple_of_tensors<std::pair<A, B>> = Typed<A>&& Typed<B>;
template <class X>
    requires requires { typename X::several_tensors; }
inline constexpr bool is_tuple_of_tensors<X> = true;
template <class X>
    requires is_tuple_of_tensors<X>
struct operand_type_of<X> {
    using type = operand_tuple;
};
/// The operand_type of a tensor or an expression.
template <class X> using operand_of_t = typename operand_type_of<std::remove_cvref_t<X>>::type;

// The same, of what is no tensor a scalar, so that what follows from its sizes can be said.
template <class X> using typed_operand_t = std::conditional_t<Typed<X>, operand_of_t<X>, operand_type<float, shape<>>>;

/// The attributes of a rule that has none.
using without_attributes = constant_attributes<no_attributes{}>;
/// What Rule, without attributes, says to tensors and expressions.
template <class Rule, class... Xs>
using verdict_on_operands = verdict_of<Rule, without_attributes, operand_of_t<Xs>...>;

/// A tensor or an elementwise expression, as the tensor it is: an expression becomes a node.
template <class T, class S> const tensor<T, S>& as_tensor(const tensor<T, S>& t) { return t; }
template <class E>
    requires requires(const E& e) { e.materialize(); }
auto as_tensor(const E& e) { return e.materialize(); }

template <class Rule, class T, class... Operands> struct typed_result {
    using element = std::conditional_t<std::is_void_v<T>, element_t<Rule::answer.type.element>, T>;
    using type = tensor<element, shape_from_t<Rule, typename Operands::shape...>>;
};

/// The tensor that op Op with static attributes Static makes of Operands (operand_types) that its rule accepts, whose
/// named sizes it may have; of element type T unless that is void.
template <class Op, class Static, int Output, class T, class... Operands>
using op_result_t = typename typed_result<inference<Op, Static, Output, Operands...>, T, Operands...>::type;

} // namespace detail

namespace detail {
// One constant each, for a compiler lists what a concept is made of.
template <class X>
inline constexpr bool is_operand =
    Typed<X> || std::is_same_v<std::remove_cvref_t<X>, ill_shaped> || is_tuple_of_tensors<std::remove_cvref_t<X>>;
template <class X>
inline constexpr bool stands_for_a_tensor = is_host_value<std::remove_cvref_t<X>> || UntypedTensor<X>;
template <class X>
    requires is_operand<X>
inline constexpr bool stands_for_a_tensor<X> = true;
} // namespace detail

/// A tensor or an elementwise expression of the typed world, or what a mistaken call returned.
template <class X>
concept Operand = detail::is_operand<X>;
/// What functions on operands take: one, or an array or an untyped tensor, of which the verdict on operands says that it is none.
template <class X>
concept OperandOrIllShaped = detail::stands_for_a_tensor<X>;
namespace detail {
template <class X> inline constexpr bool stands_for_one_or_nothing = stands_for_a_tensor<X> || !is_given<X>;
template <class X>
concept OperandIfGiven = stands_for_one_or_nothing<X>;
} // namespace detail

namespace detail {
/// What a list in braces is of, where nothing else can be made of them.
struct in_braces {
    template <Element T> in_braces(const T&); // NOLINT
    in_braces(const char*);                   // NOLINT
    in_braces(std::initializer_list<in_braces>);
};
struct as_rule {
    static constexpr const char* name = "as";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        if (in[0].element != in[1].element) return fault::element_types_differ;
        const merged_extents both = equal_shapes(in[0].extents, in[1].extents);
        return both.what == fault::none ? inferred(in[0]) : inferred(both.what);
    }
};
} // namespace detail

/// A typed tensor with more known of its sizes: what its type says must agree.
template <class T, Shape S, detail::Typed X> auto as(const X& x) {
    using verdict = detail::verdict_of<detail::as_rule, detail::without_attributes, detail::operand_of_t<X>,
                                       detail::operand_type<T, canonical_t<S>>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return as<T, S>(static_cast<const any_tensor&>(detail::as_tensor(x)));
}

namespace detail {
template <class Op> inline constexpr bool is_op_struct = requires(const typename Op::attributes& a, type_list in) {
    { Op::name } -> std::convertible_to<const char*>;
    { Op::infer(a, in, 0) } -> std::convertible_to<inferred>;
};
} // namespace detail

/// Adds a node of op struct Op on typed operands, its rule checked by the compiler. Static gives the
/// attributes that shapes depend on (Static::value); `a` are the attributes stored.
template <class Op, class Static, class... Xs> auto apply_op(const typename Op::attributes& a, const Xs&... xs) {
    using verdict = detail::verdict_of<Op, Static, detail::operand_of_t<Xs>...>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::op_result_t<Op, Static, 0, void, detail::operand_of_t<Xs>...>::unchecked(
            add<Op>(a, {detail::as_tensor(xs)...}));
}

/// The same where the stored attributes are the static ones. Not by way of the other: the complaint would be longer.
template <class Op, auto Attributes, class... Xs> auto apply_op(const Xs&... xs) {
    static_assert(detail::is_op_struct<Op>,
                  "tenon::apply_op: an op is a struct with `name`, `attributes`, and static constexpr inferred "
                  "infer(const attributes&, type_list in, int output)");
    if constexpr (!detail::is_op_struct<Op>) return ill_shaped{};
    else {
        using statics = detail::constant_attributes<Attributes>;
        using verdict = detail::verdict_of<Op, statics, detail::operand_of_t<Xs>...>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else
            return detail::op_result_t<Op, statics, 0, void, detail::operand_of_t<Xs>...>::unchecked(
                add<Op>(Attributes, {detail::as_tensor(xs)...}));
    }
}

} // namespace tenon
