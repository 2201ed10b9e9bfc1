#include "ops/check_gradients.hpp"
#include "runtime/every_session.hpp"

// Elements that their values choose, in steps: what comes after them is computed once their sizes are known.

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct kept_rows : tn::dim<"kept"> {} kept;
inline constexpr struct words : tn::dim<"words"> {} words;

} // namespace

TEST_CASE_FIXTURE(in_graph, "boolean_mask: what is computed of what it keeps") {
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    const auto positive = sum<1>(x) > 0.0f;
    const auto rows = tn::boolean_mask<kept>(x, positive); // float[kept, 2]
    const auto means = mean<0>(rows * 2.0f);
    const auto products = matmul(rows, tn::constant({{1.0f, 0.0f, 1.0f}, {0.0f, 1.0f, 1.0f}}));
    in_every_session([&](tn::session& s) {
        const auto values = tn::array<float, tn::shape<batch, 2>>{{1, 2}, {-3, 1}, {3, 4}, {-1, -1}};
        const auto [m, p] = s.run(tn::feed(x, values), means, products);
        CHECK(m(0) == 4);
        CHECK(m(1) == 6);
        CHECK(p.extents() == tn::extents{2, 3});
        CHECK(p(1, 2) == 7);
        // Another step, in which another number is kept; and none.
        CHECK(s.run(tn::feed(x, {{1, 2}}), products).extents() == tn::extents{1, 3});
        CHECK(s.run(tn::feed(x, {{-1, 0}, {0, -2}}), products).extents() == tn::extents{0, 3});
        CHECK(s.run(tn::feed(x, {{-1, 0}, {0, -2}}), sum(rows)).item() == 0);
    });
}

TEST_CASE("boolean_mask: a mask that does not fit rows of which only the step tells how many, is refused") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    const auto rows = tn::boolean_mask<tn::dyn>(x, sum<1>(x) > 0.0f);
    const auto mask = tn::placeholder<bool, tn::shape<tn::dyn, 2>>("mask");
    const auto chosen = tn::boolean_mask<tn::dyn>(rows, mask);
    in_every_session([&](tn::session& s) {
        const auto choose = [&](std::int64_t n) {
            tn::array<bool, tn::shape<tn::dyn, 2>> all(n);
            all.fill(true);
            return s.run(tn::feed(x, {{1, 2}, {-3, 1}, {3, 4}}), tn::feed(mask, all), chosen);
        };
        CHECK(choose(2).extents() == tn::extents{4});
        for (const std::int64_t n : {0, 1, 3, 1000})
            CHECK_ERROR(tn::invalid_argument_error, "sizes differ: [2, 2] x", choose(n));
    });
}

TEST_CASE_FIXTURE(in_session, "one name is one size: what is kept by two masks, and what is fed") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const auto a = tn::placeholder<bool, tn::shape<batch>>("a"), b = tn::placeholder<bool, tn::shape<batch>>("b");
    const auto both = identity(tn::boolean_mask<kept>(x, a) + tn::boolean_mask<kept>(x, b));
    const auto y = tn::placeholder<float, tn::shape<kept>>("y");
    const auto with_fed = identity(tn::boolean_mask<kept>(x, a) * y);
    const auto two = identity(tn::boolean_mask<2>(x, a));
    const auto run = [&](const auto& what, const tn::array<bool, tn::shape<batch>>& second) {
        return s.run(tn::feed(x, {1, 2, 3}), tn::feed(a, {true, false, true}), tn::feed(b, second), what);
    };
    CHECK(run(both, {false, true, true})(1) == 6);
    CHECK_THROWS_AS(run(both, {false, true, false}), tn::invalid_argument_error);
    const auto feeds_a = [&](bool first) { return tn::feed(a, {first, false, true}); };
    CHECK(s.run(tn::feed(x, {1, 2, 3}), feeds_a(true), tn::feed(y, {5, 6}), with_fed)(1) == 18);
    CHECK_THROWS_AS(s.run(tn::feed(x, {1, 2, 3}), feeds_a(true), tn::feed(y, {5}), with_fed),
                    tn::invalid_argument_error);
    CHECK(s.run(tn::feed(x, {1, 2, 3}), feeds_a(true), two)(1) == 3);
    CHECK_THROWS_AS(s.run(tn::feed(x, {1, 2, 3}), feeds_a(false), two), tn::invalid_argument_error);
}

TEST_CASE("the gradient of boolean_mask agrees with differences, and so does its own") {
    using tn::test::check_gradients, tn::test::input;
    const auto mask = [] { return tn::constant({true, false, true, true}); };
    CHECK(check_gradients([&](auto x) { return sum(square(tn::boolean_mask(x, mask()))); }, input<tn::shape<4, 3>>()) ==
          "");
    CHECK(check_gradients([&](auto x) { return tn::boolean_mask<kept>(x, mask()) * 3.0; }, input<tn::shape<4>>()) ==
          "");
    CHECK(check_gradients([&](auto x) { return sum(exp(tn::boolean_mask(x, mask()))); },
                          input<tn::shape<tn::dyn, 2>>(4, 2)) == "");
    CHECK(check_gradients(
              [](auto x) {
                  const bool rows[2][3] = {{true, false, true}, {false, false, true}};
                  return sum(square(tn::boolean_mask(x, tn::constant(rows))));
              },
              input<tn::shape<2, 3, 2>>()) == "");
    CHECK(check_gradients([](auto x) { return sum(square(tn::boolean_mask(x, x > 10.0))); }, // none is kept
                          input<tn::shape<4>>()) == "");
    // Of the second order.
    CHECK(check_gradients(
              [&](auto x) {
                  const auto [by] =
                      gradients(sum(tn::boolean_mask(x, mask()) * square(tn::boolean_mask(x, mask()))), x);
                  return sum(square(by));
              },
              input<tn::shape<4, 3>>()) == "");
}

TEST_CASE_FIXTURE(in_session, "a step trains on the rows that a mask keeps, and the others do not count") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const auto y = tn::placeholder<float, tn::shape<batch>>("y");
    const auto known = y > -100.0f;
    const auto w = tn::variable("w", 0.0f);
    const auto error = tn::boolean_mask<kept>(x, known) * w - tn::boolean_mask<kept>(y, known);
    const auto train = tn::gradient_descent(0.1f).minimize(mean(square(error)));
    s.run(tn::initialize_variables());
    for (int i = 0; i < 100; ++i) s.run(tn::feed(x, {1, 2, 3}), tn::feed(y, {4, -1000, 12}), train);
    CHECK(s.run(w).item() == doctest::Approx(4).epsilon(1e-4));
}

TEST_CASE_FIXTURE(in_graph, "nonzero and gather: what a value's place is used for") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const auto where = tn::nonzero<kept>(x);                               // int64[kept, 1]
    const auto found = tn::gather(x, tn::reshape<tn::shape<kept>>(where)); // float[kept]
    const auto total = sum(found);
    in_every_session([&](tn::session& s) {
        const auto [w, f, t] = s.run(tn::feed(x, {0, 5, 0, 7}), where, found, total);
        CHECK(w(0, 0) == 1);
        CHECK(w(1, 0) == 3);
        CHECK(f(1) == 7);
        CHECK(t.item() == 12);
        CHECK(s.run(tn::feed(x, {0, 0}), found).extents() == tn::extents{0});
    });
}

TEST_CASE_FIXTURE(in_session, "unique: text as numbers, and back") {
    const auto text = tn::placeholder<std::string, tn::shape<batch>>("text");
    const auto [vocabulary, number] = tn::unique<words>(text);
    const auto v = vocabulary;
    const auto n = number;
    const auto twice = n * 2;
    const auto fed = tn::feed(text, tn::array<std::string, tn::shape<batch>>{"to", "be", "or", "not", "to", "be"});
    const auto [known, numbers, doubled] = s.run(fed, v, n, twice);
    CHECK(known.extents() == tn::extents{4});
    CHECK(known(3) == "not");
    CHECK(numbers(4) == 0);
    CHECK(doubled(5) == 2);
    CHECK(s.run(fed, n)(2) == 2); // one of the two is enough
}

TEST_CASE_FIXTURE(in_graph, "choices of constants are made in the step, as all others") {
    const auto few = tn::boolean_mask(tn::constant({1.0f, 2.0f, 3.0f}), tn::constant({true, false, true}));
    const auto total = sum(few);
    in_every_session([&](tn::session& s) {
        CHECK(s.run(few)(1) == 3);
        CHECK(s.run(total).item() == 4);
    });
}

TEST_CASE_FIXTURE(in_session, "a name that a value tells is beside sizes that are fed, and the same or an error") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const auto y = tn::placeholder<float, tn::shape<tn::dyn>>("y");
    const auto n = tn::placeholder<std::int64_t, tn::shape<>>("n");
    const auto total = sum(tn::boolean_mask<kept>(x, x > 0.0f) + y);
    CHECK(s.run(tn::feed(x, {1, -2, 3}), tn::feed(y, {10, 20}), total).item() == 34);
    const auto places = sum(cast<float>(tn::arange_to<kept>(n)) * y);
    CHECK(s.run(tn::feed(n, std::int64_t{3}), tn::feed(y, {1, 10, 100}), places).item() == 210);
    CHECK_THROWS_AS(s.run(tn::feed(n, std::int64_t{2}), tn::feed(y, {1, 10, 100}), places), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_session, "choices after a queue: what is dequeued is sifted, and handed on") {
    const tn::fifo_queue<float> from(20), to(20);
    const auto put = from.enqueue_many(tn::constant({3.0f, -1.0f, 4.0f, -1.0f, 5.0f}));
    const auto five = from.dequeue_many<5>();
    const auto sift = to.enqueue_many(tn::boolean_mask(five, five > 0.0f));
    s.run(put);
    s.run(sift);
    CHECK(s.run(to.size()).item() == 3);
    CHECK(s.run(to.dequeue_many<3>())(1) == 4);
}

TEST_CASE_FIXTURE(in_session, "SEMANTICS 16: what is chosen can be fed") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const auto rows = tn::boolean_mask(x, x > 0.0f);
    const auto total = sum(rows);
    CHECK(s.run(tn::feed(rows, {1, 2, 3, 4}), total).item() == 10);
}
