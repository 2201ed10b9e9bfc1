#pragma once

#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include <tenon/op/attributes.hpp>
#include <tenon/op/kernel.hpp>

/// What the library knows of an op: its rule, its gradient, its kernels.

namespace tenon {

class any_tensor;
class gradient_context;
class graph;
struct node;

enum class op_flags : unsigned {
    none = 0,
    stateful = 1,    ///< two of them are never one; never folded
    source = 2,      ///< has a value of its own (placeholder, variable): never folded
    updates = 4,     ///< writes the resources that its first inputs read, one for each output
    alike = 8,       ///< its kernel depends on attributes and types alone: equal nodes of a plan share one
    resource = 16,   ///< holds what outlives steps, as a variable does: decides where those that use it are placed
    identity = 32,   ///< output 0 is input 0; its attribute `shape`, where it has one, may leave sizes open
    view = 64,       ///< output 0 is the elements of input 0, in their order, in other sizes
    constant = 128,  ///< output 0 is the array in its attribute `value`
    fed = 256,       ///< has no value in a step that does not feed it
    variable = 512,  ///< output 0 is the memory of a variable
    replaces = 1024, ///< an update after which the resource is input 1
    uses = 2048,     ///< uses the resource that its input 0 stands for, and runs where that is
    rows = 8192,     ///< of input 0 reads nothing but what its other inputs name
    waits = 4096,    ///< is started, between segments (waiting_kernel); may leave its outputs' sizes open; the host's
    of_program = 16384,  ///< a resource of data that the session's program has: on the session's own task, if it may be
    early = 32768,       ///< of one that waits: may begin while the segment that has computed its operand goes on
    by_reader = 65536,   ///< runs in the segment that reads it: what it reads besides its inputs stays where it is
    joins = 262144,      ///< output 0 is all inputs, one after another
    keeps = 131072,      ///< of one that waits: keeps its inputs beyond the step, where their memory is nobody else's
    any_order = 1048576, ///< operands and results may lie with their axes in other orders (op/axis_orders.hpp)
    shows = 4194304,     ///< output 0 is input 0: what it does beside that is for eyes alone
    spreads =
        2097152, ///< output 0, of input 0's sizes, has the elements of input 2 where input 0 has those of input 1 beside them, and zeros
    sums =
        524288, ///< over devices: where these have streams, on one for that, as early as it can; what reads it comes late
};
constexpr op_flags operator|(op_flags a, op_flags b) {
    return static_cast<op_flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(op_flags set, op_flags f) { return (static_cast<unsigned>(set) & static_cast<unsigned>(f)) != 0; }

/// Elements that lie regularly in a dense tensor: the one of index i at first + the sum of i[d] * strides[d], counted in elements.
struct regular_part {
    std::int64_t first = 0;
    index_list strides;
};

struct op_definition;
using op_and_attributes = std::pair<const op_definition*, attributes>;

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
    /// The texts of the bodies (graph/body.hpp) that its kernel runs: it runs where there are kernels for all of them. nullptr: none.
    std::vector<std::string> (*bodies)(const attributes&) = nullptr;
    /// Arithmetic operations that a node of these types takes, all of whose sizes are numbers: a multiply-add is two, a function one.
    /// nullptr: nobody has counted.
    double (*operations)(const attributes&, type_list inputs, type_list outputs) = nullptr;
    /// Of a node that a text has, which may be older than a change of the op's attributes or inputs: makes it what it would be
    /// today, if it is of before. It may restore further nodes to the graph. nullptr: the op has not been changed.
    void (*of_before)(const graph& to, node& n) = nullptr;
    /// The sum of gradients of one tensor, of which the first is the output of such a node, as one such node; an empty
    /// handle where they have none. nullptr: they are added, as other tensors are.
    any_tensor (*join)(const std::vector<any_tensor>&) = nullptr;
    /// Of a product of inputs 0 and 1: the name of the op that adds a bias, its input 2, and applies relu where its
    /// attribute `relu` says so, in the same pass. Its other attributes are those of the product.
    const char* with_bias = nullptr;
    // Ops of plans alone, which no graph has, for devices whose library does in a product's pass what follows it. nullptr: there is none.
    /// Of a product of inputs 0 and 1: the op that adds its attribute `factor` times it to its input 2.
    const op_definition& (*with_addend)() = nullptr;
    /// The same, whose second output is the sum of the rows of input 1, over which the product sums; where its attribute `of_a` is 1, of
    /// input 0.
    const op_definition& (*with_row_sums)() = nullptr;
    /// Of a product with a bias: the op that gives gelu_tanh of that and, where it has a second output, that. Of one without: the op that
    /// multiplies it by the slope of gelu_tanh at its input 2.
    const op_definition& (*with_gelu)() = nullptr;
    // The same, for any device.
    /// Where input 0 is a sum: the op that adds, in the same pass, its first input after the other's to input 0, and to that before, where
    /// there is one more, a vector along its last axis. The sum is its last output.
    const op_definition& (*of_sum)() = nullptr;
    /// Where others are added to output 0: the op that adds its last input, in the same pass.
    const op_definition& (*plus)() = nullptr;
    /// Where it alone reads what `maker` makes of inputs of these types: the op, with its attributes, that makes its output of those in one pass;
    /// nullptr where there is none.
    op_and_attributes (*of_made)(const attributes&, const op_definition& maker, const attributes& of_maker,
                                 type_list inputs) = nullptr;
    /// Where output 0 is input 0 repeated: the sizes of input 0 with a 1 for each dimension that is repeated, so that
    /// they broadcast to those of the output.
    extents (*repeated)(const attributes&, const extents& input, const extents& output) = nullptr;

    /// Where output 0 is elements of input 0 that lie regularly: where.
    regular_part (*part)(const attributes&, const extents& input, const extents& output) = nullptr;

    bool is(op_flags f) const noexcept { return has(flags, f); }
    bool reads(const attributes& a, int input) const { return !needs_value || needs_value(a, input); }
};

/// The rule's complaint at run time: the operands, and what the attributes ask for beside them, sizes or axes.
std::string fault_sentence(const op_definition& op, const inferred& refused, type_list operands, const attributes& a);

/// What the op's rule answers: what it throws names the op, and a size that is negative is a fault.
inferred judged(const op_definition& op, const attributes& a, type_list inputs, int output);

/// Enters an op into the process's registry; the first definition of a name stays.
const op_definition& register_op(const op_definition& d);
/// nullptr where no op of this name is known.
const op_definition* find_op(const std::string& name);
std::vector<const op_definition*> all_ops();

namespace detail {

/// The same without a copy, of the struct `of`: the definition stays for as long as the process runs. Throws invalid_argument_error where
/// another struct has the name, or it is empty.
const op_definition& enter_op(const op_definition& d, const std::type_info* of);

/// find_op; throws invalid_argument_error that lists similar names and says what to include.
const op_definition& require_op(const std::string& name);
/// What op_definition::checked gives; throws invalid_argument_error where there is an attribute that the op has not.
attributes checked_attributes(const op_definition& op, const attributes& given);

template <class Op> constexpr op_definition make_definition() {
    using A = typename Op::attributes;
    op_definition d{.name = Op::name};
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
    if constexpr (requires(const A& a) { Op::bodies(a); })
        d.bodies = [](const attributes& a) -> std::vector<std::string> { return Op::bodies(decode<A>(a)); };
    if constexpr (requires(const A& a, type_list t) { Op::operations(a, t, t); })
        d.operations = [](const attributes& a, type_list inputs, type_list outputs) -> double {
            return Op::operations(decode<A>(a), inputs, outputs);
        };
    if constexpr (requires(const graph& to, node& n) { Op::of_before(to, n); }) d.of_before = &Op::of_before;
    if constexpr (requires(const std::vector<any_tensor>& x) { Op::join(x); }) d.join = &Op::join;
    if constexpr (requires { Op::with_bias; }) d.with_bias = Op::with_bias;
    if constexpr (requires { Op::with_addend(); }) d.with_addend = &Op::with_addend;
    if constexpr (requires { Op::with_gelu(); }) d.with_gelu = &Op::with_gelu;
    if constexpr (requires { Op::of_sum(); }) d.of_sum = &Op::of_sum;
    if constexpr (requires { Op::plus(); }) d.plus = &Op::plus;
    if constexpr (requires(const A& a, const op_definition& maker, const attributes& m, type_list t) {
                      Op::of_made(a, maker, m, t);
                  })
        d.of_made = [](const attributes& a, const op_definition& maker, const attributes& of_maker,
                       type_list inputs) -> op_and_attributes {
            return Op::of_made(decode<A>(a), maker, of_maker, inputs);
        };
    if constexpr (requires { Op::with_row_sums(); }) d.with_row_sums = &Op::with_row_sums;
    if constexpr (requires(const A& a, const extents& e) { Op::repeated(a, e, e); })
        d.repeated = [](const attributes& a, const extents& input, const extents& output) -> extents {
            return Op::repeated(decode<A>(a), input, output);
        };
    if constexpr (requires(const A& a, const extents& e) { Op::part(a, e, e); })
        d.part = [](const attributes& a, const extents& input, const extents& output) -> regular_part {
            return Op::part(decode<A>(a), input, output);
        };
    return d;
}

/// Throws invalid_argument_error with the words of a rule, which may be no op's, where it refuses these operands.
[[noreturn]] void refuse_operands(const char* name, const inferred& refused, type_list operands);
} // namespace detail

/// The definition of an op struct. Who writes one names it once at namespace scope,
///     inline const tn::op_definition& cumulative_sum_definition = tn::definition_of<cumulative_sum_op>();
/// so that graphs that are read find it. Throws invalid_argument_error where another struct has its name.
template <class Op> const op_definition& definition_of() {
    static constexpr op_definition made = detail::make_definition<Op>();
    static const op_definition& d = detail::enter_op(made, &typeid(Op));
    return d;
}

/// Defines what prepares an op's kernel, where that is one type, made of the setup.
#define TENON_KERNEL(NAME, ...)                                                                                        \
    TENON_INLINE kernel_pointer NAME##_op::prepare(const kernel_setup& s) { return std::make_unique<__VA_ARGS__>(s); } \
    static_assert(true)

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/op/op_definition.ipp>
#endif
