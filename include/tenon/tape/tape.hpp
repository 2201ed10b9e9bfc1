#pragma once

#include <tenon/core/number.hpp>
#include <tenon/tape/opcode.hpp>

/// A tape: a short portable list of elementwise instructions. It is what a compiled kernel unrolls, what the
/// interpreter runs, what travels to other tasks and what a GPU compiles.

namespace tenon {

inline constexpr int max_tape_length = 160;
inline constexpr int max_tape_inputs = 24;
inline constexpr int max_tape_outputs = 16;

/// One instruction; its register has its own index. `type` is the register's type.
struct instruction {
    opcode op = opcode::literal;
    element_type type = element_type::none;
    std::int16_t a = -1, b = -1, c = -1; ///< registers; for input and constant, a is the operand's index
    std::uint64_t bits = 0;              ///< of a literal: number::bits_in(type), exact for integers too

    constexpr number literal() const noexcept { return number::of_bits(bits, type); }

    // Numbers are compared by their bits: a NaN is itself.
    friend constexpr bool operator==(const instruction& x, const instruction& y) noexcept {
        return x.op == y.op && x.type == y.type && x.a == y.a && x.b == y.b && x.c == y.c &&
               (x.op != opcode::literal || x.bits == y.bits);
    }
};

/// What leaves a tape: a register, stored as `type`. With like >= 0 the result has the sizes of input `like`:
/// dimensions that this input repeats are summed over.
struct tape_output {
    std::int16_t reg = -1;
    std::int16_t like = -1;
    element_type type = element_type::none;

    friend constexpr bool operator==(const tape_output&, const tape_output&) noexcept = default;
};

/// Instructions with operands and results, of fixed capacity so that it lives in constant expressions.
struct tape {
    instruction code[max_tape_length]{};
    element_type inputs[max_tape_inputs]{};    ///< element types as stored
    element_type constants[max_tape_inputs]{}; ///< types of the scalars given with the node
    tape_output outputs[max_tape_outputs]{};
    int length = 0;
    int input_count = 0;
    int constant_count = 0;
    int output_count = 0;
    bool overfull = false;

    /// Appends an instruction, or finds an equal one; simple identities are applied.
    constexpr int emit(const instruction& i) noexcept {
        for (int r = 0; r < length; ++r)
            if (code[r] == i) return r;
        if (length == max_tape_length) {
            overfull = true;
            return 0;
        }
        code[length] = i;
        return length++;
    }
    constexpr int emit(opcode op, element_type type, int a = -1, int b = -1, int c = -1) noexcept {
        const auto is = [&](int r, number n) {
            return r >= 0 && code[r].op == opcode::literal && code[r].bits == n.bits_in(code[r].type);
        };
        if (op == opcode::multiply && is(a, 1)) return b;
        if (op == opcode::multiply && is(b, 1)) return a;
        if (op == opcode::negative && a >= 0 && code[a].op == opcode::negative) return code[a].a;
        instruction i;
        i.op = op;
        i.type = type;
        i.a = static_cast<std::int16_t>(a);
        i.b = static_cast<std::int16_t>(b);
        i.c = static_cast<std::int16_t>(c);
        return emit(i);
    }
    constexpr int emit_literal(number n, element_type type) noexcept {
        instruction i{.op = opcode::literal, .type = type, .bits = n.bits_in(type)};
        return emit(i);
    }
    constexpr int emit_input(int index) noexcept { return emit(opcode::input, compute_type(inputs[index]), index); }
    constexpr int add_input(element_type stored) noexcept {
        if (input_count == max_tape_inputs) {
            overfull = true;
            return 0;
        }
        inputs[input_count] = stored;
        return input_count++;
    }
    constexpr int add_constant(element_type type) noexcept {
        if (constant_count == max_tape_inputs) {
            overfull = true;
            return 0;
        }
        constants[constant_count] = type;
        return constant_count++;
    }
    constexpr void add_output(int reg, element_type stored, int like = -1) noexcept {
        if (output_count == max_tape_outputs) {
            overfull = true;
            return;
        }
        outputs[output_count++] = {static_cast<std::int16_t>(reg), static_cast<std::int16_t>(like), stored};
    }

    /// True when some instruction reads input `index`; otherwise only its sizes matter.
    constexpr bool loads(int index) const noexcept {
        for (int r = 0; r < length; ++r)
            if (code[r].op == opcode::input && code[r].a == index) return true;
        return false;
    }

    friend constexpr bool operator==(const tape& x, const tape& y) noexcept {
        if (x.length != y.length || x.input_count != y.input_count || x.output_count != y.output_count ||
            x.constant_count != y.constant_count)
            return false;
        for (int r = 0; r < x.length; ++r)
            if (!(x.code[r] == y.code[r])) return false;
        for (int i = 0; i < x.input_count; ++i)
            if (x.inputs[i] != y.inputs[i]) return false;
        for (int i = 0; i < x.constant_count; ++i)
            if (x.constants[i] != y.constants[i]) return false;
        for (int i = 0; i < x.output_count; ++i)
            if (!(x.outputs[i] == y.outputs[i])) return false;
        return true;
    }
};

/// Number of registers an instruction reads.
constexpr int register_operands(const instruction& i) noexcept { return info_of(i.op).operands; }

constexpr std::int16_t operand_of(const instruction& i, int n) noexcept { return n == 0 ? i.a : n == 1 ? i.b : i.c; }

/// The tape without the instructions that no output needs.
constexpr tape without_dead_code(const tape& t) noexcept {
    bool live[max_tape_length]{};
    for (int o = 0; o < t.output_count; ++o) live[t.outputs[o].reg] = true;
    for (int r = t.length - 1; r >= 0; --r) {
        if (!live[r]) continue;
        for (int k = 0; k < register_operands(t.code[r]); ++k) live[operand_of(t.code[r], k)] = true;
    }
    tape result = t;
    std::int16_t moved[max_tape_length]{};
    int length = 0;
    for (int r = 0; r < t.length; ++r) {
        if (!live[r]) continue;
        instruction i = t.code[r];
        const int n = register_operands(i);
        if (n > 0) i.a = moved[i.a];
        if (n > 1) i.b = moved[i.b];
        if (n > 2) i.c = moved[i.c];
        moved[r] = static_cast<std::int16_t>(length);
        result.code[length++] = i;
    }
    for (int r = length; r < t.length; ++r) result.code[r] = instruction{};
    result.length = length;
    for (int o = 0; o < t.output_count; ++o) result.outputs[o].reg = moved[t.outputs[o].reg];
    return result;
}

/// What is wrong with a tape that came from outside; nullptr when it is sound: operands before use, types that
/// fit, indices in range.
constexpr const char* tape_defect(const tape& t) noexcept {
    if (t.overfull) return "it is too long";
    if (t.length < 1 || t.length > max_tape_length || t.input_count < 0 || t.input_count > max_tape_inputs ||
        t.constant_count < 0 || t.constant_count > max_tape_inputs || t.output_count < 1 ||
        t.output_count > max_tape_outputs)
        return "its counts are out of range";
    const auto known = [](element_type e) { return e > element_type::none && e < element_type::string; };
    for (int i = 0; i < t.input_count; ++i)
        if (!known(t.inputs[i])) return "an input has no type that can be computed with";
    for (int i = 0; i < t.constant_count; ++i)
        if (!known(t.constants[i]) || compute_type(t.constants[i]) != t.constants[i])
            return "a constant has no type that is computed in";
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        if (static_cast<int>(i.op) >= opcode_count) return "an instruction is unknown";
        if (!known(i.type)) return "a register has no type that can be computed with";
        if (compute_type(i.type) != i.type && i.op != opcode::cast) return "a register has a storage type";
        if (i.op == opcode::input) {
            if (i.a < 0 || i.a >= t.input_count) return "an input's index is out of range";
            if (i.type != compute_type(t.inputs[i.a])) return "an input's type differs from its register's";
            continue;
        }
        if (i.op == opcode::constant) {
            if (i.a < 0 || i.a >= t.constant_count) return "a constant's index is out of range";
            if (i.type != t.constants[i.a]) return "a constant's type differs from its register's";
            continue;
        }
        const int n = register_operands(i);
        for (int k = 0; k < n; ++k)
            if (operand_of(i, k) < 0 || operand_of(i, k) >= r) return "a register is used before it is computed";
        if (n == 0) continue;
        const int first = i.op == opcode::select ? 1 : 0;
        const element_type e = compute_type(t.code[operand_of(i, first)].type);
        for (int k = first + 1; k < n; ++k)
            if (compute_type(t.code[operand_of(i, k)].type) != e) return "an instruction's operands differ in type";
        if (first && t.code[i.a].type != element_type::boolean) return "a choice is not made by a bool";
        if (!accepts_element(i.op, e)) return "an instruction does not accept its operands' type";
        if (i.op != opcode::cast && i.type != result_type(i.op, e)) return "an instruction's result type is wrong";
    }
    for (int o = 0; o < t.output_count; ++o) {
        const tape_output& out = t.outputs[o];
        if (out.reg < 0 || out.reg >= t.length) return "an output's register is out of range";
        if (out.like < -1 || out.like >= t.input_count) return "an output is like an input that is not there";
        if (compute_type(out.type) != compute_type(t.code[out.reg].type))
            return "an output's type differs from its register's";
        if (out.like >= 0 && !is_floating(out.type)) return "an output that is summed is no floating number";
    }
    return nullptr;
}

} // namespace tenon
