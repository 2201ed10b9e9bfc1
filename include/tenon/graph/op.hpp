#pragma once

#include <tenon/core/function_ref.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/op/kernel.hpp>

/// What the library knows of an op: its rule, its gradient, its kernels.

namespace tenon {

class gradient_context;
class graph;

enum class op_flags : unsigned {
    none = 0,
    stateful = 1,       ///< two of them are never one; never folded
    source = 2,         ///< has a value of its own (placeholder, variable): never folded
    updates = 4,        ///< writes the resource that its input 0 reads
    alike = 8,          ///< its kernel depends on attributes and types alone: equal nodes of a plan share one
    resource = 16,      ///< holds what outlives steps, as a variable does: decides where those that use it are placed
    identity = 32,      ///< output 0 is input 0; its attribute `shape`, where it has one, may leave sizes open
    view = 64,          ///< output 0 is the elements of input 0, in their order, in other sizes
    constant = 128,     ///< output 0 is the array in its attribute `value`
    fed = 256,          ///< has no value in a step that does not feed it
    variable = 512,     ///< output 0 is the memory of a variable
    replaces = 1024,    ///< an update after which the resource is input 1
    uses = 2048,        ///< uses the resource that its input 0 stands for, and runs where that is
    rows = 8192,        ///< of input 0 reads nothing but what its other inputs name
    waits = 4096,       ///< is started, between stages (waiting_kernel); may leave its outputs' sizes open; the host's
    of_program = 16384, ///< a resource of data that the session's program has: on the session's own task, if it may be
    early = 32768,      ///< of one that waits: may begin while the stage that has computed its operand goes on
    by_reader = 65536,  ///< runs in the stage that reads it: what it reads besides its inputs stays where it is
    keeps = 131072,     ///< of one that waits: keeps its inputs beyond the step, where their memory is nobody else's
};
constexpr op_flags operator|(op_flags a, op_flags b) {
    return static_cast<op_flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(op_flags set, op_flags f) { return (static_cast<unsigned>(set) & static_cast<unsigned>(f)) != 0; }

struct op_definition {
    const char* name = nullptr;
    op_flags flags = op_flags::none;
    int (*outputs)(const attributes&, int inputs) = nullptr;
    inferred (*infer)(const attributes&, type_list inputs, int output) = nullptr;
    void (*gradient)(gradient_context&) = nullptr;               ///< nullptr: no gradient flows
    bool (*needs_value)(const attributes&, int input) = nullptr; ///< nullptr: needs the values of all inputs
    kernel_factory cpu = nullptr;                                ///< nullptr: has none
    /// Its own for real GPUs, whatever library they are of; nullptr: that library's for an op of this name (gpu_kernels.hpp).
    kernel_factory gpu = nullptr;
    /// The types of its first output's elements (of its first input's, where it has none) for which GPUs have kernels.
    element_types gpu_types = fixed_size_elements;
    /// The same attributes in the op's own order; throws invalid_argument_error naming one that is missing or of
    /// another type. What a reader of graphs asks; nullptr: they are taken as they are.
    attributes (*checked)(const attributes&) = nullptr;
    /// Of an op that waits and tells sizes: the most that those of an output can be, where its inputs are of these types; open ones
    /// where nothing is known. nullptr: the same.
    extents (*at_most)(const attributes&, type_list inputs, int output) = nullptr;
    /// Of a node that a text has, which may be older than a change of the op's attributes or inputs: makes it what it would be
    /// today, if it is of before. It may restore further nodes to the graph. nullptr: the op has not been changed.
    void (*of_before)(const graph& to, node& n) = nullptr;
    /// The sum of gradients of one tensor, of which the first is the output of such a node, as one such node; an empty
    /// handle where they have none. nullptr: they are added, as other tensors are.
    any_tensor (*join)(const std::vector<any_tensor>&) = nullptr;
    /// Of a product of inputs 0 and 1: the name of the op that adds a bias, its input 2, and applies relu where its
    /// attribute `relu` says so, in the same pass. Its other attributes are those of the product.
    const char* with_bias = nullptr;
    /// Where output 0 is input 0 repeated: the sizes of input 0 with a 1 for each dimension that is repeated, so that
    /// they broadcast to those of the output.
    extents (*repeated)(const attributes&, const extents& input, const extents& output) = nullptr;

    bool is(op_flags f) const noexcept { return has(flags, f); }
    bool reads(const attributes& a, int input) const { return !needs_value || needs_value(a, input); }
};

/// The rule's complaint at run time: the operands, and what the attributes ask for beside them, sizes or axes.
std::string fault_sentence(const op_definition& op, const inferred& refused, type_list operands, const attributes& a);

/// Enters an op into the process's registry; the first definition of a name stays.
const op_definition& register_op(const op_definition& d);
/// nullptr where no op of this name is known.
const op_definition* find_op(const std::string& name);
std::vector<const op_definition*> all_ops();

namespace detail {

/// The same without a copy: the definition stays for as long as the process runs.
const op_definition& enter_op(const op_definition& d);

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

/// find_op; throws invalid_argument_error that lists similar names and says what to include.
const op_definition& require_op(const std::string& name);
/// What op_definition::checked gives; throws invalid_argument_error where there is an attribute that the op has not.
attributes checked_attributes(const op_definition& op, const attributes& given);
/// How many letters must be changed, put in or taken out to make one name of the other.
std::size_t distance_of(const std::string& a, const std::string& b);

template <class Op> constexpr op_definition make_definition() {
    using A = typename Op::attributes;
    op_definition d;
    d.name = Op::name;
    if constexpr (requires { Op::flags; }) d.flags = Op::flags;
    d.outputs = [](const attributes& a, int inputs) -> int {
        if constexpr (requires { Op::outputs(decode<A>(a), inputs); }) return Op::outputs(decode<A>(a), inputs);
        else return 1;
    };
    d.checked = [](const attributes& a) -> attributes { return encode(decode<A>(a)); };
    d.infer = [](const attributes& a, type_list inputs, int output) -> inferred {
        return Op::infer(decode<A>(a), inputs, output);
    };
    if constexpr (requires(gradient_context & g) { Op::gradient(g); }) d.gradient = &Op::gradient;
    if constexpr (requires(const attributes& a) { Op::needs_value(a, 0); }) d.needs_value = &Op::needs_value;
    else if constexpr (requires(const attributes& a) { Op::needs_value(decode<A>(a), 0); })
        d.needs_value = [](const attributes& a, int input) -> bool { return Op::needs_value(decode<A>(a), input); };
    if constexpr (requires(const kernel_setup& s) { Op::prepare(s); }) d.cpu = &Op::prepare;
    if constexpr (requires(const kernel_setup& s) { Op::prepare_gpu(s); }) d.gpu = &Op::prepare_gpu;
    if constexpr (requires { Op::gpu_types; }) d.gpu_types = Op::gpu_types;
    if constexpr (requires(const A& a, type_list in) { Op::at_most(a, in, 0); })
        d.at_most = [](const attributes& a, type_list inputs, int output) -> extents {
            return Op::at_most(decode<A>(a), inputs, output);
        };
    if constexpr (requires(const graph& to, node& n) { Op::of_before(to, n); }) d.of_before = &Op::of_before;
    if constexpr (requires(const std::vector<any_tensor>& x) { Op::join(x); }) d.join = &Op::join;
    if constexpr (requires { Op::with_bias; }) d.with_bias = Op::with_bias;
    if constexpr (requires(const A& a, const extents& e) { Op::repeated(a, e, e); })
        d.repeated = [](const attributes& a, const extents& input, const extents& output) -> extents {
            return Op::repeated(decode<A>(a), input, output);
        };
    return d;
}

/// Throws invalid_argument_error with the words of a rule, which may be no op's, where it refuses these operands.
[[noreturn]] void refuse_operands(const char* name, const inferred& refused, type_list operands);
template <class Rule> void check_operands(const std::vector<any_tensor>& operands) {
    std::vector<tensor_type> types;
    for (const any_tensor& o : operands) types.push_back(o.type());
    const type_list list(types.data(), static_cast<int>(types.size()));
    if (const inferred r = Rule::infer({}, list, 0); !r) refuse_operands(Rule::name, r, list);
}

} // namespace detail

/// The definition of an op struct. Who writes one names it once at namespace scope,
///     inline const tn::op_definition& cumulative_sum_definition = tn::definition_of<cumulative_sum_op>();
/// so that graphs that are read find it.
template <class Op> const op_definition& definition_of() {
    static constexpr op_definition made = detail::make_definition<Op>();
    static const op_definition& d = detail::enter_op(made);
    return d;
}

/// Adds a node to the graph in scope. Runs the rule; throws invalid_argument_error with its words. Equal
/// stateless nodes are one node. `name` empty: the op's name, made unique.
node* add_node(const op_definition& op, std::vector<any_tensor> inputs, attributes a, const std::string& name = {});

namespace detail {
/// The same of what is made here, so that want of memory for that names the node, too.
any_tensor add_made(const op_definition& op, function_ref<std::vector<any_tensor>()> inputs,
                    function_ref<attributes()> a, const std::string& name);
} // namespace detail

/// Adds a node of op struct Op; its first output.
template <class Op>
any_tensor add(const typename Op::attributes& a, std::vector<any_tensor> inputs, const std::string& name = {}) {
    const auto encoded = [&]() -> attributes { return encode(a); };
    const auto moved = [&]() -> std::vector<any_tensor> { return std::move(inputs); };
    return detail::add_made(definition_of<Op>(), moved, encoded, name);
}
template <class Op>
any_tensor add(const typename Op::attributes& a, std::initializer_list<any_tensor> inputs,
               const std::string& name = {}) {
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
    [[maybe_unused]] static const bool NAME##_registered = (detail::enter_op(NAME##_definition), true)
#define TENON_OP_ADD(TEMPLATE, NAME)                                                                               \
    TEMPLATE any_tensor add<NAME##_op>(const NAME##_op::attributes&, std::vector<any_tensor>, const std::string&); \
    TEMPLATE any_tensor add<NAME##_op>(const NAME##_op::attributes&, std::initializer_list<any_tensor>,            \
                                       const std::string&)
#endif

/// Defines what prepares an op's kernel, where that is one type, made of the setup.
#define TENON_KERNEL(NAME, ...)                                                                                        \
    TENON_INLINE kernel_pointer NAME##_op::prepare(const kernel_setup& s) { return std::make_unique<__VA_ARGS__>(s); } \
    static_assert(true)

} // namespace tenon
