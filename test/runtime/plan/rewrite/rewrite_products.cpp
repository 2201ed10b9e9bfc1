#include "tests.hpp"
#include "ops/random/random_arrays.hpp"

// A step down a gradient that is a product is taken by the product.

namespace {

// Steps down the sum of (x w) d, whose gradient is x' d, for x [Terms, Rows] and d [Terms, Columns].
template <class T, int Rows, int Columns, int Terms> struct steps_down {
    const own_graph g;
    tn::variable_tensor<T, tn::shape<Rows, Columns>> w = tn::variable<T, tn::shape<Rows, Columns>>("w", tn::ones());
    tn::tensor<T, tn::shape<Terms, Rows>> x = tn::placeholder<T, tn::shape<Terms, Rows>>("x");
    tn::tensor<T, tn::shape<Terms, Columns>> d = tn::placeholder<T, tn::shape<Terms, Columns>>("d");
    tn::operation train = tn::gradient_descent(0.25).minimize(tn::sum(tn::matmul(x, w) * d));
    tn::array<T, tn::shape<Terms, Rows>> x_values{tn::test::random_array<T>({Terms, Rows}, 1)};
    tn::array<T, tn::shape<Terms, Columns>> d_values{tn::test::random_array<T>({Terms, Columns}, 2)};
    tn::session s;

    explicit steps_down(int threads = 1) : s({.intra_op_threads = threads, .use_per_session_threads = true}) {
        s.run(tn::initialize_variables());
    }
    // Whether the product adds, by what the plan says it runs.
    bool adds() {
        const std::vector<std::string> order = s.report(train, tn::feed(x, x_values), tn::feed(d, d_values)).order;
        return std::any_of(order.begin(), order.end(),
                           [](const std::string& node) { return node.find("(matmul_add)") != std::string::npos; });
    }
    void step() { s.run(train, tn::feed(x, x_values), tn::feed(d, d_values)); }
    void check(int steps) {
        const auto got = s.run(w);
        for (std::int64_t i = 0; i < Rows; i += 7)
            for (std::int64_t k = 0; k < Columns; k += 5) {
                double sum = 0;
                for (std::int64_t t = 0; t < Terms; ++t)
                    sum += static_cast<double>(x_values(t, i)) * static_cast<double>(d_values(t, k));
                REQUIRE(static_cast<double>(got(i, k)) == doctest::Approx(1 - 0.25 * sum * steps).epsilon(1e-4));
            }
    }
};

} // namespace

TEST_CASE("a step down a product is taken where the variable lies, on any number of threads") {
    for (const int threads : {1, 2, 5}) {
        CAPTURE(threads);
        steps_down<float, 300, 70, 50> m(threads);
        CHECK(m.adds());
        m.step();
        m.step();
        m.check(2);
    }
}

TEST_CASE("a variable's value that somebody holds stays what it was where a product adds to it") {
    steps_down<float, 300, 70, 50> m;
    const auto held = m.s.run(m.w);
    const auto before = m.s.run(m.w, m.train, tn::feed(m.x, m.x_values), tn::feed(m.d, m.d_values));
    CHECK(std::all_of(held.begin(), held.end(), [](float v) { return v == 1; }));
    CHECK(std::all_of(before.begin(), before.end(), [](float v) { return v == 1; }));
    m.check(1);
}

TEST_CASE("small products, large ones, those of many terms and those of doubles are added in a pass of their own") {
    const auto check = [](auto&& m) {
        CHECK_FALSE(m.adds());
        m.step();
        m.check(1);
    };
    check(steps_down<float, 30, 20, 50>());
    check(steps_down<float, 1000, 300, 10>());
    check(steps_down<float, 300, 70, 100>());
    check(steps_down<double, 300, 70, 50>());
}
