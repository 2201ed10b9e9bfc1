#include "tests.hpp"
#include "runtime/support.hpp"

// check_numerics: the first node whose result is not finite.

using namespace probe;

TEST_CASE_FIXTURE(in_graph,
                  "check_numerics names the first node that made a number that is not finite, not those after it") {
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    const tn::tensor<float, tn::shape<3>> fine = x * 2.0f;
    const auto logarithm = tn::identity(log(fine), "logarithm");
    const auto after = sum(exp(logarithm) + logarithm);
    tn::session checking(tn::session_options{.check_numerics = true}), careless;
    const tn::array<float> bad{1, -2, 3}, good{1, 2, 3};
    const std::string text = message_of<tn::invalid_argument_error>([&] { checking.run(tn::feed(x, bad), after); });
    CHECK(contains(
        text,
        "check_numerics: element 1 of output 0, float[3], is the first in this step that is not a finite number"));
    CHECK(contains(text, "[node log (log)"));
    CHECK(checking.run(tn::feed(x, good), after).item() == careless.run(tn::feed(x, good), after).item());
    CHECK(careless.run(tn::feed(x, bad), after).item() != 0); // without the option nothing is said
}

TEST_CASE_FIXTURE(in_graph, "check_numerics names what is fed and constants before the nodes that compute with them") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    const tn::array<float, tn::shape<3>> bad{1, nan, 3}, good{1, 2, 3};
    const auto c = tn::constant({1.0f, 2.0f, nan});
    tn::session s(tn::session_options{.check_numerics = true});
    CHECK(message_of<tn::invalid_argument_error>([&] { s.run(tn::feed(x, bad), exp(x) * 2.0f); }) ==
          "check_numerics: element 1 of what is fed for x, float[3], is not a finite number");
    CHECK(message_of<tn::invalid_argument_error>([&] { s.run(tn::feed(x, good), x * c); }) ==
          "check_numerics: element 2 of the constant " + c.name() + ", float[3], is not a finite number");
    CHECK(s.run(tn::feed(x, good), x + 1.0f)(0) == 2);
}

TEST_CASE_FIXTURE(in_graph, "check_numerics: a variable keeps its value where the new one is not finite") {
    const auto w = tn::variable<float, tn::shape<4>>("w", tn::constant_value(2));
    const auto loss = sum(square(w)) * 100.0f;
    const tn::operation train = tn::gradient_descent(1e38f).minimize(loss);
    initialized_session s(tn::session_options{.check_numerics = true});
    CHECK_THROWS_AS(s.run(train), tn::invalid_argument_error);
    for (int i = 0; i < 4; ++i) CHECK(s.run(w)(i) == 2);
    CHECK(s.run(w.assign_add(1.0f))(3) == 3);
}

TEST_CASE("check_numerics sees through fusion and folding, in every floating type") {
    const auto named = []<class T>(T) {
        const own_graph g;
        const auto c = tn::constant(static_cast<T>(0.0f));
        const auto zero = tn::identity(c, "zero");
        const auto bad = reciprocal(zero); // infinite; of constants alone
        const auto end = bad * c + c;
        tn::session s(tn::session_options{.check_numerics = true});
        return message_of<tn::invalid_argument_error>([&] { s.run(end); });
    };
    for (const std::string& text : {named(float{}), named(double{}), named(tn::half{}), named(tn::bfloat16{})}) {
        CAPTURE(text);
        CHECK(contains(text, "[node reciprocal (reciprocal)"));
    }
}

TEST_CASE_FIXTURE(in_graph, "check_numerics holds for callables, and integers and bools are never looked at") {
    const auto x = tn::placeholder<float>("x");
    const auto root = sqrt(x);
    const auto y = is_nan(root);
    const auto n = tn::placeholder<std::int32_t>("n");
    tn::session s(tn::session_options{.check_numerics = true});
    const auto f = s.callable(tn::feeds(x), tn::fetches(y));
    CHECK_FALSE(std::get<0>(f(4.0f)).item());
    CHECK_THROWS_AS(f(-4.0f), tn::invalid_argument_error);
    CHECK(s.run(tn::feed(n, -1), n * n).item() == 1);
}
