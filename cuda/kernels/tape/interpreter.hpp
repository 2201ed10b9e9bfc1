#pragma once

#include <cstddef>
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
    std::uint8_t to;      ///< the register that it gives its value
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
    void* kept_by_threads = nullptr; ///< words() for each thread of the grid, where shared memory has no room for them
    std::uint8_t register_count = 0, length = 0, group_count = 0, output_count = 0, sum_count = 0, total_count = 0;
    std::int8_t group_of[max_tape_inputs]{}; ///< -1: one element
    std::uint8_t output_types[max_tape_outputs]{}, output_registers[max_tape_outputs]{};
    std::uint8_t output_fates[max_tape_outputs]{}; ///< tapes::fate

    /// Of 64 bits, that a thread keeps: registers, and what loops.hpp has it keep.
    constexpr int words() const { return register_count + 2 * (group_count + sum_count + total_count); }
    static constexpr int threads = 256,
                         most_shared_words = 48 * 1024 / (8 * threads) - 1; ///< a word is for sums of neighbours
};
static_assert(sizeof(interpreter_call) <= 32764, "what kernels may be called with");

/// Bytes that kept_by_threads points to, in so many blocks; 0: none.
constexpr std::size_t interpreter_bytes(const interpreter_call& call, unsigned blocks) {
    if (call.words() <= interpreter_call::most_shared_words) return 0;
    return std::size_t{blocks} * interpreter_call::threads * static_cast<std::size_t>(call.words()) * 8;
}
/// Runs it: in `blocks` blocks.
void interpret(const interpreter_call& call, unsigned blocks, void* stream);

} // namespace tenon::cuda
