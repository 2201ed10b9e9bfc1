#include "tests.hpp"
#include "../check_gradients.hpp"
#include "elementwise_support.hpp"

using namespace elementwise_test;
using test::check_gradients;
using test::given;
using test::input;

TEST_CASE("real functions are the C library's") {
    unary("exp", OF(exp), STD(exp), usual);
    unary("exp", OF(exp), STD(exp), special);
    unary("exp2", OF(exp2), STD(exp2), usual);
    unary("expm1", OF(expm1), STD(expm1), usual);
    unary("log", OF(log), STD(log), positive);
    unary("log", OF(log), STD(log), special);
    unary("log2", OF(log2), STD(log2), positive);
    unary("log10", OF(log10), STD(log10), positive);
    unary("log1p", OF(log1p), STD(log1p), inner);
    unary("sqrt", OF(sqrt), STD(sqrt), positive);
    unary(
        "rsqrt", OF(rsqrt), [](double x) { return 1 / std::sqrt(x); }, positive);
    unary("cbrt", OF(cbrt), STD(cbrt), usual);
    unary(
        "reciprocal", OF(reciprocal), [](double x) { return 1 / x; }, positive);
    unary("sin", OF(sin), STD(sin), usual);
    unary("cos", OF(cos), STD(cos), usual);
    unary("tan", OF(tan), STD(tan), usual);
    unary("asin", OF(asin), STD(asin), inner);
    unary("acos", OF(acos), STD(acos), inner);
    unary("atan", OF(atan), STD(atan), usual);
    unary("sinh", OF(sinh), STD(sinh), usual);
    unary("cosh", OF(cosh), STD(cosh), usual);
    unary("tanh", OF(tanh), STD(tanh), usual);
    unary("asinh", OF(asinh), STD(asinh), usual);
    unary("acosh", OF(acosh), STD(acosh), {1, 1.5, 3, 40});
    unary("atanh", OF(atanh), STD(atanh), inner);
    unary("erf", OF(erf), STD(erf), usual);
    unary("erfc", OF(erfc), STD(erfc), usual);
    unary("lgamma", OF(lgamma), STD(lgamma), {0.25, 0.5, 3, 10, 40});
    unary(
        "sigmoid", OF(sigmoid), [](double x) { return 1 / (1 + std::exp(-x)); }, usual);
    unary(
        "softplus", OF(softplus), [](double x) { return std::log1p(std::exp(x)); }, usual);
    unary("logit", OF(logit), [](double p) { return std::log(p / (1 - p)); }, {0.01, 0.25, 0.625, 0.9});
    unary("sinc", OF(sinc), [](double x) { return x == 0 ? 1 : std::sin(std::acos(-1.0) * x) / (std::acos(-1.0) * x); },
          {-2.5, -0.3, 0, 1e-3, 0.25, 0.5, 1.75});
    unary(
        "reciprocal_no_nan", OF(reciprocal_no_nan), [](double x) { return x == 0 ? 0 : 1 / x; }, special);
    unary("ndtr", OF(ndtr), [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }, {-20, -9, -1, 0, 0.5, 3});
    unary("deg2rad", OF(deg2rad), [](double x) { return x / 180 * std::acos(-1.0); }, {-720, -45, 0, 1, 90});
    unary(
        "rad2deg", OF(rad2deg), [](double x) { return x * 180 / std::acos(-1.0); }, usual);
    unary(
        "log_sigmoid", OF(log_sigmoid), [](double x) { return -std::log1p(std::exp(-x)); }, usual);
}

TEST_CASE("digamma is the slope of lgamma") {
    unary("digamma", OF(digamma),
          [](double x) {
              // by its recurrence, and its series from 20 on
              double sum = 0;
              for (; x < 20; x += 1) sum -= 1 / x;
              const double r = 1 / (x * x);
              return sum + std::log(x) - 0.5 / x -
                     r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132))));
          },
          {0.5, 1, 2.25, 3, 10, 40});
}

TEST_CASE("polygamma: constants") {
    const double pi = std::acos(-1.0), zeta_3 = 1.2020569031595942854;
    const graph_scope scope{graph()};
    auto x = placeholder<double, shape<2>>();
    const auto check = [&](const auto& y, double of_one, double of_half) {
        const auto got = run(y, fed(x, numbers<double>(extents(2), {1, 0.5})));
        CHECK(got[0] == doctest::Approx(of_one).epsilon(1e-14));
        CHECK(got[1] == doctest::Approx(of_half).epsilon(1e-14));
    };
    check(trigamma(x), pi * pi / 6, pi * pi / 2);
    check(polygamma(2, x), -2 * zeta_3, -14 * zeta_3);
    check(polygamma(x * 0 + 3, x), std::pow(pi, 4) / 15, std::pow(pi, 4));
    check(polygamma(0, x), -0.57721566490153286061, -0.57721566490153286061 - 2 * std::log(2.0));
    check(as<double, shape<2>>(untyped::polygamma(2, x)) * 1, -2 * zeta_3, -14 * zeta_3);
    const auto of_half = placeholder<half, shape<1>>();
    CHECK(run(polygamma(1, of_half), fed(of_half, numbers<half>(extents(1), {1})))[0] == 1.64453125);
}

TEST_CASE("inverse error functions undo the error functions") {
    unary(
        "erfinv", [](const auto& x) { return erfinv(erf(x)); }, [](double x) { return x; }, {-0.7, -0.01, 0, 0.3, 0.8});
    unary(
        "erfcinv", [](const auto& x) { return erfcinv(erfc(x)); }, [](double x) { return x; }, {-0.7, 0.1, 1, 5, 9});
    unary(
        "ndtri", [](const auto& x) { return ndtri(ndtr(x)); }, [](double x) { return x; }, {-12, -2, -0.3, 0, 1});
    unary("erfinv", OF(erfinv), [](double x) { return std::fabs(x) > 1 ? not_a_number : x * infinity; },
          {-2, -1, 1, 2, infinity, not_a_number});
}

TEST_CASE("functions that cut and round") {
    unary("abs", OF(abs), STD(fabs), special);
    unary(
        "negative", [](const auto& x) { return -x; }, [](double x) { return -x; }, special);
    unary(
        "sign", OF(sign), [](double x) { return x > 0   ? 1.0
                                                : x < 0 ? -1.0
                                                        : x; }, special);
    unary("floor", OF(floor), STD(floor), {-2.5, -2, -0.5, 0, 0.5, 1.5, 2.5, 1e10});
    unary("ceil", OF(ceil), STD(ceil), {-2.5, -2, -0.5, 0, 0.5, 1.5, 2.5, 1e10});
    unary("round", OF(round), STD(nearbyint), {-2.5, -2, -0.5, 0, 0.5, 1.5, 2.5, 1e10});
    unary("trunc", OF(trunc), STD(trunc), {-2.5, -2, -0.5, 0, 0.5, 1.5, 2.5, 1e10});
    unary(
        "relu", OF(relu), [](double x) { return std::isnan(x) ? x : std::fmax(x, 0); }, special);
    unary(
        "relu6", OF(relu6), [](double x) { return std::isnan(x) ? x : std::fmin(std::fmax(x, 0), 6); }, special);
    unary(
        "clip", [](const auto& x) { return clip(x, -1, 1.5); },
        [](double x) { return std::isnan(x) ? x : std::fmin(std::fmax(x, -1), 1.5); }, special);
    unary("rint", OF(rint), STD(rint), {-2.5, -2, -0.5, 0, 0.5, 1.5, 2.5, 1e10});
    unary(
        "soft_shrink", OF(soft_shrink),
        [](double x) { return x > 0.5    ? x - 0.5
                              : x < -0.5 ? x + 0.5
                              : x != x   ? x
                                         : 0; }, special);
    unary(
        "hard_shrink", [](const auto& x) { return hard_shrink(x, 1.5); },
        [](double x) { return std::fabs(x) <= 1.5 ? 0 : x; }, special);
    unary(
        "threshold", [](const auto& x) { return threshold(x, 0.25, 20); }, [](double x) { return x <= 0.25 ? 20 : x; },
        special);
    unary(
        "hard_tanh", OF(hard_tanh), [](double x) { return std::fmin(std::fmax(x, -1), 1); }, usual);
}

TEST_CASE("functions of two numbers, with a column and a row broadcast") {
    binary(
        "+", [](const auto& a, const auto& b) { return a + b; }, [](double a, double b) { return a + b; }, usual,
        special);
    binary(
        "-", [](const auto& a, const auto& b) { return a - b; }, [](double a, double b) { return a - b; }, usual,
        special);
    binary(
        "*", [](const auto& a, const auto& b) { return a * b; }, [](double a, double b) { return a * b; }, usual,
        special);
    binary(
        "/", [](const auto& a, const auto& b) { return a / b; }, [](double a, double b) { return a / b; }, usual,
        special);
    binary(
        "mod", [](const auto& a, const auto& b) { return a % b; },
        [](double a, double b) {
            const double r = std::fmod(a, b);
            return r != 0 && (r < 0) != (b < 0) ? r + b : r;
        },
        usual, {-2, -0.75, 0.4, 3});
    binary("fmod", OF2(fmod), [](double a, double b) { return std::fmod(a, b); }, usual, {-2, -0.75, 0.4, 3});
    binary("floor_divide", OF2(floor_divide), [](double a, double b) { return std::floor(a / b); }, usual,
           {-2, -0.75, 3});
    binary(
        "divide_no_nan", OF2(divide_no_nan), [](double a, double b) { return b == 0 ? 0 : a / b; }, usual, usual);
    binary(
        "minimum", OF2(minimum), [](double a, double b) { return std::isnan(b) ? b : std::fmin(a, b); }, usual,
        special);
    binary(
        "maximum", OF2(maximum), [](double a, double b) { return std::isnan(b) ? b : std::fmax(a, b); }, usual,
        special);
    binary("pow", OF2(pow), [](double a, double b) { return std::pow(a, b); }, {0, 0.5, 1, 2.5}, {-1.5, 0, 1, 2, 3.5});
    binary("pow", OF2(pow), [](double a, double b) { return std::pow(a, b); }, {-2, -0.5}, {-3, 0, 2, 0.5});
    binary("atan2", OF2(atan2), [](double a, double b) { return std::atan2(a, b); }, {-2, -0.5, 1, 3},
           {-2, -0.5, 1, 3});
    binary("hypot", OF2(hypot), [](double a, double b) { return std::hypot(a, b); }, usual, {-2, 0.5, 1e200});
    binary(
        "squared_difference", OF2(squared_difference), [](double a, double b) { return (a - b) * (a - b); }, usual,
        positive);
    binary("xlogy", OF2(xlogy), [](double x, double y) { return x == 0 ? 0 : x * std::log(y); }, {0, 0.5, 2},
           {0, 0.5, 3});
    binary("xlog1py", OF2(xlog1py), [](double x, double y) { return x == 0 ? 0 : x * std::log1p(y); }, {0, 0.5, 2},
           {-1, 0.5, 3});
    binary("xdivy", OF2(xdivy), [](double x, double y) { return x == 0 ? 0 : x / y; }, {0, 0.5, 2}, {0, 0.5, 3});
    binary("logaddexp2", OF2(logaddexp2),
           [](double a, double b) {
               return a == b ? a + 1 : std::fmax(a, b) + std::log2(1 + std::exp2(-std::fabs(a - b)));
           },
           {-infinity, -800, 0.5, 800, infinity}, {-infinity, -801, 0.25, 800, infinity});
    binary("copysign", OF2(copysign), [](double a, double b) { return std::copysign(a, b); }, special,
           {-infinity, -2, -0.0, 0, 3, infinity});
    binary(
        "heaviside", OF2(heaviside), [](double x, double h) { return x == 0  ? h
                                                                     : x < 0 ? 0
                                                                     : x > 0 ? 1
                                                                             : x; }, special,
        usual);
    binary(
        "multiply_no_nan", OF2(multiply_no_nan), [](double a, double b) { return b == 0 ? 0 : a * b; }, special,
        special);
    binary("betaln", OF2(betaln),
           [](double a, double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }, positive,
           {0.5, 1, 2.25, 9});
    binary(
        "fmin", OF2(fmin), [](double a, double b) { return std::fmin(a, b); }, special, special);
    binary(
        "fmax", OF2(fmax), [](double a, double b) { return std::fmax(a, b); }, special, special);
    binary("logaddexp", OF2(logaddexp),
           [](double a, double b) {
               return a == b ? a + std::log(2.0) : std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
           },
           {-infinity, -800, 0.5, 800, infinity}, {-infinity, -801, 0.25, 800, infinity});
}

TEST_CASE("functions of three numbers") {
    const graph_scope scope{graph()};
    auto a = placeholder<float, shape<3>>(), b = placeholder<float, shape<3>>();
    auto p = placeholder<bool, shape<3>>();
    const auto feeds = [&] {
        return fed(a, numbers<float>(extents(3), {1, 2, 3}), b, numbers<float>(extents(3), {10, 20, 30}), p,
                   numbers<bool>(extents(3), {1, 0, 1}));
    };
    CHECK(run(select(p, a, b), feeds()) == std::vector<double>{1, 20, 3});
    CHECK(run(where(p, a, 7), feeds()) == std::vector<double>{1, 7, 3});
    CHECK(run(where(p, -1, b), feeds()) == std::vector<double>{-1, 20, -1});
    CHECK(run(where(p, 1.0f, -1.5f), feeds()) == std::vector<double>{1, -1.5, 1});
    static_assert(std::is_same_v<decltype(select(p, 1.0f, -1.0f))::element_type, float>);
    static_assert(std::is_same_v<decltype(select(p, 1, 0.5))::element_type, double>);
    static_assert(std::is_same_v<decltype(select(p, true, false))::element_type, bool>);
    CHECK(run(lerp(a, b, 0.5), feeds()) == std::vector<double>{5.5, 11, 16.5});
    CHECK(run(fma(a, b, 1), feeds()) == std::vector<double>{11, 41, 91});
    CHECK(run(clip(b, a, 15), feeds()) == std::vector<double>{10, 15, 15});
}

TEST_CASE("comparisons and truth values are bool, and NaN is equal to nothing") {
    const graph_scope scope{graph()};
    auto a = placeholder<float, shape<4>>(), b = placeholder<float, shape<4>>();
    const auto feeds = [&] {
        return fed(a, numbers<float>(extents(4), {1, 2, 3, not_a_number}), b,
                   numbers<float>(extents(4), {2, 2, 2, not_a_number}));
    };
    static_assert(std::is_same_v<decltype(a < b)::element_type, bool>);
    CHECK(run(a < b, feeds()) == std::vector<double>{1, 0, 0, 0});
    CHECK(run(a <= b, feeds()) == std::vector<double>{1, 1, 0, 0});
    CHECK(run(a > b, feeds()) == std::vector<double>{0, 0, 1, 0});
    CHECK(run(a >= b, feeds()) == std::vector<double>{0, 1, 1, 0});
    CHECK(run(a == b, feeds()) == std::vector<double>{0, 1, 0, 0});
    CHECK(run(a != b, feeds()) == std::vector<double>{1, 0, 1, 1});
    CHECK(run(equal(a, 2), feeds()) == std::vector<double>{0, 1, 0, 0});
    CHECK(run(a > 1 && a < 3, feeds()) == std::vector<double>{0, 1, 0, 0});
    CHECK(run(a < 2 || a > 2, feeds()) == std::vector<double>{1, 0, 1, 0});
    CHECK(run(!(a < 2), feeds()) == std::vector<double>{0, 1, 1, 1});
    CHECK(run(logical_xor(a > 1, b == 2), feeds()) == std::vector<double>{1, 0, 0, 0});
    CHECK(run(is_nan(a), feeds()) == std::vector<double>{0, 0, 0, 1});
    CHECK(run(is_finite(a) & is_inf(a / 0), feeds()) == std::vector<double>{1, 1, 1, 0});
    CHECK(run(is_close(a, b + 1e-7), feeds()) == std::vector<double>{0, 1, 0, 0});
}

TEST_CASE("integers wrap around, divide towards zero, and give 0 when divided by zero") {
    const graph_scope scope{graph()};
    auto a = placeholder<std::int8_t, shape<5>>(), b = placeholder<std::int8_t, shape<5>>();
    const auto feeds = [&] {
        return fed(a, numbers<std::int8_t>(extents(5), {100, -7, 7, -128, 5}), b,
                   numbers<std::int8_t>(extents(5), {100, 2, -2, -1, 0}));
    };
    CHECK(run(a + b, feeds()) == std::vector<double>{-56, -5, 5, 127, 5});
    CHECK(run(a / b, feeds()) == std::vector<double>{1, -3, -3, -128, 0});
    CHECK(run(a % b, feeds()) == std::vector<double>{0, 1, -1, 0, 0});
    CHECK(run(fmod(a, b), feeds()) == std::vector<double>{0, -1, 1, 0, 0});
    CHECK(run(floor_divide(a, b), feeds()) == std::vector<double>{1, -4, -4, -128, 0});
    CHECK(run((a & 15) | (b ^ 1), feeds()) == std::vector<double>{101, 11, -1, -2, 5});
    CHECK(run(~a, feeds()) == std::vector<double>{-101, 6, -8, 127, -6});
    CHECK(run(a << 1, feeds()) == std::vector<double>{-56, -14, 14, 0, 10});
    CHECK(run(a >> 1, feeds()) == std::vector<double>{50, -4, 3, -64, 2});
    CHECK(run(pow<3>(b), feeds()) == std::vector<double>{64, 8, -8, -1, 0});
    CHECK(run(pow<-1>(b), feeds()) == std::vector<double>{0, 0, 0, -1, 0});
    CHECK(run(cast<float>(a) / 2, feeds()) == std::vector<double>{50, -3.5, 3.5, -64, 2.5});
}

TEST_CASE("conversions drop fractions, saturate, and take anything but 0 as true") {
    auto x = placeholder<float, shape<6>>();
    const auto feeds = [&] { return fed(x, numbers<float>(extents(6), {1.9, -1.9, 300, -1e10, not_a_number, 0})); };
    CHECK(run(cast<std::int32_t>(x), feeds()) == std::vector<double>{1, -1, 300, -2147483648.0, 0, 0});
    CHECK(run(cast<std::uint8_t>(x), feeds()) == std::vector<double>{1, 0, 255, 0, 0, 0});
    CHECK(run(cast<bool>(x), feeds()) == std::vector<double>{1, 1, 1, 1, 1, 0});
    CHECK(run(cast<float>(cast<bfloat16>(x)), feeds())[0] == 1.8984375);
}

TEST_CASE("half and bfloat16 are computed in float and rounded once") {
    auto h = placeholder<half, shape<2>>();
    auto f = placeholder<bfloat16, shape<2>>();
    // 2049 is no half; 2049 - 2048 computed in halves would be 0.
    CHECK(run((h + 1) - 2048, fed(h, numbers<half>(extents(2), {2048, 1}))) == std::vector<double>{1, -2046});
    CHECK(run(f * f, fed(f, numbers<bfloat16>(extents(2), {1.5, -3}))) == std::vector<double>{2.25, 9});
}

TEST_CASE("a temporary is fused, a name is a node, once") {
    const own_graph g;
    auto x = placeholder<float, shape<batch, 4>>();
    auto y = placeholder<float, shape<4>>();
    const std::int64_t before = g.size();
    detail::as_tensor(relu(x * y + 1) * sigmoid(y - x));
    CHECK(g.size() == before + 1);
    auto h = x + y;
    detail::as_tensor(h * h + exp(h));
    CHECK(g.size() == before + 3);
    detail::as_tensor(h * h + exp(h));
    CHECK(g.size() == before + 3);
    detail::as_tensor(mish(x * y));
    CHECK(g.size() == before + 4);
}

TEST_CASE("gradients of fused expressions, with broadcast operands") {
    CHECK(check_gradients([](auto a, auto x, auto b, auto c) { return relu(a * x + b) * sigmoid(c - x); },
                          input<shape<3, 4>>(), input<shape<3, 4>>(), input<shape<4>>(), input<shape<3, 1>>()) == "");
    CHECK(check_gradients([](auto a, auto b) { return tanh(a) * a + b * b * a; }, input<shape<dyn, 5>>(2, 5),
                          input<shape<>>()) == "");
    CHECK(check_gradients([](auto a, auto b) { return a * a + square(b) / a; }, given(input<shape<2>>(), {1.5, -0.75}),
                          input<shape<batch, 2>>(3, 2)) == "");
}

TEST_CASE("second derivatives of fused expressions") {
    CHECK(check_gradients(
              [](auto a, auto b) {
                  const auto y = detail::as_tensor(tanh(a * b) * exp(b));
                  const auto d = detail::add_gradients({y}, {a, b});
                  return as<double, shape<2, 3>>(d[0]) * as<double, shape<3>>(d[1]);
              },
              input<shape<2, 3>>(), input<shape<3>>()) == "");
}

TEST_CASE("the gradient of an operand that occurs twice is one tensor") {
    const own_graph g;
    auto x = placeholder<double, shape<2>>();
    const auto y = detail::as_tensor(x * x);
    const std::int64_t before = g.size();
    const auto dx = detail::add_gradients({y}, {x});
    session s(g);
    const auto v = s.run_untyped(fed(x, numbers<double>(extents(2), {3, -5})), {dx[0]});
    CHECK(v[0].data<double>()[0] == 6);
    CHECK(v[0].data<double>()[1] == -10);
    CHECK(g.size() <= before + 3);
}

TEST_CASE("lgamma has gradients of every order: the gradient of digamma is trigamma, and so on") {
    const auto x = given(input<shape<dyn, 2>>(2, 2), {0.4, 1.5, -1.7, 12});
    const auto order = given(input<shape<2, 1>>(), {0, 2});
    CHECK(check_gradients([](auto a) { return digamma(a) + trigamma(a) * a; }, x) == "");
    CHECK(check_gradients([](auto n, auto a) { return polygamma(round(n), a) + n; }, order, x) == "");
    const graph_scope scope{graph()};
    auto y = placeholder<double, shape<4>>();
    any_tensor slope = detail::as_tensor(lgamma(y));
    const std::vector<double> at{0.25, 1, 7, -2.5};
    for (int n = 0; n < 5; ++n) {
        slope = detail::add_gradients({slope}, {y})[0];
        const auto got = run(as<double, shape<4>>(slope) * 1, fed(y, numbers<double>(extents(4), at)));
        const auto want = run(polygamma(n, y), fed(y, numbers<double>(extents(4), at)));
        for (std::size_t i = 0; i < 4; ++i) CHECK(got[i] == doctest::Approx(want[i]).epsilon(1e-14));
    }
}

TEST_CASE("untyped functions run the same rules and say the same words") {
    const graph_scope scope{graph()};
    auto a = placeholder<float, shape<3, 4>>("a");
    auto b = placeholder<float, shape<5>>("b");
    auto i = placeholder<std::int32_t, shape<4>>("i");
    CHECK_THROWS_WITH_AS(untyped::add(a, b), "add: sizes do not broadcast: [3, 4] x [5] (inputs a b)",
                         invalid_argument_error);
    CHECK_THROWS_WITH_AS(untyped::multiply(a, i),
                         doctest::Contains("multiply: element types differ: float[3, 4] x int32[4]"),
                         invalid_argument_error);
    CHECK_THROWS_WITH_AS(untyped::exp(i), doctest::Contains("exp: element type must be float"), invalid_argument_error);
    CHECK_THROWS_WITH_AS(untyped::logical_not(a), doctest::Contains("logical_not: element type must be bool"),
                         invalid_argument_error);
    CHECK_THROWS_WITH_AS(detail::add_instruction(opcode::add, {a}),
                         doctest::Contains("add: takes 2 operands, 1 are given"), invalid_argument_error);
    const any_tensor c = untyped::select(untyped::greater(i, 2), untyped::cast(i, element_type::float32),
                                         untyped::scalar(0.5, element_type::float32));
    session s;
    const auto v = s.run_untyped(fed(i, numbers<std::int32_t>(extents(4), {1, 2, 3, 4})), {c});
    CHECK(v[0].data<float>()[0] == 0.5F);
    CHECK(v[0].data<float>()[2] == 3);
}

TEST_CASE("a tape that is not sound is refused with the reason") {
    const graph_scope scope{graph()};
    auto x = placeholder<float, shape<2>>("x");
    tape t;
    t.add_input(element_type::float32);
    t.emit_input(0);
    t.add_output(3, element_type::float32);
    CHECK_THROWS_WITH_AS(detail::add_fused(std::make_shared<const tape>(t), {}, {x}),
                         doctest::Contains("an output's register is out of range"), invalid_argument_error);
    t.outputs[0].reg = 0;
    CHECK_THROWS_WITH_AS(detail::add_fused(std::make_shared<const tape>(t), {5}, {x}),
                         doctest::Contains("0 constants, 1 are given"), invalid_argument_error);
    CHECK_THROWS_WITH_AS(detail::add_fused(std::make_shared<const tape>(t), {}, {x, x}),
                         doctest::Contains("1 inputs, 2 are given"), invalid_argument_error);
}
