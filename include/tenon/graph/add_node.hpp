#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/function_ref.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/op/op_definition.hpp>

/// Adding nodes to a graph.

namespace tenon {

class graph;

/// Adds a node to the graph in scope. Runs the rule; throws invalid_argument_error with its words. Equal
/// stateless nodes are one node. `name` empty: the op's name, made unique.
node* add_node(const op_definition& op, std::vector<any_tensor> inputs, attributes a, const std::string& name = {});

namespace detail {
/// The same of what is made here, so that want of memory for that names the node, too.
any_tensor add_made(const op_definition& op, function_ref<std::vector<any_tensor>()> inputs,
                    function_ref<attributes()> a, const located<std::string>& name);
} // namespace detail

/// Adds a node of op struct Op; its first output. In place of a name may stand where it is made: add<Op>(a, {x}, here).
template <class Op>
any_tensor add(const typename Op::attributes& a, std::vector<any_tensor> inputs,
               const located<std::string>& name = caller()) {
    const auto encoded = [&]() -> attributes { return encode(a); };
    const auto moved = [&]() -> std::vector<any_tensor> { return std::move(inputs); };
    return detail::add_made(definition_of<Op>(), moved, encoded, name);
}
template <class Op>
any_tensor add(const typename Op::attributes& a, std::initializer_list<any_tensor> inputs,
               const located<std::string>& name = caller()) {
    const auto encoded = [&]() -> attributes { return encode(a); };
    const auto copied = [&]() -> std::vector<any_tensor> { return inputs; };
    return detail::add_made(definition_of<Op>(), copied, encoded, name);
}

// The same for the library's own ops, a line after each struct NAME_op of op family FAMILY. Their definitions, and what adds
// their nodes, are compiled with the family's kernels: a program that includes everything would otherwise spend most of its
// compile time on ops that it does not use. The pointer has a static library's archive bring the family along.
#if TENON_HEADER_ONLY
#define TENON_OP(FAMILY, NAME) inline const op_definition& NAME##_definition = definition_of<NAME##_op>()
#else
#define TENON_OP(FAMILY, NAME)                                                                       \
    extern const op_definition NAME##_definition;                                                    \
    template <> inline const op_definition& definition_of<NAME##_op>() { return NAME##_definition; } \
    TENON_OP_IN(TENON_KERNELS_OF_##FAMILY, NAME)
// A family's macro is defined as 1 where its kernels are compiled.
#define TENON_OP_IN(KERNELS, NAME) TENON_OP_IF(KERNELS, NAME)
#define TENON_OP_IF(KERNELS, NAME) TENON_OP_SECOND(TENON_OP_IF_##KERNELS, TENON_OP_DECLARE, )(NAME)
#define TENON_OP_IF_1 , TENON_OP_DEFINE
#define TENON_OP_SECOND(...) TENON_OP_TAKE_SECOND(__VA_ARGS__)
#define TENON_OP_TAKE_SECOND(FIRST, SECOND, ...) SECOND
#define TENON_OP_DECLARE(NAME)           \
    TENON_OP_ADD(extern template, NAME); \
    [[gnu::used]] inline constexpr const op_definition* NAME##_linked = &NAME##_definition
#define TENON_OP_DEFINE(NAME)                                                               \
    constinit const op_definition NAME##_definition = detail::make_definition<NAME##_op>(); \
    TENON_OP_ADD(template, NAME);                                                           \
    [[maybe_unused]] static const bool NAME##_registered =                                  \
        (detail::enter_op(NAME##_definition, &typeid(NAME##_op)), true)
#define TENON_OP_ADD(TEMPLATE, NAME)                                                                    \
    TEMPLATE any_tensor add<NAME##_op>(const NAME##_op::attributes&, std::vector<any_tensor>,           \
                                       const located<std::string>&);                                    \
    TEMPLATE any_tensor add<NAME##_op>(const NAME##_op::attributes&, std::initializer_list<any_tensor>, \
                                       const located<std::string>&)
#endif

namespace detail {

/// Adds a node of exactly this op, name, inputs, controls, attributes, device and container, whose rule it runs. For
/// readers of graphs: it stays a node of its own whatever others are equal. Throws invalid_argument_error with the
/// rule's words, or when the name is taken.
node* restore_node(const graph& to, node&& n);

/// The same for many, all of them or none. First each is judged: its inputs and other nodes are of the graph, or judged before
/// it; its outputs are found. Then they are entered, from number `from` on. aborted_error where the graph has grown meanwhile;
/// invalid_argument_error where a name is taken. `shared`: nodes that are made later may be one with them. Until they are
/// entered, the nodes do not move in memory: they refer to each other.
void judge_node(node& n);
void enter_nodes(const graph& to, std::int64_t from, std::vector<node>&& nodes, bool shared);

/// What a rule, which may be no op's, says to these operands; throws invalid_argument_error with its words where it refuses them.
template <class Rule, class Attributes = no_attributes>
inferred check_operands(const std::vector<any_tensor>& operands, const Attributes& a = {}) {
    std::vector<tensor_type> types;
    for (const any_tensor& o : operands) types.push_back(o.type());
    const type_list list(types.data(), static_cast<int>(types.size()));
    const inferred r = Rule::infer(a, list, 0);
    if (!r) refuse_operands(Rule::name, r, list);
    return r;
}

} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/graph/add_node.ipp>
#endif
