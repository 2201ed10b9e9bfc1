#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/expr/loop_call.hpp>
#include <tenon/expr/tree.hpp>
#include <tenon/tape/append_tape.hpp>
#if TENON_COMPILE_EXPRESSIONS
#include <tenon/expr/compiled_loop.hpp>
#endif

/// Loops whose functions give expressions of what they carry: the compiler knows all that a run computes.
///
/// The functions are given tensors whose types say which carry they are. A leaf of a tree keeps that, and what has a name keeps its tree, so that
/// the types of what the functions give have the whole of it. Nodes are made as ever; the two tapes of the loop and the functions of these are
/// beside them, found by the bodies' texts.

namespace tenon::detail {

/// A carry, as a loop's functions are given it.
template <class Loop, int I, class Tensor> class carried_tensor : public Tensor {
public:
    using mark_of_loop = loop_mark<Loop, I>;
    explicit carried_tensor(const any_tensor& t) : Tensor(Tensor::unchecked(t)) {}
};

/// In a loop's tape: carry number I, which is input I.
template <class T, int I> struct carried_leaf {
    using value_type = T;
    static constexpr int write(tape& to, const int*) { return to.emit_input(I); }
    void collect(expression_parts&) const {}
};
template <class Tree> struct named_tree {
    using value_type = typename Tree::value_type;
    Tree tree;
    static constexpr int write(tape& to, const int* bound) {
        return rounded_register(to, Tree::write(to, bound), element_type_of<value_type>);
    }
    void collect(expression_parts& to) const { tree.collect(to); }
};

/// A tree as the tapes of Loop have it. What other loops carry is an operand.
template <class Loop, class Tree> struct in_loop {
    using type = Tree;
    static const Tree& of(const Tree& x) { return x; }
};
template <class Loop, class Tree> using in_loop_t = typename in_loop<Loop, Tree>::type;
template <class Loop, class T, int I> struct in_loop<Loop, leaf<T, loop_mark<Loop, I>>> {
    using type = carried_leaf<T, I>;
    static type of(const leaf<T>&) { return {}; }
};
template <class Loop, class T, class Other, int I> struct in_loop<Loop, leaf<T, loop_mark<Other, I>>> {
    using type = leaf<T>;
    static type of(const leaf<T>& x) { return x; }
};
template <class Loop, class T> struct in_loop<Loop, leaf<T>> {
    using type = leaf<T>;
    static type of(const leaf<T>& x) { return x; }
};
template <class Loop, class T, class Tree> struct in_loop<Loop, leaf<T, Tree>> {
    using type = named_tree<in_loop_t<Loop, Tree>>;
    static type of(const leaf<T, Tree>& x) { return {in_loop<Loop, Tree>::of(x.written)}; }
};
template <class Loop, opcode Op, class R, class A> struct in_loop<Loop, apply<Op, R, A>> {
    using type = apply<Op, R, in_loop_t<Loop, A>>;
    static type of(const apply<Op, R, A>& x) { return {in_loop<Loop, A>::of(x.a)}; }
};
template <class Loop, opcode Op, class R, class A, class B> struct in_loop<Loop, apply<Op, R, A, B>> {
    using type = apply<Op, R, in_loop_t<Loop, A>, in_loop_t<Loop, B>>;
    static type of(const apply<Op, R, A, B>& x) { return {in_loop<Loop, A>::of(x.a), in_loop<Loop, B>::of(x.b)}; }
};
template <class Loop, opcode Op, class R, class A, class B, class C> struct in_loop<Loop, apply<Op, R, A, B, C>> {
    using type = apply<Op, R, in_loop_t<Loop, A>, in_loop_t<Loop, B>, in_loop_t<Loop, C>>;
    static type of(const apply<Op, R, A, B, C>& x) {
        return {in_loop<Loop, A>::of(x.a), in_loop<Loop, B>::of(x.b), in_loop<Loop, C>::of(x.c)};
    }
};
template <class Loop, class Body, class A> struct in_loop<Loop, let<Body, A>> {
    using type = let<in_loop_t<Loop, Body>, in_loop_t<Loop, A>>;
    static type of(const let<Body, A>& x) { return {in_loop<Loop, Body>::of(x.body), in_loop<Loop, A>::of(x.a)}; }
};
template <class Loop, class Body, class A, class B> struct in_loop<Loop, let<Body, A, B>> {
    using type = let<in_loop_t<Loop, Body>, in_loop_t<Loop, A>, in_loop_t<Loop, B>>;
    static type of(const let<Body, A, B>& x) {
        return {in_loop<Loop, Body>::of(x.body), in_loop<Loop, A>::of(x.a), in_loop<Loop, B>::of(x.b)};
    }
};
template <class Loop, class Body, class A, class B, class C> struct in_loop<Loop, let<Body, A, B, C>> {
    using type = let<in_loop_t<Loop, Body>, in_loop_t<Loop, A>, in_loop_t<Loop, B>, in_loop_t<Loop, C>>;
    static type of(const let<Body, A, B, C>& x) {
        return {in_loop<Loop, Body>::of(x.body), in_loop<Loop, A>::of(x.a), in_loop<Loop, B>::of(x.b),
                in_loop<Loop, C>::of(x.c)};
    }
};

/// One of the two tapes of a loop that was written so, and what it is given beside what is carried.
struct written_part {
    const tape* code = nullptr; ///< nullptr: it is not known
    loop_function function = nullptr;
    std::vector<int> results; ///< as of a loop_part
    expression_parts given;
    std::size_t of_condition = 0; ///< operands of `given` that are the condition's
};
struct written_loop {
    int carried = 0;
    bool is_all_uniform = false; ///< there is nothing else
    written_part uniform, elements;
};

/// The program of the parts that were written for bodies of these texts; `operands` are by part and operand beyond those carried. Kept for a while.
void enter_written_loop(const std::string& condition, const std::string& body, const written_loop& w,
                        const std::vector<int> (&operands)[2]);
/// Its two parts; false: there are none.
bool find_written_loop(const std::string& condition, const std::string& body, loop_program& to);

#if TENON_COMPILE_EXPRESSIONS

/// Part of a loop that carries tensors of types Carried: what is one element, and goes on while Condition says so, or the others. Trees are those
/// of all results.
template <bool Uniform, class Condition, class Carried, class Trees> struct part_of_loop;
template <bool Uniform, class Condition, class... Carried, class... Tree>
struct part_of_loop<Uniform, Condition, std::tuple<Carried...>, std::tuple<Tree...>> {
    static constexpr bool asks = Uniform;
    static constexpr int carried = static_cast<int>(sizeof...(Carried));
    static constexpr bool own[sizeof...(Carried)] = {(Carried::rank() == 0) == Uniform...};

    static constexpr int carried_by(int input) {
        if (input >= carried || !own[input]) return -1;
        int output = asks;
        for (int c = 0; c < input; ++c) output += own[c];
        return output;
    }
    static constexpr bool is_one_each(int input) { return input < carried && !own[input]; }

    static constexpr tape written() {
        tape t;
        (t.add_input(element_type_of<typename Carried::element_type>), ...);
        if (asks) t.add_output(Condition::write(t, nullptr), element_type::boolean);
        (write_result<Tree, Carried>(t), ...);
        return t.overfull ? t : without_dead_code(t);
    }
    template <class T, class C> static constexpr void write_result(tape& t) {
        constexpr element_type e = element_type_of<typename C::element_type>;
        if ((C::rank() == 0) == Uniform) t.add_output(rounded_register(t, T::write(t, nullptr), e), e);
    }
    static constexpr tape code = written();

    static void enter(written_part& to, const Condition& condition, const Tree&... tree) {
        if constexpr (!code.overfull && code.output_count > 0) {
            to.code = &code;
            to.function = compiled_loop_part<part_of_loop>();
            if constexpr (asks) {
                condition.collect(to.given);
                to.of_condition = to.given.operands.size();
                to.results.push_back(-1);
            }
            int c = 0;
            (add(to, c++, tree), ...);
        }
    }
    template <class T> static void add(written_part& to, int c, const T& tree) {
        if (!own[c]) return;
        tree.collect(to.given);
        to.results.push_back(c);
    }
};

/// The tree of what a function gave.
template <class X> auto tree_of_result(const X& x) {
    if constexpr (is_expr<X>) return x.tree();
    else return operand_leaf(x);
}
template <class X> using tree_of_result_t = decltype(tree_of_result(std::declval<const X&>()));
template <class Loop, class X> auto loop_tree(const X& x) {
    return in_loop_t<Loop, tree_of_result_t<X>>(in_loop<Loop, tree_of_result_t<X>>::of(tree_of_result(x)));
}
template <class Loop, class X> using loop_tree_t = in_loop_t<Loop, tree_of_result_t<X>>;

/// Enters what the functions of a loop gave: a condition, and a result for each tensor of Carried.
template <class Loop, class Carried, class Condition, class... Result>
void enter_results(written_loop& to, const Condition& condition, const Result&... result) {
    using trees = std::tuple<loop_tree_t<Loop, Result>...>;
    using uniform = part_of_loop<true, loop_tree_t<Loop, Condition>, Carried, trees>;
    using elements = part_of_loop<false, loop_tree_t<Loop, Condition>, Carried, trees>;
    to.carried = uniform::carried;
    to.is_all_uniform = elements::code.output_count == 0;
    uniform::enter(to.uniform, loop_tree<Loop>(condition), loop_tree<Loop>(result)...);
    elements::enter(to.elements, loop_tree<Loop>(condition), loop_tree<Loop>(result)...);
}

#endif

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/expr/written_loop.ipp>
#endif
