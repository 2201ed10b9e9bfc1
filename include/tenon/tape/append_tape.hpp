#pragma once

#include <tenon/tape/tape.hpp>

namespace tenon::detail {

/// Appends the instructions of `from` to another tape; `reg` has max_tape_length places and gets their registers there. input(k) gives the
/// register there that is input k of `from`, constant(k) the number there of its constant k.
template <class Input, class Constant>
constexpr void append_tape(tape& to, const tape& from, int* reg, const Input& input, const Constant& constant) {
    for (int r = 0; r < from.length; ++r) {
        instruction i = from.code[r];
        if (i.op == opcode::input) {
            reg[r] = input(i.a);
            continue;
        }
        if (i.op == opcode::constant) i.a = static_cast<std::int16_t>(constant(i.a));
        const int n = register_operands(i);
        if (n > 0) i.a = static_cast<std::int16_t>(reg[i.a]);
        if (n > 1) i.b = static_cast<std::int16_t>(reg[i.b]);
        if (n > 2) i.c = static_cast<std::int16_t>(reg[i.c]);
        reg[r] = to.emit(i);
    }
}

/// A register as a node rounds it that stores it as `stored`: to 16 bits, where that is so.
constexpr int rounded_register(tape& to, int reg, element_type stored) {
    const bool is_narrow = compute_type(stored) != stored && to.code[reg].type != stored;
    return is_narrow ? to.emit(opcode::cast, stored, reg) : reg;
}

} // namespace tenon::detail
