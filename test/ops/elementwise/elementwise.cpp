#include "../check_gradients.hpp"
#include "elementwise_support.hpp"

using namespace elementwise_test;
using test::check_gradients;
using test::given;
using test::input;

TEST_CASE_FIXTURE(in_graph, "polygamma: constants") {
    const double pi = std::acos(-1.0), zeta_3 = 1.2020569031595942854;
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

TEST_CASE_FIXTURE(in_graph, "the types of choices, where one of them is a number") {
    auto a = placeholder<float, shape<3>>();
    auto p = placeholder<bool, shape<3>>();
    static_assert(std::is_same_v<decltype(a < 1)::element_type, bool>);
    static_assert(std::is_same_v<decltype(select(p, 1.0f, -1.0f))::element_type, float>);
    static_assert(std::is_same_v<decltype(select(p, 1, 0.5))::element_type, double>);
    static_assert(std::is_same_v<decltype(select(p, true, false))::element_type, bool>);
    CHECK(run(where(p, 1.0f, -1.5f) + a, fed(a, numbers<float>(extents(3), {1, 2, 3}), p,
                                             numbers<bool>(extents(3), {1, 0, 1}))) == std::vector<double>{2, 0.5, 4});
}

TEST_CASE_FIXTURE(in_graph, "integers wrap around, divide towards zero, and give 0 when divided by zero") {
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
    CHECK(run(pow<5>(b), feeds()) == std::vector<double>{0, 32, -32, -1, 0});
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

TEST_CASE_FIXTURE(in_graph, "a temporary is fused, a name is a node, once") {
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

TEST_CASE_FIXTURE(in_graph, "the gradient of an operand that occurs twice is one tensor") {
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

TEST_CASE_FIXTURE(in_graph, "untyped functions run the same rules and say the same words") {
    auto a = placeholder<float, shape<3, 4>>("a");
    auto b = placeholder<float, shape<5>>("b");
    auto i = placeholder<std::int32_t, shape<4>>("i");
    CHECK_THROWS_WITH_AS(untyped::add(a, b), "add: sizes do not broadcast: [3, 4] x [5] (inputs a b)",
                         invalid_argument_error);
    CHECK_ERROR(invalid_argument_error, "multiply: element types differ: float[3, 4] x int32[4]",
                untyped::multiply(a, i));
    CHECK_ERROR(invalid_argument_error, "exp: element type must be float", untyped::exp(i));
    CHECK_ERROR(invalid_argument_error, "logical_not: element type must be bool", untyped::logical_not(a));
    CHECK_ERROR(invalid_argument_error, "add: takes 2 operands, 1 are given",
                detail::add_instruction(opcode::add, {a}));
    const any_tensor c = untyped::select(untyped::greater(i, 2), untyped::cast(i, element_type::float32),
                                         untyped::scalar(0.5, element_type::float32));
    session s;
    const auto v = s.run_untyped(fed(i, numbers<std::int32_t>(extents(4), {1, 2, 3, 4})), {c});
    CHECK(v[0].data<float>()[0] == 0.5F);
    CHECK(v[0].data<float>()[2] == 3);
}

TEST_CASE_FIXTURE(in_graph, "a tape that is not sound is refused with the reason") {
    auto x = placeholder<float, shape<2>>("x");
    tape t;
    t.add_input(element_type::float32);
    t.emit_input(0);
    t.add_output(3, element_type::float32);
    CHECK_ERROR(invalid_argument_error, "an output's register is out of range",
                detail::add_fused(std::make_shared<const tape>(t), {}, {x}));
    t.outputs[0].reg = 0;
    CHECK_ERROR(invalid_argument_error, "0 constants, 1 are given",
                detail::add_fused(std::make_shared<const tape>(t), {5}, {x}));
    CHECK_ERROR(invalid_argument_error, "1 inputs, 2 are given",
                detail::add_fused(std::make_shared<const tape>(t), {}, {x, x}));
}
