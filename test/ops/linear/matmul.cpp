#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"

using namespace tenon;
using test::check_gradients;
using test::element;
using test::input;
using test::random_array;

namespace {

template <class... F> any_array run(const any_tensor& t, F... fed) {
    session s(graph(t.node()->graph));
    std::vector<fed_value> feeds;
    (feeds.push_back(std::move(fed)), ...);
    return std::move(s.run_untyped(std::move(feeds), {t})[0]);
}

std::int64_t size_from_end(const extents& e, int k) { return k <= e.rank() ? e[e.rank() - k].size : 1; }

// matmul as its formula has it, for any ranks; summed in Sum.
template <class T, class Sum = double>
std::vector<Sum> naive(const any_array& a, const any_array& b, bool ta, bool tb, const extents& out) {
    const bool row = a.rank() == 1, column = b.rank() == 1;
    const std::int64_t k = ta ? size_from_end(a.extents(), 2) : size_from_end(a.extents(), 1);
    const std::int64_t m = row ? 1 : ta ? size_from_end(a.extents(), 1) : size_from_end(a.extents(), 2);
    const std::int64_t n = column ? 1 : tb ? size_from_end(b.extents(), 2) : size_from_end(b.extents(), 1);
    extents batches = out;
    if (!row) batches.erase(batches.rank() - 1);
    if (!column) batches.erase(batches.rank() - 1);
    const auto matrix = [&](const extents& e, std::int64_t index, std::int64_t matrix_elements) {
        std::int64_t offset = 0, step = matrix_elements;
        for (int i = 1; i <= batches.rank(); ++i) {
            const std::int64_t size = i + 2 <= e.rank() ? e[e.rank() - 2 - i].size : 1;
            const std::int64_t at = index % batches[batches.rank() - i].size;
            index /= batches[batches.rank() - i].size;
            if (size > 1) offset += at * step;
            step *= size;
        }
        return offset;
    };
    std::vector<Sum> c;
    for (std::int64_t p = 0; p < batches.elements(); ++p) {
        const std::int64_t oa = matrix(a.extents(), p, m * k), ob = matrix(b.extents(), p, k * n);
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                Sum sum = 0;
                for (std::int64_t l = 0; l < k; ++l)
                    sum += static_cast<Sum>(a.data<T>()[oa + (ta ? l * m + i : i * k + l)]) *
                           static_cast<Sum>(b.data<T>()[ob + (tb ? j * k + l : l * n + j)]);
                c.push_back(sum);
            }
    }
    return c;
}

template <class T> double tolerance() {
    if constexpr (std::is_same_v<T, double>) return 1e-13;
    else if constexpr (std::is_same_v<T, float>) return 2e-6;
    else if constexpr (std::is_same_v<T, half>) return 1e-3;
    else if constexpr (std::is_same_v<T, bfloat16>) return 8e-3;
    else return 0;
}

template <class T> void check_product(const extents& ea, const extents& eb, bool ta = false, bool tb = false) {
    const graph_scope scope{graph()};
    const any_array a = random_array<T>(ea, 1), b = random_array<T>(eb, 2);
    // Placeholders that know their ranks only: the plan finds the sizes.
    extents unknown_a, unknown_b;
    for (int i = 0; i < ea.rank(); ++i) unknown_a.push_back({});
    for (int i = 0; i < eb.rank(); ++i) unknown_b.push_back({});
    const any_tensor x = untyped::placeholder(element_type_of<T>, unknown_a);
    const any_tensor y = untyped::placeholder(element_type_of<T>, unknown_b);
    const any_array c = run(untyped::matmul(x, y, ta, tb), feed(x, a.share()), feed(y, b.share()));
    const std::vector<double> wanted = naive<T>(a, b, ta, tb, c.extents());
    CAPTURE(to_string(a.type()));
    CAPTURE(to_string(b.type()));
    CAPTURE(ta);
    CAPTURE(tb);
    REQUIRE(static_cast<std::int64_t>(wanted.size()) == c.elements());
    for (std::int64_t i = 0; i < c.elements(); ++i) {
        const double w = wanted[static_cast<std::size_t>(i)];
        const double scale = std::fmax(std::fabs(w), std::sqrt(static_cast<double>(ea[ea.rank() - 1].size)) * 3);
        REQUIRE(std::fabs(element<T>(c, i) - w) <= tolerance<T>() * scale);
    }
}

} // namespace

TEST_CASE("matmul: the example of two small matrices") {
    const graph_scope scope{graph()};
    const auto a = constant(array<int, shape<2, 3>>{{1, 2, 3}, {4, 5, 6}});
    const auto b = constant(array<int, shape<3, 2>>{{1, 2}, {3, 4}, {5, 6}});
    session s(graph::current());
    CHECK(s.run(matmul(a, b)) == array<int, shape<2, 2>>{{22, 28}, {49, 64}});
}

TEST_CASE_TEMPLATE("matmul: equals its formula for matrices, batches and vectors", T, float, double, half, bfloat16,
                   std::int32_t, std::int64_t) {
    for (const bool ta : {false, true})
        for (const bool tb : {false, true})
            for (const auto [m, n, k] : {std::array{1, 1, 1}, std::array{3, 5, 7}, std::array{50, 10, 31},
                                         std::array{17, 65, 33}, std::array{64, 48, 128}})
                check_product<T>(ta ? extents(k, m) : extents(m, k), tb ? extents(n, k) : extents(k, n), ta, tb);
    check_product<T>(extents(7), extents(7));
    check_product<T>(extents(7), extents(7, 5));
    check_product<T>(extents(7), extents(5, 7), false, true);
    check_product<T>(extents(4, 7), extents(7));
    check_product<T>(extents(7, 4), extents(7), true, false);
    check_product<T>(extents(3, 4, 7), extents(7));
    check_product<T>(extents(7), extents(3, 7, 2));
    check_product<T>(extents(6, 3, 4), extents(6, 4, 2));
    check_product<T>(extents(6, 3, 4), extents(4, 2));
    check_product<T>(extents(3, 4), extents(6, 4, 2));
    check_product<T>(extents(6, 4, 3), extents(4, 2), true, false);
    check_product<T>(extents(2, 3, 3, 4), extents(2, 3, 4, 2));
    check_product<T>(extents(2, 1, 3, 4), extents(3, 4, 2));
    check_product<T>(extents(2, 1, 3, 4), extents(1, 3, 4, 2));
    check_product<T>(extents(2, 3, 1, 3, 4), extents(3, 5, 4, 2));
    check_product<T>(extents(2, 1, 3, 4), extents(2, 3, 2, 4), false, true);
}

TEST_CASE("matmul: without elements, or with an empty sum") {
    check_product<float>(extents(0, 3), extents(3, 2));
    check_product<float>(extents(3, 2), extents(2, 0));
    check_product<float>(extents(3, 0), extents(0, 2));
    check_product<double>(extents(3, 0), extents(0, 2));
    check_product<half>(extents(3, 0), extents(0, 2));
    check_product<std::int32_t>(extents(3, 0), extents(0, 2));
    check_product<float>(extents(0, 3, 4), extents(4, 2));
    check_product<float>(extents(0), extents(0, 2));
}

TEST_CASE("matmul: integers wrap around") {
    const graph_scope scope{graph()};
    const auto a = constant(array<std::int32_t, shape<1, 2>>{{1 << 30, 1 << 30}});
    const auto b = constant(array<std::int32_t, shape<2, 1>>{{2}, {2}});
    session s(graph::current());
    CHECK(s.run(matmul(a, b)) == array<std::int32_t, shape<1, 1>>{{0}});
}

namespace {

// Of all int8, each end of their range as often as all others.
any_array random_int8(const extents& sizes, std::mt19937_64& random) {
    any_array a(element_type::int8, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        const std::uint64_t bits = random();
        a.data<std::int8_t>()[i] = bits % 3 == 0   ? std::numeric_limits<std::int8_t>::min()
                                   : bits % 3 == 1 ? std::numeric_limits<std::int8_t>::max()
                                                   : static_cast<std::int8_t>(bits >> 32);
    }
    return a;
}

void check_int8_product(const extents& ea, const extents& eb, bool ta, bool tb, std::mt19937_64& random) {
    const graph_scope scope{graph()};
    const any_array a = random_int8(ea, random), b = random_int8(eb, random);
    const any_tensor x = untyped::placeholder(element_type::int8, ea), y = untyped::placeholder(element_type::int8, eb);
    const any_tensor product = untyped::matmul(x, y, ta, tb);
    const any_array c = run(product, feed(x, a.share()), feed(y, b.share()));
    CAPTURE(to_string(a.type()));
    CAPTURE(to_string(b.type()));
    CAPTURE(ta);
    CAPTURE(tb);
    REQUIRE(product.element() == element_type::int32);
    REQUIRE(c.element() == element_type::int32);
    const std::vector<std::int64_t> wanted = naive<std::int8_t, std::int64_t>(a, b, ta, tb, c.extents());
    REQUIRE(static_cast<std::int64_t>(wanted.size()) == c.elements());
    for (std::int64_t i = 0; i < c.elements(); ++i)
        REQUIRE(c.data<std::int32_t>()[i] == wanted[static_cast<std::size_t>(i)]);
}

} // namespace

TEST_CASE("matmul: int8 is multiplied and summed exactly, in int32, transposed or not, in batches, of vectors") {
    const std::uint64_t seed = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto size = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random() % most); };
    for (int i = 0; i < 40; ++i)
        for (const bool ta : {false, true})
            for (const bool tb : {false, true}) {
                const std::int64_t m = size(70), n = size(70), k = size(i % 4 == 0 ? 700 : 40);
                check_int8_product(ta ? extents(k, m) : extents(m, k), tb ? extents(n, k) : extents(k, n), ta, tb,
                                   random);
            }
    for (int i = 0; i < 6; ++i) { // longer sums than floats have
        const std::int64_t m = size(9), n = size(9), k = 1024 * size(3) + (i == 0 ? 0 : size(900)), p = size(3);
        check_int8_product(extents(m, k), extents(k, n), false, false, random);
        check_int8_product(extents(p, k, m), extents(p, n, k), true, true, random);
        check_int8_product(extents(k, m), extents(p, k, n), true, false, random);
        check_int8_product(extents(p, 1, m, k), extents(1, p, n, k), false, true, random);
        check_int8_product(extents(k), extents(k), false, false, random);
    }
    for (int i = 0; i < 20; ++i) {
        const std::int64_t m = size(9), n = size(9), k = size(9), p = size(4), q = size(4);
        check_int8_product(extents(k), extents(k), false, false, random);
        check_int8_product(extents(k), extents(k, n), false, false, random);
        check_int8_product(extents(k), extents(n, k), false, true, random);
        check_int8_product(extents(m, k), extents(k), false, false, random);
        check_int8_product(extents(k, m), extents(k), true, false, random);
        check_int8_product(extents(p, m, k), extents(k, n), false, false, random);
        check_int8_product(extents(m, k), extents(p, n, k), false, true, random);
        check_int8_product(extents(p, q, k, m), extents(q, k, n), true, false, random);
        check_int8_product(extents(p, 1, m, k), extents(1, q, n, k), false, true, random);
        check_int8_product(extents(p, 1, q, m, k), extents(p, m, 1, k, n), false, false, random);
    }
}

TEST_CASE("matmul: int8 without elements is nothing, with an empty sum zero") {
    std::mt19937_64 random(1);
    check_int8_product(extents(0, 3), extents(3, 2), false, false, random);
    check_int8_product(extents(3, 2), extents(2, 0), false, false, random);
    check_int8_product(extents(3, 0), extents(0, 2), false, false, random);
    check_int8_product(extents(3, 0), extents(2, 0), false, true, random);
    check_int8_product(extents(0, 3, 4), extents(4, 2), false, false, random);
    check_int8_product(extents(0), extents(0, 2), false, false, random);
    check_int8_product(extents(0), extents(0), false, false, random);
}

TEST_CASE("matmul: sums of int8 are exact up to the end of int32 and wrap around beyond it") {
    const graph_scope scope{graph()};
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

TEST_CASE("matmul: a bias of int32, and relu, may follow a product of int8") {
    const graph_scope scope{graph()};
    const auto x = constant(array<std::int8_t, shape<2, 2>>{{127, -128}, {-128, -128}});
    const auto w = constant(array<std::int8_t, shape<2, 3>>{{127, -128, 1}, {-128, -128, 0}});
    const auto b = constant(array<std::int32_t, shape<3>>{100000, -1, -200});
    session s(graph::current());
    CHECK(s.run(matmul(x, w) + b) == array<std::int32_t, shape<2, 3>>{{132513, 127, -73}, {100128, 32767, -328}});
    CHECK(s.run(relu(matmul(x, w) + b)) == array<std::int32_t, shape<2, 3>>{{132513, 127, 0}, {100128, 32767, 0}});
    CHECK_THROWS_WITH_AS(untyped::matmul_bias(x, w, b, false), doctest::Contains("element type is not supported"),
                         invalid_argument_error);
}

TEST_CASE_TEMPLATE("matmul_bias: product, bias and relu in one kernel", T, float, double, half, std::int32_t) {
    const graph_scope scope{graph()};
    const auto x = untyped::placeholder(element_type_of<T>, extents(extent{}, 9));
    const auto w = untyped::placeholder(element_type_of<T>, extents(9, 20));
    const auto b = untyped::placeholder(element_type_of<T>, extents(20));
    const any_array xv = random_array<T>(extents(6, 9), 1), wv = random_array<T>(extents(9, 20), 2),
                    bv = random_array<T>(extents(20), 3);
    for (const bool relu : {false, true}) {
        const any_array c =
            run(untyped::matmul_bias(x, w, b, relu), feed(x, xv.share()), feed(w, wv.share()), feed(b, bv.share()));
        const std::vector<double> product = naive<T>(xv, wv, false, false, c.extents());
        for (std::int64_t i = 0; i < c.elements(); ++i) {
            double wanted = product[static_cast<std::size_t>(i)] + element<T>(bv, i % 20);
            if (relu) wanted = std::fmax(wanted, 0.0);
            REQUIRE(std::fabs(element<T>(c, i) - wanted) <= tolerance<T>() * std::fmax(std::fabs(wanted), 10));
        }
    }
}

TEST_CASE("matmul: sizes that only the run knows are checked there, in the words of the compiler") {
    const graph_scope scope{graph()};
    const auto a = placeholder<float, shape<dyn, dyn>>("a");
    const auto b = placeholder<float, shape<dyn, 10>>("b");
    const auto c = matmul(a, b);
    session s(graph::current());
    CHECK_THROWS_WITH_AS(
        s.run(c, feed(a, random_array<float>(extents(4, 784))), feed(b, random_array<float>(extents(300, 10)))),
        doctest::Contains("matmul: inner dimensions differ: [4, 784] x [300, 10]"), invalid_argument_error);
    CHECK_THROWS_WITH_AS(untyped::matmul(untyped::placeholder(element_type::float32, extents(2, 3)),
                                         untyped::placeholder(element_type::float64, extents(3, 2))),
                         doctest::Contains("element types differ: float[2, 3] x double[3, 2]"), invalid_argument_error);
    CHECK_THROWS_WITH_AS(untyped::matmul(untyped::placeholder(element_type::float32, {}),
                                         untyped::placeholder(element_type::float32, extents(3, 2))),
                         doctest::Contains("rank is too low"), invalid_argument_error);
}

TEST_CASE("check_gradients finds a wrong gradient and says where") {
    // stop_gradient hides half of the derivative of x * x.
    const std::string found =
        check_gradients([](const auto& x) { return matmul(x, stop_gradient(x)); }, input<shape<3>>());
    CHECK(found.find("input 0 double[3], element") != std::string::npos);
    CHECK(found.find("central difference") != std::string::npos);
    CHECK(check_gradients([](const auto& x, const auto& y) { return matmul(x, stop_gradient(y)); }, input<shape<3>>(),
                          input<shape<3>>())
              .find("input 1") != std::string::npos);
}

TEST_CASE("matmul: the gradient of a matrix that a whole batch is multiplied with is one product of all rows") {
    const auto plain = [](const auto& a, const auto& b) { return sum(square(matmul(a, b))); };
    const auto transposed = [](const auto& a, const auto& b) { return sum(square(matmul<transpose_b>(a, b))); };
    const auto both = [](const auto& a, const auto& b) { return sum(square(matmul<transpose_a>(a, b))); };
    CHECK(check_gradients(plain, input<shape<2, 3, 4>>(), input<shape<4, 5>>()) == "");
    CHECK(check_gradients(plain, input<shape<dyn, dyn, dyn>>(2, 3, 4), input<shape<dyn, dyn>>(4, 2)) == "");
    CHECK(check_gradients(plain, input<shape<2, 3, 2, 4>>(), input<shape<4>>()) == "");
    CHECK(check_gradients(transposed, input<shape<2, 3, 4>>(), input<shape<5, 4>>()) == "");
    CHECK(check_gradients(both, input<shape<2, 4, 3>>(), input<shape<4, 5>>()) == "");
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
