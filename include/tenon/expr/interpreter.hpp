#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <tenon/expr/fused.hpp>
#include <tenon/kernel/simd/isa.hpp>

/// Runs a tape a block of elements at a time: for each instruction one loop over a block that stays in the
/// first-level cache. It serves where no kernel was compiled for a tape.

namespace tenon::detail {

/// One instruction on n elements. What it does not need of a, b, c is ignored; `to` may be one of them where its
/// elements are not larger.
using step_function = void (*)(void* to, const void* a, const void* b, const void* c, std::ptrdiff_t n);

/// The step of an instruction whose (first, for select the chosen) operands have compute type `e`.
step_function find_step(simd::isa which, opcode op, element_type e) noexcept;
/// From elements in memory (compute type) to the compute type of `to`, rounded to `to`.
step_function find_cast(simd::isa which, element_type from, element_type to) noexcept;
/// From the storage type to its compute type, and back.
step_function find_load(simd::isa which, element_type stored) noexcept;
step_function find_store(simd::isa which, element_type stored) noexcept;

/// What sums over repeated dimensions need: they are kept in double.
struct reduction_steps {
    void (*add_rows)(double* sums, const void* values, std::ptrdiff_t n); ///< sums[k] += values[k]
    double (*sum)(const void* values, std::ptrdiff_t n);
    void (*finish)(void* to, const double* sums, std::ptrdiff_t n);       ///< to[k] = sums[k], rounded
};
/// For elements of float32 or float64.
const reduction_steps& find_reductions(simd::isa which, element_type e) noexcept;
/// n elements as they are.
step_function find_copy(element_type e) noexcept;
/// n copies of one element of so many bytes.
void fill_elements(void* to, const void* element, std::size_t size, std::ptrdiff_t n) noexcept;

/// A tape made ready for the interpreter.
class interpreter {
public:
    /// Elements of a block.
    static constexpr std::ptrdiff_t block = 512;

    /// `wide` as in fused_call; runs at most `count` elements at once. With `in_place` an output may lie where an
    /// input lies.
    interpreter(const tape& t, const std::int64_t* constants, std::uint32_t wide, bool in_place, std::int64_t count,
                simd::isa which);

    /// A fused_function; the call's program is an interpreter.
    static void run(const fused_call& call);

    std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }

private:
    struct step {
        step_function f;
        std::uint16_t to, a, b, c; // slots
    };
    struct moving_slot {
        std::uint16_t slot, index; // slot `slot` is the call's input or output `index`,
        std::uint32_t bytes;       // of so many bytes an element
    };
    static constexpr int max_slots = max_tape_inputs + max_tape_outputs + 2 * max_tape_length;

    std::vector<step> steps_;
    std::vector<moving_slot> inputs_, outputs_;
    std::vector<void*> constants_; // slots after the moving ones: filled blocks in memory_
    std::vector<std::byte> memory_;
    int registers_ = 0;            // slots after the constants: in the call's scratch
    std::size_t register_bytes_ = 0;
    std::size_t scratch_bytes_ = 0;
    std::ptrdiff_t block_ = block;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/expr/interpreter.ipp>
#endif
