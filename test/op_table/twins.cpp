#include "twins.hpp"

// A typed function and the untyped one of its name give the same bits, and types that agree; test/twins holds that each has
// its line.

using namespace op_table;

TEST_CASE("typed and untyped: instructions") {
    twins t;
    const auto x = t.operand<float, matrix>();
    const auto y = t.operand<float, shape<4>>(0.5, 2);
    const auto p = t.operand<float, matrix>(0.1, 0.9);
    const auto m = t.operand<float, matrix>(1.1, 3);
    const auto n = t.given<std::int32_t, shape<3>>({1, 6, 12}), k = t.given<std::int32_t, shape<3>>({3, 2, 1});
    const auto b = t.given<bool, shape<4>>({1, 0, 1, 0}), c = t.given<bool, shape<4>>({1, 1, 0, 0});
#define ONE(NAME, OPERAND) t.same(#NAME, NAME(OPERAND), untyped::NAME(OPERAND))
#define TWO(NAME, A, B) t.same(#NAME, NAME(A, B), untyped::NAME(A, B))
    ONE(exp, x), ONE(exp2, x), ONE(expm1, x), ONE(log, m), ONE(log2, m), ONE(log10, m), ONE(log1p, m);
    ONE(sqrt, m), ONE(rsqrt, m), ONE(cbrt, x), ONE(reciprocal, m), ONE(sin, x), ONE(cos, x), ONE(tan, x);
    ONE(asin, p), ONE(acos, p), ONE(atan, x), ONE(sinh, x), ONE(cosh, x), ONE(tanh, x), ONE(asinh, x), ONE(acosh, m);
    ONE(atanh, p), ONE(erf, x), ONE(erfc, x), ONE(erfinv, p), ONE(erfcinv, p), ONE(lgamma, m), ONE(digamma, m);
    ONE(sigmoid, x), ONE(softplus, x), ONE(abs, x), ONE(sign, x), ONE(floor, x), ONE(ceil, x), ONE(round, x);
    ONE(trunc, x), ONE(rint, x), ONE(relu, x), ONE(is_nan, x), ONE(is_inf, x), ONE(is_finite, x), ONE(square, x);
    TWO(minimum, x, y), TWO(maximum, x, y), TWO(atan2, x, y), TWO(hypot, x, y), TWO(polygamma, y, m);
    t.same("pow", pow(m, y), untyped::pow(m, y));
    t.same("negative", -x, untyped::negative(x));
    t.same("add", x + y, untyped::add(x, y));
    t.same("add", x + 0.25f, untyped::add(x, 0.25));
    t.same("subtract", x - y, untyped::subtract(x, y));
    t.same("multiply", x * y, untyped::multiply(x, y));
    t.same("divide", x / y, untyped::divide(x, y));
    t.same("mod", mod(x, y), untyped::mod(x, y));
    t.same("fmod", fmod(x, y), untyped::fmod(x, y));
    t.same("bit_and", n & k, untyped::bit_and(n, k));
    t.same("bit_or", n | k, untyped::bit_or(n, k));
    t.same("bit_xor", n ^ k, untyped::bit_xor(n, k));
    t.same("bit_not", ~n, untyped::bit_not(n));
    t.same("shift_left", n << k, untyped::shift_left(n, k));
    t.same("shift_right", n >> k, untyped::shift_right(n, k));
    t.same("logical_not", !b, untyped::logical_not(b));
    t.same("logical_and", b && c, untyped::logical_and(b, c));
    t.same("logical_or", b || c, untyped::logical_or(b, c));
    t.same("logical_xor", logical_xor(b, c), untyped::logical_xor(b, c));
    t.same("equal", n == k, untyped::equal(n, k));
    t.same("not_equal", n != k, untyped::not_equal(n, k));
    t.same("less", x < y, untyped::less(x, y));
    t.same("less_equal", x <= y, untyped::less_equal(x, y));
    t.same("greater", x > y, untyped::greater(x, y));
    t.same("greater_equal", x >= y, untyped::greater_equal(x, y));
    t.same("select", select(b, x, p), untyped::select(b, x, p));
    t.same("select", select(b, x, 0.5f), untyped::select(b, x, 0.5));
    t.same("where", where(b, 1, p), untyped::where(b, 1, p));
    t.same("fma", fma(x, y, p), untyped::fma(x, y, p));
    t.same("fma", fma(2, y, 0.5f), untyped::fma(2, y, 0.5));
    t.same("cast", cast<std::int32_t>(x), untyped::cast(x, element_type::int32));
}

TEST_CASE("typed and untyped: operators") {
    twins t;
    const auto x = t.operand<float, matrix>();
    const auto y = t.operand<float, shape<4>>(0.5, 2);
    const auto n = t.given<std::int32_t, shape<3>>({1, 6, 12}), k = t.given<std::int32_t, shape<3>>({3, 2, 1});
    const auto b = t.given<bool, shape<4>>({1, 0, 1, 0}), c = t.given<bool, shape<4>>({1, 1, 0, 0});
    const any_tensor ux = x, uy = y, un = n, uk = k, ub = b, uc = c;
    t.same("operator+", x + y, ux + uy);
    t.same("operator-", x - y, ux - uy);
    t.same("operator*", x * y, ux * uy);
    t.same("operator/", x / y, ux / uy);
    t.same("operator%", x % y, ux % uy);
    t.same("operator-", -x, -ux);
    t.same("operator==", n == k, un == uk);
    t.same("operator!=", n != k, un != uk);
    t.same("operator<", x < y, ux < uy);
    t.same("operator<=", x <= y, ux <= uy);
    t.same("operator>", x > y, ux > uy);
    t.same("operator>=", x >= y, ux >= uy);
    t.same("operator&&", b && c, ub && uc);
    t.same("operator||", b || c, ub || uc);
    t.same("operator!", !b, !ub);
    t.same("operator&", n & k, un & uk);
    t.same("operator|", n | k, un | uk);
    t.same("operator^", n ^ k, un ^ uk);
    t.same("operator~", ~n, ~un);
    t.same("operator<<", n << k, un << uk);
    t.same("operator>>", n >> k, un >> uk);
    // Beside numbers, and beside a tensor or an expression whose type is known.
    t.same("operator-", 1 - x, 1 - ux);
    t.same("operator/", x / 3, ux / 3);
    t.same("operator>", n > 4, un > 4);
    t.same("operator*", x * y, ux * y);
    t.same("operator*", x * y, x * uy);
    t.same("operator+", x + exp(y), ux + exp(y));
    static_assert(std::is_same_v<decltype(x + uy), any_tensor>);
}
