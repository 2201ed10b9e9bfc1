#include "tests.hpp"
#include "../check_gradients.hpp"
#include "elementwise_support.hpp"

using namespace elementwise_test;
using test::check_gradients;
using test::given;
using test::input;

TEST_CASE("1 // 0.1 is 9, as in Python") {
    auto x = placeholder<double, shape<1>>();
    CHECK(run(floor_divide(x, 0.1), fed(x, numbers<double>(extents(1), {1.0})))[0] == 9);
}

TEST_CASE("nan_to_num: finite numbers of the tensor's own type") {
    const graph_scope scope{graph()};
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

TEST_CASE("copysign and signbit see the sign of -0") {
    const graph_scope scope{graph()};
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

TEST_CASE("gradients of composites") {
    const auto x = given(input<shape<6>>(), {-2.5, -1.1, -0.2, 0.3, 1.2, 2.6});
    const auto p = given(input<shape<6>>(), {0.1, 0.2, 0.35, 0.5, 0.75, 0.9});
    CHECK(check_gradients([](auto a) { return elu(a, 0.7); }, x) == "");
    CHECK(check_gradients([](auto a) { return selu(a) + celu(a, 0.5); }, x) == "");
    CHECK(check_gradients([](auto a) { return gelu(a) + gelu_tanh(a); }, x) == "");
    CHECK(check_gradients([](auto a) { return silu(a) + mish(a) + softsign(a); }, x) == "");
    CHECK(check_gradients([](auto a) { return hard_swish(a) + hard_sigmoid(a) + relu6(a); }, x) == "");
    CHECK(check_gradients([](auto a) { return log_sigmoid(a) + tanh_shrink(a) + pow<4>(a); }, x) == "");
    CHECK(check_gradients([](auto a) { return leaky_relu(a, 0.1) + clip(a, -2, 2); }, x) == "");
    CHECK(check_gradients([](auto a) { return logit(a); }, p) == "");
    CHECK(check_gradients([](auto a, auto b) { return xlogy(a, b) + xdivy(a, b) + xlog1py(a, b); }, x, p) == "");
    CHECK(check_gradients([](auto a, auto b) { return logaddexp(a, b) + lerp(a, b, 0.25); }, x, p) == "");
    CHECK(check_gradients([](auto a, auto b) { return divide_no_nan(a, b) + squared_difference(a, b); }, x, p) == "");
    CHECK(check_gradients([](auto a, auto b) { return hypot(a, b) + atan2(a, b) + pow(b, a); }, x, p) == "");
    CHECK(check_gradients([](auto a, auto b) { return select(a > b, a * b, a - b); }, x, p) == "");
    CHECK(check_gradients([](auto a) { return lgamma(a); }, p) == "");
    CHECK(check_gradients([](auto a) { return erfinv(a) * erfcinv(a); }, p) == "");
    CHECK(check_gradients([](auto a, auto b) { return ndtr(a) + ndtri(b) * betaln(a * a, b); }, x, p) == "");
    CHECK(check_gradients([](auto a, auto b) { return multiply_no_nan(a, b) + reciprocal_no_nan(a); }, x, p) == "");
    CHECK(check_gradients([](auto a) { return sinc(a) + deg2rad(a) + rad2deg(a) + nan_to_num(a); }, x) == "");
    CHECK(check_gradients([](auto a) { return soft_shrink(a) + hard_shrink(a) * a + threshold(a, 0.1, 2); }, x) == "");
    CHECK(check_gradients([](auto a, auto b) { return logaddexp2(a, b) + fmin(a, b) * fmax(b, a); }, x, p) == "");
    CHECK(check_gradients([](auto a, auto b) { return copysign(a, b - 0.3) * a + heaviside(a, b); }, x, p) == "");
}

TEST_CASE("gradients of composites over broadcast, dynamic and named sizes") {
    const auto rows = given(input<shape<batch, 3>>(2, 3), {-2.5, -1.1, -0.2, 0.3, 1.2, 2.6});
    const auto some = given(input<shape<dyn, 3>>(2, 3), {0.1, 0.2, 0.35, 0.45, 0.75, 0.9});
    const auto row = given(input<shape<3>>(), {0.15, 0.4, 0.8});
    const auto column = given(input<shape<dyn, 1>>(2, 1), {0.7, 0.25});
    CHECK(check_gradients([](auto a, auto b) { return prelu(a, b) + gelu(a) * elu(a, b); }, rows, row) == "");
    CHECK(check_gradients([](auto a, auto b) { return xlogy(a, b) + logaddexp(a, b) + hypot(a, b); }, rows, column) ==
          "");
    CHECK(check_gradients([](auto a, auto b) { return lerp(a, b, a) + logit(a) + divide_no_nan(b, a); }, some, row) ==
          "");
    CHECK(check_gradients([](auto a, auto b) { return squared_difference(a, b) + pow(b, a) + fmax(a, b); }, some,
                          column) == "");
    CHECK(check_gradients([](auto a, auto b) { return clip(a, -b, b * 2.2) + select(a > b, a * b, b); }, rows, row) ==
          "");
    CHECK(check_gradients([](auto a) { return lgamma(a); }, some) == "");
    CHECK(check_gradients([](auto a) { return lgamma(a) * a; },
                          given(input<shape<batch, 2>>(2, 2), {0.4, 1.5, 3, 12})) == "");
    CHECK(check_gradients([](auto a, auto b) { return lgamma(a + b); }, row, column) == "");
}

TEST_CASE("no NaN comes from a value that was not chosen") {
    const graph_scope scope{graph()};
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
