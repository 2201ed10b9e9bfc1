#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

using namespace tenon;
using test::check_gradients;
using test::element;
using test::input;
using test::random_array;

TEST_CASE_FIXTURE(in_graph, "gather: an index that is out of range fails the step and is named") {
    const auto table = placeholder<float, shape<5, 2>>("table");
    const auto indices = placeholder<std::int64_t, shape<2, 3>>("indices");
    const auto rows = gather(table, indices);
    session s;
    const any_array values = random_array<float>(extents(5, 2));
    const auto with = [&](std::int64_t index) {
        return s.run(rows, feed(table, values),
                     feed(indices, array<std::int64_t, shape<2, 3>>{{0, 1, 2}, {3, index, 4}}));
    };
    CHECK(with(4)(1, 1, 0) == element<float>(values, 8));
    CHECK_ERROR(invalid_argument_error, "index 5 at [1, 1] is out of range for axis 0 of size 5", with(5));
    CHECK_ERROR(invalid_argument_error, "index -1 at [1, 1]", with(-1));
    CHECK(with(0)(1, 1, 1) == element<float>(values, 1)); // the session goes on
}

TEST_CASE_TEMPLATE("gather: along any axis of any element type", T, float, double, half, std::int8_t, bool) {
    for (const int axis : {0, 1, -1}) {
        const graph_scope scope{graph()};
        const any_array x = random_array<T>(extents(4, 5, 6));
        const any_tensor in = untyped::placeholder(element_type_of<T>, extents(extent{}, extent{}, extent{}));
        session s;
        const any_array y =
            std::move(s.run_untyped(test::fed(in, x), {untyped::gather(in, constant({3, 0, 0, 2}), axis)})[0]);
        const std::int64_t wanted[] = {3, 0, 0, 2};
        const int d = axis < 0 ? 2 : axis;
        std::int64_t sizes[] = {4, 5, 6};
        sizes[d] = 4;
        std::int64_t at = 0;
        for (std::int64_t a = 0; a < sizes[0]; ++a)
            for (std::int64_t b = 0; b < sizes[1]; ++b)
                for (std::int64_t c = 0; c < sizes[2]; ++c) {
                    const std::int64_t ia = d == 0 ? wanted[a] : a, ib = d == 1 ? wanted[b] : b,
                                       ic = d == 2 ? wanted[c] : c;
                    REQUIRE(element<T>(y, at++) == element<T>(x, (ia * 5 + ib) * 6 + ic));
                }
    }
}

TEST_CASE("gather: the gradient of many equal indices is their sum, with any number of threads") {
    for (const int threads : {1, 3}) {
        const own_graph g;
        const auto x = placeholder<float, shape<100, 64>>("x");
        const auto indices = placeholder<int, shape<dyn>>("indices");
        const auto [dx] = gradients(sum(gather(x, indices)), x);
        any_array many(element_type::int32, extents(5000));
        std::vector<double> count(100);
        for (std::int64_t i = 0; i < 5000; ++i) {
            const auto k = static_cast<int>(i * i % 97);
            many.data<int>()[i] = k;
            ++count[static_cast<std::size_t>(k)];
        }
        session s(g, {.intra_op_threads = threads, .use_per_session_threads = true});
        const any_array d =
            s.run(dx, feed(x, random_array<float>(extents(100, 64))), feed(indices, many)).untyped().share();
        for (std::int64_t i = 0; i < 6400; ++i)
            REQUIRE(element<float>(d, i) == count[static_cast<std::size_t>(i / 64)]);
    }
}

TEST_CASE("gather: the gradient of very many rows of one key is as good as that of few, dense or sparse") {
    const own_graph g;
    constexpr int n = 1'000'000;
    const auto table = variable<float, shape<10, 3>>("table", zeros());
    const auto keys = placeholder<int, shape<n>>("keys");
    const auto weight = placeholder<float, shape<n, 3>>("weight");
    const auto loss = sum(gather(table, keys) * weight);
    const auto dense = std::get<0>(gradients(loss, table)) * 1.0F;
    const auto step = gradient_descent(1.0F).minimize(loss); // of a sparse gradient
    initialized_session s(g);
    array<int, shape<n>> all;
    array<float, shape<n, 3>> weights;
    double wanted[2][3] = {};
    for (int i = 0; i < n; ++i) {
        all(i) = i % 97 == 0 ? 4 : 7;
        for (int c = 0; c < 3; ++c) {
            weights(i, c) = 0.1F * static_cast<float>(c + 1);
            wanted[all(i) == 7][c] += static_cast<double>(weights(i, c));
        }
    }
    const auto d = s.run(feed(keys, all), feed(weight, weights), dense);
    s.run(feed(keys, all), feed(weight, weights), step);
    const auto stepped = s.run(table);
    for (int c = 0; c < 3; ++c)
        for (const int row : {4, 7}) {
            const double sum = wanted[row == 7][c];
            CHECK(d(row, c) == doctest::Approx(sum).epsilon(1e-5));
            CHECK(stepped(row, c) == doctest::Approx(-sum).epsilon(1e-5));
        }
    CHECK(d(0, 0) == 0);
}

TEST_CASE_TEMPLATE("gather: up to 128 single elements of one key are added up in float, and more in double", Index,
                   std::int32_t, std::int64_t) {
    // Of keys 10, 11, 12 and 40 there are 127, 128, 129 and 128: all have few of 32 together, but for the first three.
    for (const bool crowded : {false, true}) {
        std::vector<int> keys;
        for (const auto& [key, times] :
             {std::pair{10, 127}, std::pair{11, 128}, std::pair{12, 129}, std::pair{40, 128}})
            if (crowded || key == 40) keys.insert(keys.end(), static_cast<std::size_t>(times), key);
        std::shuffle(keys.begin(), keys.end(), std::mt19937(1));
        const auto n = static_cast<std::int64_t>(keys.size());
        auto all = array<Index, shape<dyn>>(n);
        auto g = array<float, shape<dyn>>(n);
        float narrow[64]{};
        double wide[64]{};
        for (std::int64_t i = 0; i < n; ++i) {
            const int key = keys[static_cast<std::size_t>(i)];
            all(i) = key;
            g(i) = 0.1F * static_cast<float>(i % 7 + 1);
            narrow[key] += g(i);
            wide[key] += static_cast<double>(g(i));
        }
        CHECK((!crowded || static_cast<float>(wide[12]) != narrow[12]));
        const own_graph graph;
        const auto x = placeholder<float, shape<64>>("x");
        const auto fed = placeholder<float, shape<dyn>>("g");
        const auto indices = placeholder<Index, shape<dyn>>("indices");
        const any_tensor dx = add<gather_gradient_op>({0}, {fed, indices, x});
        session s(graph);
        const any_array got = s.run(feed(x, array<float, shape<64>>()), feed(fed, g), feed(indices, all), dx);
        for (int key = 0; key < 64; ++key)
            CHECK(element<float>(got, key) == (key == 12 ? static_cast<float>(wide[key]) : narrow[key]));
    }
}

TEST_CASE_TEMPLATE("gather: along the second axis, too, some keys are named by many indices and some by few", T, float,
                   double, half, int) {
    for (const int threads : {1, 2}) {
        const own_graph g;
        const auto x = placeholder<T, shape<2, 50, 70>>("x");
        const auto keys = placeholder<std::int64_t, shape<1000>>("keys");
        const any_tensor ones = untyped::ones_like(gather<1>(x, keys));
        const any_tensor dx = add<gather_gradient_op>({1}, {ones, keys, x});
        array<std::int64_t, shape<1000>> all;
        for (int i = 0; i < 1000; ++i) all(i) = i < 700 ? 3 : i < 860 ? 49 : i % 40;
        session s(g, {.intra_op_threads = threads, .use_per_session_threads = true});
        const any_array got = s.run(feed(x, array<T, shape<2, 50, 70>>()), feed(keys, all), dx);
        for (std::int64_t i = 0; i < got.elements(); ++i)
            REQUIRE(element<T>(got, i) == std::count(all.begin(), all.end(), i / 70 % 50));
    }
}

TEST_CASE_TEMPLATE("sum_equal_rows: rows of equal indices are added up, everywhere or at the first", T, float, double,
                   half, bfloat16) {
    for (const int threads : {1, 3})
        for (const bool once : {false, true}) {
            const own_graph g;
            const any_tensor rows = untyped::placeholder(element_type_of<T>, extents(extent{}, extent{}, 300));
            const any_tensor indices = untyped::placeholder(element_type::int64, extents(extent{}, extent{}));
            const any_tensor sums = add<sum_equal_rows_op>({once}, {rows, indices});
            const any_array values = random_array<T>(extents(40, 10, 300));
            any_array names(element_type::int64, extents(40, 10));
            for (std::int64_t i = 0; i < 400; ++i)
                names.data<std::int64_t>()[i] = i % 5 == 0 ? -3 : (i * i % 97) * 1000000007;
            session s(g, {.intra_op_threads = threads, .use_per_session_threads = true});
            const any_array got = std::move(s.run_untyped(test::fed(rows, values, indices, names), {sums})[0]);
            const auto same = [&](std::int64_t i, std::int64_t j) {
                return names.data<std::int64_t>()[i] == names.data<std::int64_t>()[j];
            };
            for (std::int64_t i = 0; i < 400; ++i) {
                bool first = true;
                for (std::int64_t j = 0; j < i; ++j) first = first && !same(i, j);
                for (const std::int64_t k : {0, 255, 256, 299}) {
                    using C = std::conditional_t<sizeof(T) == 2, float, T>;
                    C sum{};
                    for (std::int64_t j = 0; j < 400; ++j)
                        if (same(i, j)) sum += static_cast<C>(values.data<T>()[j * 300 + k]);
                    REQUIRE(element<T>(got, i * 300 + k) ==
                            (once && !first ? 0 : static_cast<double>(static_cast<T>(sum))));
                }
            }
        }
}

TEST_CASE("gather: texts") {
    const std::string longer = "a text that is longer than fits in place";
    const auto x = constant(array<std::string, shape<2, 2>>{{"a", "b"}, {longer, "d"}});
    session sess;
    const auto rows = sess.run(gather(x, constant({1, 0, 1})));
    CHECK(std::vector<std::string>(rows.begin(), rows.end()) ==
          std::vector<std::string>{longer, "d", "a", "b", longer, "d"});
    const auto column = sess.run(gather<1>(x, constant(1)));
    CHECK(std::vector<std::string>(column.begin(), column.end()) == std::vector<std::string>{"b", "d"});
    CHECK_THROWS_AS((void)sess.run(gather(x, constant({2}))), invalid_argument_error);
}

TEST_CASE("gather: gradients that are joined, and their own, agree with central differences") {
    CHECK(check_gradients(
              [](const auto& x) {
                  const auto once = sum(square(gather(x, constant({{2}, {0}})))) + sum(exp(gather(x, constant(2))));
                  const auto [dx] = gradients(once + sum(gather(x, constant({std::int64_t{1}}))), x);
                  return dx * x;
              },
              input<shape<dyn, 2>>(3, 2)) == "");
}
