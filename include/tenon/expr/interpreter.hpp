#pragma once

#include <cstddef>
#include <vector>

#include <tenon/expr/fused_call.hpp>
#include <tenon/expr/machine/machine_loop.hpp>
#include <tenon/expr/steps.hpp>

/// Runs a tape a block of elements at a time: loops over a block that stays in the first-level cache, of an instruction or a few. It
/// serves where no kernel was compiled for a tape.

namespace tenon::detail {

/// A tape as steps on slots: first the inputs, then the outputs, then the constants, then the registers.
struct step_program {
    struct step {
        step_function f;                // or
        machine_loop::function written; // whose places are places[slots[0]] .. places[slots[1] - 1]
        std::uint16_t slots[5];         // of the result and the operands
        std::uint16_t bytes[5];         // an element of those that move on has
    };
    struct place {
        std::uint16_t slot, bytes; // the same
    };
    struct moving_slot {
        std::uint32_t index; // the call's input or output,
        std::uint32_t bytes; // of so many bytes an element
    };
    static constexpr int max_slots = max_tape_inputs + max_tape_outputs + 2 * max_tape_length;

    std::vector<step> steps;
    std::vector<place> places;
    std::vector<moving_slot> inputs, outputs;
    std::vector<void*> constants; // filled blocks
    int registers = 0;            // in the call's scratch
    std::size_t register_bytes = 0;
    std::ptrdiff_t block = 0; // elements
};

/// A tape made ready for the interpreter.
class interpreter {
public:
    /// Elements of a block of a loop's; a call's have half to four times as many.
    static constexpr std::ptrdiff_t block = 256;

    /// `wide` as in fused_call; runs at most `count` elements at once. With `in_place` an output may lie where an
    /// input lies.
    interpreter(const tape& t, const std::int64_t* constants, std::uint32_t wide, bool in_place, std::int64_t count,
                simd::isa which);

    /// Runs calls with program().
    fused_function function() const noexcept { return function_; }
    const step_program* program() const noexcept { return &program_; }
    /// Runs program() on slots that are filled, for n elements: a multiple of step_elements where inputs are outputs, at most its block.
    void (*steps_function() const noexcept)(const step_program& p, void* const* slots, std::ptrdiff_t n) {
        return steps_;
    }

    std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
    /// True where another interpreter, made with `in_place`, is needed for outputs that lie where inputs lie.
    bool writes_before_reading() const noexcept { return writes_before_reading_; }
    int steps() const noexcept { return static_cast<int>(program_.steps.size()); }

private:
    class builder;

    step_program program_;
    fused_function function_;
    void (*steps_)(const step_program&, void* const*, std::ptrdiff_t);
    std::vector<std::byte> memory_; // of the constants
    std::size_t scratch_bytes_ = 0;
    bool writes_before_reading_ = false;
};

/// The tape that adds outputs to the earlier outputs that `merge` names, instead of storing them.
tape with_merged_outputs(const tape& t, const std::vector<std::int64_t>& merge);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/expr/interpreter.ipp>
#endif
