// The elementwise instructions, an entry each. This is the only list of them: who includes it says with these macros
// what an entry becomes; those that are not defined become nothing.
//
//     TENON_SOURCE(name)                                                reads no register
//     TENON_UNARY(name, group, slope of a)                              a function of one register
//     TENON_BINARY(name, group, slope of a, slope of b)
//     TENON_TERNARY(name, group, slope of a, slope of b, slope of c)
//     TENON_CONVERSION(name, slope of a)                                names its result's type
//     TENON_FORMER_NAME(was, name)                                      what graphs that were written before call it
//
// From an entry come the opcode and what is known of it (tape/opcode.hpp), its gradient (tape/vjp.hpp), the untyped
// function of its name (ops/elementwise/elementwise.hpp), and its tests. Beside it, both by its name and missed by the compiler where
// they are missing: how packs are computed, with the vector mathematics (simd/) or, where packs have an operator,
// in expr/evaluate.inl; and the public function with its description, in ops/elementwise/elementwise.hpp.
//
// A slope is what flows to an operand where g flows to the result y: registers of the gradient's tape, computed with
// by operators and by the instructions' names. `none`: nothing flows, as to what has steps only.

#ifndef TENON_SOURCE
#define TENON_SOURCE(...)
#endif
#ifndef TENON_UNARY
#define TENON_UNARY(...)
#endif
#ifndef TENON_BINARY
#define TENON_BINARY(...)
#endif
#ifndef TENON_TERNARY
#define TENON_TERNARY(...)
#endif
#ifndef TENON_CONVERSION
#define TENON_CONVERSION(...)
#endif
#ifndef TENON_FORMER_NAME
#define TENON_FORMER_NAME(...)
#endif

// clang-format off

// Sources: an element of operand a, scalar a that is given with the node, a number that is written in the tape.
TENON_SOURCE(input)
TENON_SOURCE(constant)
TENON_SOURCE(literal)

// Real functions.
TENON_UNARY(exp, real, g * y)
TENON_UNARY(exp2, real, g * y * 0.693147180559945309417)
TENON_UNARY(expm1, real, g * (y + 1))
TENON_UNARY(log, real, g / a)
TENON_UNARY(log2, real, g / (a * 0.693147180559945309417))
TENON_UNARY(log10, real, g / (a * 2.30258509299404568402))
TENON_UNARY(log1p, real, g / (a + 1))
TENON_UNARY(sqrt, real, g * 0.5 / y)
TENON_UNARY(rsqrt, real, g * -0.5 * (y * (y * y)))
TENON_UNARY(cbrt, real, g / (3 * (y * y)))
TENON_UNARY(reciprocal, real, -(g * (y * y)))
TENON_UNARY(sin, real, g * cos(a))
TENON_UNARY(cos, real, -(g * sin(a)))
TENON_UNARY(tan, real, g * (1 + y * y))
TENON_UNARY(asin, real, g / sqrt(1 - a * a))
TENON_UNARY(acos, real, -(g / sqrt(1 - a * a)))
TENON_UNARY(atan, real, g / (1 + a * a))
TENON_UNARY(sinh, real, g * cosh(a))
TENON_UNARY(cosh, real, g * sinh(a))
TENON_UNARY(tanh, real, g * (1 - y * y))
TENON_UNARY(asinh, real, g / sqrt(a * a + 1))
TENON_UNARY(acosh, real, g / sqrt(a * a - 1))
TENON_UNARY(atanh, real, g / (1 - a * a))
TENON_UNARY(erf, real, g * 1.12837916709551257390 * exp(-(a * a)))
TENON_UNARY(erfc, real, g * -1.12837916709551257390 * exp(-(a * a)))
TENON_UNARY(erfinv, real, g * 0.886226925452758013649 * exp(y * y))
TENON_UNARY(erfcinv, real, g * -0.886226925452758013649 * exp(y * y))
TENON_UNARY(lgamma, real, g * digamma(a))
TENON_UNARY(digamma, real, g * polygamma(1, a))
TENON_UNARY(sigmoid, real, g * (y * (1 - y)))
TENON_UNARY(softplus, real, g * sigmoid(a))
// x^0 has slope 0 everywhere, which is b / x near b = 0; the slope in the exponent is 0 where the base is not positive.
TENON_BINARY(pow, number, g * select(b == 0, b / select(abs(a) > 0, a, 1), b * pow(a, select(b == 0, 1, b) - 1)),
             g * (select(a > 0, y, 0) * log(select(a > 0, a, 1))))
TENON_BINARY(atan2, real, g / (a * a + b * b) * b, -(g / (a * a + b * b) * a))
TENON_BINARY(hypot, real, g / y * a, g / y * b)
// An order has no slope.
TENON_BINARY(polygamma, real, none, g * polygamma(a + 1, b))

// Numbers of any type.
TENON_UNARY(negative, number, -g)
TENON_UNARY(abs, number, g * sign(a))
TENON_UNARY(sign, number, none)
TENON_UNARY(floor, number, none)
TENON_UNARY(ceil, number, none)
TENON_UNARY(round, number, none)
TENON_UNARY(trunc, number, none)
TENON_UNARY(relu, number, select(y > 0, g, 0))
TENON_BINARY(add, number, g, g)
TENON_BINARY(subtract, number, g, -g)
TENON_BINARY(multiply, number, g * b, g * a)
TENON_BINARY(divide, number, g / b, -(g / b * y))
// How often b is taken away from a, which a / b, rounded, does not tell: 1 % 0.1 is 1 - 9 * 0.1. Of 0 that is infinitely often.
TENON_BINARY(mod, number, g, -(g * round(select(b == 0, a, a - y) / b)))
TENON_BINARY(fmod, number, g, -(g * round(select(b == 0, a, a - y) / b)))
TENON_BINARY(minimum, number, select(a <= b, g, 0), select(a > b, g, 0))
TENON_BINARY(maximum, number, select(a >= b, g, 0), select(a < b, g, 0))
TENON_TERNARY(fma, number, g * b, g * a, g)

// Tests of one number. The result is bool.
TENON_UNARY(is_nan, real_test, none)
TENON_UNARY(is_inf, real_test, none)
TENON_UNARY(is_finite, real_test, none)

// Comparisons. The result is bool.
TENON_BINARY(equal, comparison, none, none)
TENON_BINARY(not_equal, comparison, none, none)
TENON_BINARY(less, comparison, none, none)
TENON_BINARY(less_equal, comparison, none, none)
TENON_BINARY(greater, comparison, none, none)
TENON_BINARY(greater_equal, comparison, none, none)

// Truth values.
TENON_UNARY(logical_not, boolean, none)
TENON_BINARY(logical_and, boolean, none, none)
TENON_BINARY(logical_or, boolean, none, none)
TENON_BINARY(logical_xor, boolean, none, none)

// Bits of integers and, but for shifts, of bools.
TENON_UNARY(bit_not, integer, none)
TENON_BINARY(bit_and, integer, none, none)
TENON_BINARY(bit_or, integer, none, none)
TENON_BINARY(bit_xor, integer, none, none)
TENON_BINARY(shift_left, integer, none, none)
TENON_BINARY(shift_right, integer, none, none)

TENON_TERNARY(select, choice, none, select(a, g, 0), select(a, 0, g))

TENON_CONVERSION(cast, cast(g, a))

TENON_FORMER_NAME(power, pow)
TENON_FORMER_NAME(modulo, mod)
TENON_FORMER_NAME(remainder, fmod)

// clang-format on

#undef TENON_SOURCE
#undef TENON_UNARY
#undef TENON_BINARY
#undef TENON_TERNARY
#undef TENON_CONVERSION
#undef TENON_FORMER_NAME
