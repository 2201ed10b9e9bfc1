#pragma once

#include <memory>
#include <vector>

#include <tenon/graph/op.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/tape/tape.hpp>

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
    struct attributes {
        std::shared_ptr<const tenon::tape> tape;
        std::vector<std::int64_t> constants; ///< bits of each scalar, in its compute type
        /// For each output of the tape the index of an earlier one that it is added to, or -1. An operand that
        /// occurs twice in an expression gets one gradient this way. Empty: all -1.
        std::vector<std::int64_t> merge;
        static constexpr void fields(auto&& field) {
            field("tape", &attributes::tape);
            field("constants", &attributes::constants);
            field("merge", &attributes::merge);
        }
        bool merges(int output) const { return !merge.empty() && merge[static_cast<std::size_t>(output)] >= 0; }
        /// Index in the tape of the node's output `output`.
        int tape_output_of(int output) const {
            int o = 0;
            for (;; ++o)
                if (!merges(o) && output-- == 0) return o;
        }
    };
    static int outputs(const attributes& a, int inputs);
    static inferred infer(const attributes& a, type_list inputs, int output);
    static bool needs_value(const tenon::attributes& a, int input); // undecoded: the planner asks often
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(fused, fused);

namespace detail {

/// A stretch of elements, and all that a fused kernel needs to compute it.
struct fused_call {
    const void* const* in;         ///< for each input of the tape its first element, dense; nullptr where not loaded
    void* const* out;              ///< for each output of the tape
    const std::int64_t* constants; ///< bits of each scalar
    std::ptrdiff_t count;          ///< elements
    std::uint32_t wide;            ///< bit o: output o is stored in its compute type
    std::uint32_t added;           ///< bit o: output o is added to what an earlier output stored,
    const std::int64_t* into;      ///< to output into[o], which has the same pointer
    std::byte* scratch;            ///< the interpreter's registers, aligned to 64
    const void* program;           ///< the interpreter
};

/// A compiled kernel for one tape: a function per instruction set, nullptr where none was compiled.
using fused_function = void (*)(const fused_call&);
struct compiled_tape {
    fused_function avx512 = nullptr;
    fused_function avx2 = nullptr;
    fused_function baseline = nullptr;
};

/// Enters a compiled kernel; the tape must live for ever.
void register_compiled_tape(const tape& t, const compiled_tape& functions);
/// The compiled kernel for a tape, or nullptr: then the interpreter runs it.
const compiled_tape* find_compiled_tape(const tape& t);

/// A fused node of the scopes in force, or of those in which an expression was written; its first output.
any_tensor add_fused(std::shared_ptr<const tape> t, std::vector<std::int64_t> constants, std::vector<any_tensor> inputs,
                     const written_scopes& scopes = {});

/// A node of one instruction on untyped operands, whose types decide; throws invalid_argument_error with the
/// rule's words.
any_tensor add_instruction(opcode op, std::vector<any_tensor> operands, element_type cast_to = element_type::none);
/// Scalar of the given type, as an untyped tensor to compute with.
any_tensor scalar_constant(double value, element_type type);

} // namespace detail
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/expr/fused.ipp>
#endif
