#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"

using namespace tenon;
using test::check_gradients;
using test::input;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

} // namespace

// The gradients of ops/reduce/reduction.hpp.

TEST_CASE("prod: its gradient is right where elements are zero") {
    const auto product = [](const auto& x) { return prod<1>(x); };
    CHECK(check_gradients(product, given(input<shape<3, 3>>(), {1, 0, 2, 0, 3, 0, 2, 3, 4})) == "");
}

TEST_CASE_FIXTURE(in_graph, "min, max: elements that share the value share the gradient") {
    const auto x = constant(array<double, shape<4>>{3, 1, 3, 3});
    session s;
    const auto [dx] = gradients(max(x), x);
    const auto v = s.run(dx);
    CHECK(v(0) == doctest::Approx(1.0 / 3));
    CHECK(v(1) == 0);
    CHECK(v(3) == doctest::Approx(1.0 / 3));
}

TEST_CASE_FIXTURE(in_graph, "logsumexp: no NaN comes from a result that is infinite") {
    const auto x = placeholder<double, shape<2, 2>>("x");
    const auto [dx] = gradients(sum(logsumexp<1>(x)), x);
    session s;
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const auto v = s.run(feed(x, array<double, shape<2, 2>>{{-infinite, -infinite}, {0, 0}}), dx);
    CHECK(v(0, 0) == 0);
    CHECK(v(1, 1) == doctest::Approx(0.5));
}

TEST_CASE_FIXTURE(in_graph, "norm: the gradient at zero is zero") {
    const auto x = constant(array<double, shape<2>>{0, 0});
    session s;
    const auto [dx] = gradients(norm<2>(x), x);
    CHECK(s.run(dx) == array<double, shape<2>>{0, 0});
}

TEST_CASE("prod: second and third derivatives, also where elements are zero") {
    const auto second = [](auto f) {
        return [f](const auto& x) {
            const auto y = f(x);
            const auto [dx] = gradients(sum(y * y), x); // of which the gradient of prod is not constant
            return dx;
        };
    };
    const auto third = [](const auto& x) {
        const auto [dx] = gradients(sum(prod<1>(x)), x);
        const auto [ddx] = gradients(sum(dx * dx), x);
        return ddx;
    };
    const std::vector<double> zeros{1, 0, 2, 0, 3, 0, 2, 3, 4, 0, 0, 0}; // no, one, two, three of a row
    const auto rows = [](const auto& x) { return prod<1>(x); };
    const auto all = [](const auto& x) { return prod(x); };
    const auto outer = [](const auto& x) { return prod<0, -1>(x, keepdims); };
    for (const auto& in : {input<shape<4, 3>>(), given(input<shape<4, 3>>(), zeros)}) {
        CHECK(check_gradients(second(rows), in) == "");
        CHECK(check_gradients(second(all), in) == "");
        CHECK(check_gradients(second(outer), in) == "");
        CHECK(check_gradients(third, in) == "");
    }
    CHECK(check_gradients(second(rows), given(input<shape<batch, dyn>>(4, 3), zeros)) == "");
    CHECK(check_gradients(third, given(input<shape<dyn, dyn>>(4, 3), zeros)) == "");
    CHECK(check_gradients(second(outer), input<shape<batch, 2, dyn>>(2, 2, 3)) == "");
    CHECK(check_gradients(second([](const auto& x) { return prod<0>(broadcast_to<shape<3, 2>>(x)); }),
                          given(input<shape<2>>(), {0, 1.5})) == "");
    CHECK(check_gradients(second([](const auto& x) { return prod(x); }), input<shape<>>()) == "");
    CHECK(check_gradients(second(rows), input<shape<batch, 3>>(0, 3)) == "");
    // Of every order: d4 (a b c d) / da db dc dd = 1, and the next is 0.
    const graph_scope scope{graph()};
    const auto x = constant(array<double, shape<4>>{0, 2, 0, 5});
    any_tensor y = prod(x);
    for (int i = 0; i < 4; ++i) y = untyped::sum(tenon::gradients(y, {x})[0]);
    session s;
    CHECK(*s.run(y).data<double>() == 24);
    CHECK(*s.run(untyped::sum(tenon::gradients(y, {x})[0])).data<double>() == 0);
}

TEST_CASE_TEMPLATE("prod: second derivatives of narrow types are computed in float", T, float, half, bfloat16) {
    const graph_scope scope{graph()};
    const auto x = placeholder<T, shape<3>>();
    const auto [dx] = gradients(prod(x), x);
    const auto [ddx] = gradients(sum(dx), x);
    session s;
    const auto v = s.run(feed(x, array<T>{2, 3, 0}), ddx);
    CHECK(static_cast<float>(v[0]) == 3); // y + z
    CHECK(static_cast<float>(v[1]) == 2);
    CHECK(static_cast<float>(v[2]) == 5);
}

TEST_CASE("the gradients of a standard deviation and a norm that are 0 are 0, of every order") {
    const graph_scope scope{graph()};
    const auto x = placeholder<double, shape<2, 3>>();
    session s;
    for (const any_tensor& y : {any_tensor(standard_deviation<1>(x)), any_tensor(norm<2, 1>(x))}) {
        const any_tensor first = tenon::gradients(untyped::sum(y), {x})[0];
        const any_tensor second = tenon::gradients(untyped::sum(untyped::multiply(first, first)), {x})[0];
        for (const any_tensor& slope : {first, second}) {
            const any_array v = s.run(feed(x, {{0, 0, 0}, {1, 2, 4}}), slope);
            for (int i = 0; i < 3; ++i) CHECK(v.data<double>()[i] == 0);
            CHECK(std::isfinite(v.data<double>()[3]));
        }
        CHECK(s.run(feed(x, {{0, 0, 0}, {1, 2, 4}}), first).data<double>()[3] != 0);
    }
}
