#pragma once

#include <cstdint>

#include <tenon/core/sizes/extents.hpp>
#include <tenon/tape/tape.hpp>

/// Tapes run instruction by instruction on a GPU: what serves while their kernels are compiled, and where NVRTC is missing.

namespace tenon::cuda {

/// An instruction as the interpreter reads it.
struct interpreter_step {
    std::uint8_t op;
    std::uint8_t
        type; ///< element_type of the operands (of the chosen values, for select), or of the value that is fetched
    std::uint8_t result;  ///< a cast's, as it is stored
    std::uint8_t a, b, c; ///< registers; an input; a place in `values`
};

/// A tape in a form (cuda/tapes/form.hpp), and what it is called with: arguments in the terms of loops.hpp. Dimensions are padded
/// with ones in front: max_rank that are kept, then max_rank that are summed over.
struct interpreter_call {
    static constexpr int most_dims = 2 * max_rank, most_groups = max_tape_inputs + 1,
                         most_values = max_tape_inputs + max_tape_length;
    struct dimension {
        std::uint64_t size = 1, divisor = 0;
    };

    const void* in[max_tape_inputs]{};
    void* out[max_tape_outputs]{};
    double* partial[max_tape_outputs]{};
    std::uint64_t kept = 1, summed = 1, packed = 0, lanes = 1, chunks = 1;
    dimension dims[most_dims]{};
    std::uint64_t strides[most_groups][most_dims]{};
    std::uint64_t values[most_values]{}; ///< bits of constants, then of literals, in the type they are computed in
    interpreter_step code[max_tape_length]{};
    std::uint8_t length = 0, group_count = 0, output_count = 0, sum_count = 0, total_count = 0;
    std::int8_t group_of[max_tape_inputs]{}; ///< -1: one element
    std::uint8_t output_types[max_tape_outputs]{}, output_registers[max_tape_outputs]{};
    std::uint8_t output_fates[max_tape_outputs]{}; ///< tapes::fate
};
static_assert(sizeof(interpreter_call) <= 32764, "what kernels may be called with");

/// Runs it: in `blocks` blocks.
void interpret(const interpreter_call& call, unsigned blocks, void* stream);

} // namespace tenon::cuda
