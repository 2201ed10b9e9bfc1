#include "tests.hpp"

using tn::array, tn::shape, tn::extents;

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE_TEMPLATE("dropout keeps the part 1 - rate of the elements, scaled by 1 / (1 - rate)", T, float, double,
                   tn::half, tn::bfloat16) {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<T, shape<batch, 100>>("x");
    const tn::tensor<T, shape<batch, 100>> y = tn::dropout(x, 0.75, 3);
    tn::session s(tn::graph::current());
    const auto a = s.run(tn::feed(x, array<T>::full({1000, 100}, T(1.5F))), y);
    double kept = 0;
    for (const T v : a.span()) {
        REQUIRE((v == T(0.0F) || v == T(6.0F)));
        kept += v != T(0.0F);
    }
    CHECK(kept / 1e5 == doctest::Approx(0.25).epsilon(0.02));
}

TEST_CASE("the gradient goes through the mask of the same run, and each run has its own") {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<float, shape<1000>>("x");
    const tn::tensor<float, shape<1000>> y = tn::dropout(x, 0.5, 11);
    const auto [g] = tn::gradients(tn::sum(y * 3), x);
    tn::session s(tn::graph::current());
    array<float> last(extents{1000});
    for (int run = 0; run < 3; ++run) {
        const auto [a, d] = s.run(tn::feed(x, array<float>::full({1000}, 1.0F)), y, g);
        for (std::int64_t i = 0; i < 1000; ++i) REQUIRE(d[i] == 3 * a[i]);
        CHECK_FALSE(a == last);
        last = array<float>(a.untyped().copy());
    }
}

TEST_CASE_TEMPLATE("the gradient has x's sizes, static, dynamic and named", S, shape<5, 40>, shape<tn::dyn, 40>,
                   shape<batch, tn::dyn>) {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<double, S>("x");
    const auto row = tn::placeholder<double, shape<40>>("row");
    const tn::tensor<double, S> y = tn::dropout(x * row, 0.25, 3);
    const auto [dx, drow] = tn::gradients(tn::sum(y * y), x, row);
    tn::session s(tn::graph::current());
    const auto [v, d, r] = s.run(tn::feed(x, tn::any_array(array<double>::full({5, 40}, 2.0))),
                                 tn::feed(row, tn::any_array(array<double>::full({40}, 3.0))), y, dx, drow);
    REQUIRE(d.extents() == extents(5, 40));
    for (std::int64_t j = 0; j < 40; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < 5; ++i) {
            CHECK((v(i, j) == 0 || v(i, j) == 8));                  // 2 * 3 / (1 - 1/4)
            CHECK(d(i, j) == 2 * v(i, j) * (v(i, j) == 0 ? 0 : 4)); // 3 / (1 - 1/4)
            sum += d(i, j) * 2 / 3;
        }
        CHECK(r(j) == doctest::Approx(sum));
    }
}

TEST_CASE("SEMANTICS 21: same seeds give the same mask") {
    const auto mask = [](std::uint64_t graph_seed, std::uint64_t seed) {
        const tn::graph_scope scope{tn::graph()};
        tn::graph::current().set_seed(graph_seed);
        const auto x = tn::placeholder<float, shape<200>>("x");
        const tn::tensor<float, shape<200>> y = tn::dropout(x, 0.5, seed);
        tn::session s(tn::graph::current());
        return s.run(tn::feed(x, array<float>::full({200}, 1.0F)), y);
    };
    CHECK(mask(1, 2) == mask(1, 2));
    CHECK_FALSE(mask(1, 2) == mask(1, 3));
    CHECK_FALSE(mask(1, 2) == mask(2, 2));
}

TEST_CASE("with `training` false, x goes through unchanged, and so does its gradient") {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<float, shape<batch, 3>>("x");
    const auto training = tn::placeholder<bool>("training");
    const tn::tensor<float, shape<batch, 3>> y = tn::dropout(x, 0.9, training, 5);
    const auto [g] = tn::gradients(tn::sum(y), x);
    tn::session s(tn::graph::current());
    const auto ones = array<float>::full({100, 3}, 1.0F);
    const auto [a, d] = s.run(tn::feed(x, ones), tn::feed(training, false), y, g);
    CHECK(a == ones);
    CHECK(d == ones);
    const auto [b, e] = s.run(tn::feed(x, ones), tn::feed(training, true), y, g);
    double kept = 0;
    for (std::int64_t i = 0; i < 300; ++i) {
        CHECK(b[i] == e[i]);
        kept += b[i] != 0;
        if (b[i] != 0) CHECK(b[i] == doctest::Approx(10));
    }
    CHECK(kept > 5);
    CHECK(kept < 80);
}

TEST_CASE("rate 0 changes nothing; what is dropped is 0 even where x is not finite") {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<float, shape<64>>("x");
    const tn::tensor<float, shape<64>> same = tn::dropout(x, 0), half = tn::dropout(x, 0.5, 1);
    const auto [g] = tn::gradients(tn::sum(half), x);
    tn::session s(tn::graph::current());
    const auto ones = array<float>::full({64}, 1.0F);
    CHECK(s.run(tn::feed(x, ones), same) == ones);
    const auto [a, d] = s.run(tn::feed(x, array<float>::full({64}, std::numeric_limits<float>::infinity())), half, g);
    for (std::int64_t i = 0; i < 64; ++i) {
        CHECK((a[i] == 0 || std::isinf(a[i])));
        CHECK((d[i] == 0 || d[i] == 2));
    }
    CHECK(s.run(tn::feed(x, ones), tn::untyped::dropout(x, 0.0)) == ones);
}

TEST_CASE_FIXTURE(in_graph, "random truth values") {
    const auto a = tn::random_bernoulli<shape<10'000>>(0.2, 1);
    const auto x = tn::placeholder<std::int64_t, shape<batch>>("x");
    const auto b = tn::random_bernoulli_like(x, 1.0, 1);
    tn::session s(tn::graph::current());
    const auto [va, vb] = s.run(tn::feed(x, array<std::int64_t>(extents{7})), a, b);
    double count = 0;
    for (const bool v : va.span()) count += v;
    CHECK(count / 10'000 == doctest::Approx(0.2).epsilon(0.1));
    CHECK(vb == array<bool>{true, true, true, true, true, true, true});
}

TEST_CASE_FIXTURE(in_graph, "a rate outside of [0, 1) is refused where it is written") {
    const auto x = tn::placeholder<float, shape<3>>("x");
    CHECK_THROWS_AS(tn::dropout(x, 1), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::dropout(x, -0.1), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::dropout(x, std::nan("")), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::random_bernoulli<shape<3>>(1.5), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::dropout(x, 2), tn::invalid_argument_error);
}
