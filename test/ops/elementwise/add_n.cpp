#include <span>

#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"

// TOUR 5: a sum of a list of tensors.

using namespace tenon;
using test::check_gradients;
using test::element;
using test::input;
using test::random_array;

namespace {
inline constexpr struct batch_size : dim<"batch"> {} batch;

using rows = tensor<float, shape<batch, 3>>;
static_assert(std::is_same_v<decltype(add_n(std::declval<rows>(), std::declval<rows>())), rows>);
// Of what one operand leaves open the other says.
static_assert(
    std::is_same_v<decltype(add_n(std::declval<tensor<float, shape<dyn, 3>>>(), std::declval<rows>())), rows>);
static_assert(std::is_same_v<decltype(add_n(std::declval<std::vector<rows>>())), rows>);
static_assert(std::is_same_v<decltype(add_n(std::declval<rows>(), ill_shaped{})), ill_shaped>);
} // namespace

TEST_CASE_TEMPLATE("add_n: the sum, element by element, in the order of the list", T, float, double, half, bfloat16,
                   std::int8_t, std::uint16_t, std::int32_t, std::int64_t) {
    for (const int elements : {0, 1, 511, 512, 1300, 40'000})
        for (const std::size_t count : {1U, 2U, 5U, 40U}) {
            const graph_scope scope{graph()};
            std::vector<any_array> values;
            std::vector<tensor<T, shape<dyn>>> xs;
            for (std::size_t i = 0; i < count; ++i) {
                values.push_back(random_array<T>(extents(elements), 7 * i + 1));
                xs.push_back(as<T, shape<dyn>>(untyped::constant(values.back().share())));
            }
            session s;
            const any_array sum = std::move(s.run_untyped({}, {add_n(xs)})[0]);
            REQUIRE(sum.elements() == elements);
            using C = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;
            for (int j = 0; j < elements; ++j) {
                C expected = static_cast<C>(element<T>(values[0], j));
                for (std::size_t i = 1; i < count; ++i)
                    expected = static_cast<C>(expected + static_cast<C>(element<T>(values[i], j)));
                if (element<T>(sum, j) != static_cast<double>(static_cast<T>(expected)))
                    FAIL(count << " of " << elements << ", element " << j);
            }
        }
}

TEST_CASE("add_n takes tensors, expressions, and lists of tensors; one is its own sum, of none there is no sum") {
    const graph_scope scope{graph()};
    const auto a = constant({1.0f, 2.0f}), b = constant({10.0f, 20.0f}), c = constant({100.0f, 200.0f});
    const array<float, shape<2>> sum{111.0f, 222.0f};
    using pair = tensor<float, shape<2>>;
    const std::vector<pair> list{a, b, c};
    const std::vector<pair> none;
    session s;
    CHECK(s.run(add_n(a, b, c)) == sum);
    CHECK(s.run(add_n(a * 1.0f, b + 0.0f, c)) == sum);
    CHECK(s.run(add_n({a, b, c})) == sum);
    CHECK(s.run(add_n(list)) == sum);
    CHECK(s.run(add_n(std::span<const pair>(list))) == sum);
    CHECK(s.run(add_n(std::array{a, b, c})) == sum);
    CHECK(s.run(add_n(a)) == array<float, shape<2>>{1.0f, 2.0f});
    CHECK(add_n(std::vector{a}).output() == a.output());
    CHECK_ERROR(invalid_argument_error, "add_n: there are no tensors", add_n(none));
    CHECK_ERROR(invalid_argument_error, "add_n: sizes differ: [2] x [3]",
                untyped::add_n({a, constant({1.0f, 2.0f, 3.0f})}));
    CHECK_ERROR(invalid_argument_error, "add_n: element types differ", untyped::add_n({a, constant({1, 2})}));
    CHECK_ERROR(invalid_argument_error, "add_n: ", untyped::add_n({constant("a"), constant("b")}));
}

TEST_CASE_FIXTURE(in_graph, "add_n: sizes that are known in the step only are compared there") {
    const auto x = placeholder<float, shape<dyn>>("x"), y = placeholder<float, shape<dyn>>("y");
    const auto sum = add_n(x, y);
    session s;
    const array<float> two{1.0f, 2.0f}, three{1.0f, 2.0f, 3.0f};
    CHECK(s.run(feed(x, two), feed(y, two), sum)(1) == 4.0f);
    CHECK_THROWS_AS((void)s.run(feed(x, two), feed(y, three), sum), invalid_argument_error);
}

TEST_CASE("add_n: the gradient of the sum is that of each, also of one that occurs twice") {
    CHECK(check_gradients([](auto a, auto b, auto c) { return sum(add_n(a, b * b, c, a) * c); }, input<shape<2, 3>>(),
                          input<shape<2, 3>>(), input<shape<dyn, 3>>(2, 3)) == "");
    const own_graph g;
    const auto a = constant({1.0, 2.0}), b = constant({3.0, 4.0});
    const auto total = sum(add_n(a, b));
    const std::int64_t before = g.size();
    const auto [da, db] = gradients(total, a, b);
    CHECK(da.output() == db.output()); // nothing is computed for it
    CHECK(g.size() - before <= 2);
}
