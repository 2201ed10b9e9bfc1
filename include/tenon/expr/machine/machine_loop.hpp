#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/tape/tape.hpp>

/// Simple instructions of a tape as one loop of machine code, which is written when a step is planned (x86-64, AVX-512): what is between
/// them stays in registers, where the interpreter's own steps go through memory.

namespace tenon::detail {

using register_set = std::bitset<max_tape_length>;

/// A loop over elements of float32. It gives what the instructions give one by one, to the bit.
struct machine_loop {
    static constexpr int most_moving = 12, most_places = 16;
    /// On n elements, at least 16; beyond whole packs some are computed again. Elements of operands are read before results are
    /// written in their place.
    using function = void (*)(void* const* places, std::ptrdiff_t n);

    function run = nullptr; ///< nullptr: there is none
    std::vector<std::int16_t>
        places; ///< registers of the tape: constants first, of which one element is read, then operands, then results
    std::size_t results = 0; ///< the last ones of them
};

/// Whether a loop knows instruction r. What is compared is known where it chooses.
bool has_machine_code(const tape& t, int r) noexcept;

/// The loop of instructions that it knows. Theirs is what `wanted` names; of what is in `constants` all elements are the same. There is none
/// where it wants more registers than there are, or the system runs no code that a process has written.
machine_loop write_machine_loop(const tape& t, const register_set& code, const register_set& wanted,
                                const register_set& constants);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/expr/machine/machine_loop.ipp>
#endif
