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
        gradient_tape g;
        g.code = without_dead_code(t_);
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

    constexpr void sweep(const instruction& i, int y, int g) {
        const element_type e = i.type;
        if (!is_floating(e)) return;
        const int a = i.a >= 0 && register_operands(i) > 0 ? value_[i.a] : -1;
        const int b = i.b >= 0 ? value_[i.b] : -1;
        const int c = i.c >= 0 ? value_[i.c] : -1;
        const auto lit = [&](double n) { return t_.emit_literal(n, e); };
        const auto mul = [&](int x, int z) { return t_.emit(opcode::multiply, e, x, z); };
        const auto div = [&](int x, int z) { return t_.emit(opcode::divide, e, x, z); };
        const auto add = [&](int x, int z) { return t_.emit(opcode::add, e, x, z); };
        const auto sub = [&](int x, int z) { return t_.emit(opcode::subtract, e, x, z); };
        const auto neg = [&](int x) { return t_.emit(opcode::negative, e, x); };
        const auto one = [&](opcode op, int x) { return t_.emit(op, e, x); };
        const auto test = [&](opcode op, int x, int z) { return t_.emit(op, element_type::boolean, x, z); };
        const auto pick = [&](int p, int x, int z) { return t_.emit(opcode::select, e, p, x, z); };
        switch (i.op) {
        case opcode::add:
            contribute(i.a, g);
            contribute(i.b, g);
            break;
        case opcode::subtract:
            contribute(i.a, g);
            contribute(i.b, neg(g));
            break;
        case opcode::multiply:
            contribute(i.a, mul(g, b));
            contribute(i.b, mul(g, a));
            break;
        case opcode::divide: {
            const int q = div(g, b);
            contribute(i.a, q);
            contribute(i.b, neg(mul(q, y)));
            break;
        }
        case opcode::fma:
            contribute(i.a, mul(g, b));
            contribute(i.b, mul(g, a));
            contribute(i.c, g);
            break;
        case opcode::modulo:
            contribute(i.a, g);
            contribute(i.b, neg(mul(g, one(opcode::floor, div(a, b)))));
            break;
        case opcode::remainder:
            contribute(i.a, g);
            contribute(i.b, neg(mul(g, one(opcode::trunc, div(a, b)))));
            break;
        case opcode::minimum:
            contribute(i.a, pick(test(opcode::less_equal, a, b), g, lit(0)));
            contribute(i.b, pick(test(opcode::greater, a, b), g, lit(0)));
            break;
        case opcode::maximum:
            contribute(i.a, pick(test(opcode::greater_equal, a, b), g, lit(0)));
            contribute(i.b, pick(test(opcode::less, a, b), g, lit(0)));
            break;
        case opcode::power: {
            // x^0 has slope 0 everywhere; the slope in the exponent is taken as 0 where the base is not positive.
            const int slope = mul(b, t_.emit(opcode::power, e, a, sub(b, lit(1))));
            contribute(i.a, mul(g, pick(test(opcode::equal, b, lit(0)), lit(0), slope)));
            const int positive = test(opcode::greater, a, lit(0));
            const int logarithm = one(opcode::log, pick(positive, a, lit(1)));
            contribute(i.b, mul(g, mul(y, logarithm)));
            break;
        }
        case opcode::atan2: {
            const int q = div(g, add(mul(a, a), mul(b, b)));
            contribute(i.a, mul(q, b));
            contribute(i.b, neg(mul(q, a)));
            break;
        }
        case opcode::hypot: {
            const int q = div(g, y);
            contribute(i.a, mul(q, a));
            contribute(i.b, mul(q, b));
            break;
        }
        case opcode::select:
            contribute(i.b, pick(a, g, lit(0)));
            contribute(i.c, pick(a, lit(0), g));
            break;
        case opcode::cast:
            if (is_floating(f_.code[i.a].type)) contribute(i.a, t_.emit(opcode::cast, f_.code[i.a].type, g));
            break;
        case opcode::negative: contribute(i.a, neg(g)); break;
        case opcode::abs: contribute(i.a, mul(g, one(opcode::sign, a))); break;
        case opcode::relu: contribute(i.a, pick(test(opcode::greater, y, lit(0)), g, lit(0))); break;
        case opcode::exp: contribute(i.a, mul(g, y)); break;
        case opcode::exp2: contribute(i.a, mul(mul(g, y), lit(0.693147180559945309417))); break;
        case opcode::expm1: contribute(i.a, mul(g, add(y, lit(1)))); break;
        case opcode::log: contribute(i.a, div(g, a)); break;
        case opcode::log2: contribute(i.a, div(g, mul(a, lit(0.693147180559945309417)))); break;
        case opcode::log10: contribute(i.a, div(g, mul(a, lit(2.30258509299404568402)))); break;
        case opcode::log1p: contribute(i.a, div(g, add(a, lit(1)))); break;
        case opcode::sqrt: contribute(i.a, div(mul(g, lit(0.5)), y)); break;
        case opcode::rsqrt: contribute(i.a, mul(mul(g, lit(-0.5)), mul(y, mul(y, y)))); break;
        case opcode::cbrt: contribute(i.a, div(g, mul(lit(3), mul(y, y)))); break;
        case opcode::reciprocal: contribute(i.a, neg(mul(g, mul(y, y)))); break;
        case opcode::sin: contribute(i.a, mul(g, one(opcode::cos, a))); break;
        case opcode::cos: contribute(i.a, neg(mul(g, one(opcode::sin, a)))); break;
        case opcode::tan: contribute(i.a, mul(g, add(lit(1), mul(y, y)))); break;
        case opcode::asin: contribute(i.a, div(g, one(opcode::sqrt, sub(lit(1), mul(a, a))))); break;
        case opcode::acos: contribute(i.a, neg(div(g, one(opcode::sqrt, sub(lit(1), mul(a, a)))))); break;
        case opcode::atan: contribute(i.a, div(g, add(lit(1), mul(a, a)))); break;
        case opcode::sinh: contribute(i.a, mul(g, one(opcode::cosh, a))); break;
        case opcode::cosh: contribute(i.a, mul(g, one(opcode::sinh, a))); break;
        case opcode::tanh: contribute(i.a, mul(g, sub(lit(1), mul(y, y)))); break;
        case opcode::asinh: contribute(i.a, div(g, one(opcode::sqrt, add(mul(a, a), lit(1))))); break;
        case opcode::acosh: contribute(i.a, div(g, one(opcode::sqrt, sub(mul(a, a), lit(1))))); break;
        case opcode::atanh: contribute(i.a, div(g, sub(lit(1), mul(a, a)))); break;
        case opcode::erf:
            contribute(i.a, mul(mul(g, lit(1.12837916709551257390)), one(opcode::exp, neg(mul(a, a)))));
            break;
        case opcode::erfc:
            contribute(i.a, mul(mul(g, lit(-1.12837916709551257390)), one(opcode::exp, neg(mul(a, a)))));
            break;
        case opcode::erfinv:
            contribute(i.a, mul(mul(g, lit(0.886226925452758013649)), one(opcode::exp, mul(y, y))));
            break;
        case opcode::erfcinv:
            contribute(i.a, mul(mul(g, lit(-0.886226925452758013649)), one(opcode::exp, mul(y, y))));
            break;
        case opcode::lgamma: contribute(i.a, mul(g, one(opcode::digamma, a))); break;
        case opcode::digamma: contribute(i.a, mul(g, t_.emit(opcode::polygamma, e, lit(1), a))); break;
        case opcode::polygamma: // an order has no slope
            contribute(i.b, mul(g, t_.emit(opcode::polygamma, e, add(a, lit(1)), b)));
            break;
        case opcode::sigmoid: contribute(i.a, mul(g, mul(y, sub(lit(1), y)))); break;
        case opcode::softplus: contribute(i.a, mul(g, one(opcode::sigmoid, a))); break;
        default: break; // steps, tests and sources have no slope
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

} // namespace tenon
