#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

/// The elementwise instructions: what a tape is made of, on every device.

namespace tenon {

enum class opcode : std::uint8_t {
    // sources
    input,    ///< element of operand a
    constant, ///< scalar a, given with the node
    literal,  ///< a number written in the tape
    // real functions of one number
    exp,
    exp2,
    expm1,
    log,
    log2,
    log10,
    log1p,
    sqrt,
    rsqrt,
    cbrt,
    reciprocal,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    sinh,
    cosh,
    tanh,
    asinh,
    acosh,
    atanh,
    erf,
    erfc,
    erfinv,
    erfcinv,
    lgamma,
    digamma,
    sigmoid,
    softplus,
    // any number
    negative,
    abs,
    sign,
    floor,
    ceil,
    round,
    trunc,
    relu,
    // tests of one element
    is_nan,
    is_inf,
    is_finite,
    logical_not,
    bit_not,
    // two numbers
    add,
    subtract,
    multiply,
    divide,
    modulo,
    remainder,
    minimum,
    maximum,
    power,
    atan2,
    hypot,
    polygamma, ///< of order a at b
    // integers
    bit_and,
    bit_or,
    bit_xor,
    shift_left,
    shift_right,
    // truth values
    logical_and,
    logical_or,
    logical_xor,
    // comparisons: result bool
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    // three
    select, ///< a ? b : c
    fma,    ///< a * b + c, rounded once where the processor can
    // conversion to `type`
    cast,
    count_
};

inline constexpr int opcode_count = static_cast<int>(opcode::count_);

/// What an instruction accepts.
enum class opcode_group : std::uint8_t {
    source,
    real,
    number,
    test,
    real_test,
    integer,
    boolean,
    comparison,
    choice,
    conversion
};

struct opcode_info {
    const char* name;
    int operands;
    opcode_group group;
};

constexpr opcode_info info_of(opcode op) noexcept {
    using enum opcode_group;
    constexpr opcode_info table[] = {
        {"input", 0, source},
        {"constant", 0, source},
        {"literal", 0, source},
        {"exp", 1, real},
        {"exp2", 1, real},
        {"expm1", 1, real},
        {"log", 1, real},
        {"log2", 1, real},
        {"log10", 1, real},
        {"log1p", 1, real},
        {"sqrt", 1, real},
        {"rsqrt", 1, real},
        {"cbrt", 1, real},
        {"reciprocal", 1, real},
        {"sin", 1, real},
        {"cos", 1, real},
        {"tan", 1, real},
        {"asin", 1, real},
        {"acos", 1, real},
        {"atan", 1, real},
        {"sinh", 1, real},
        {"cosh", 1, real},
        {"tanh", 1, real},
        {"asinh", 1, real},
        {"acosh", 1, real},
        {"atanh", 1, real},
        {"erf", 1, real},
        {"erfc", 1, real},
        {"erfinv", 1, real},
        {"erfcinv", 1, real},
        {"lgamma", 1, real},
        {"digamma", 1, real},
        {"sigmoid", 1, real},
        {"softplus", 1, real},
        {"negative", 1, number},
        {"abs", 1, number},
        {"sign", 1, number},
        {"floor", 1, number},
        {"ceil", 1, number},
        {"round", 1, number},
        {"trunc", 1, number},
        {"relu", 1, number},
        {"is_nan", 1, real_test},
        {"is_inf", 1, real_test},
        {"is_finite", 1, real_test},
        {"logical_not", 1, boolean},
        {"bit_not", 1, integer},
        {"add", 2, number},
        {"subtract", 2, number},
        {"multiply", 2, number},
        {"divide", 2, number},
        {"modulo", 2, number},
        {"remainder", 2, number},
        {"minimum", 2, number},
        {"maximum", 2, number},
        {"power", 2, real},
        {"atan2", 2, real},
        {"hypot", 2, real},
        {"polygamma", 2, real},
        {"bit_and", 2, integer},
        {"bit_or", 2, integer},
        {"bit_xor", 2, integer},
        {"shift_left", 2, integer},
        {"shift_right", 2, integer},
        {"logical_and", 2, boolean},
        {"logical_or", 2, boolean},
        {"logical_xor", 2, boolean},
        {"equal", 2, comparison},
        {"not_equal", 2, comparison},
        {"less", 2, comparison},
        {"less_equal", 2, comparison},
        {"greater", 2, comparison},
        {"greater_equal", 2, comparison},
        {"select", 3, choice},
        {"fma", 3, number},
        {"cast", 1, conversion},
    };
    static_assert(sizeof(table) / sizeof(table[0]) == opcode_count);
    return table[static_cast<int>(op)];
}

/// True when `op` accepts first operands of (compute) type `e`.
constexpr bool accepts_element(opcode op, element_type e) noexcept {
    const element_type c = compute_type(e);
    switch (info_of(op).group) {
    case opcode_group::real:
    case opcode_group::real_test: return is_floating(c);
    case opcode_group::number: return is_numeric(c);
    case opcode_group::integer:
        return is_integer(c) || (c == element_type::boolean && op != opcode::shift_left && op != opcode::shift_right);
    case opcode_group::boolean: return c == element_type::boolean;
    case opcode_group::comparison:
        return is_numeric(c) || (c == element_type::boolean && (op == opcode::equal || op == opcode::not_equal));
    case opcode_group::choice:
    case opcode_group::conversion: return is_numeric(c) || c == element_type::boolean;
    default: return c != element_type::none && c != element_type::string;
    }
}

/// Type of the result of `op` on operands of type `e` (of the chosen values for select; cast names its own).
constexpr element_type result_type(opcode op, element_type e) noexcept {
    const opcode_group g = info_of(op).group;
    return g == opcode_group::real_test || g == opcode_group::comparison ? element_type::boolean : e;
}

} // namespace tenon
