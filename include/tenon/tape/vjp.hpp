#pragma once

#include <tenon/tape/tape.hpp>

/// The vector-Jacobian product of a tape, as a tape: each block of elements is evaluated forward and swept
/// backward in registers, and all input gradients leave in one pass.

namespace tenon {

/// A tape of gradients.
struct gradient_tape {
    tape code;
    std::uint32_t reads_outputs = 0; ///< bit o: it reads output o of the tape that was differentiated
    constexpr bool reads(int output) const noexcept { return (reads_outputs >> output & 1U) != 0; }
};

namespace detail {

// The words in which tape/instructions.inl says slopes: registers of the tape that is written, and numbers beside them.
namespace slope {

struct term {
    tape& to;
    element_type type; // of the register; half and bfloat16 are computed with as float
    int reg;

    constexpr term literal(double n) const { return {to, type, to.emit_literal(n, compute_type(type))}; }
    constexpr term apply(opcode op, int b = -1) const {
        const element_type t = result_type(op, compute_type(type));
        return {to, t, to.emit(op, t, reg, b)};
    }
};

/// Nothing flows.
struct nothing {};
inline constexpr nothing none;

#define TENON_UNARY(NAME, ...) \
    constexpr term NAME(term a) { return a.apply(opcode::NAME); }
#define TENON_BINARY(NAME, ...)                                                  \
    constexpr term NAME(term a, term b) { return a.apply(opcode::NAME, b.reg); } \
    constexpr term NAME(term a, double b) { return NAME(a, a.literal(b)); }      \
    constexpr term NAME(double a, term b) { return NAME(b.literal(a), b); }
#include <tenon/tape/instructions.inl>

constexpr term operator-(term a) { return negative(a); }
#define TENON_SLOPE_OPERATOR(SIGN, NAME)                                  \
    constexpr term operator SIGN(term a, term b) { return NAME(a, b); }   \
    constexpr term operator SIGN(term a, double b) { return NAME(a, b); } \
    constexpr term operator SIGN(double a, term b) { return NAME(a, b); }
TENON_SLOPE_OPERATOR(+, add)
TENON_SLOPE_OPERATOR(-, subtract)
TENON_SLOPE_OPERATOR(*, multiply)
TENON_SLOPE_OPERATOR(/, divide)
TENON_SLOPE_OPERATOR(==, equal)
TENON_SLOPE_OPERATOR(<, less)
TENON_SLOPE_OPERATOR(<=, less_equal)
TENON_SLOPE_OPERATOR(>, greater)
TENON_SLOPE_OPERATOR(>=, greater_equal)
#undef TENON_SLOPE_OPERATOR

constexpr term select(term p, term a, term b) {
    const element_type t = compute_type(a.type);
    return {p.to, t, p.to.emit(opcode::select, t, p.reg, a.reg, b.reg)};
}
constexpr term select(term p, term a, double b) { return select(p, a, a.literal(b)); }
constexpr term select(term p, double a, term b) { return select(p, b.literal(a), b); }
/// a as the type of `like`; nothing where that is no floating number.
constexpr term cast(term a, term like) {
    return {a.to, like.type, is_floating(like.type) ? a.to.emit(opcode::cast, like.type, a.reg) : -1};
}

} // namespace slope

class vjp_writer {
public:
    constexpr vjp_writer(const tape& forward, bool use_outputs) : f_(forward) {
        for (int i = 0; i < f_.input_count; ++i) t_.add_input(f_.inputs[i]);
        int read_as[max_tape_outputs], gradient_of[max_tape_outputs];
        for (int o = 0; o < f_.output_count; ++o)
            read_as[o] = use_outputs && is_readable(f_.outputs[o]) ? t_.add_input(f_.outputs[o].type) : -1;
        for (int o = 0; o < f_.output_count; ++o) gradient_of[o] = t_.add_input(f_.outputs[o].type);
        for (int i = 0; i < f_.constant_count; ++i) t_.add_constant(f_.constants[i]);
        for (int r = 0; r < f_.length; ++r) {
            adjoint_[r] = -1;
            value_[r] = -1;
            for (int o = 0; o < f_.output_count; ++o)
                if (f_.outputs[o].reg == r && read_as[o] >= 0) value_[r] = t_.emit_input(read_as[o]);
            if (value_[r] < 0) value_[r] = copy(f_.code[r]);
        }
        for (int o = 0; o < f_.output_count; ++o)
            if (is_floating(f_.outputs[o].type)) contribute(f_.outputs[o].reg, t_.emit_input(gradient_of[o]));
        for (int o = 0; o < f_.output_count; ++o) output_input_[o] = read_as[o];
        for (int r = f_.length - 1; r >= 0; --r)
            if (adjoint_[r] >= 0) sweep(f_.code[r], value_[r], adjoint_[r]);
        for (int r = 0; r < f_.length; ++r) {
            const instruction& i = f_.code[r];
            if (i.op == opcode::input && adjoint_[r] >= 0 && is_floating(f_.inputs[i.a]))
                t_.add_output(adjoint_[r], f_.inputs[i.a], i.a);
        }
    }

    /// Without the outputs of `forward` that are not read.
    constexpr gradient_tape result() const {
        gradient_tape g{.code = without_dead_code(t_)};
        std::int16_t moved[max_tape_inputs]{};
        int count = 0;
        for (int i = 0; i < g.code.input_count; ++i) {
            int output = -1;
            for (int o = 0; o < f_.output_count; ++o)
                if (output_input_[o] == i) output = o;
            if (output >= 0 && !g.code.loads(i)) continue;
            if (output >= 0) g.reads_outputs |= 1U << output;
            moved[i] = static_cast<std::int16_t>(count);
            g.code.inputs[count++] = g.code.inputs[i];
        }
        for (int i = count; i < g.code.input_count; ++i) g.code.inputs[i] = element_type::none;
        g.code.input_count = count;
        for (int r = 0; r < g.code.length; ++r)
            if (g.code.code[r].op == opcode::input) g.code.code[r].a = moved[g.code.code[r].a];
        return g;
    }

private:
    // A value that is stored as it was computed, for each element.
    constexpr bool is_readable(const tape_output& o) const {
        return o.like < 0 && register_operands(f_.code[o.reg]) > 0 && o.type == f_.code[o.reg].type;
    }
    constexpr int copy(instruction i) {
        const int n = register_operands(i);
        if (n > 0) i.a = static_cast<std::int16_t>(value_[i.a]);
        if (n > 1) i.b = static_cast<std::int16_t>(value_[i.b]);
        if (n > 2) i.c = static_cast<std::int16_t>(value_[i.c]);
        return t_.emit(i);
    }
    constexpr void contribute(int reg, int amount) {
        int& sum = adjoint_[reg];
        const element_type e = compute_type(f_.code[reg].type);
        if (sum < 0) {
            sum = amount;
        } else if (t_.code[amount].op == opcode::multiply) {
            sum = t_.emit(opcode::fma, e, t_.code[amount].a, t_.code[amount].b, sum);
        } else if (t_.code[sum].op == opcode::multiply) {
            sum = t_.emit(opcode::fma, e, t_.code[sum].a, t_.code[sum].b, amount);
        } else {
            sum = t_.emit(opcode::add, e, sum, amount);
        }
    }

    // Adds what flows to a register. Its instructions, `first` and those after it, get the order in which they are read:
    // compilers evaluate operands in orders of their own, but kernels are found by what is in their tape.
    constexpr void flow(int, int, slope::nothing) {}
    constexpr void flow(int to, int first, slope::term what) {
        if (what.reg < 0) return;
        constexpr int most = 32; // instructions of one slope
        const int count = t_.length - first;
        if (count > most) t_.overfull = true;
        if (t_.overfull) return;
        instruction was[most]{};
        int moved[most]{};
        for (int r = 0; r < count; ++r) was[r] = t_.code[first + r], moved[r] = -1;
        t_.length = first;
        const int root = append(what.reg, first, was, moved);
        for (int r = 0; r < count; ++r) append(first + r, first, was, moved); // what an identity left over
        contribute(to, root);
    }
    constexpr int append(int r, int first, const instruction* was, int* moved) {
        if (r < first) return r;
        int& to = moved[r - first];
        if (to >= 0) return to;
        instruction i = was[r - first];
        const int n = register_operands(i);
        if (n > 0) i.a = static_cast<std::int16_t>(append(i.a, first, was, moved));
        if (n > 1) i.b = static_cast<std::int16_t>(append(i.b, first, was, moved));
        if (n > 2) i.c = static_cast<std::int16_t>(append(i.c, first, was, moved));
        t_.code[t_.length] = i;
        return to = t_.length++;
    }

    // What flows to the operands of an instruction, where g flows to its result y.
    constexpr void sweep(const instruction& i, int result, int gradient) {
        using namespace slope;
        const int n = register_operands(i);
        if (n == 0 || !is_floating(i.type)) return;
        const auto value = [&](int r) { return term{t_, f_.code[r].type, value_[r]}; };
        const term y{t_, i.type, result}, g{t_, i.type, gradient};
        const term a = value(i.a), b = n > 1 ? value(i.b) : y, c = n > 2 ? value(i.c) : y;
        int from = 0;
        switch (i.op) {
            // clang-format off
#define TENON_FLOW(TO, SLOPE) from = t_.length, flow(TO, from, SLOPE);
#define TENON_SOURCE(NAME) case opcode::NAME: break;
#define TENON_UNARY(NAME, GROUP, OF_A) case opcode::NAME: TENON_FLOW(i.a, OF_A) break;
#define TENON_BINARY(NAME, GROUP, OF_A, OF_B) case opcode::NAME: TENON_FLOW(i.a, OF_A) TENON_FLOW(i.b, OF_B) break;
#define TENON_TERNARY(NAME, GROUP, OF_A, OF_B, OF_C) \
    case opcode::NAME: TENON_FLOW(i.a, OF_A) TENON_FLOW(i.b, OF_B) TENON_FLOW(i.c, OF_C) break;
#define TENON_CONVERSION(NAME, OF_A) case opcode::NAME: TENON_FLOW(i.a, OF_A) break;
#include <tenon/tape/instructions.inl>
#undef TENON_FLOW
        // clang-format on
        case opcode::count_: break;
        }
        (void)c;
    }

    const tape& f_;
    tape t_;
    int adjoint_[max_tape_length]{};
    int value_[max_tape_length]{};
    int output_input_[max_tape_outputs]{}; // the input that is the forward tape's output, or -1
};

constexpr int loaded_inputs(const tape& t) noexcept {
    int n = 0;
    for (int i = 0; i < t.input_count; ++i) n += t.loads(i);
    return n;
}

} // namespace detail

/// The tape of the gradients of `forward`. Its inputs are forward's inputs, then those of forward's outputs that it
/// reads, then the gradients of the outputs; its outputs are the gradients of those floating inputs that matter, each
/// with the sizes of its input. Of the two ways to know a value, computing it again and reading the output, the one
/// that reads fewer operands is taken, then the shorter one.
constexpr gradient_tape vjp(const tape& forward) noexcept {
    const gradient_tape again = detail::vjp_writer(forward, false).result();
    const gradient_tape reading = detail::vjp_writer(forward, true).result();
    const int loads_again = detail::loaded_inputs(again.code), loads_reading = detail::loaded_inputs(reading.code);
    const bool read =
        loads_reading < loads_again || (loads_reading == loads_again && reading.code.length < again.code.length);
    return read ? reading : again;
}

namespace detail {

/// The gradient of a program's tape, as a constant.
template <class Program> struct gradient_program { static constexpr tape code = vjp(Program::code).code; };

} // namespace detail
} // namespace tenon
