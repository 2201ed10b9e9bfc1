#pragma once

#include <cmath>
#include <cstring>

#include <tenon/core/with_element.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/io/onnx/onnx_messages.hpp>
#include <tenon/onnx/onnx_writer.hpp>

/// The elementwise op as nodes of an ONNX model: one or a few for each instruction of its tape.

namespace tenon::detail::onnx {

TENON_INLINE std::string cast_to(writer& w, const std::string& x, element_type to) {
    return w.with("to", data_type_of(to)).add("Cast", {x});
}

// The operator that an instruction is; nullptr where it is none, or several.
inline const char* operator_of(opcode op) {
    switch (op) {
    case opcode::exp: return "Exp";
    case opcode::log: return "Log";
    case opcode::sqrt: return "Sqrt";
    case opcode::reciprocal: return "Reciprocal";
    case opcode::sin: return "Sin";
    case opcode::cos: return "Cos";
    case opcode::tan: return "Tan";
    case opcode::asin: return "Asin";
    case opcode::acos: return "Acos";
    case opcode::atan: return "Atan";
    case opcode::sinh: return "Sinh";
    case opcode::cosh: return "Cosh";
    case opcode::tanh: return "Tanh";
    case opcode::asinh: return "Asinh";
    case opcode::acosh: return "Acosh";
    case opcode::atanh: return "Atanh";
    case opcode::erf: return "Erf";
    case opcode::sigmoid: return "Sigmoid";
    case opcode::softplus: return "Softplus";
    case opcode::pow: return "Pow";
    case opcode::negative: return "Neg";
    case opcode::abs: return "Abs";
    case opcode::sign: return "Sign";
    case opcode::floor: return "Floor";
    case opcode::ceil: return "Ceil";
    case opcode::round: return "Round";
    case opcode::relu: return "Relu";
    case opcode::add: return "Add";
    case opcode::subtract: return "Sub";
    case opcode::multiply: return "Mul";
    case opcode::divide: return "Div";
    case opcode::minimum: return "Min";
    case opcode::maximum: return "Max";
    case opcode::is_nan: return "IsNaN";
    case opcode::is_inf: return "IsInf";
    case opcode::equal: return "Equal";
    case opcode::less: return "Less";
    case opcode::less_equal: return "LessOrEqual";
    case opcode::greater: return "Greater";
    case opcode::greater_equal: return "GreaterOrEqual";
    case opcode::logical_not: return "Not";
    case opcode::logical_and: return "And";
    case opcode::logical_or: return "Or";
    case opcode::logical_xor: return "Xor";
    case opcode::select: return "Where";
    default: return nullptr;
    }
}

inline constexpr double half_circle = 3.14159265358979323846;

// By the angle of y / x, in the half of the plane that the signs say, also those of zeros. Infinities are as far as each other.
inline std::string write_atan2(writer& w, std::string y, std::string x, element_type e) {
    const std::string zero = w.number(0, e);
    const auto is_zero = [&](const std::string& v) { return w.add("Equal", {v, zero}); };
    const auto negative = [&](const std::string& v) {
        const std::string below = w.add("Less", {w.add("Reciprocal", {v}), zero});
        return w.add("Or", {w.add("Less", {v, zero}), w.add("And", {is_zero(v), below})});
    };
    const std::string far = w.add("And", {w.add("IsInf", {x}), w.add("IsInf", {y})});
    const std::string none = w.add("And", {is_zero(x), is_zero(y)});
    const std::string left = negative(x), low = negative(y);
    x = w.add("Where", {far, w.add("Sign", {x}), x});
    y = w.add("Where", {far, w.add("Sign", {y}), y});
    const std::string angle = w.add("Atan", {w.add("Where", {none, y, w.add("Div", {y, x})})});
    const std::string turn = w.add("Where", {low, w.number(-half_circle, e), w.number(half_circle, e)});
    return w.add("Where", {left, w.add("Add", {angle, turn}), angle});
}
// log |gamma(x)| in double: Stirling's series from 8 on, to which smaller x come by gamma(x + 1) = x gamma(x), and negative ones by
// reflection.
inline std::string write_lgamma(writer& w, const std::string& of, element_type e) {
    const auto k = [&](double v) { return w.number(v, element_type::float64); };
    const auto sum = [&](const std::string& a, const std::string& b) { return w.add("Add", {a, b}); };
    const auto product = [&](const std::string& a, const std::string& b) { return w.add("Mul", {a, b}); };
    const std::string x = e == element_type::float64 ? of : cast_to(w, of, element_type::float64);
    const std::string negative = w.add("Less", {x, k(0)});
    const std::string y = w.add("Where", {negative, w.add("Sub", {k(1), x}), x});
    const std::string small = w.add("Less", {y, k(8)}), low = w.add("Min", {y, k(8)});
    std::string steps = low;
    for (int i = 1; i < 8; ++i) steps = product(steps, sum(low, k(i)));
    const std::string z = w.add("Where", {small, sum(y, k(8)), y}), inverse = w.add("Reciprocal", {z});
    const std::string square = product(inverse, inverse);
    std::string series = k(1.0 / 156);
    for (const double c : {-691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12})
        series = sum(product(series, square), k(c));
    const std::string main = w.add("Sub", {product(w.add("Sub", {z, k(0.5)}), w.add("Log", {z})), z});
    std::string r = sum(sum(main, k(0.5 * std::log(2 * half_circle))), product(series, inverse));
    r = w.add("Sub", {r, w.add("Where", {small, w.add("Log", {steps}), k(0)})});
    const std::string part = w.add("Sub", {x, w.add("Round", {x})});
    const std::string sine = w.add("Abs", {w.add("Sin", {product(part, k(half_circle))})});
    const std::string reflected = w.add("Sub", {w.add("Log", {w.add("Div", {k(half_circle), sine})}), r});
    r = w.add("Where", {negative, reflected, r});
    r = w.add("Where", {w.add("IsInf", {x}), w.add("Abs", {x}), r});
    return e == element_type::float64 ? r : cast_to(w, r, e);
}

// One instruction of operands x, whose first number's type is `e`.
inline std::string write_instruction(writer& w, const instruction& i, const std::vector<std::string>& x,
                                     element_type e) {
    const auto k = [&](double v) { return w.number(v, e); };
    const bool integer = is_integer(e);
    switch (i.op) {
    // Of integers ONNX rounds nothing.
    case opcode::floor:
    case opcode::ceil:
    case opcode::round:
    case opcode::trunc:
        if (integer) return x[0];
        if (i.op == opcode::trunc) return w.add("Mul", {w.add("Sign", x), w.add("Floor", {w.add("Abs", x)})});
        break;
    case opcode::cast: return cast_to(w, x[0], i.type);
    case opcode::exp2: return w.add("Pow", {k(2), x[0]});
    case opcode::expm1: return w.add("Sub", {w.add("Exp", x), k(1)});
    case opcode::log2: return w.add("Mul", {w.add("Log", x), k(1 / std::log(2.0))});
    case opcode::log10: return w.add("Mul", {w.add("Log", x), k(1 / std::log(10.0))});
    case opcode::log1p: return w.add("Log", {w.add("Add", {x[0], k(1)})});
    case opcode::rsqrt: return w.add("Reciprocal", {w.add("Sqrt", x)});
    case opcode::cbrt: return w.add("Mul", {w.add("Sign", x), w.add("Pow", {w.add("Abs", x), k(1.0 / 3)})});
    case opcode::erfc: return w.add("Sub", {k(1), w.add("Erf", x)});
    case opcode::hypot: return w.add("Sqrt", {w.add("Add", {w.add("Mul", {x[0], x[0]}), w.add("Mul", {x[1], x[1]})})});
    case opcode::mod:
        if (integer) return w.add("Mod", x);
        { // what is left has a's sign; b is added where that is not its own
            const std::string left = w.with("fmod", std::int64_t{1}).add("Mod", x);
            const std::string other = w.add("Xor", {w.add("Less", {left, k(0)}), w.add("Less", {x[1], k(0)})});
            const std::string some = w.add("Not", {w.add("Equal", {left, k(0)})});
            return w.add("Where", {w.add("And", {other, some}), w.add("Add", {left, x[1]}), left});
        }
    case opcode::fmod: return w.with("fmod", std::int64_t{1}).add("Mod", x);
    case opcode::fma: return w.add("Add", {w.add("Mul", {x[0], x[1]}), x[2]});
    case opcode::atan2: return write_atan2(w, x[0], x[1], e);
    case opcode::lgamma: return write_lgamma(w, x[0], e);
    case opcode::is_finite: return w.add("Not", {w.add("Or", {w.add("IsNaN", x), w.add("IsInf", x)})});
    case opcode::not_equal: return w.add("Not", {w.add("Equal", x)});
    case opcode::bit_not: return w.add(e == element_type::boolean ? "Not" : "BitwiseNot", x);
    case opcode::bit_and: return w.add(e == element_type::boolean ? "And" : "BitwiseAnd", x);
    case opcode::bit_or: return w.add(e == element_type::boolean ? "Or" : "BitwiseOr", x);
    case opcode::bit_xor: return w.add(e == element_type::boolean ? "Xor" : "BitwiseXor", x);
    case opcode::select:
        if (e != element_type::boolean) break; // for which ONNX Runtime has no Where
        return w.add("Or", {w.add("And", {x[0], x[1]}), w.add("And", {w.add("Not", {x[0]}), x[2]})});
    case opcode::shift_left:
    case opcode::shift_right:
        if (is_signed_integer(e)) w.needs_opset(28);
        return w.with("direction", i.op == opcode::shift_left ? "LEFT" : "RIGHT").add("BitShift", x);
    default: break;
    }
    if (const char* op = operator_of(i.op); op && i.op != opcode::shift_left && i.op != opcode::shift_right)
        return w.add(op, x);
    throw unimplemented_error(std::string("the function ") + info_of(i.op).name + " of " + tenon::name_of(e));
}

TENON_INLINE void write_fused(writer& w, const node& n) {
    const auto a = decode<fused_attributes>(n.attributes);
    const tape& t = *a.tape;
    std::vector<std::string> registers(static_cast<std::size_t>(t.length));
    std::vector<bool> loaded(n.inputs.size());
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        std::string& made = registers[static_cast<std::size_t>(r)];
        if (i.op == opcode::input) {
            made = w.input(n, i.a);
            loaded[static_cast<std::size_t>(i.a)] = true;
            if (n.input_type(i.a).element != i.type) made = cast_to(w, made, i.type);
        } else if (i.op == opcode::constant || i.op == opcode::literal) {
            any_array v(i.type, {});
            if (i.op == opcode::constant) // in the number's own memory
                std::memcpy(v.data(), &a.constants[static_cast<std::size_t>(i.a)], v.bytes());
            else
                with_element(i.type, [&]<class T>(const T&) {
                    if constexpr (!std::is_same_v<T, std::string>) *static_cast<T*>(v.data()) = i.literal().to<T>();
                });
            made = w.initializer(v);
        } else {
            std::vector<std::string> x;
            for (const int o : {i.a, i.b, i.c})
                if (o >= 0) x.push_back(registers[static_cast<std::size_t>(o)]);
            const int first = i.op == opcode::select ? i.b : i.a;
            made = write_instruction(w, i, x, t.code[first].type);
        }
    }
    // An operand that is not loaded counts for the sizes all the same.
    extents natural;
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (loaded[i]) {
            const merged_extents m = broadcast(natural, n.input_type(static_cast<int>(i)).extents);
            natural = m.extents;
        }
    for (int o = 0; o < static_cast<int>(n.outputs.size()); ++o) {
        const tape_output& out = t.outputs[a.tape_output_of(o)];
        if (out.like >= 0 || !a.merge.empty()) throw unimplemented_error("sums of gradients");
        if (!(natural == n.outputs[static_cast<std::size_t>(o)].extents))
            throw unimplemented_error("an operand that counts for its sizes alone");
        std::string made = registers[static_cast<std::size_t>(out.reg)];
        if (t.code[out.reg].type != out.type) made = cast_to(w, made, out.type);
        w.give(n, made, o);
    }
}

} // namespace tenon::detail::onnx
