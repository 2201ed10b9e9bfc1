#include "../check_gradients.hpp"
#include "elementwise_support.hpp"

using namespace elementwise_test;

TEST_CASE("activations follow their papers") {
    unary(
        "leaky_relu", [](const any_tensor& x) { return untyped::leaky_relu(x, 0.125); },
        [](double x) { return x > 0 ? x : 0.125 * x; }, usual);
    unary(
        "elu", UNTYPED(elu), [](double x) { return x > 0 ? x : std::expm1(x); }, usual);
    unary(
        "elu of alpha", [](const any_tensor& x) { return untyped::elu(x, 0.5); },
        [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }, usual);
    unary(
        "selu", UNTYPED(selu),
        [](double x) {
            constexpr double alpha = 1.6732632423543772, scale = 1.0507009873554805;
            return scale * (x > 0 ? x : alpha * std::expm1(x));
        },
        usual);
    unary(
        "celu", [](const any_tensor& x) { return untyped::celu(x, 2); },
        [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }, usual);
    unary(
        "gelu", UNTYPED(gelu), [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, usual);
    unary(
        "gelu_tanh", UNTYPED(gelu_tanh),
        [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))); },
        usual);
    unary(
        "silu", UNTYPED(silu), [](double x) { return x / (1 + std::exp(-x)); }, usual);
    unary(
        "swish", UNTYPED(swish), [](double x) { return x / (1 + std::exp(-x)); }, usual);
    unary(
        "hard_sigmoid", UNTYPED(hard_sigmoid), [](double x) { return std::fmin(std::fmax(x + 3, 0), 6) / 6; }, usual);
    unary(
        "hard_swish", UNTYPED(hard_swish), [](double x) { return x * std::fmin(std::fmax(x + 3, 0), 6) / 6; }, usual);
    unary(
        "softsign", UNTYPED(softsign), [](double x) { return x / (1 + std::fabs(x)); }, usual);
    unary(
        "mish", UNTYPED(mish), [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, usual);
    unary("tanh_shrink", UNTYPED(tanh_shrink), [](double x) { return x - std::tanh(x); }, {-2.5, -1, 1, 3});
}

TEST_CASE("formulas of one number") {
    unary("logit", UNTYPED(logit), [](double p) { return std::log(p / (1 - p)); }, {0.01, 0.25, 0.625, 0.9});
    unary("sinc", UNTYPED(sinc),
          [](double x) { return x == 0 ? 1 : std::sin(std::acos(-1.0) * x) / (std::acos(-1.0) * x); },
          {-2.5, -0.3, 0, 1e-3, 0.25, 0.5, 1.75});
    unary(
        "reciprocal_no_nan", UNTYPED(reciprocal_no_nan), [](double x) { return x == 0 ? 0 : 1 / x; }, special);
    unary("ndtr", UNTYPED(ndtr), [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); },
          {-20, -9, -1, 0, 0.5, 3});
    unary("deg2rad", UNTYPED(deg2rad), [](double x) { return x / 180 * std::acos(-1.0); }, {-720, -45, 0, 1, 90});
    unary(
        "rad2deg", UNTYPED(rad2deg), [](double x) { return x * 180 / std::acos(-1.0); }, usual);
    unary(
        "log_sigmoid", UNTYPED(log_sigmoid), [](double x) { return -std::log1p(std::exp(-x)); }, usual);
    const auto same = [](double x) { return x; };
    unary("erfinv", [](const any_tensor& x) { return untyped::erfinv(untyped::erf(x)); }, same,
          {-0.7, -0.01, 0, 0.3, 0.8});
    unary("erfcinv", [](const any_tensor& x) { return untyped::erfcinv(untyped::erfc(x)); }, same,
          {-0.7, 0.1, 1, 5, 9});
    unary("ndtri", [](const any_tensor& x) { return untyped::ndtri(untyped::ndtr(x)); }, same, {-12, -2, -0.3, 0, 1});
    unary(
        "relu6", UNTYPED(relu6), [](double x) { return std::isnan(x) ? x : std::fmin(std::fmax(x, 0), 6); }, special);
    unary(
        "clip", [](const any_tensor& x) { return untyped::clip(x, -1, 1.5); },
        [](double x) { return std::isnan(x) ? x : std::fmin(std::fmax(x, -1), 1.5); }, special);
    unary(
        "soft_shrink", UNTYPED(soft_shrink),
        [](double x) { return x > 0.5    ? x - 0.5
                              : x < -0.5 ? x + 0.5
                              : x != x   ? x
                                         : 0; }, special);
    unary(
        "hard_shrink", [](const any_tensor& x) { return untyped::hard_shrink(x, 1.5); },
        [](double x) { return std::fabs(x) <= 1.5 ? 0 : x; }, special);
    unary(
        "threshold", [](const any_tensor& x) { return untyped::threshold(x, 0.25, 20); },
        [](double x) { return x <= 0.25 ? 20 : x; }, special);
    unary(
        "hard_tanh", UNTYPED(hard_tanh), [](double x) { return std::fmin(std::fmax(x, -1), 1); }, usual);
}

TEST_CASE("formulas of two numbers, with a column and a row broadcast") {
    binary("floor_divide", UNTYPED2(floor_divide), [](double a, double b) { return std::floor(a / b); }, usual,
           {-2, -0.75, 3});
    binary(
        "divide_no_nan", UNTYPED2(divide_no_nan), [](double a, double b) { return b == 0 ? 0 : a / b; }, usual, usual);
    binary(
        "squared_difference", UNTYPED2(squared_difference), [](double a, double b) { return (a - b) * (a - b); }, usual,
        positive);
    binary("xlogy", UNTYPED2(xlogy), [](double x, double y) { return x == 0 ? 0 : x * std::log(y); }, {0, 0.5, 2},
           {0, 0.5, 3});
    binary("xlog1py", UNTYPED2(xlog1py), [](double x, double y) { return x == 0 ? 0 : x * std::log1p(y); }, {0, 0.5, 2},
           {-1, 0.5, 3});
    binary("xdivy", UNTYPED2(xdivy), [](double x, double y) { return x == 0 ? 0 : x / y; }, {0, 0.5, 2}, {0, 0.5, 3});
    binary("copysign", UNTYPED2(copysign), [](double a, double b) { return std::copysign(a, b); }, special,
           {-infinity, -2, -0.0, 0, 3, infinity});
    binary(
        "heaviside", UNTYPED2(heaviside), [](double x, double h) { return x == 0  ? h
                                                                          : x < 0 ? 0
                                                                          : x > 0 ? 1
                                                                                  : x; },
        special, usual);
    binary(
        "multiply_no_nan", UNTYPED2(multiply_no_nan), [](double a, double b) { return b == 0 ? 0 : a * b; }, special,
        special);
    binary("betaln", UNTYPED2(betaln),
           [](double a, double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }, positive,
           {0.5, 1, 2.25, 9});
    // SciPy's at 0 and infinity, where the sum is of infinities.
    binary("betaln", UNTYPED2(betaln), [](double a, double b) { return a == 0 || b <= 0 ? infinity : -infinity; },
           {0, infinity}, {-0.5, -0.0, 0, 1, 2.5, 3});
    binary(
        "fmin", UNTYPED2(fmin), [](double a, double b) { return std::fmin(a, b); }, special, special);
    binary(
        "fmax", UNTYPED2(fmax), [](double a, double b) { return std::fmax(a, b); }, special, special);
    const std::vector<double> far{-infinity, -800, 0.5, 800, infinity}, near_far{-infinity, -801, 0.25, 800, infinity};
    binary(
        "logaddexp", UNTYPED2(logaddexp),
        [](double a, double b) {
            return a == b ? a + std::log(2.0) : std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
        },
        far, near_far);
    binary(
        "logaddexp2", UNTYPED2(logaddexp2),
        [](double a, double b) {
            return a == b ? a + 1 : std::fmax(a, b) + std::log2(1 + std::exp2(-std::fabs(a - b)));
        },
        far, near_far);
    binary("is_close", UNTYPED2(is_close), [](double a, double b) { return std::fabs(a - b) < 1e-7 ? 1.0 : 0.0; },
           {-1, 2, 3, not_a_number}, {-1 + 1e-9, 2.1, 3, not_a_number});
    binary(
        "lerp", [](const any_tensor& a, const any_tensor& b) { return untyped::lerp(a, b, 0.25); },
        [](double a, double b) { return a + 0.25 * (b - a); }, usual, positive);
}

TEST_CASE("1 // 0.1 is 9, and 1 // -infinity is -1, as in Python") {
    auto x = placeholder<double, shape<2>>();
    const auto fed_x = fed(x, numbers<double>(extents(2), {1.0, -3.0}));
    CHECK(run(floor_divide(x, 0.1), fed_x) == std::vector<double>{9, -30});
    CHECK(run(floor_divide(x, infinity), fed_x) == std::vector<double>{0, -1});
    CHECK(run(floor_divide(x, -infinity), fed_x) == std::vector<double>{-1, 0});
}

TEST_CASE_FIXTURE(in_graph, "floor_divide of all int8: as of wider integers, also where a - a % b is none") {
    auto a = placeholder<std::int8_t, shape<256, 1>>();
    auto b = placeholder<std::int8_t, shape<1, 256>>();
    array<std::int8_t, shape<256, 1>> down;
    array<std::int8_t, shape<1, 256>> right;
    for (int i = 0; i < 256; ++i) down(i, 0) = right(0, i) = static_cast<std::int8_t>(i - 128);
    session s;
    const auto typed = detail::as_tensor(floor_divide(a, b));
    const auto untyped = as<std::int8_t, shape<256, 256>>(untyped::floor_divide(any_tensor(a), any_tensor(b)));
    const auto [got, twin] = s.run(feed(a, down), feed(b, right), typed, untyped);
    int wrong = 0;
    for (int i = -128; i < 128; ++i)
        for (int j = -128; j < 128; ++j) {
            const auto expected =
                static_cast<std::int8_t>(j == 0 ? 0 : static_cast<int>(std::floor(static_cast<double>(i) / j)));
            wrong += got(i + 128, j + 128) != expected || twin(i + 128, j + 128) != expected;
        }
    CHECK(wrong == 0);
}

TEST_CASE_FIXTURE(in_graph, "nan_to_num: finite numbers of the tensor's own type") {
    const auto check = [](auto x, double most) {
        using T = typename decltype(x)::element_type;
        CHECK(run(nan_to_num(x), fed(x, numbers<T>(extents(4), {-infinity, 1.5, infinity, not_a_number}))) ==
              std::vector<double>{-most, 1.5, most, 0});
        CHECK(run(nan_to_num(x, 7), fed(x, numbers<T>(extents(4), {0, 0, 0, not_a_number})))[3] == 7);
    };
    check(placeholder<double, shape<4>>(), std::numeric_limits<double>::max());
    check(placeholder<float, shape<4>>(), static_cast<double>(std::numeric_limits<float>::max()));
    check(placeholder<half, shape<4>>(), 65504);
}

TEST_CASE_FIXTURE(in_graph, "copysign and signbit see the sign of -0") {
    auto x = placeholder<float, shape<2>>();
    const auto signs = run(copysign(0, x), fed(x, numbers<float>(extents(2), {-0.0, 0.0})));
    CHECK(std::signbit(signs[0]));
    CHECK(!std::signbit(signs[1]));
    CHECK(run(signbit(x), fed(x, numbers<float>(extents(2), {-0.0, 0.0}))) == std::vector<double>{1, 0});
    CHECK(run(signbit(x), fed(x, numbers<float>(extents(2), {-infinity, 2}))) == std::vector<double>{1, 0});
}

TEST_CASE("what a composite function uses twice is computed once") {
    auto x = placeholder<float, shape<4>>(), y = placeholder<float, shape<4>>();
    const auto t = detail::as_tensor(softsign(exp(x * y)));
    const auto a = decode<fused_op::attributes>(t.node()->attributes);
    CHECK(a.tape->input_count == 2);
    int exps = 0;
    for (int r = 0; r < a.tape->length; ++r) exps += a.tape->code[r].op == opcode::exp;
    CHECK(exps == 1);
}

TEST_CASE("gradients of formulas, with operands of other sizes too") {
    namespace u = untyped;
    using in = const std::vector<any_tensor>&;
    const test::untyped_input x{extents(2, 3), {}, {-2.5, -1.1, -0.2, 0.3, 1.2, 2.6}};
    const test::untyped_input p{extents(2, 3), {}, {0.1, 0.2, 0.35, 0.5, 0.75, 0.9}};
    const test::untyped_input row{extents(3), {}, {0.15, 0.4, 0.8}}, column{extents(2, 1), {}, {0.7, 0.25}};
    const auto one = [&](any_tensor (*f)(in)) { CHECK(test::check_untyped_gradients(f, {x}) == ""); };
    const auto two = [&](any_tensor (*f)(in)) {
        for (const auto& second : {p, row, column}) CHECK(test::check_untyped_gradients(f, {x, second}) == "");
    };
    one([](in a) { return u::elu(a[0], 0.7); });
    one([](in a) { return u::selu(a[0]) + u::celu(a[0], 0.5); });
    one([](in a) { return u::gelu(a[0]) + u::gelu_tanh(a[0]); });
    one([](in a) { return u::silu(a[0]) + u::mish(a[0]) + u::softsign(a[0]); });
    one([](in a) { return u::hard_swish(a[0]) + u::hard_sigmoid(a[0]) + u::relu6(a[0]); });
    one([](in a) { return u::log_sigmoid(a[0]) + u::tanh_shrink(a[0]) + u::square(a[0]); });
    one([](in a) { return u::leaky_relu(a[0], 0.1) + u::clip(a[0], -2, 2); });
    one([](in a) { return u::sinc(a[0]) + u::deg2rad(a[0]) + u::rad2deg(a[0]) + u::nan_to_num(a[0]); });
    one([](in a) { return u::soft_shrink(a[0]) + u::hard_shrink(a[0]) * a[0] + u::threshold(a[0], 0.1, 2); });
    two([](in a) { return u::logit(a[1]) * a[0] + u::erfinv(a[1]) * u::erfcinv(a[1]); });
    two([](in a) { return u::prelu(a[0], a[1]) + u::gelu(a[0]) * u::elu(a[0], a[1]); });
    two([](in a) { return u::xlogy(a[0], a[1]) + u::xdivy(a[0], a[1]) + u::xlog1py(a[0], a[1]); });
    two([](in a) { return u::logaddexp(a[0], a[1]) + u::lerp(a[0], a[1], 0.25) + u::lerp(a[0], a[1], a[0]); });
    two([](in a) { return u::divide_no_nan(a[0], a[1]) + u::squared_difference(a[0], a[1]); });
    two([](in a) { return u::ndtr(a[0]) + u::ndtri(a[1]) * u::betaln(a[0] * a[0], a[1]); });
    two([](in a) { return u::multiply_no_nan(a[0], a[1]) + u::reciprocal_no_nan(a[0]); });
    two([](in a) { return u::logaddexp2(a[0], a[1]) + u::fmin(a[0], a[1]) * u::fmax(a[1], a[0]); });
    two([](in a) { return u::copysign(a[0], a[1] - 0.3) * a[0] + u::heaviside(a[0], a[1]); });
    two([](in a) { return u::clip(a[0], -a[1], a[1] * 2.2) + u::select(a[0] > a[1], a[0] * a[1], a[1]); });
}

TEST_CASE_FIXTURE(in_graph, "no NaN comes from a value that was not chosen") {
    auto x = placeholder<double, shape<3>>(), y = placeholder<double, shape<3>>();
    const auto slope = [&](const any_tensor& f) {
        const auto dx = detail::add_gradients({f}, {x, y});
        session s;
        const auto values = s.run_untyped(
            fed(x, numbers<double>(extents(3), {0, 800, -800}), y, numbers<double>(extents(3), {0, 800, -800})),
            {dx[0], dx[1]});
        std::vector<double> all;
        for (const any_array& v : values)
            for (int i = 0; i < 3; ++i) all.push_back(v.data<double>()[i]);
        return all;
    };
    CHECK(slope(detail::as_tensor(elu(x)))[1] == 1);
    CHECK(slope(detail::as_tensor(celu(x, 1)))[1] == 1);
    CHECK(slope(detail::as_tensor(xdivy(x, y)))[0] == 0);
    CHECK(slope(detail::as_tensor(divide_no_nan(x, y)))[0] == 0);
    const auto of_log = slope(detail::as_tensor(logaddexp(x, y)));
    CHECK(of_log[1] == 0.5);
    CHECK(of_log[4] == 0.5);
    for (const double d : slope(detail::as_tensor(log_sigmoid(x) + mish(y) + gelu(x)))) CHECK(std::isfinite(d));
}

namespace {

// Of the sum of f(a, b), a number each: its slopes in a and b, and the second ones in a and b of the first of them.
struct slopes_of_two {
    double a, b, aa, ab;
};
template <class F> slopes_of_two slopes_at(const F& f, double a, double b) {
    const graph_scope scope{graph()};
    const auto x = placeholder<double>(), y = placeholder<double>();
    const std::vector<any_tensor> both{x, y}, first = detail::add_gradients({detail::as_tensor(f(x, y))}, both),
                                              second = detail::add_gradients({first[0]}, both);
    session s;
    const auto values = s.run_untyped(fed(x, numbers<double>(extents(), {a}), y, numbers<double>(extents(), {b})),
                                      {first[0], first[1], second[0], second[1]});
    const auto value = [&](std::size_t i) { return *values[i].data<double>(); };
    return {value(0), value(1), value(2), value(3)};
}

} // namespace

// The numbers are those of PyTorch in float64, or of the formula.
TEST_CASE("slopes of what is made 0 where a factor is 0 are those of the product, where these are finite") {
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const auto logs = [](const auto& x, const auto& y) { return xlogy(x, y); };
    CHECK(slopes_at(logs, 0, 0.5).a == doctest::Approx(-0.69314718055994529));
    CHECK(slopes_at(logs, 0, 0.5).b == 0);
    CHECK(slopes_at(logs, 0, 0.5).ab == 2);
    for (const double y : {0.0, -3.0, inf, nan}) {
        CAPTURE(y);
        for (const double slope : {slopes_at(logs, 0, y).a, slopes_at(logs, 0, y).b, slopes_at(logs, 0, y).ab})
            CHECK(slope == 0);
    }
    const auto logs_of_more = [](const auto& x, const auto& y) { return xlog1py(x, y); };
    CHECK(slopes_at(logs_of_more, 0, 1).a == doctest::Approx(0.69314718055994529));
    CHECK(slopes_at(logs_of_more, 0, -1).a == 0);
    const auto quotient = [](const auto& x, const auto& y) { return xdivy(x, y); };
    CHECK(slopes_at(quotient, 0, 4).a == 0.25);
    CHECK(slopes_at(quotient, 0, 4).ab == -0.0625);
    CHECK(slopes_at(quotient, 0, 0).a == 0);
    const auto product = [](const auto& x, const auto& y) { return multiply_no_nan(y, x); };
    CHECK(slopes_at(product, 0, 3).a == 3);
    CHECK(slopes_at(product, 0, inf).a == 0);
}

TEST_CASE("slopes of sinc are exact near 0") {
    const auto f = [](const auto& x, const auto& y) { return sinc(x) + y; };
    constexpr double third = -3.2898681336964528729; // -pi^2 / 3
    CHECK(slopes_at(f, 0, 0).a == 0);
    CHECK(slopes_at(f, 0, 0).aa == doctest::Approx(third).epsilon(1e-14));
    CHECK(slopes_at(f, 5e-324, 0).aa == doctest::Approx(third).epsilon(1e-14));
    CHECK(slopes_at(f, 1e-8, 0).a == doctest::Approx(1e-8 * third).epsilon(1e-14));
    const double known[][3]{{0.05, -0.16408789296847296007, -3.2655516040338543421},
                            {-0.0795, 0.25991667503455561907, -3.2285313742451574252},
                            {0.08, -0.26153074815846604053, -3.2277603277781291926},
                            {0.3, -0.90202813013888881948, -2.4584852862661742298}};
    for (const auto& row : known) {
        CAPTURE(row[0]);
        CHECK(slopes_at(f, row[0], 0).a == doctest::Approx(row[1]).epsilon(1e-13));
        CHECK(slopes_at(f, row[0], 0).aa == doctest::Approx(row[2]).epsilon(1e-13));
    }
    CHECK(std::isfinite(slopes_at(f, 1e200, 0).a));
}

TEST_CASE("the slope of a remainder counts as often as it was taken away, also where the quotient is rounded up") {
    const auto mods = [](const auto& a, const auto& b) { return a % b; };
    const auto fmods = [](const auto& a, const auto& b) { return fmod(a, b); };
    CHECK(slopes_at(mods, 1, 0.1).b == -9);
    CHECK(slopes_at(mods, -1, 0.1).b == 10);
    CHECK(slopes_at(mods, 7.5, -2).b == 4);
    CHECK(slopes_at(fmods, 1, 0.1).b == -9);
    CHECK(slopes_at(fmods, -1, 0.1).b == 9);
    CHECK(slopes_at(fmods, 3, std::numeric_limits<double>::infinity()).b == 0);
    // Where nothing can be taken away, as PyTorch 2 has it.
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (const double a : {3.0, -3.0})
        for (const double zero : {0.0, -0.0}) {
            const double slope = std::signbit(a) == std::signbit(zero) ? -inf : inf;
            CHECK(slopes_at(mods, a, zero).a == 1);
            CHECK(slopes_at(mods, a, zero).b == slope);
            CHECK(slopes_at(fmods, a, zero).a == 1);
            CHECK(slopes_at(fmods, a, zero).b == slope);
        }
    CHECK(std::isnan(slopes_at(fmods, 0, 0).b));
}

TEST_CASE("slopes of pow are finite for an exponent of 0 and a base that is not positive") {
    const auto f = [](const auto& a, const auto& b) { return pow(a, b); };
    for (const double a : {0.0, -0.0, 2.0, -2.0}) {
        CAPTURE(a);
        CHECK(slopes_at(f, a, 0).a == 0);
        CHECK(slopes_at(f, a, 0).aa == 0);
    }
    CHECK(slopes_at(f, 0, 1).a == 1);
    CHECK(slopes_at(f, 0, 1).aa == 0);
    CHECK(slopes_at(f, 0, 2).aa == 2);
    CHECK(slopes_at(f, 4, 0).ab == 0.25); // d / db of b a^(b - 1)
    CHECK(slopes_at(f, 0, -1).b == 0);
    CHECK(slopes_at(f, -2, 0.5).b == 0);
}
