#pragma once

#include <tenon/expr/fused_call.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/tape/shared_tape.hpp>

/// The one elementwise op of the graph: a tape over broadcast operands.

namespace tenon {

/// The rule of one instruction: sizes broadcast, element types are equal. For cast, the type of its operand.
constexpr inferred infer_instruction(opcode op, type_list in) {
    const int first = op == opcode::select ? 1 : 0;
    if (first && in[0].element != element_type::boolean) return fault::element_type_must_be_bool;
    const element_type e = in[first].element;
    for (int i = first; i < in.size(); ++i)
        if (in[i].element != e) return fault::element_types_differ;
    if (!accepts_element(op, e)) {
        switch (info_of(op).group) {
        case opcode_group::real:
        case opcode_group::real_test: return fault::element_type_must_be_floating;
        case opcode_group::integer: return fault::element_type_must_be_integer;
        case opcode_group::boolean: return fault::element_type_must_be_bool;
        default: return fault::element_type_must_be_numeric;
        }
    }
    extents s = in[0].extents;
    for (int i = 1; i < in.size(); ++i) {
        const merged_extents m = broadcast(s, in[i].extents);
        if (m.what != fault::none) return m.what;
        s = m.extents;
    }
    return inferred(result_type(op, e), s);
}

/// Runs a tape for each element of the broadcast shape of its inputs; all inputs count for the shape, also
/// those the tape does not load. Output o has that shape, or, with like = k, the sizes of input k: it is summed
/// over the dimensions that input k repeats.
struct fused_op {
    static constexpr const char* name = "fused";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = fused_attributes;
    static int outputs(const attributes& a, int inputs);
    static inferred infer(const attributes& a, type_list inputs, int output);
    static bool needs_value(const tenon::attributes& a, int input); // undecoded: the planner asks often
    static double operations(const attributes& a, type_list inputs, type_list outputs);
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(fused, fused);

namespace detail {

/// A fused node of the scopes in force, or of those in which an expression was written; its first output.
any_tensor add_fused(std::shared_ptr<const tape> t, std::vector<std::int64_t> constants, std::vector<any_tensor> inputs,
                     const written_scopes& scopes = {});

/// What an expression's node is made of beside its tape: operands, and the bits of numbers, in the tape's order.
class expression_parts {
public:
    expression_parts() noexcept;
    ~expression_parts();
    expression_parts(expression_parts&&) = delete;
    void add(const any_tensor& operand);
    void add_number(std::int64_t bits);

    std::vector<any_tensor> operands;
    std::vector<std::int64_t> numbers;
};
/// The node of an expression; the tape lives as long as the process.
any_tensor add_expression(const tape& t, expression_parts&& parts, const written_scopes& scopes);

/// A node of one instruction on untyped operands, whose types decide; throws invalid_argument_error with the
/// rule's words.
any_tensor add_instruction(opcode op, std::vector<any_tensor> operands, element_type cast_to = element_type::none,
                           source_place here = {});
/// x summed over the dimensions that `like` repeats to have x's sizes; the value of `like` does not matter. Floating.
any_tensor add_sum_to(const any_tensor& x, const any_tensor& like);
/// Scalar of the given type, as an untyped tensor to compute with; invalid_argument_error where the type does not hold
/// the number.
any_tensor scalar_constant(const number& value, element_type type);

} // namespace detail
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/expr/fused.ipp>
#endif
