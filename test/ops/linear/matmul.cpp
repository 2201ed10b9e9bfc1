#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"
#include "ops/linear/product_checks.hpp"

using namespace tenon;
using test::check_gradients;
using test::input;
using test::random_array;

namespace {

template <class... F> any_array run(const any_tensor& t, F... fed) {
    session s(graph(t.node()->graph));
    std::vector<fed_value> feeds;
    (feeds.push_back(std::move(fed)), ...);
    return std::move(s.run_untyped(std::move(feeds), {t})[0]);
}

template <class T> void check(const matmul_test::product& p, std::mt19937_64& random) {
    CHECK(matmul_test::check_product<T>("/cpu:0", p, random) == "");
}

} // namespace

TEST_CASE_TEMPLATE("matmul, with bias and relu, equals its formula for matrices, batches, vectors, and what is empty",
                   T, float, double, half, bfloat16, std::int8_t, std::int32_t, std::int64_t) {
    const std::uint64_t seed = matmul_test::fresh_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (const auto& [m, n, k] : {std::array{1, 1, 1}, std::array{3, 5, 7}, std::array{50, 10, 31},
                                  std::array{17, 65, 33}, std::array{64, 48, 128}})
        for (const auto& p : matmul_test::matrix_products(m, n, k)) check<T>(p, random);
    for (const auto& p : matmul_test::batch_products()) check<T>(p, random);
    for (const auto& p : matmul_test::empty_products()) check<T>(p, random);
}

TEST_CASE("matmul: int8 is multiplied and summed exactly, in int32, also in sums that are longer than floats have") {
    const std::uint64_t seed = matmul_test::fresh_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto size = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random() % most); };
    for (int i = 0; i < 40; ++i)
        for (const auto& p : matmul_test::matrix_products(size(70), size(70), size(i % 4 == 0 ? 700 : 40)))
            if (!p.bias) check<std::int8_t>(p, random);
    for (int i = 0; i < 6; ++i) {
        const std::int64_t m = size(9), n = size(9), k = 1024 * size(3) + (i == 0 ? 0 : size(900)), p = size(3);
        check<std::int8_t>({extents(m, k), extents(k, n)}, random);
        check<std::int8_t>({extents(p, k, m), extents(p, n, k), true, true}, random);
        check<std::int8_t>({extents(k, m), extents(p, k, n), true}, random);
        check<std::int8_t>({extents(p, 1, m, k), extents(1, p, n, k), false, true}, random);
        check<std::int8_t>({extents(k), extents(k)}, random);
    }
}

TEST_CASE_FIXTURE(in_graph, "matmul: sums of int8 are exact up to the end of int32 and wrap around beyond it") {
    const auto x = placeholder<std::int8_t, shape<dyn>>("x"), y = placeholder<std::int8_t, shape<dyn>>("y");
    const tensor<std::int32_t, shape<>> dot = matmul(x, y);
    session s(graph::current());
    const auto least = [](std::int64_t k) {
        any_array a(element_type::int8, extents(k));
        for (std::int64_t i = 0; i < k; ++i) a.data<std::int8_t>()[i] = -128;
        return a;
    };
    CHECK(s.run(dot, feed(x, least(131071)), feed(y, least(131071))).item() == (131071 << 14));
    CHECK(s.run(dot, feed(x, least(131072)), feed(y, least(131072))).item() ==
          std::numeric_limits<std::int32_t>::min());
    CHECK(s.run(dot, feed(x, least(262145)), feed(y, least(262145))).item() == 1 << 14);
}

TEST_CASE_FIXTURE(in_graph, "matmul: a bias of int32, and relu, may follow a product of int8") {
    const auto x = constant(array<std::int8_t, shape<2, 2>>{{127, -128}, {-128, -128}});
    const auto w = constant(array<std::int8_t, shape<2, 3>>{{127, -128, 1}, {-128, -128, 0}});
    const auto b = constant(array<std::int32_t, shape<3>>{100000, -1, -200});
    session s(graph::current());
    CHECK(s.run(matmul(x, w) + b) == array<std::int32_t, shape<2, 3>>{{132513, 127, -73}, {100128, 32767, -328}});
    CHECK(s.run(relu(matmul(x, w) + b)) == array<std::int32_t, shape<2, 3>>{{132513, 127, 0}, {100128, 32767, 0}});
    CHECK_ERROR(invalid_argument_error, "element type is not supported", untyped::matmul_bias(x, w, b, false));
}

TEST_CASE_FIXTURE(in_graph, "matmul: sizes that only the run knows are checked there, in the words of the compiler") {
    const auto a = placeholder<float, shape<dyn, dyn>>("a");
    const auto b = placeholder<float, shape<dyn, 10>>("b");
    const auto c = matmul(a, b);
    session s(graph::current());
    CHECK_ERROR(
        invalid_argument_error, "matmul: inner dimensions differ: [4, 784] x [300, 10]",
        s.run(c, feed(a, random_array<float>(extents(4, 784))), feed(b, random_array<float>(extents(300, 10)))));
    CHECK_ERROR(invalid_argument_error, "element types differ: float[2, 3] x double[3, 2]",
                untyped::matmul(untyped::placeholder(element_type::float32, extents(2, 3)),
                                untyped::placeholder(element_type::float64, extents(3, 2))));
    CHECK_ERROR(invalid_argument_error, "rank is too low",
                untyped::matmul(untyped::placeholder(element_type::float32, {}),
                                untyped::placeholder(element_type::float32, extents(3, 2))));
}

TEST_CASE("check_gradients finds a wrong gradient and says where") {
    // stop_gradient hides half of the derivative of x * x.
    const std::string found =
        check_gradients([](const auto& x) { return matmul(x, stop_gradient(x)); }, input<shape<3>>());
    CHECK(contains(found, "input 0 double[3], element"));
    CHECK(contains(found, "central difference"));
    CHECK(contains(check_gradients([](const auto& x, const auto& y) { return matmul(x, stop_gradient(y)); },
                                   input<shape<3>>(), input<shape<3>>()),
                   "input 1"));
}

TEST_CASE("matmul: the gradient of a matrix that a whole batch is multiplied with is one product of all rows") {
    const auto check_slopes = [](const extents& a, const extents& b, bool ta = false, bool tb = false) {
        CHECK(test::check_untyped_gradients(
                  [=](const auto& x) { return untyped::square(untyped::matmul(x[0], x[1], ta, tb)); }, {{a}, {b}}) ==
              "");
    };
    check_slopes({2, 3, 4}, {4, 5});
    check_slopes({2, 3, 2, 4}, {4});
    check_slopes({2, 3, 4}, {5, 4}, false, true);
    check_slopes({2, 4, 3}, {4, 5}, true);
    const graph_scope scope{graph()};
    const any_tensor a = untyped::placeholder(element_type::float32, {0, 3, 4}),
                     b = untyped::placeholder(element_type::float32, {4, 5});
    const any_tensor db = untyped::gradients(untyped::sum(untyped::matmul(a, b)), {a, b})[1];
    CHECK(db.node()->op->name == std::string("matmul"));
    CHECK(run(db, fed_value{a, random_array<float>({0, 3, 4})}, fed_value{b, random_array<float>({4, 5})}).elements() ==
          20);
    for (const extents& sizes : {extents(2, 0, 0), extents(0, 0, 0), extents(2, 3, 0)}) {
        const any_tensor x = untyped::placeholder(element_type::float32, {extent{}, extent{}, extent{}}),
                         w = untyped::placeholder(element_type::float32, {0, 5});
        const any_tensor dw = untyped::gradients(untyped::sum(untyped::matmul(x, w)), {w})[0];
        CHECK(run(dw, fed_value{x, any_array(element_type::float32, sizes)},
                  fed_value{w, any_array(element_type::float32, {0, 5})})
                  .extents() == extents(0, 5));
    }
}
