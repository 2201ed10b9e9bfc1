#pragma once

#include <bit>
#include <cstring>

#include <tenon/expr/fused.hpp>
#include <tenon/graph/tensor.hpp>

/// Expression trees: what the elementwise operators return before anything is a node. A tree's type says which
/// instructions on which element types, and nothing of sizes; its value holds the operands' handles.

namespace tenon {

namespace detail {

/// The C++ type in which elements of type T are computed.
template <class T> using computed_t = element_t<compute_type(element_type_of<T>)>;

/// How long a tree's tape can get: its instructions, those of operands included, and its operands. Each part of a tree
/// tells its own.
struct tree_size {
    int instructions = 1;
    int operands = 0;
    friend constexpr tree_size operator+(tree_size a, tree_size b) {
        return {a.instructions + b.instructions, a.operands + b.operands};
    }
};
/// What a tree may have, so that its tape and that of its gradient are within what a tape holds.
inline constexpr tree_size largest_tree{48, max_tape_outputs};
constexpr bool is_too_large(tree_size t) {
    return t.instructions > largest_tree.instructions || t.operands > largest_tree.operands;
}

// Each part of a tree appends itself to a tape by write(tape, bound), which returns its register, and its operands and
// numbers to the parts of a node by collect, both in the same order. `bound` are the registers of the values that the let around it
// has named.

/// An operand. Written: void, or in the body of a loop what is known of it at compile time (expr/written_loop.hpp).
template <class T, class Written = void> struct leaf;
template <class T> struct leaf<T, void> {
    using value_type = T;
    static constexpr tree_size size{1, 1};
    any_tensor t;

    static constexpr int write(tape& to, const int*) { return to.emit_input(to.add_input(element_type_of<T>)); }
    void collect(expression_parts& to) const { to.add(t); }
};

/// What a loop carries as number I. Loop: a type of its own for each loop.
template <class Loop, int I> struct loop_mark {};
template <class T, class Loop, int I> struct leaf<T, loop_mark<Loop, I>> : leaf<T> {};
/// A tree that was given a name.
template <class T, class Tree> struct leaf : leaf<T> { Tree written; };

template <class T> struct scalar_leaf {
    using value_type = T;
    static constexpr tree_size size{};
    computed_t<T> value;

    static constexpr int write(tape& to, const int*) {
        constexpr element_type e = compute_type(element_type_of<T>);
        return to.emit(opcode::constant, e, to.add_constant(e));
    }
    void collect(expression_parts& to) const {
        std::int64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        to.add_number(bits);
    }
};

/// A number that is part of an expression's type, given by the bits of a double.
template <std::uint64_t Bits> struct number_constant {};

template <class T, std::uint64_t Bits> struct number_leaf {
    using value_type = T;
    static constexpr tree_size size{};
    static constexpr int write(tape& to, const int*) {
        return to.emit_literal(std::bit_cast<double>(Bits), compute_type(element_type_of<T>));
    }
    void collect(expression_parts&) const {}
};

template <opcode Op, class R, class... X> struct apply;

template <class X> inline constexpr bool is_product = false;
template <class R, class A, class B> inline constexpr bool is_product<apply<opcode::multiply, R, A, B>> = true;

template <opcode Op, class R, class A> struct apply<Op, R, A> {
    using value_type = R;
    static constexpr tree_size size = A::size + tree_size{};
    A a;

    static constexpr int write(tape& to, const int* bound) {
        const int x = A::write(to, bound);
        // A conversion is the one instruction that may name a storage type: it rounds to it.
        return to.emit(Op, Op == opcode::cast ? element_type_of<R> : compute_type(element_type_of<R>), x);
    }
    void collect(expression_parts& to) const { a.collect(to); }
};

template <opcode Op, class R, class A, class B> struct apply<Op, R, A, B> {
    using value_type = R;
    static constexpr tree_size size = A::size + B::size + tree_size{};
    using first = A;
    using second = B;
    A a;
    B b;

    static constexpr int write(tape& to, const int* bound) {
        constexpr element_type e = compute_type(element_type_of<R>);
        // a * b + c is one instruction, rounded once, wherever the product is a temporary.
        if constexpr ((Op == opcode::add || Op == opcode::subtract) && is_floating(e) && is_product<A>) {
            const int x = A::first::write(to, bound), y = A::second::write(to, bound), z = B::write(to, bound);
            return to.emit(opcode::fma, e, x, y, Op == opcode::add ? z : to.emit(opcode::negative, e, z));
        } else if constexpr (Op == opcode::add && is_floating(e) && is_product<B>) {
            const int z = A::write(to, bound), x = B::first::write(to, bound), y = B::second::write(to, bound);
            return to.emit(opcode::fma, e, x, y, z);
        } else {
            const int x = A::write(to, bound), y = B::write(to, bound);
            return to.emit(Op, e, x, y);
        }
    }
    void collect(expression_parts& to) const {
        a.collect(to);
        b.collect(to);
    }
};

template <opcode Op, class R, class A, class B, class C> struct apply<Op, R, A, B, C> {
    using value_type = R;
    static constexpr tree_size size = A::size + B::size + C::size + tree_size{};
    A a;
    B b;
    C c;

    static constexpr int write(tape& to, const int* bound) {
        const int x = A::write(to, bound), y = B::write(to, bound), z = C::write(to, bound);
        return to.emit(Op, compute_type(element_type_of<R>), x, y, z);
    }
    void collect(expression_parts& to) const {
        a.collect(to);
        b.collect(to);
        c.collect(to);
    }
};

/// The value that the let around it has named I.
template <class T, int I> struct named {
    using value_type = T;
    static constexpr tree_size size{0, 0};
    static constexpr int write(tape&, const int* bound) { return bound[I]; }
    void collect(expression_parts&) const {}
};

/// `Body`, in which named<T, I> is the I-th value: what a function writes that uses an operand more than once.
template <class Body, class... Values> struct let;
template <class Body, class A> struct let<Body, A> {
    using value_type = typename Body::value_type;
    static constexpr tree_size size = Body::size + A::size;
    Body body;
    A a;
    static constexpr int write(tape& to, const int* bound) {
        const int registers[] = {A::write(to, bound)};
        return Body::write(to, registers);
    }
    void collect(expression_parts& to) const {
        a.collect(to);
        body.collect(to);
    }
};
template <class Body, class A, class B> struct let<Body, A, B> {
    using value_type = typename Body::value_type;
    static constexpr tree_size size = Body::size + A::size + B::size;
    Body body;
    A a;
    B b;
    static constexpr int write(tape& to, const int* bound) {
        const int registers[] = {A::write(to, bound), B::write(to, bound)};
        return Body::write(to, registers);
    }
    void collect(expression_parts& to) const {
        a.collect(to);
        b.collect(to);
        body.collect(to);
    }
};
template <class Body, class A, class B, class C> struct let<Body, A, B, C> {
    using value_type = typename Body::value_type;
    static constexpr tree_size size = Body::size + A::size + B::size + C::size;
    Body body;
    A a;
    B b;
    C c;
    static constexpr int write(tape& to, const int* bound) {
        const int registers[] = {A::write(to, bound), B::write(to, bound), C::write(to, bound)};
        return Body::write(to, registers);
    }
    void collect(expression_parts& to) const {
        a.collect(to);
        b.collect(to);
        c.collect(to);
        body.collect(to);
    }
};

// How many leaves of a tree are what loops carry, those of named trees included.
template <class Tree> inline constexpr int loop_marks = 0;
template <class T, class Loop, int I> inline constexpr int loop_marks<leaf<T, loop_mark<Loop, I>>> = 1;
template <class T> inline constexpr int loop_marks<leaf<T>> = 0;
template <class T, class Tree> inline constexpr int loop_marks<leaf<T, Tree>> = loop_marks<Tree>;
template <opcode Op, class R, class... X> inline constexpr int loop_marks<apply<Op, R, X...>> = (loop_marks<X> + ...);
template <class Body, class... Values>
inline constexpr int loop_marks<let<Body, Values...>> = (loop_marks<Values> + ...);
/// Of a named tree nothing is known any more where it has none, or more than these.
inline constexpr int most_loop_marks = 48;

template <class Tree> constexpr tape write_tape() {
    tape t;
    const int r = Tree::write(t, nullptr);
    t.add_output(r, element_type_of<typename Tree::value_type>);
    return without_dead_code(t);
}

/// A tree's tape as a constant: what a compiled kernel unrolls.
template <class Tree> struct forward_program {
    static constexpr tape code = write_tape<Tree>();
    static_assert(!code.overfull); // elementwise() sees to it
};

} // namespace detail
} // namespace tenon

// Whether expressions written in this translation unit get kernels compiled for them here (best speed), or are
// run by the library's interpreter (best compile time). Define it before the first include to choose.
#ifndef TENON_COMPILE_EXPRESSIONS
#define TENON_COMPILE_EXPRESSIONS TENON_HEADER_ONLY
#endif
#if TENON_COMPILE_EXPRESSIONS
#include <tenon/expr/compiled.hpp>
#endif

namespace tenon {

namespace detail {
/// Of an expression: whose node it becomes, and where in the program it was written.
struct written_operand : operand {
    explicit written_operand(std::initializer_list<source_place> parts) : written(parts) {}
    written_scopes written;
};
inline source_place place_of(written_operand&& taken) noexcept { return taken.written.at(); }
inline source_place place_of(const operand&) noexcept { return {}; } // a node, which has its own
inline source_place place_of(...) noexcept { return {}; }            // a number
} // namespace detail

/// An elementwise expression that is not a node yet: element type T, sizes S, and what to compute. It holds its
/// operands by value. Used as a temporary it is taken into the expression around it; used by name it becomes a
/// node of the graph, once, in the scopes in which it was written.
template <class T, class S, class Tree> class expr : public detail::written_operand {
public:
    using element_type = T;
    using shape_type = S;
    using tree_type = Tree;

    /// `parts`: where the temporaries were written that it is made of.
    explicit expr(Tree tree, std::initializer_list<source_place> parts = {}) :
        detail::written_operand(parts), tree_(static_cast<Tree&&>(tree)) {}

    /// The node of this expression.
    tensor<T, S> materialize() const {
        detail::expression_parts parts;
        tree_.collect(parts);
#if TENON_COMPILE_EXPRESSIONS
        using forward = detail::forward_program<Tree>;
        detail::compile<forward, detail::gradient_program<forward>>();
#endif
        return tensor<T, S>::unchecked(
            detail::add_expression(detail::forward_program<Tree>::code, std::move(parts), this->written));
    }
    operator tensor<T, S>() const { return materialize(); } // NOLINT: an expression is a tensor
    template <class S2>
        requires(!std::is_same_v<S, S2> && detail::is_less_static(S2::extents, S::extents))
    operator tensor<T, S2>() const { return materialize(); } // NOLINT
    /// Another type is a mistake: declare it auto, or with the type that it has.
    template <class T2, class S2>
        requires(detail::is_another<tensor<T2, S2>, tensor<T, S>>)
    operator tensor<T2, S2>() const = delete; // it has another type: declare it auto, or with the type it has
    operator any_tensor() const { return materialize(); } // NOLINT
    template <std::same_as<bool> B>
    operator B() const = delete; // nothing runs here: select(condition, a, b), or fetch it in a session

    static constexpr int rank() { return S::rank; }
    /// As that of the tensor it becomes; it becomes no node by that.
    static tensor_type type() { return {element_type_of<T>, S::extents}; }
    const Tree& tree() const& { return tree_; }
    Tree&& tree() && { return static_cast<Tree&&>(tree_); }

private:
    Tree tree_;
};

/// What it is, as text: "expression: float[batch, 784]". It becomes no node by that.
template <class T, class S, class Tree> std::ostream& operator<<(std::ostream& out, const expr<T, S, Tree>& e) {
    return detail::print_expression(out, e.type());
}

namespace detail {

template <class X> inline constexpr bool is_expr = false;
template <class T, class S, class Tree> inline constexpr bool is_expr<expr<T, S, Tree>> = true;

template <class X> inline constexpr bool is_number_constant = false;
template <std::uint64_t Bits> inline constexpr bool is_number_constant<number_constant<Bits>> = true;

template <class X>
concept Number = std::is_arithmetic_v<std::remove_cvref_t<X>> || std::is_same_v<std::remove_cvref_t<X>, half> ||
    std::is_same_v<std::remove_cvref_t<X>, bfloat16> || is_number_constant<std::remove_cvref_t<X>>;

template <class T, std::uint64_t Bits> number_leaf<T, Bits> leaf_of(number_constant<Bits>) { return {}; }
template <class T, class X> scalar_leaf<T> leaf_of(X x) { return {static_cast<computed_t<T>>(x)}; }
/// False of a number whose fraction would be lost beside elements of type T.
template <class T, class X>
inline constexpr bool keeps_fraction = !Number<X> || is_number_constant<std::remove_cvref_t<X>> ||
                                       std::is_integral_v<std::remove_cvref_t<X>> || is_floating(element_type_of<T>);

// A value named by a let may be used by name: it is a register already.
template <class X> inline constexpr bool is_named_value = false;
template <class T, class S, int I> inline constexpr bool is_named_value<expr<T, S, named<T, I>>> = true;

// The leaf of a tensor, or of an expression that has a name.
template <class X> auto operand_leaf(const X& x) {
    using T = typename X::element_type;
    if constexpr (requires { typename X::mark_of_loop; }) return leaf<T, typename X::mark_of_loop>{{as_tensor(x)}};
    else if constexpr (is_expr<X>) {
        constexpr int marks = loop_marks<typename X::tree_type>;
        if constexpr (marks > 0 && marks <= most_loop_marks)
            return leaf<T, typename X::tree_type>{{x.materialize()}, x.tree()};
        else return leaf<T>{x.materialize()};
    } else return leaf<T>{as_tensor(x)};
}

/// What becomes of operands that are temporary expressions.
enum class temporaries { taken, made_nodes };

/// An operand as a tree: a temporary expression is taken, anything with a name is a node; a number takes the
/// element type of the operand beside it.
template <class T, temporaries Temporaries = temporaries::taken, class X> auto tree_of(X&& x) {
    using type = std::remove_cvref_t<X>;
    if constexpr (Number<X>) return leaf_of<T>(x);
    else if constexpr (is_named_value<type>) return x.tree();
    else if constexpr (is_expr<type> && !std::is_lvalue_reference_v<X> && Temporaries == temporaries::taken)
        return static_cast<X&&>(x).tree();
    else return operand_leaf(x);
}
template <class T, class X, temporaries Temporaries = temporaries::taken>
using tree_of_t = std::remove_cvref_t<decltype(tree_of<T, Temporaries>(std::declval<X>()))>;

// Of operands of a tree that beside theirs has Own: an expression that would be too long to be one is several.
template <tree_size Own, class... Trees>
inline constexpr temporaries temporaries_of = is_too_large((Own + ... + Trees::size)) ? temporaries::made_nodes
                                                                                      : temporaries::taken;

template <class T, class X> struct element_beside : operand_type_of<std::remove_cvref_t<X>> {};
template <class T, Number X> struct element_beside<T, X> { using type = operand_type<T, shape<>>; };
template <class T, class X> using element_beside_t = typename element_beside<T, X>::type;

template <class X> struct own_element { using type = void; };
template <Operand X> struct own_element<X> { using type = float; }; // of a mistake
template <Operand X>
    requires requires { typename std::remove_cvref_t<X>::element_type; }
struct own_element<X> {
    using type = typename std::remove_cvref_t<X>::element_type;
};

template <class... X> struct first_element { using type = void; };
template <class X, class... Rest> struct first_element<X, Rest...> {
    using own = typename own_element<X>::type;
    using type = typename std::conditional_t<std::is_void_v<own>, first_element<Rest...>, own_element<X>>::type;
};

// Of two numbers what C++ makes of them.
template <class A, class B> struct chosen_element : first_element<A, B> {};
template <Number A, Number B>
struct chosen_element<A, B> : std::common_type<std::remove_cvref_t<A>, std::remove_cvref_t<B>> {};

// What Rule says to operands and numbers of element type T.
template <class Rule, class T, class... X>
using verdict_beside = verdict_of<Rule, without_attributes, element_beside_t<T, X>...>;
template <class Rule, class T, class... X>
using rule_result_t = op_result_t<Rule, without_attributes, 0, void, element_beside_t<T, X>...>;

// A body on named values: its expression as one on the operands.
template <class F, class T, std::size_t... I, class... X> auto bind_values(F f, std::index_sequence<I...>, X&&... x) {
    auto body = f(expr<typename element_beside_t<T, X>::element, typename element_beside_t<T, X>::shape,
                       named<typename element_beside_t<T, X>::element, static_cast<int>(I)>>({})...);
    using result = decltype(body);
    if constexpr (std::is_same_v<result, ill_shaped>) return ill_shaped{};
    else {
        constexpr temporaries parts = temporaries_of<result::tree_type::size, tree_of_t<T, X>...>;
        using tree = let<typename result::tree_type, tree_of_t<T, X, parts>...>;
        return expr<typename result::element_type, typename result::shape_type, tree>(
            tree{static_cast<result&&>(body).tree(), tree_of<T, parts>(static_cast<X&&>(x))...},
            {place_of(static_cast<X&&>(x))...});
    }
}

} // namespace detail

/// The rule of one elementwise instruction: sizes broadcast, element types are equal.
template <opcode Op> struct elementwise_rule {
    static constexpr const char* name = info_of(Op).name;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) { return infer_instruction(Op, in); }
};

/// The expression of one instruction on operands and numbers. A number takes the type of the first operand
/// that has one (for select, of the chosen values).
template <opcode Op, class... X> auto elementwise(X&&... x) {
    using T = typename detail::first_element<X...>::type;
    static_assert((detail::keeps_fraction<T, X> && ...),
                  "tenon: a number with a fraction stands beside integers or bools: cast one of them");
    using verdict = detail::verdict_beside<elementwise_rule<Op>, T, X...>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else {
        using result = detail::rule_result_t<elementwise_rule<Op>, T, X...>;
        using R = typename result::element_type;
        constexpr detail::temporaries parts = detail::temporaries_of<detail::tree_size{}, detail::tree_of_t<T, X>...>;
        using tree = detail::apply<Op, R, detail::tree_of_t<T, X, parts>...>;
        return expr<R, typename result::shape_type, tree>(tree{detail::tree_of<T, parts>(static_cast<X&&>(x))...},
                                                          {detail::place_of(static_cast<X&&>(x))...});
    }
}
template <opcode Op, class P, class A, class B>
    requires(Op == opcode::select)
auto elementwise(P&& p, A&& a, B&& b) {
    using T = typename detail::chosen_element<A, B>::type;
    static_assert(detail::keeps_fraction<T, A> && detail::keeps_fraction<T, B>,
                  "tenon: a number with a fraction stands beside integers or bools: cast one of them");
    using verdict = detail::verdict_beside<elementwise_rule<Op>, T, P, A, B>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else {
        using result = detail::rule_result_t<elementwise_rule<Op>, T, P, A, B>;
        constexpr detail::temporaries parts = detail::temporaries_of<detail::tree_size{}, detail::tree_of_t<bool, P>,
                                                                     detail::tree_of_t<T, A>, detail::tree_of_t<T, B>>;
        using tree = detail::apply<Op, T, detail::tree_of_t<bool, P, parts>, detail::tree_of_t<T, A, parts>,
                                   detail::tree_of_t<T, B, parts>>;
        return expr<T, typename result::shape_type, tree>(
            tree{detail::tree_of<bool, parts>(static_cast<P&&>(p)), detail::tree_of<T, parts>(static_cast<A&&>(a)),
                 detail::tree_of<T, parts>(static_cast<B&&>(b))},
            {detail::place_of(static_cast<P&&>(p)), detail::place_of(static_cast<A&&>(a)),
             detail::place_of(static_cast<B&&>(b))});
    }
}

/// The expression of a function written with others. Rule judges the operands, as elementwise_rule does; f receives
/// each operand as a value that it may use by name as often as it likes, computed once.
template <class Rule, class F, class... X> auto elementwise_composite(F f, X&&... x) {
    using T = typename detail::first_element<X...>::type;
    static_assert((detail::keeps_fraction<T, X> && ...),
                  "tenon: a number with a fraction stands beside integers or bools: cast one of them");
    using verdict = detail::verdict_beside<Rule, T, X...>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else return detail::bind_values<F, T>(f, std::index_sequence_for<X...>{}, static_cast<X&&>(x)...);
}

namespace detail {
struct cast_rule {
    static constexpr const char* name = "cast";
    static constexpr inferred infer(const no_attributes&, type_list in, int) { return in[0]; }
};
} // namespace detail

/// Conversion of each element to To, as static_cast does it; double goes to half and bfloat16 by way of float. What is beyond an integer
/// type becomes its least or largest number, and NaN 0, everywhere.
template <Element To, class X> auto cast(X&& x, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::cast_rule, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else {
        using from = typename std::remove_cvref_t<X>::element_type;
        static_assert(!std::is_same_v<from, std::string> && !std::is_same_v<To, std::string>,
                      "tenon::cast: texts are no numbers: to_number<float>(x) reads them");
        constexpr detail::temporaries parts = detail::temporaries_of<detail::tree_size{}, detail::tree_of_t<from, X>>;
        using tree = detail::apply<opcode::cast, To, detail::tree_of_t<from, X, parts>>;
        return expr<To, typename std::remove_cvref_t<X>::shape_type, tree>(
            tree{detail::tree_of<from, parts>(static_cast<X&&>(x))}, {detail::place_of(static_cast<X&&>(x))});
    }
}

} // namespace tenon
