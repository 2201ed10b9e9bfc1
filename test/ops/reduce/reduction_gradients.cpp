#include <doctest/doctest.h>

#include <vector>

#include <tenon/core/array/array.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/runtime/session/session.hpp>

#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"

using namespace tenon;
using test::check_gradients;
using test::drawn;
using test::input;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

} // namespace

// The gradients of ops/reduce/reduction.hpp.

TEST_CASE("reductions: gradients agree with central differences") {
    const auto all_of = [](auto reduce) {
        CHECK(check_gradients(reduce, drawn(input<shape<7>>(), test::values::distinct)) == "");
        CHECK(check_gradients(reduce, drawn(input<shape<4, 5>>(), test::values::distinct)) == "");
        CHECK(check_gradients(reduce, drawn(input<shape<batch, 5>>(4, 5), test::values::distinct)) == "");
        CHECK(check_gradients(reduce, drawn(input<shape<2, dyn, 3>>(2, 4, 3), test::values::distinct)) == "");
    };
    all_of([](const auto& x) { return sum(x); });
    all_of([](const auto& x) { return sum<0>(x); });
    all_of([](const auto& x) { return sum<-1>(x, keepdims); });
    all_of([](const auto& x) { return mean(x); });
    all_of([](const auto& x) { return mean<-1>(x); });
    all_of([](const auto& x) { return mean<0>(x, keepdims); });
    all_of([](const auto& x) { return max(x); });
    all_of([](const auto& x) { return max<-1>(x); });
    all_of([](const auto& x) { return min<0>(x, keepdims); });
    all_of([](const auto& x) { return prod<0>(x); });
    all_of([](const auto& x) { return prod<-1>(x, keepdims); });
    all_of([](const auto& x) { return logsumexp<-1>(x); });
    all_of([](const auto& x) { return logsumexp(x); });
    all_of([](const auto& x) { return variance<-1>(x); });
    all_of([](const auto& x) { return variance(x, ddof{1}); });
    all_of([](const auto& x) { return standard_deviation<0>(x, keepdims); });
    all_of([](const auto& x) { return norm<2, -1>(x); });
    all_of([](const auto& x) { return norm<1>(x); });
    all_of([](const auto& x) { return norm<largest_magnitude, 0>(x); });
    CHECK(check_gradients([](const auto& x) { return sum<0, 2>(x); }, input<shape<2, 3, 4>>()) == "");
    CHECK(check_gradients([](const auto& x) { return logsumexp<0, 2>(x); }, input<shape<2, 3, 4>>()) == "");
    CHECK(check_gradients([](const auto& x) { return max<0, 2>(x); },
                          drawn(input<shape<2, 3, 4>>(), test::values::distinct)) == "");
}

TEST_CASE("prod: its gradient is right where elements are zero") {
    const auto product = [](const auto& x) { return prod<1>(x); };
    CHECK(check_gradients(product, given(input<shape<3, 3>>(), {1, 0, 2, 0, 3, 0, 2, 3, 4})) == "");
}

TEST_CASE("min, max: elements that share the value share the gradient") {
    const graph g;
    const graph_scope scope(g);
    const auto x = constant(array<double, shape<4>>{3, 1, 3, 3});
    session s(g);
    const auto [dx] = gradients(max(x), x);
    const auto v = s.run(dx);
    CHECK(v(0) == doctest::Approx(1.0 / 3));
    CHECK(v(1) == 0);
    CHECK(v(3) == doctest::Approx(1.0 / 3));
}

TEST_CASE("norm: the gradient at zero is zero") {
    const graph g;
    const graph_scope scope(g);
    const auto x = constant(array<double, shape<2>>{0, 0});
    session s(g);
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
    const graph g;
    const graph_scope scope(g);
    const auto x = constant(array<double, shape<4>>{0, 2, 0, 5});
    any_tensor y = prod(x);
    for (int i = 0; i < 4; ++i) y = untyped::sum(tenon::gradients(y, {x})[0]);
    session s(g);
    CHECK(*s.run(y).data<double>() == 24);
    CHECK(*s.run(untyped::sum(tenon::gradients(y, {x})[0])).data<double>() == 0);
}

TEST_CASE_TEMPLATE("prod: second derivatives of narrow types are computed in float", T, float, half, bfloat16) {
    const graph g;
    const graph_scope scope(g);
    const auto x = placeholder<T, shape<3>>();
    const auto [dx] = gradients(prod(x), x);
    const auto [ddx] = gradients(sum(dx), x);
    session s(g);
    const auto v = s.run(feed(x, array<T>{2, 3, 0}), ddx);
    CHECK(static_cast<float>(v[0]) == 3); // y + z
    CHECK(static_cast<float>(v[1]) == 2);
    CHECK(static_cast<float>(v[2]) == 5);
}

TEST_CASE("gradients of gradients: sum, max, min, logsumexp, variance, norms") {
    const auto second = [](auto f) {
        return [f](const auto& x) {
            const auto [dx] = gradients(f(x), x);
            return sum(detail::as_tensor(elementwise<opcode::multiply>(dx, dx)));
        };
    };
    CHECK(check_gradients(second([](const auto& x) { return sum(elementwise<opcode::exp>(x)); }), input<shape<3>>()) ==
          "");
    CHECK(check_gradients(second([](const auto& x) { return logsumexp(x); }), input<shape<4>>()) == "");
    CHECK(check_gradients(second([](const auto& x) { return variance(x); }), input<shape<4>>()) == "");
    CHECK(check_gradients(second([](const auto& x) { return norm<2>(x); }), input<shape<4>>()) == "");
    const auto cubed = [&](auto f) {
        return second([f](const auto& x) {
            const auto y = f(x);
            return sum(y * y * y);
        });
    };
    const auto all_of = [&](const auto& in) {
        CHECK(check_gradients(cubed([](const auto& x) { return max<1>(x); }), in) == "");
        CHECK(check_gradients(cubed([](const auto& x) { return min<0>(x, keepdims); }), in) == "");
        CHECK(check_gradients(cubed([](const auto& x) { return norm<1, 1>(x); }), in) == "");
        CHECK(check_gradients(cubed([](const auto& x) { return norm<largest_magnitude, 0>(x); }), in) == "");
        CHECK(check_gradients(cubed([](const auto& x) { return standard_deviation<1>(x); }), in) == "");
        CHECK(check_gradients(cubed([](const auto& x) { return logsumexp<0>(x); }), in) == "");
        CHECK(check_gradients(cubed([](const auto& x) { return l2_normalize<1>(x); }), in) == "");
    };
    all_of(drawn(input<shape<3, 4>>(), test::values::distinct));
    all_of(drawn(input<shape<batch, dyn>>(3, 4), test::values::distinct));
}
