#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

using namespace tenon;
using test::check_gradients;
using test::element;
using test::input;
using test::random_array;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

// The elements of a range, as Python's slices have them.
std::vector<std::int64_t> positions(const range& r, std::int64_t n) {
    const auto from_start = [n](std::int64_t i) { return i < 0 ? i + n : i; };
    std::vector<std::int64_t> p;
    if (r.step > 0)
        for (std::int64_t i = r.begin == unbounded ? 0 : from_start(r.begin);
             i < (r.end == unbounded ? n : from_start(r.end)); i += r.step)
            p.push_back(i);
    else
        for (std::int64_t i = r.begin == unbounded ? n - 1 : from_start(r.begin);
             i > (r.end == unbounded ? -1 : from_start(r.end)); i += r.step)
            p.push_back(i);
    return p;
}

} // namespace

TEST_CASE_TEMPLATE("slice: any ranges, as Python has them", T, float, double, half, std::int8_t) {
    const std::vector<range> ranges{{},
                                    {0, 3},
                                    {2, unbounded},
                                    {-3, -1},
                                    {unbounded, 5, 2},
                                    {1, 6, 3},
                                    {.step = -1},
                                    {5, 1, -2},
                                    {-1, unbounded, -3},
                                    {3, 3},
                                    {4, 2}};
    const extents shape(7, 8, 9);
    const any_array x = random_array<T>(shape);
    for (std::size_t i = 0; i < ranges.size(); ++i)
        for (std::size_t j = 0; j < ranges.size(); ++j) {
            const graph_scope scope{graph()};
            const range third = ranges[(i + 2 * j) % ranges.size()];
            const any_tensor in = untyped::placeholder(element_type_of<T>, extents(extent{}, extent{}, extent{}));
            session s;
            const any_array y =
                std::move(s.run_untyped(test::fed(in, x), {untyped::slice(in, {ranges[i], ranges[j], third})})[0]);
            const auto p = positions(ranges[i], 7), q = positions(ranges[j], 8), r = positions(third, 9);
            REQUIRE(y.extents() == extents(p.size(), q.size(), r.size()));
            std::int64_t at = 0;
            for (const std::int64_t a : p)
                for (const std::int64_t b : q)
                    for (const std::int64_t c : r) REQUIRE(element<T>(y, at++) == element<T>(x, (a * 8 + b) * 9 + c));
        }
}

TEST_CASE_FIXTURE(in_graph, "slice: a bound outside the dimension is an error, when it is known") {
    const auto x = placeholder<float, shape<dyn, 4>>("x");
    session s;
    const auto y = slice<range{1, 6}>(x);
    CHECK(s.run(y, feed(x, random_array<float>(extents(6, 4)))).extents() == extents(5, 4));
    CHECK_ERROR(invalid_argument_error, "slice: slice is out of range: [5, 4], begins ",
                s.run(y, feed(x, random_array<float>(extents(5, 4)))));
    CHECK_THROWS_AS(untyped::slice(x, {range{}, range{0, 5}}), invalid_argument_error);
    CHECK_THROWS_AS(untyped::slice(x, {range{}, range{4, 0, -1}}), invalid_argument_error);
    CHECK_THROWS_AS(untyped::slice(x, {range{0, 1, 0}}), invalid_argument_error);
}

TEST_CASE_FIXTURE(in_graph, "roll and repeat: values, and sizes as far as they are known") {
    const auto x = placeholder<float, shape<batch, 3>>();
    static_assert(std::is_same_v<decltype(roll<1>(x))::shape_type, shape<batch, 3>>);
    static_assert(std::is_same_v<decltype(roll<-4, 1>(x))::shape_type, shape<batch, 3>>);
    static_assert(std::is_same_v<decltype(roll<3, 1>(x))::shape_type, shape<batch, 3>>);
    static_assert(std::is_same_v<decltype(repeat<2, 1>(x))::shape_type, shape<batch, 6>>);
    static_assert(std::is_same_v<decltype(repeat<2>(x))::shape_type, shape<dyn, 3>>);
    session s;
    const array<float> v{{0, 1, 2}, {3, 4, 5}};
    const auto [down, back, same, each, rows] =
        s.run(feed(x, v), roll<1>(x), roll<-4, -1>(x), roll<3, 1>(x), repeat<2, -1>(x), repeat<3>(x));
    for (std::int64_t i = 0; i < 2; ++i)
        for (std::int64_t j = 0; j < 3; ++j) {
            CHECK(down(i, j) == v(1 - i, j));
            CHECK(back(i, j) == v(i, (j + 1) % 3));
            CHECK(same(i, j) == v(i, j));
            for (std::int64_t k = 0; k < 2; ++k) CHECK(each(i, 2 * j + k) == v(i, j));
            for (std::int64_t k = 0; k < 3; ++k) CHECK(rows(3 * i + k, j) == v(i, j));
        }
    // More places than there are rows.
    const auto [three, five, none] = s.run(feed(x, v), roll<3>(x), roll<-5>(x), roll<4>(slice<range{0, 0}>(x)));
    CHECK(three == down);
    CHECK(five == down);
    CHECK(none.extents() == extents{0, 3});
    const array<float> no_rows(extents{0, 3});
    for (const auto& y : {roll<1>(x), roll<-1>(x), roll<4>(x)})
        CHECK(s.run(feed(x, no_rows), y).extents() == extents{0, 3});
}

TEST_CASE("roll and repeat: gradients agree with central differences") {
    CHECK(check_gradients([](const auto& x) { return roll<1>(roll<2, 1>(x)); }, input<shape<batch, 3>>(2, 3)) == "");
    CHECK(check_gradients([](const auto& x) { return roll<-7>(x) * x; }, input<shape<batch, 3>>(3, 3)) == "");
    CHECK(check_gradients([](const auto& x) { return repeat<3, 1>(x); }, input<shape<dyn, dyn>>(2, 3)) == "");
}
